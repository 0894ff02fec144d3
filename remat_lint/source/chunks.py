"""Cuts a file into its top-level statements without parsing it, so that only the ones that matter are parsed.

The cuts are those of the grammar for every program that Python accepts, with one known gap: statements after a `;`
stay with the statement before it. For text that Python does not accept the cuts are a guess that keeps as many
statements whole as possible. A wrong cut, if there is one, leaves a bracket, a string or a clause alone in a chunk, so that
the chunk does not parse; whoever parses chunks must then parse the whole file, and only if that fails too call the
file broken.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from remat_lint.source.comments import Comment, make_comments
from remat_lint.source.scan import Scan, scan
from remat_lint.source.text import find_line_starts

MERGE_LIMIT = 4096
"""Characters up to which small neighbours are put into one chunk: many tiny parses cost more than one."""

Kind = Literal["def", "class", "head", "import", "other"]

_GAP = r"(?:[ \t\f]|\\(?:\r\n?|\n))++"
_LEAD = r"(?:[ \t\f]|\\(?:\r\n?|\n))*+"
_HEAD = re.compile(
    rf"{_LEAD}(?:(?:async{_GAP})?+def{_GAP}(\w++)|class{_GAP}(\w++)|(import|from)\b|(@))",
)
# Words that begin a statement and cannot begin a line inside of brackets: an open bracket above them was forgotten.
_FIRM = re.compile(
    r"[ \t]*+(?:(?:def|class|import|with|while|try|return|raise|assert|del|global|pass|async[ \t]++def)\b|@\w)"
)
_BRACKETS = ("()", "[]", "{}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """One top-level statement, or a few small ones, with whatever follows up to the next one.

    Args:
        start: where it begins in the file, in code points; always the start of a line.
        text: its text; the texts of all chunks joined are the file.
        row: its first line, from 1.
        kind: `def` and `class` with their decorators, `import` if it holds nothing but imports, `head` for the
            beginning of a class whose other statements are chunks of their own (`classes.split_class`).
        name: what a `def` or `class` binds, else empty.
        comments: the comments in it, placed in the file.
        indent: the indentation of the statements of the class, for a head and for what stands in a class.
    """

    start: int
    text: str
    row: int
    kind: Kind
    name: str = ""
    comments: tuple[Comment, ...] = ()
    indent: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """Where a statement stands in a text, what it is and what it binds; see `Chunk`."""

    start: int
    end: int
    kind: Kind
    name: str = ""


def split(text: str, *, merge: bool = True) -> tuple[Chunk, ...]:
    """Cut `text` into top-level statements.

    Comments and blank lines before the first statement are a chunk of their own; later ones end the chunk of the
    statement before them.

    Args:
        text: a whole file.
        merge: put neighbouring statements that are neither `def` nor `class` into one chunk, up to `MERGE_LIMIT`.
    """
    if not text:
        return ()
    found = scan(text)
    statements = find_statements(text, found)
    if merge:
        statements = merge_small(statements)
    line_starts = find_line_starts(text)
    comments = make_comments(text, found.comments, line_starts)
    offsets = [comment.offset for comment in comments]
    return tuple(
        Chunk(
            each.start,
            text[each.start : each.end],
            bisect_right(line_starts, each.start),
            each.kind,
            each.name,
            comments[bisect_left(offsets, each.start) : bisect_left(offsets, each.end)],
        )
        for each in statements
    )


def find_statements(text: str, found: Scan) -> list[Statement]:
    """Return the statements of a text, or of a class; the first one is what stands before them, if anything does."""
    return list(_join(text, found))


def _join(text: str, found: Scan) -> Iterator[Statement]:
    """Join lines that begin in column 0 into statements: the inside of brackets, and decorators with what follows."""
    cuts = [*found.lines, len(text)]
    if cuts[0] > 0:
        yield Statement(0, cuts[0], "other")
    at, stuck = 0, 0
    while at < len(cuts) - 1:
        first = at
        while True:
            head = _HEAD.match(text, cuts[at])
            at, stuck = _close_brackets(text, found, cuts, at, stuck)
            if not (head and head[4]) or at == len(cuts) - 1:
                break
        kind, name = _name(text, head, cuts[at])
        yield Statement(cuts[first], cuts[at], kind, name)


def _close_brackets(text: str, found: Scan, cuts: Sequence[int], first: int, stuck: int) -> tuple[int, int]:
    """The cut at which the brackets opened after the cut `first` are closed.

    Lines below an open bracket are tried once: if none closes it, a bracket was forgotten, the cuts stay, and up to
    the last line tried (`stuck`) nothing is joined.
    """
    open_brackets = _count_open(text, found, cuts[first], cuts[first + 1])
    if first < stuck or not any(open_brackets):
        return first + 1, stuck
    at = first + 1
    while at < len(cuts) - 1 and not _FIRM.match(text, cuts[at]) and min(open_brackets) >= 0:
        more = _count_open(text, found, cuts[at], cuts[at + 1])
        open_brackets = [one + other for one, other in zip(open_brackets, more, strict=True)]
        at += 1
        if not any(open_brackets):
            return at, stuck
    return first + 1, at


def _count_open(text: str, found: Scan, start: int, end: int) -> list[int]:
    """How many more brackets of each kind open than close between two lines, outside of strings and comments."""
    counts = [text.count(pair[0], start, end) - text.count(pair[1], start, end) for pair in _BRACKETS]
    for skip_start, skip_end in found.skipped(start, end):
        for index, pair in enumerate(_BRACKETS):
            counts[index] -= text.count(pair[0], skip_start, skip_end)
            counts[index] += text.count(pair[1], skip_start, skip_end)
    return counts


def _name(text: str, head: re.Match[str] | None, end: int) -> tuple[Kind, str]:
    """Say what a statement is by its first words."""
    if head is None or head[4]:
        return "other", ""
    if head[3]:
        # `import a; b()` does more than import.
        return ("other" if text.find(";", head.start(), end) >= 0 else "import"), ""
    return ("def", head[1]) if head[1] else ("class", head[2])


def merge_small(statements: Sequence[Statement]) -> list[Statement]:
    """Put neighbours that bind no function and no class together as long as they stay small."""
    return list(_merge(statements))


def _merge(statements: Sequence[Statement]) -> Iterator[Statement]:
    last = statements[0]
    for each in statements[1:]:
        small = each.end - last.start <= MERGE_LIMIT
        if small and not last.name and not each.name:
            kind: Kind = "import" if last.kind == each.kind == "import" else "other"
            last = Statement(last.start, each.end, kind)
        else:
            yield last
            last = each
    yield last
