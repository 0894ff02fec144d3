"""Values that may depend on themselves, each worked out once.

A loop makes a variable depend on itself, and so do two functions that call each other. Such values are worked out in
passes: where a value is asked for while it is being worked out, the pass before answers; the passes end when nothing
changes any more. Without keeping values the work would double with each step of a chain of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from remat_lint.project.levels import Level

MOST_PASSES = 6
"""A level can rise three times; longer chains of values that wait for each other are cut."""
DEEPEST = 200


class Fixpoint:
    """Levels by key; `solve` is the way in, `value` what the work in progress asks."""

    def __init__(self) -> None:
        self._settled: dict[Hashable, Level] = {}
        self._known: dict[Hashable, Level] = {}
        self._assumed: dict[Hashable, Level] = {}
        self._active: set[Hashable] = set()
        self._cut: set[Hashable] = set()
        self._running = False

    def solve(self, compute: Callable[[], Level]) -> Level:
        """Return what `compute` gives once all that it depends on is settled."""
        if self._running:
            return compute()
        self._running = True
        try:
            return self._pass(compute)
        finally:
            self._running = False
            self._assumed = {}

    def _pass(self, compute: Callable[[], Level]) -> Level:
        level = Level.NONE
        for _ in range(MOST_PASSES):
            self._known, self._cut = {}, set()
            self._active.clear()
            level = compute()
            if all(
                self._known.get(key, Level.NONE) is self._assumed.get(key, Level.NONE) for key in self._cut
            ):
                break
            self._assumed = self._known
        self._settled |= self._known
        return level

    def value(self, key: Hashable, compute: Callable[[], Level]) -> Level:
        """Return the level of `key`, working it out where it is not known yet."""
        known = self._settled.get(key, self._known.get(key))
        if known is not None:
            return known
        if key in self._active or len(self._active) > DEEPEST:
            self._cut.add(key)
            return self._assumed.get(key, Level.NONE)
        self._active.add(key)
        level = compute()
        self._active.discard(key)
        self._known[key] = level
        return level
