"""Cuts a class into its head and the statements of its body, so that a method is parsed only where it matters.

The head is all up to the first `def` or `class` of the body. What is cut off is indented as it was: whoever parses it
puts a line `class _:` in front (`piece_text`), so that columns stay what they are and rows shift by one.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from itertools import accumulate

from remat_lint.source.chunks import Chunk, Statement, find_statements, merge_small
from remat_lint.source.scan import scan
from remat_lint.source.text import find_line_starts

ABOVE = "class _:\n"
"""The line that is put in front of a piece of a class body."""

_CLASS = re.compile(r"^class\b", re.MULTILINE)
_HEADER = re.compile(r"""[()\[\]{}:"']|#[^\r\n]*+""")
_BODY = re.compile(
    r"[ \t]*+(?:#[^\r\n]*+)?(?:\r\n?|\n)(?:[ \t\f]*+(?:#[^\r\n]*+)?(?:\r\n?|\n))*+([ \t]++)(?=[^\s#\\])"
)


def split_class(chunk: Chunk) -> tuple[Chunk, ...]:
    """Cut a chunk of kind `class`; the chunk itself where the body is not indented below the header or has no `def`.

    The texts of the pieces joined are the text of the class.
    """
    indent = _find_indent(chunk.text)
    if not indent:
        return (chunk,)
    statements = find_statements(chunk.text, scan(chunk.text, indent))
    first = next((index for index, one in enumerate(statements) if one.name), None)
    if not first:
        return (chunk,)
    head = Statement(0, statements[first].start, "head", chunk.name)
    return _make(chunk, [head, *merge_small(statements[first:])], indent)


def _make(chunk: Chunk, statements: list[Statement], indent: str) -> tuple[Chunk, ...]:
    offsets = [comment.offset - chunk.start for comment in chunk.comments]
    texts = [chunk.text[one.start : one.end] for one in statements]
    rows = accumulate((len(find_line_starts(text)) - 1 for text in texts), initial=chunk.row)
    return tuple(
        replace(
            chunk,
            start=chunk.start + one.start,
            text=text,
            row=row,
            kind=one.kind,
            name=one.name,
            comments=chunk.comments[bisect_left(offsets, one.start) : bisect_left(offsets, one.end)],
            indent=indent,
        )
        for one, text, row in zip(statements, texts, rows, strict=False)
    )


def piece_text(chunk: Chunk) -> tuple[str, int]:
    """Return what a parser is given for a chunk, and how many rows of it stand before the chunk."""
    if not chunk.indent:
        return chunk.text, 0
    if chunk.kind == "head":
        return f"{chunk.text}{chunk.indent}pass\n", 0
    return ABOVE + chunk.text, 1


def _find_indent(text: str) -> str:
    """Return the indentation of the body of a class; empty if it stands behind the colon, or cannot be told."""
    start = _CLASS.search(text)
    depth = 0
    for match in _HEADER.finditer(text, start.end()) if start else ():
        mark = match[0]
        if mark in "\"'":
            return ""
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
        elif mark == ":" and depth == 0:
            body = _BODY.match(text, match.end())
            return body[1] if body else ""
    return ""
