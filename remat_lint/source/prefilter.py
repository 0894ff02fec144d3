"""The cheap question whether a file can concern us at all, asked before anything is decoded or cut."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload


@overload
def mentions(data: bytes, words: Iterable[bytes]) -> bool: ...
@overload
def mentions(data: str, words: Iterable[str]) -> bool: ...
def mentions(data: bytes | str, words: Iterable[bytes] | Iterable[str]) -> bool:
    """Whether `data` contains one of `words` literally, in any place.

    Whoever makes the word table sees to it that a file without any of the words cannot hold anything of interest;
    put the most frequent word first. Bytes and text are not mixed.
    """
    return any(word in data for word in words)  # type: ignore[operator]  # the overloads pair the types
