"""Selectors: codes, prefixes of codes, names, categories and `ALL`, and which rules they name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from remat_lint.errors import UsageError

ALL = "ALL"
CATEGORIES = ("correctness", "suspicious", "memory", "cost", "evidence", "tool")
ALWAYS_SELECTED = frozenset({"RML001", "RML900"})
"""A file that cannot be read and a crash of the linter are never kept quiet."""

_EXACT = 1000  # above the length of every prefix


class RuleInfo(Protocol):
    """What selection needs to know of a rule."""

    @property
    def code(self) -> str:
        """The code, `RML101`."""

    @property
    def name(self) -> str:
        """The name, `stale-capture`."""

    @property
    def category(self) -> str:
        """One of `CATEGORIES`."""


def check_selectors(selectors: Iterable[str], origin: str, rules: Iterable[RuleInfo]) -> None:
    """Raise `UsageError` for a selector that names no rule, prefix or category, with the nearest that does."""
    selectors = tuple(selectors)
    if not selectors:
        return
    rules = tuple(rules)
    names = [ALL, *CATEGORIES, *(rule.code for rule in rules), *(rule.name for rule in rules)]
    for selector in selectors:
        if selector in names or any(weigh(selector, rule.code, "", "") for rule in rules):
            continue
        hint = nearest(selector, names)
        raise UsageError(
            f"unknown selector {selector!r} in {origin}"
            + (
                f"; did you mean {hint!r}?"
                if hint
                else "; `remat-lint rule --all` lists codes, names and categories"
            )
        )


def weigh(selector: str, code: str, name: str, category: str) -> int:
    """Return how specifically a selector names a rule; 0 if not at all."""
    if selector and selector in (code, name):
        return _EXACT
    if selector == ALL:
        return 1
    if selector and selector == category:
        return 2
    if re.fullmatch(r"RML\d*", selector) and code.startswith(selector):
        return len(selector)
    return 0


def best(selectors: Iterable[str], code: str, name: str, category: str) -> int:
    """Return how specifically the most specific of several selectors names a rule."""
    return max((weigh(selector, code, name, category) for selector in selectors), default=0)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most like `word`, whatever its case and with `_` for `-`."""
    import difflib  # noqa: PLC0415 (start-up: needed for mistakes only)

    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold().replace("_", "-"), folded, n=1, cutoff=0.7)
    return folded[close[0]] if close else None
