"""The comments that name rules to take their findings back, as text: which names, and where each stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from remat_lint.source.comments import Comment

_OWN = re.compile(
    r"#\s*+remat-lint:\s*+(ignore-file|ignore)\s*+\[([^\]#]*+)\]\s*+(?:--\s*+((?:(?!#\s*+(?:remat-lint:|noqa)).)*+))?"
)
_NOQA = re.compile(r"#\s*+noqa\s*+:\s*+([A-Z]++\d++(?:[\s,]++[A-Z]++\d++)*+)", re.IGNORECASE)
_CODE = re.compile(r"RML\d{3}", re.IGNORECASE)
_BETWEEN_COMMAS, _WORDS = re.compile(r"[^,]+"), re.compile(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Listed:
    """One code or name in such a comment; `offset` counts code points from the start of the file."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Ignore:
    """One comment that takes findings back.

    Attributes:
        kind: `ignore`, `ignore-file` or `noqa`.
        listed: what it names, in order; of a `noqa` only codes of this tool, in capitals.
        reason: what stands after `--`.
        clause: where it starts and ends, its reason included, in code points from the start of the file.
        names: where the list of names starts and ends.
        words: every word of the list, those for other tools included.
    """

    kind: str
    listed: tuple[Listed, ...]
    reason: str = ""
    clause: tuple[int, int] = field(default=(0, 0), compare=False)
    names: tuple[int, int] = field(default=(0, 0), compare=False)
    words: tuple[str, ...] = field(default=(), compare=False)


def find_ignores(comment: Comment) -> Iterator[Ignore]:
    """Yield what a comment takes back; several may stand behind one another."""
    text = comment.text
    if "remat-lint" in text:
        for found in _OWN.finditer(text):
            names = tuple(_listed(found[2], comment.offset + found.start(2), _BETWEEN_COMMAS))
            reason = (found[3] or "").strip()
            yield Ignore(found[1], names, reason, *_places(found, 2, comment), tuple(n.name for n in names))
    for found in _NOQA.finditer(text):
        words = tuple(_listed(found[1], comment.offset + found.start(1), _WORDS))
        codes = tuple(Listed(one.name.upper(), one.offset) for one in words if _CODE.fullmatch(one.name))
        if codes:
            yield Ignore("noqa", codes, "", *_places(found, 1, comment), tuple(one.name for one in words))


def _places(found: re.Match[str], group: int, comment: Comment) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where a match and one of its groups lie in the file."""
    (start, end), (first, last) = found.span(), found.span(group)
    return (comment.offset + start, comment.offset + end), (comment.offset + first, comment.offset + last)


def _listed(text: str, offset: int, part: re.Pattern[str]) -> Iterator[Listed]:
    for found in part.finditer(text):
        name = found[0].strip()
        if name:
            yield Listed(name, offset + found.start() + found[0].index(name[0]))
