"""The comments of a file: everything after `#` that is not inside of a string."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from remat_lint.source.scan import scan
from remat_lint.source.text import find_line_starts


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment of a file.

    Args:
        offset: where its `#` stands, in code points from the start of the file.
        row: its line, from 1.
        text: the comment with its `#`, without the line end.
        alone: whether nothing but space stands before it in its line.
    """

    offset: int
    row: int
    text: str
    alone: bool


def find_comments(text: str) -> tuple[Comment, ...]:
    """Every comment of `text`, in order; the same ones that `chunks.split` gives to its chunks."""
    return make_comments(text, scan(text).comments, find_line_starts(text))


def make_comments(
    text: str, places: Iterable[tuple[int, int]], line_starts: Sequence[int]
) -> tuple[Comment, ...]:
    """The comments at the places that a scan found."""
    made = []
    for start, end in places:
        row = bisect_right(line_starts, start)
        alone = text[line_starts[row - 1] : start].isspace() or start == line_starts[row - 1]
        made.append(Comment(start, row, text[start:end], alone))
    return tuple(made)
