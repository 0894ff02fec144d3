"""Framed pieces of source text with the span of a finding underlined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.findings import Span
from remat_lint.output.terminal import Style, expand, paint, width
from remat_lint.source.text import SourceText

LIMIT = 160
"""Characters of a line that are shown; of a longer one, the part around the span."""

_LEAD = 40  # characters kept before the span in a line that is cut
_ROWS = 8  # rows of a span that are shown; of a taller one, its head and its tail
_HEAD, _TAIL = 4, 2
_CUT = "..."


@dataclass(frozen=True, slots=True)
class Frame:
    """The gutter of one excerpt: its width fits the largest line number."""

    digits: int
    color: bool

    def bar(self, number: int | str = "", body: str = "") -> str:
        """One row: a number or blanks, the bar, the text."""
        return (
            f"{paint(f'{number:>{self.digits}} |', Style.BLUE, color=self.color)}{f' {body}' if body else ''}"
        )

    def arrow(self, place: str) -> str:
        """The row that names the place."""
        return f"{' ' * self.digits}{paint('-->', Style.BLUE, color=self.color)} {place}"


@dataclass(frozen=True, slots=True)
class Mark:
    """The character that underlines a span, and its style."""

    char: str
    style: Style


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line ready for a terminal; the span begins `offset` cells in and is `length` cells wide."""

    text: str
    offset: int
    length: int


def frame_for(source: SourceText | None, last_row: int, *, context: int, color: bool) -> Frame:
    """The frame that fits every number of an excerpt ending `context` lines below `last_row`."""
    last = last_row if source is None else min(last_row + context, max(len(source.line_starts), last_row))
    return Frame(len(str(last)), color)


def show_line(line: str, start: int, end: int) -> ShownLine:
    """Cut, expand and measure a line whose span is `line[start:end]` (0-based)."""
    low = 0 if len(line) <= LIMIT else max(0, min(start - _LEAD, len(line) - LIMIT))
    high = min(len(line), low + LIMIT)
    first, last = min(start, high), max(low, min(end, high))
    cut = _CUT if low else ""
    before = cut + expand(line[low:first], len(cut))
    offset = width(before)
    inside = expand(line[first:last], offset)
    after = expand(line[max(first, last) : high], offset + width(inside))
    text = (before + inside + after + (_CUT if high < len(line) else "")).rstrip()
    return ShownLine(text, offset, width(inside))


def excerpt(source: SourceText, span: Span, frame: Frame, mark: Mark, *, context: int) -> Iterator[str]:
    """The rows of a frame around `span`: context, the marked lines, context."""
    first, last = span.start.row, span.end.row
    indent = "  " if last > first else ""  # beside the bar of a tall span
    yield frame.bar()
    yield from _context(source, range(max(1, first - context), first), frame, indent, above=True)
    if first == last:
        shown = show_line(source.line(first), span.start.column - 1, span.end.column - 1)
        yield frame.bar(first, shown.text)
        carets = mark.char * max(1, shown.length)
        yield frame.bar("", " " * shown.offset + paint(carets, mark.style, color=frame.color))
    else:
        yield from _tall(source, span, frame, mark)
    below = range(last + 1, min(last + context, len(source.line_starts)) + 1)
    yield from _context(source, below, frame, indent, above=False)


def _context(source: SourceText, rows: range, frame: Frame, indent: str, *, above: bool) -> Iterator[str]:
    """Lines beside the span, without blank ones at the outer edge."""
    shown = [(row, show_line(source.line(row), 0, 0).text) for row in rows]
    outer = 0 if above else -1
    while shown and not shown[outer][1]:
        del shown[outer]
    for row, text in shown:
        yield frame.bar(row, indent + text if text else "")


def _tall(source: SourceText, span: Span, frame: Frame, mark: Mark) -> Iterator[str]:
    """A span of several lines, tied together by a bar on its left."""

    def ink(text: str) -> str:
        return paint(text, mark.style, color=frame.color)

    first, last = span.start.row, span.end.row
    head = source.line(first)
    shown = show_line(head, span.start.column - 1, len(head))
    if head[: span.start.column - 1].strip():
        yield frame.bar(first, f"  {shown.text}")
        yield frame.bar("", " " + ink("_" * (shown.offset + 1) + mark.char))
    else:
        yield frame.bar(first, f"{ink('/')} {shown.text}")
    rows = range(first + 1, last)
    elided = len(rows) + 2 > _ROWS
    for row in rows[: _HEAD - 1] if elided else rows:
        yield frame.bar(row, f"{ink('|')} {show_line(source.line(row), 0, 0).text}".rstrip())
    if elided:
        yield _CUT
    for row in rows[len(rows) - _TAIL + 1 :] if elided else ():
        yield frame.bar(row, f"{ink('|')} {show_line(source.line(row), 0, 0).text}".rstrip())
    tail = show_line(source.line(last), 0, span.end.column - 1)
    yield frame.bar(last, f"{ink('|')} {tail.text}")
    yield frame.bar("", ink(f"|{'_' * max(1, tail.length)}{mark.char}"))
