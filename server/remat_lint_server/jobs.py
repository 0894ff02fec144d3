"""What the server and its worker process say to each other: small frozen values that pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from remat_lint.findings import Finding, Span

HEADER = 8
"""Bytes of the length in front of every pickled message."""


@dataclass(frozen=True, slots=True)
class SiteInfo:
    """One wrap site, in words for a reader.

    Attributes:
        span: where the wrapper is applied.
        api: the function it resolved to, `jax.checkpoint`.
        target: source text of what is wrapped; empty if none can be shown.
        options: source text of the keyword arguments, by name.
        recomputed: a sentence on what the backward pass computes again.
        owner: the top-level function or class a test would drive; empty at module level.
    """

    span: Span
    api: str
    target: str
    options: Mapping[str, str]
    recomputed: str
    owner: str


@dataclass(frozen=True, slots=True)
class RulePage:
    """A rule as hovers show it; `page` is our own Markdown."""

    code: str
    name: str
    page: str


@dataclass(frozen=True, slots=True)
class Check:
    """Lint one text as if it were the file `path`; `overlays` is the unsaved text of other open files."""

    text: str
    path: Path
    overlays: Mapping[Path, str] = field(default_factory=dict)
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Checked:
    """The answer to `Check`.

    Attributes:
        findings: what the command line reports for this file.
        sites: its wrap sites.
        lines: text of the lines that related places in other files stand in, by path and row.
        trouble: why nothing could be checked (a broken configuration file), else empty.
    """

    findings: tuple[Finding, ...] = ()
    sites: tuple[SiteInfo, ...] = ()
    lines: Mapping[tuple[str, int], str] = field(default_factory=dict)
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Generate:
    """Write the equivalence test for what `name` (a top-level function) or `row` (from 1) points at.

    The test goes into the project's `tests` if that lies below one of `roots`, else into `tests` of the first of them
    around the file.
    """

    text: str
    path: Path
    roots: tuple[Path, ...]
    name: str = ""
    row: int = 0


@dataclass(frozen=True, slots=True)
class Generated:
    """The text of a test file and where it belongs, or why there is none; `notes` are sentences for the user."""

    path: Path | None = None
    text: str = ""
    notes: tuple[str, ...] = ()
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class Explain:
    """Ask for the pages of all rules."""


Job = Check | Generate | Explain


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Write one pickled message with its length in front."""
    stream.write(len(data).to_bytes(HEADER, "big") + data)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes | None:
    """Read one message; None at the end of the stream."""
    header = stream.read(HEADER)
    if len(header) < HEADER:
        return None
    data = stream.read(int.from_bytes(header, "big"))
    return data or None


Answer = Checked | Generated | tuple[RulePage, ...]
