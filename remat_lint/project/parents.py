"""What stands directly around a node: asked by the few questions that go from a value to where it flows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from remat_lint.facts import nodes as n


class Parents:
    """The parent of every node of a module's statements, by number; arguments and arms are skipped."""

    def __init__(self) -> None:
        self._above: dict[int, n.Node] = {}
        self._new: list[n.Node] = []

    def add(self, body: tuple[n.Statement, ...], owner: n.Class | None = None) -> None:
        """Take in statements of the module, or of the class `owner`; they are gone through when somebody asks."""
        self._new += body
        if owner is not None:
            self._above.update((statement.at, owner) for statement in body)

    def of(self, at: int) -> n.Node | None:
        """Return the node around the one with number `at`; None for a statement of the module."""
        while self._new:
            node = self._new.pop()
            for child in inside(node):
                # The bounds that a slice leaves out have its own number.
                if child.at != node.at:
                    self._above[child.at] = node
                    self._new.append(child)
        return self._above.get(at)

    def chain(self, at: int) -> Iterator[n.Node]:
        """Yield the nodes around the one with number `at`, innermost first."""
        step = self.of(at)
        while step is not None:
            yield step
            step = self._above.get(step.at)


_PARTS: dict[type, tuple[str, ...]] = {
    n.Attribute: ("value",),
    n.Subscript: ("value", "index"),
    n.Call: ("func", "args"),
    n.Argument: ("value",),
    n.Collection: ("items",),
    n.Operation: ("operands",),
    n.Format: ("value", "spec"),
    n.Conditional: ("test", "body", "orelse"),
    n.Comprehension: ("clauses", "elements"),
    n.Clause: ("iter", "target", "conditions"),
    n.Function: ("decorators", "parameters", "body"),
    n.Parameter: ("default",),
    n.Class: ("decorators", "bases", "body"),
    n.Bind: ("value", "targets"),
    n.Evaluate: ("value",),
    n.Return: ("values",),
    n.Branch: ("subject", "arms"),
    n.Arm: ("pattern", "test", "body"),
    n.Loop: ("iter", "target", "test", "body", "orelse"),
    n.Try: ("body", "handlers", "orelse", "final"),
    n.Handler: ("type", "body"),
    n.With: ("items", "body"),
}
_SKIPPED = frozenset({n.Argument, n.Clause, n.Parameter, n.Arm, n.Handler})


def inside(node: n.Node) -> list[Any]:
    """Return the expressions and statements directly inside a node, in the order of evaluation; no annotations."""
    found: list[Any] = []
    for name in _PARTS.get(type(node), ()):
        value = getattr(node, name)
        if type(value) is tuple:
            _add_all(value, found)
        elif value is not None:
            found.append(value)
    return found


def _add_all(values: tuple[Any, ...], found: list[Any]) -> None:
    for value in values:
        kind = type(value)
        if kind is tuple:
            _add_all(value, found)
        elif kind in _SKIPPED:
            found += inside(value)
        elif value is not None:
            found.append(value)
