"""How deeply the brackets of a text are nested: libcst's parser ends the whole process where they are too deep."""

from __future__ import annotations

import re

from remat_lint.source.fstrings import is_formatted
from remat_lint.source.scan import scan

LIMIT = 200
"""What Python's own tokenizer allows (MAXLEVEL); libcst overflows the stack of a thread at some two thousand."""

_OTHER = re.compile(r"[^()\[\]{}]++")
_OPENING = "([{"


def is_too_deep(text: str) -> bool:
    """Whether brackets are nested so deeply that Python refuses the text and libcst would crash on it.

    Brackets in comments and in plain strings do not count; those in an f-string count by themselves.
    """
    if sum(text.count(bracket) for bracket in _OPENING) <= LIMIT:
        return False
    found = scan(text)
    pieces, reached = [], 0
    for start, end in zip(found.skip_starts, found.skip_ends, strict=True):
        pieces.append(text[reached:start])
        reached = end
        if text[start] in "'\"" and is_formatted(text, start) and _measure(text[start:end]) > LIMIT:
            return True
    return _measure("".join([*pieces, text[reached:]])) > LIMIT


def _measure(text: str) -> int:
    """The greatest depth; a bracket that closes none does not make up for one that opens later."""
    depth = deepest = 0
    for bracket in _OTHER.sub("", text):
        if bracket in _OPENING:
            depth += 1
            deepest = max(deepest, depth)
        elif depth:
            depth -= 1
    return deepest
