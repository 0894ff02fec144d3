"""The text of one file: decoding as Python does it, places as offsets or positions, and the way back to bytes."""

from __future__ import annotations

import bisect
import codecs
import os
import re
import stat
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from remat_lint.errors import RematLintError
from remat_lint.findings import Position, Span

MAX_BYTES = 64 * 2**20
"""A larger file is refused: no program text is that large, and reading it could take the memory of the machine."""

_LINE_END = re.compile(r"\r\n?|\n")
_COOKIE = re.compile(rb"[ \t\f]*+#[^\r\n]*?coding[:=][ \t]*+([-\w.]++)")
_BLANK = re.compile(rb"[ \t\f]*+(?:#[^\r\n]*+)?(?:\r\n?|\n|\Z)")

# Encodings that Python knows but that no source file can be in: they do not keep ASCII as it is (so the cookie
# itself would be unreadable), decode in quadratic time (punycode), or give other bytes when encoded again.
_UNFIT = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape", "utf-7"})
_WIDE = ("utf-16", "utf-32")
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


class SourceError(RematLintError):
    """A file cannot be read as Python source text; the sentence says why and does not repeat the path.

    Args:
        path: the file.
        reason: a clause that reads well after the path and a colon.
    """

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(reason)


@dataclass(frozen=True)
class SourceText:
    r"""The text of one file, with its line ends as they are and without its byte order mark.

    Offsets count code points from 0. Lines end at `\r\n`, `\r` and `\n` and nowhere else: form feeds, vertical
    tabs and U+2028, at which `str.splitlines` cuts, are ordinary characters of a Python line.

    Args:
        path: where the text came from or belongs.
        text: the decoded text.
        encoding: the codec that gives the bytes of the file back; `utf-8-sig` if it began with a mark.
    """

    path: Path
    text: str
    encoding: str = "utf-8"

    @cached_property
    def line_starts(self) -> tuple[int, ...]:
        """The offset of the first character of every line; an empty text has one line."""
        return find_line_starts(self.text)

    def position(self, offset: int) -> Position:
        """The place of the character at `offset`, or the end of the text for its length.

        Raises:
            ValueError: `offset` lies outside of the text.
        """
        if not 0 <= offset <= len(self.text):
            raise ValueError(f"offset {offset} in a text of {len(self.text)} characters")
        row = bisect.bisect_right(self.line_starts, offset)
        return Position(row, offset - self.line_starts[row - 1] + 1)

    def offset(self, position: Position) -> int:
        """The offset of a place; the column may go up to the start of the next line.

        Raises:
            ValueError: there is no such row or column.
        """
        starts = self.line_starts
        if 1 <= position.row <= len(starts) and position.column >= 1:
            offset = starts[position.row - 1] + position.column - 1
            if offset <= (starts[position.row] if position.row < len(starts) else len(self.text)):
                return offset
        raise ValueError(f"no place {position.row}:{position.column} in the text")

    def line(self, row: int) -> str:
        """The text of the line `row` (from 1) without its line end.

        Raises:
            ValueError: there is no such row.
        """
        start, end = self._line_bounds(row)
        return self.text[start:end]

    def slice(self, span: Span) -> str:
        """The text that a span covers."""
        return self.text[self.offset(span.start) : self.offset(span.end)]

    def span(self, start: int, end: int) -> Span:
        """The span between two offsets."""
        return Span(self.position(start), self.position(end))

    def utf16_column(self, position: Position) -> int:
        """The column of a place as LSP and SARIF clients count it: UTF-16 code units from 0."""
        end = self.offset(position)
        return _count_utf16(self.text[self.line_starts[position.row - 1] : end])

    def position_at_utf16(self, row: int, column: int) -> Position:
        """The place that a client means by `row` (from 1) and `column` (UTF-16 code units from 0).

        Rows and columns past the end mean the end, as LSP demands; a column inside of a surrogate pair means the
        character.
        """
        if row < 1:
            return Position(1, 1)
        if row > len(self.line_starts):
            return self.position(len(self.text))
        line = self.line(row)
        if line.isascii():
            return Position(row, min(max(column, 0), len(line)) + 1)
        before = list(accumulate((2 if char > "\uffff" else 1 for char in line), initial=0))
        return Position(row, max(bisect.bisect_right(before, column), 1))

    def encode(self, text: str) -> bytes:
        """The bytes of a changed `text` for this file: same encoding, byte order mark kept.

        Raises:
            SourceError: the text has a character that the encoding of the file lacks.
        """
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as error:
            missing = error.object[error.start]
            raise SourceError(self.path, f"{self.encoding} has no character U+{ord(missing):04X}") from error

    def _line_bounds(self, row: int) -> tuple[int, int]:
        starts = self.line_starts
        if not 1 <= row <= len(starts):
            raise ValueError(f"no row {row} in a text of {len(starts)} lines")
        start = starts[row - 1]
        if row == len(starts):
            return start, len(self.text)
        end = starts[row]
        return start, end - (2 if self.text.startswith("\r\n", end - 2) else 1)


def find_line_starts(text: str) -> tuple[int, ...]:
    """The offset of the first character of every line of `text`, in one pass."""
    if "\r" not in text:
        return (0, *accumulate(map((1).__add__, map(len, text.split("\n")[:-1]))))
    return (0, *(match.end() for match in _LINE_END.finditer(text)))


def read_source(path: Path) -> SourceText:
    """Read and decode a file.

    Raises:
        SourceError: there is no readable regular file, or its bytes are no Python source text.
    """
    return decode(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Read a file.

    Pipes, sockets and devices are never opened: looking at one can block for ever or do something.

    Raises:
        SourceError: there is no readable regular file, or it is too large.
    """
    try:
        status = os.stat(path)  # noqa: PTH116  # one call for kind and size; Path.stat is no different but slower
        if not stat.S_ISREG(status.st_mode):
            raise SourceError(path, "is not a regular file")
        if status.st_size > MAX_BYTES:
            raise SourceError(path, f"has {status.st_size} bytes, more than {MAX_BYTES} are not read")
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  # once a file, half the price of Path.read_bytes
            return file.read()
    except OSError as error:
        raise SourceError(path, f"cannot be read: {error.strerror or error}") from error


def decode(data: bytes, path: Path) -> SourceText:
    """Decode source text by its byte order mark, its encoding comment (PEP 263), or else as UTF-8.

    Raises:
        SourceError: the bytes are no text in the encoding that the file says or implies.
    """
    marked = data.startswith(codecs.BOM_UTF8)
    body = data[len(codecs.BOM_UTF8) :] if marked else data
    if data.startswith(_WIDE_MARKS):
        raise SourceError(path, "is UTF-16 or UTF-32 text, which Python does not read as source")
    if b"\0" in body:
        raise SourceError(path, "is a binary file: it contains a null byte")
    name, row = _find_cookie(body)
    codec = "utf-8" if row == 0 else _look_up(name, row, path)
    if marked and codec != "utf-8":
        raise SourceError(path, f"begins with a UTF-8 mark but line {row} says its encoding is {name!r}")
    try:
        text = body.decode(codec)
    except UnicodeError as error:
        raise SourceError(path, _explain(error, body, codec)) from error
    if row and name not in text:
        raise SourceError(path, f"encoding {name!r} in line {row} is not one for source text")
    refuse_deep(text, path)
    return SourceText(path, text, "utf-8-sig" if marked else codec)


def refuse_deep(text: str, path: Path) -> None:
    """Refuse a text that no parser should be given.

    Raises:
        SourceError: its brackets are nested more deeply than Python allows.
    """
    # Imported here, because the expressions in it are not compiled for a tree without a candidate.
    from remat_lint.source.nesting import LIMIT, is_too_deep  # noqa: PLC0415  # see above

    if is_too_deep(text):
        raise SourceError(path, f"has brackets nested more than {LIMIT} deep, which Python does not read")


def _find_cookie(body: bytes) -> tuple[str, int]:
    """The encoding that the first or second line names, and the number of that line; 0 if there is none."""
    if found := _COOKIE.match(body):
        return found[1].decode("ascii"), 1
    first = _BLANK.match(body)
    if first and (found := _COOKIE.match(body, first.end())):
        return found[1].decode("ascii"), 2
    return "", 0


def _look_up(name: str, row: int, path: Path) -> str:
    """The codec of an encoding comment, under Python's own name."""
    try:
        codec = codecs.lookup(name).name
        fit = codec not in _UNFIT and not codec.startswith(_WIDE)
        if fit:
            b" ".decode(codec)  # refuses what is no text encoding, such as rot13
    except (LookupError, UnicodeError) as error:
        raise SourceError(path, f"unknown encoding {name!r} in line {row}") from error
    if not fit:
        raise SourceError(path, f"encoding {name!r} in line {row} is not one for source text")
    return "utf-8" if codec == "utf-8-sig" else codec


def _explain(error: UnicodeError, body: bytes, codec: str) -> str:
    """Say which byte is wrong and where."""
    if not isinstance(error, UnicodeDecodeError):
        return f"is not {codec} text"
    row = 1 + sum(1 for _ in re.finditer(rb"\r\n?|\n", body[: error.start]))
    byte = f"byte 0x{body[error.start]:02x} in line {row}" if error.start < len(body) else "its last byte"
    advice = "; save it as UTF-8 or name its encoding in the first line" if codec == "utf-8" else ""
    return f"is not {codec} text: {byte} cannot be decoded{advice}"


def _count_utf16(text: str) -> int:
    """How many UTF-16 code units a piece of text takes."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
