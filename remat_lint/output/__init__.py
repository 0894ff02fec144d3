"""Findings as text: one module a format, each with one function `render`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:  # start-up: `--version` needs the names of the formats only
    from remat_lint.findings import Finding
    from remat_lint.output.view import View

FORMATS = ("full", "concise", "grouped", "json", "json-lines", "sarif", "github", "gitlab")
FOR_PEOPLE = frozenset({"full", "concise", "grouped"})
"""Formats that the counts stand below; what programs read stands alone."""


def render(name: str, findings: Sequence[Finding], view: View) -> Iterator[str]:
    """The pieces of the output in the format called `name`, one of `FORMATS`.

    Pieces are given one at a time, so that a reader who stops early (`| head`) stops the work too.
    """
    # Formats that are not asked for cost no start-up time.
    module = import_module(f".{name.replace('-', '_')}", __package__)
    return cast("Iterator[str]", module.render(findings, view))
