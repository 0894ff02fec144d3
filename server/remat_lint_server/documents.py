"""Open documents: lines as the protocol counts them, snapshots for analysis, places in the client's units."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path, uri_scheme
from pygls.workspace import PositionCodec, TextDocument, Workspace

from remat_lint.findings import Position, Span

BYTE_ORDER_MARK = "\ufeff"
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_NOWHERE = Path(os.sep) / "remat-lint-unsaved"
_SUFFIXES = (".py", ".pyi")


def split_lines(text: str) -> tuple[str, ...]:
    r"""Cut at `\r\n`, `\r` and `\n` and nowhere else: a form feed ends no line for the protocol, nor for Python."""
    return tuple(_LINE.findall(text))


class PythonDocument(TextDocument):
    """An open document; pygls cuts lines at form feeds too, and then applies an edit in the wrong line."""

    @property
    def lines(self) -> Sequence[str]:
        """The lines with their ends."""
        return split_lines(self.source)


class PythonWorkspace(Workspace):
    """The open documents."""

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> TextDocument:
        return PythonDocument(
            doc_uri,
            source=source,
            version=version,
            language_id=language_id,
            sync_kind=types.TextDocumentSyncKind.Incremental,
            position_codec=self.position_codec,
        )


class Protocol(LanguageServerProtocol):
    """The protocol with our kind of workspace."""

    @property
    def workspace(self) -> Workspace:
        """The open documents and folders."""
        made = super().workspace
        if not isinstance(made, PythonWorkspace):
            folders = list(made.folders.values())
            made = PythonWorkspace(
                made.root_uri, types.TextDocumentSyncKind.Incremental, folders, made.position_encoding
            )
            self._workspace = made
        return made


@dataclass(frozen=True)
class Snapshot:
    """One version of one document.

    Attributes:
        uri: as the client writes it.
        version: the client's number of this text.
        text: the text as the client has it.
        codec: counts in the client's units.
        path: its file, or a made-up place for an unsaved document.
        saved: whether it is a file.
    """

    uri: str
    version: int | None
    text: str
    codec: PositionCodec
    path: Path
    saved: bool

    @property
    def key(self) -> str:
        """What the document is known by, however the client escapes its address."""
        return unquote(self.uri)

    @property
    def source(self) -> str:
        """The text without a byte order mark."""
        return self.text.removeprefix(BYTE_ORDER_MARK)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The lines of the client's text."""
        return split_lines(self.text)

    def is_same(self, other: Snapshot | None) -> bool:
        """Whether `other` is the same version: a document that was closed and opened again counts from 1 anew."""
        return other is not None and (self.version, self.text) == (other.version, other.text)

    def range(self, span: Span) -> types.Range:
        """Return a span of `source` in the client's units."""
        return types.Range(start=self._to_client(span.start), end=self._to_client(span.end))

    def position(self, place: types.Position) -> Position:
        """Return the place of `source` that the client means."""
        # A copy: the codec changes the value it is given when the column is past the end.
        wanted = types.Position(line=place.line, character=place.character)
        found = self.codec.position_from_client_units(self.lines, wanted)
        return Position(found.line + 1, found.character + 1 - self._shift(found.line))

    def with_line_ends(self, content: str) -> str:
        r"""Return new text with the line ends of the document in place of its `\n`."""
        first = self.lines[0] if self.lines else ""
        end = first[len(first.rstrip("\r\n")) :]
        return content.replace("\n", end) if end else content

    def _to_client(self, place: Position) -> types.Position:
        line = place.row - 1
        return self.codec.position_to_client_units(
            self.lines, types.Position(line=line, character=place.column - 1 + self._shift(line))
        )

    def _shift(self, line: int) -> int:
        """Characters in front of the source in a line: the mark, which some clients send."""
        return 1 if line == 0 and self.text.startswith(BYTE_ORDER_MARK) else 0


def take_snapshot(document: TextDocument) -> Snapshot | None:
    """Return the current version of a Python document; None for what is not linted, such as a notebook's cell."""
    scheme = uri_scheme(document.uri)
    if scheme == "file":
        name = to_fs_path(document.uri)
        if name is None or not (document.language_id == "python" or name.endswith(_SUFFIXES)):
            return None
        # The same as the command line does: `..` is taken away, links stay as they are named.
        path = Path(os.path.abspath(name))  # noqa: PTH100 (`Path.absolute` keeps `..`)
    elif scheme == "untitled" and document.language_id in ("python", None):
        path = _NOWHERE / f"{abs(hash(document.uri)):x}.py"
    else:
        return None
    return Snapshot(
        document.uri, document.version, document.source, document.position_codec, path, saved=scheme == "file"
    )


def line_range(codec: PositionCodec, span: Span, lines: dict[int, str]) -> types.Range:
    """Return a span of a file that is not open, whose touched `lines` are known by row."""

    def convert(place: Position) -> types.Position:
        before = lines.get(place.row, "")[: place.column - 1]
        units: Any = codec.client_num_units(before) if before else place.column - 1
        return types.Position(line=place.row - 1, character=int(units))

    return types.Range(start=convert(span.start), end=convert(span.end))
