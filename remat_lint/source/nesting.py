"""How deeply the brackets of a text are nested: libcst's parser ends the whole process where they are too deep."""

from __future__ import annotations

import re

from remat_lint.source.fstrings import is_formatted
from remat_lint.source.scan import scan

LIMIT = 200
"""What Python's own tokenizer allows (MAXLEVEL); libcst overflows the stack of a thread at some two thousand."""

LONGEST_CHAIN = 300
MOST_CLAUSES = 1000
"""libcst ends the process at some three to ten thousand, and the walk over its tree at five hundred operators."""

_CLAUSE = re.compile(r"^[ \t]*+elif\b", re.MULTILINE)
_CHAINED = re.compile(
    r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)|"(?:[^"\\\n]++|\\.)*+"?'
    r"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|\Z)|'(?:[^'\\\n]++|\\.)*+'?"
    r"|#[^\n]*+|[(\[{)\]},;\n]|[!<>=]=|\b(?:or|and|not|if|for|lambda|await|in|is)\b|\*\*|//|[-+*/%@&|^~.<>=]",
    re.DOTALL,
)
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


def describe_depth(text: str) -> str:
    """Say what a statement has too much of for libcst, which recurses where Python loops; empty if it has not.

    A chain of operators, attributes or calls nests as deep as it is long, and so do the clauses of an `if`.
    """
    if text.count("elif") > MOST_CLAUSES and len(_CLAUSE.findall(text)) > MOST_CLAUSES:
        return f"more than {MOST_CLAUSES} `elif` clauses"
    if len(text) > LONGEST_CHAIN and _has_long_chain(text):
        return f"a chain of more than {LONGEST_CHAIN} operators"
    return ""


def _has_long_chain(text: str) -> bool:
    """Whether one expression has too many operators, or too many calls and attributes on end, in one pair of brackets."""
    operators, trailers = [0], [0]
    for token in _CHAINED.finditer(text):
        mark = token[0]
        if mark in "([{.":
            trailers[-1] += 1
            if mark != ".":
                operators.append(0)
                trailers.append(0)
        elif mark in ")]}":
            if len(operators) > 1:
                operators.pop()
                trailers.pop()
        elif mark in ",;=" or (mark == "\n" and len(operators) == 1):
            operators[-1] = trailers[-1] = 0
        elif mark[0] not in "\"'#\n":
            operators[-1] += 1
            trailers[-1] = 0
        if operators[-1] > LONGEST_CHAIN or trailers[-1] > LONGEST_CHAIN:
            return True
    return False
