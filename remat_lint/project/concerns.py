"""Which calls of a parsed chunk can bear on a wrapper: the others need not be evaluated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import MUTATING_METHODS
from remat_lint.project.parents import inside


@dataclass(slots=True)
class _Gathered:
    """What a chunk says: which words get their value from which, and the words of each call."""

    flows: list[tuple[frozenset[str], frozenset[str]]] = field(default_factory=list)
    calls: list[tuple[int, frozenset[str], frozenset[str]]] = field(default_factory=list)

    def walk(self, node: n.Node) -> frozenset[str]:
        """Return the words of a node, those of its parts included."""
        match node:
            case n.Name():
                return frozenset((node.id,))
            case n.Attribute():
                return self.walk(node.value) | {node.attr}
            case n.Call():
                return self._call(node)
            case n.Bind():
                return self._flow(node.targets, () if node.value is None else (node.value,))
            case n.Loop():
                target = () if node.target is None else (node.target,)
                rest = (part for part in (node.test, *node.body, *node.orelse) if part is not None)
                bound = self._flow(target, () if node.iter is None else (node.iter,))
                return bound.union(*map(self.walk, rest))
            case n.With():
                items = (self._flow(() if to is None else (to,), (what,)) for what, to in node.items)
                return frozenset().union(*items, *map(self.walk, node.body))
            case n.Comprehension():
                clauses = (self._flow((one.target,), (one.iter, *one.conditions)) for one in node.clauses)
                return frozenset().union(*clauses, *map(self.walk, node.elements))
            case n.Function() | n.Class():
                return self._definition(node)
        return frozenset().union(*map(self.walk, inside(node)))

    def _flow(self, targets: Iterable[Any], values: Iterable[Any]) -> frozenset[str]:
        to = frozenset().union(*map(self.walk, targets))
        what = frozenset().union(*map(self.walk, values))
        self.flows.append((to, what))
        return to | what

    def _call(self, node: n.Call) -> frozenset[str]:
        func = self.walk(node.func)
        args = frozenset().union(*(self.walk(argument.value) for argument in node.args))
        if isinstance(node.func, n.Attribute) and node.func.attr in MUTATING_METHODS:
            self.flows.append((func - {node.func.attr}, args))
        self.calls.append((node.at, func, args))
        return func | args

    def _definition(self, node: n.Function | n.Class) -> frozenset[str]:
        words = frozenset().union(*map(self.walk, inside(node)))
        if isinstance(node, n.Function):
            for parameter in node.parameters:
                if parameter.default is not None:
                    self.flows.append((frozenset((parameter.name,)), self.walk(parameter.default)))
        if node.name:
            self.flows.append((frozenset((node.name,)), words))
            words |= {node.name}
        return words


def find_calls(
    body: Iterable[n.Statement], leading: frozenset[str], imported: frozenset[str]
) -> frozenset[int]:
    """Return the numbers of the calls that mention what leads to a wrapper, or what a wrapper is given.

    Args:
        body: the statements of the chunk.
        leading: words that lead to a wrapper wherever they stand.
        imported: names that imports bind; being given to a wrapper says nothing about these.
    """
    gathered = _Gathered()
    for statement in body:
        gathered.walk(statement)
    leads = set(leading)
    flows = [flow for flow in gathered.flows if flow[0]]
    while True:
        left = [(to, what) for to, what in flows if leads.isdisjoint(what)]
        if len(left) == len(flows):
            break
        for to, what in flows:
            if not leads.isdisjoint(what):
                leads |= to
        flows = left
    given: set[str] = set()
    for _, func, args in gathered.calls:
        if not leads.isdisjoint(func):
            given |= args - imported
    wanted = leads | given
    return frozenset(
        at for at, func, args in gathered.calls if not (wanted.isdisjoint(func) and wanted.isdisjoint(args))
    )
