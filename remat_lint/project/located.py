"""Every expression and statement of a module that was parsed, with the scope that looks up its names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.project.parents import inside

if TYPE_CHECKING:
    from remat_lint.project.scopes import Scope

Pair = tuple[n.Node, "Scope"]


class Located:
    """The nodes of one module; new statements are gone through when somebody asks.

    Args:
        scopes: the scopes made so far, by the number of their node.
    """

    def __init__(self, scopes: dict[int, Scope]) -> None:
        self._scopes = scopes
        self._new: list[Pair] = []
        self._all: list[Pair] = []
        self._attributes: dict[str, list[tuple[n.Attribute, Scope]]] = {}
        self._names: dict[str, list[tuple[n.Name, Scope]]] = {}

    def add(self, body: Iterable[n.Statement], scope: Scope) -> None:
        """Take in statements that stand in a scope."""
        self._new += ((statement, scope) for statement in body)

    def everything(self) -> Sequence[Pair]:
        """Return all nodes, in no particular order."""
        self._read()
        return self._all

    def attributes(self, names: Iterable[str]) -> Iterator[tuple[n.Attribute, Scope]]:
        """Yield the places that take an attribute of one of these names."""
        self._read()
        return (found for name in names for found in list(self._attributes.get(name, ())))

    def names(self, names: Iterable[str]) -> Iterator[tuple[n.Name, Scope]]:
        """Yield the places that mention one of these names."""
        self._read()
        return (found for name in names for found in list(self._names.get(name, ())))

    def _read(self) -> None:
        todo, self._new = self._new, []
        while todo:
            pair = node, scope = todo.pop()
            self._all.append(pair)
            if isinstance(node, n.Name):
                self._names.setdefault(node.id, []).append((node, scope))
                continue
            if isinstance(node, n.Attribute):
                self._attributes.setdefault(node.attr, []).append((node, scope))
                todo.append((node.value, scope))
                continue
            below = (
                self._scopes.get(node.at)
                if isinstance(node, n.Function | n.Class | n.Comprehension)
                else None
            )
            if below is None or not isinstance(node, n.Function | n.Class | n.Comprehension):
                todo += ((part, scope) for part in inside(node))
                continue
            outside = {id(part) for part in _evaluated_around(node)}
            todo += ((part, scope if id(part) in outside else below) for part in inside(node))


def _evaluated_around(node: n.Function | n.Class | n.Comprehension) -> Iterator[n.Expression]:
    """Yield the parts of a definition that belong to the scope around it."""
    if isinstance(node, n.Comprehension):
        yield node.clauses[0].iter
        return
    yield from node.decorators
    if isinstance(node, n.Class):
        yield from (base.value for base in node.bases)
    else:
        yield from (p.default for p in node.parameters if p.default is not None)
