"""A walk over the code of one function in which every node knows the moment at which it is evaluated.

Bindings, calls and definitions are events; a test or a subscript is none. Here each node gets a moment of its own,
so that what its names hold can be asked as exactly as for an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from remat_lint.facts import nodes as n
from remat_lint.project.parents import inside
from remat_lint.project.scopes import ArmKey, Event, LoopNode, Scope
from remat_lint.project.values import Moment


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """A node, where it stands, and the order of the last binding before it."""

    node: n.Node
    scope: Scope
    order: int = 0
    loops: tuple[LoopNode, ...] = ()
    arms: tuple[ArmKey, ...] = ()
    guards: tuple[n.With | n.Try, ...] = ()

    @property
    def moment(self) -> Moment:
        """The moment at which the node is evaluated."""
        event = Event(
            "visit",
            self.node,
            self.scope,
            self.scope.frame,
            self.order + 1,
            self.loops,
            self.arms,
            self.guards,
            leaves=False,
        )
        return Moment(self.scope, event)


def visits(scope: Scope) -> Iterator[Visit]:
    """Yield the nodes of a function's body in the order of evaluation; what runs in other frames is left out."""
    if not isinstance(scope.node, n.Function):
        return
    bound: dict[int, int] = {}
    first = 0
    for event in scope.events:
        if event.kind != "bind":
            continue
        bound[event.at] = event.order
        if isinstance(event.node, n.Parameter):
            first = event.order
    yield from _Walk(bound, first).block(scope.node.body, Visit(scope.node, scope))


class _Walk:
    """Keeps the order of the last binding that was met; `bound` tells it by the number of the node that binds."""

    def __init__(self, bound: dict[int, int], first: int) -> None:
        self.bound, self.order = bound, first

    def block(self, body: tuple[n.Statement, ...], around: Visit) -> Iterator[Visit]:
        for statement in body:
            yield from self.node(statement, around)

    def node(self, node: n.Node, around: Visit) -> Iterator[Visit]:
        here = replace(around, node=node, order=self.order)
        yield here
        match node:
            case n.Function() | n.Class():
                self._past(node)
            case n.Branch():
                yield from self._branch(node, here)
            case n.Loop():
                yield from self._loop(node, here)
            case n.Try():
                yield from self._try(node, here)
            case n.With():
                yield from self._with(node, here)
            case n.Conditional():
                yield from self.node(node.test, here)
                for number, part in enumerate((node.body, node.orelse)):
                    yield from self.node(part, replace(here, arms=(*here.arms, (node.at, number))))
            case n.Comprehension():
                yield from self._comprehension(node, here)
            case _:
                for child in inside(node):
                    yield from self.node(child, here)
                self._past(node)

    def _past(self, node: n.Node) -> None:
        self.order = max(self.order, self.bound.get(node.at, 0))

    def _branch(self, node: n.Branch, here: Visit) -> Iterator[Visit]:
        if node.subject is not None:
            yield from self.node(node.subject, here)
        for number, arm in enumerate(node.arms):
            below = replace(here, arms=(*here.arms, (node.at, number)))
            for name in arm.binds:
                self._past(name)
            if arm.test is not None:
                yield from self.node(arm.test, below if arm.binds else here)
            yield from self.block(arm.body, below)

    def _loop(self, node: n.Loop, here: Visit) -> Iterator[Visit]:
        below = replace(here, loops=(*here.loops, node), arms=(*here.arms, (node.at, 0)))
        if node.iter is not None:
            yield from self.node(node.iter, here)
            self._past(node)
        if node.test is not None:
            yield from self.node(node.test, below)
        yield from self.block(node.body, below)
        yield from self.block(node.orelse, here)

    def _try(self, node: n.Try, here: Visit) -> Iterator[Visit]:
        first = replace(here, arms=(*here.arms, (node.at, 0)))
        yield from self.block(node.body, replace(first, guards=(*here.guards, node)))
        for number, handler in enumerate(node.handlers, 1):
            if handler.name is not None:
                self._past(handler.name)
            yield from self.block(handler.body, replace(here, arms=(*here.arms, (node.at, number))))
        yield from self.block(node.orelse, first)
        yield from self.block(node.final, here)

    def _with(self, node: n.With, here: Visit) -> Iterator[Visit]:
        for context, _ in node.items:
            yield from self.node(context, here)
        self._past(node)
        yield from self.block(node.body, replace(here, guards=(*here.guards, node)))

    def _comprehension(self, node: n.Comprehension, here: Visit) -> Iterator[Visit]:
        inner = here.scope.module.builder.scopes.get(node.at, here.scope)
        below = replace(here, scope=inner, loops=(*here.loops, node), arms=(*here.arms, (node.at, 0)))
        for number, clause in enumerate(node.clauses):
            yield from self.node(clause.iter, here if number == 0 else below)
            self._past(clause)
            for condition in clause.conditions:
                yield from self.node(condition, below)
        for element in node.elements:
            yield from self.node(element, below)
