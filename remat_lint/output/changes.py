"""The edit of a fix as a small diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remat_lint.findings import Edit, Position
from remat_lint.output.excerpts import Frame, show_line
from remat_lint.output.terminal import Style, paint
from remat_lint.source.text import SourceText

_CONTEXT = 1


def changes(source: SourceText, edits: Sequence[Edit], frame: Frame) -> Iterator[str]:
    """The rows of a diff: removed lines with `-`, added ones with `+`, numbered as in the fixed text."""
    shift = 0  # how many lines earlier hunks added
    for hunk in _hunks(edits):
        yield frame.bar()
        first = max(1, hunk[0].span.start.row - _CONTEXT)
        reached = max(edit.span.end.row for edit in hunk)
        end = len(source.line_starts) - source.text.endswith(("\n", "\r"))
        last = max(reached, min(reached + _CONTEXT, end))
        before = [source.line(row) for row in range(first, last + 1)]
        after = _applied(before, first, hunk)
        yield from _rows(before, after, first + shift, hunk[0].span.start.column - 1, frame)
        shift += len(after) - len(before)


def _hunks(edits: Sequence[Edit]) -> list[list[Edit]]:
    """Edits in order of place, those with touching contexts together."""
    hunks: list[list[Edit]] = []
    reached = 0
    for edit in sorted(edits):
        if hunks and edit.span.start.row - _CONTEXT <= reached + _CONTEXT:
            hunks[-1].append(edit)
        else:
            hunks.append([edit])
        reached = max(reached, edit.span.end.row)
    return hunks


def _applied(before: list[str], first: int, edits: Sequence[Edit]) -> list[str]:
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line) + 1)
    text = "\n".join(before)

    def offset(position: Position) -> int:
        index = position.row - first
        return min(len(text), starts[index] + position.column - 1) if index < len(before) else len(text)

    for edit in reversed(edits):
        text = text[: offset(edit.span.start)] + edit.content + text[offset(edit.span.end) :]
    return text.split("\n")


def _rows(before: list[str], after: list[str], number: int, column: int, frame: Frame) -> Iterator[str]:
    import difflib  # noqa: PLC0415 (start-up: only findings with fixes need it)

    def text(line: str) -> str:
        return show_line(line, column, column).text

    for tag, low, high, new_low, new_high in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_opcodes():
        if tag == "equal":
            for index in range(new_low, new_high):
                yield frame.bar(number + index, f"  {text(after[index])}".rstrip())
            continue
        for line in before[low:high]:
            yield frame.bar("", paint(f"- {text(line)}", Style.RED, color=frame.color))
        for index in range(new_low, new_high):
            yield frame.bar(number + index, paint(f"+ {text(after[index])}", Style.GREEN, color=frame.color))
