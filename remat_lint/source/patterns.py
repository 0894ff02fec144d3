"""Exclude patterns of the configuration, in the manner of ruff: names anywhere, or paths from the project root."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePath

_TOKEN = re.compile(r"/\*\*/|^\*\*/|/\*\*$|\*\*+|\*|\?|\[[!^]?\]?[^\]/]*\]|.", re.DOTALL)
_RANGE = re.compile(r"(.)(?:-(.))?", re.DOTALL)
_WILD = re.compile(r"[*?\[]")


class Patterns:
    """A set of exclude patterns.

    A pattern without a slash (`build`, `*_pb2.py`) fits the name of a file or folder in any place below the root. One
    with a slash inside or in front (`docs/examples`, `src/*/gen/**`) fits a path relative to the root; `*` and `?` stop
    at slashes, `**` does not. What lies in a folder that fits is excluded with it. Folders above the root never
    exclude anything.

    Args:
        patterns: the patterns; a slash at the end and `./` in front mean nothing.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        self._names: set[str] = set()
        self._wild_names: list[tuple[str, re.Pattern[str]]] = []
        self._paths: list[tuple[str, re.Pattern[str]]] = []
        for pattern in patterns:
            bare = pattern.removeprefix("./").rstrip("/")
            if not bare:
                continue
            if "/" in bare:
                self._paths.append((pattern, _compile(bare.removeprefix("/"))))
            elif _WILD.search(bare):
                self._wild_names.append((pattern, _compile(bare)))
            else:
                self._names.add(bare)

    def find(self, name: str, path: str) -> str | None:
        """The pattern that a file or folder fits, or None.

        Args:
            name: its own name.
            path: its path from the root, with `/` between names.
        """
        if name in self._names:
            return name
        for pattern, regex in self._wild_names:
            if regex.fullmatch(name):
                return pattern
        for pattern, regex in self._paths:
            if regex.fullmatch(path):
                return pattern
        return None

    def find_above(self, parts: Sequence[str]) -> str | None:
        """The pattern that a path from the root, or a folder on the way to it, fits, or None."""
        for index, name in enumerate(parts):
            if found := self.find(name, "/".join(parts[: index + 1])):
                return found
        return None


def names_below(path: PurePath, root: PurePath) -> tuple[str, ...]:
    """Return the names of a path from the root; of one that lies elsewhere, its own name only."""
    return path.relative_to(root).parts if path.is_relative_to(root) else (path.name,)


def fits(pattern: str, path: PurePath, root: PurePath) -> bool:
    """Whether a file, or a folder it lies in, fits one pattern; with `!` in front, whether none does."""
    found = Patterns((pattern.removeprefix("!"),)).find_above(names_below(path, root))
    return (found is None) if pattern.startswith("!") else (found is not None)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    """Translate one pattern; its repeats can give back, but only inside one path."""
    return re.compile("".join(map(_translate, _TOKEN.findall(pattern))), re.DOTALL)


def _translate(token: str) -> str:
    match token:
        case "/**/":
            return "/(?:.*/)?"
        case "**/":
            return "(?:.*/)?"
        case "/**":
            return "/.*"
        case "*":
            return "[^/]*"
        case "?":
            return "[^/]"
    if token.startswith("**"):
        return ".*"
    if token.startswith("[") and len(token) > 1:
        return _translate_class(token)
    return re.escape(token)


def _translate_class(token: str) -> str:
    """Translate `[a-z]` or `[!a-z]`; what cannot be a class is taken as it stands."""
    negated = token[1] in "!^"
    items = _RANGE.findall(token[2 if negated else 1 : -1])
    if not items or any(last and first > last for first, last in items):
        return re.escape(token)
    body = "".join(rf"{_quote(first)}-{_quote(last)}" if last else _quote(first) for first, last in items)
    return f"(?!/)[{'^' if negated else ''}{body}]"


def _quote(char: str) -> str:
    return char if char.isalnum() else "\\" + char
