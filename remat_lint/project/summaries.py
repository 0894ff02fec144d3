"""What calling a function may do besides returning a value, through all the functions that it calls.

A summary is a set of effects, read off the function itself and joined over the call graph: functions that call each
other have one summary together. It tells where to look; what an effect means for one wrap site is judged there, on
the way that leads to it.
"""

from __future__ import annotations

from enum import Flag, auto

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import (
    CHECKS,
    DEBUG_CALLBACKS,
    GENERATORS,
    HOST_CALLBACKS,
    MUTATING_METHODS,
    classify_impure,
)
from remat_lint.project.analysis import Analysis
from remat_lint.project.callgraph import Entry
from remat_lint.project.conversions import CONVERTING_METHODS, converts
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import External, Moment

_DRAWS = frozenset[str]().union(*(generator.draws for generator in GENERATORS.values()))
_CALLBACKS = CHECKS | DEBUG_CALLBACKS | HOST_CALLBACKS
_SETTERS = frozenset({"setattr", "__setattr__"})


class Effect(Flag):
    """What a function may do.

    DRAWS asks the host for a number, the time or the next item; WRITES puts something into an object that it did not
    make, or into a variable around it; MOVES makes such a value from the one before; CALLS_BACK calls the host when
    the program executes; CONVERTS asks for the Python value of something.
    """

    NONE = 0
    DRAWS = auto()
    WRITES = auto()
    MOVES = auto()
    CALLS_BACK = auto()
    CONVERTS = auto()


class Summaries:
    """The effects of each function; kept."""

    def __init__(self, project: Analysis) -> None:
        self.project = project
        self._joined: dict[Scope, Effect] = {}

    def of(self, scope: Scope) -> Effect:
        """Return what a call of a function may do, by itself or through others."""
        if scope not in self._joined:
            self._join(scope)
        return self._joined[scope]

    def _join(self, start: Scope) -> None:
        """Join the effects of everything that `start` reaches, one strongly connected component after the other.

        Tarjan's algorithm with a stack of its own, so that no chain of calls is too long.
        """
        graph = self.project.callgraph
        number: dict[Scope, int] = {start: 0}
        lowest: dict[Scope, int] = {start: 0}
        effects: dict[Scope, Effect] = {start: self._own(start)}
        component: list[Scope] = [start]
        waiting = {start}
        walk = [(start, iter(graph.calls(start)))]
        while walk:
            scope, rest = walk[-1]
            entry: Entry | None = next(rest, None)
            if entry is not None:
                callee = entry.function.scope
                if callee in self._joined:
                    effects[scope] |= self._joined[callee]
                elif callee not in number:
                    number[callee] = lowest[callee] = len(number)
                    effects[callee] = self._own(callee)
                    component.append(callee)
                    waiting.add(callee)
                    walk.append((callee, iter(graph.calls(callee))))
                elif callee in waiting:
                    lowest[scope] = min(lowest[scope], number[callee])
                continue
            walk.pop()
            if lowest[scope] == number[scope]:
                self._close(scope, component, waiting, effects)
            if walk:
                above = walk[-1][0]
                lowest[above] = min(lowest[above], lowest[scope])
                effects[above] |= self._joined.get(scope, effects[scope])

    def _close(
        self, first: Scope, component: list[Scope], waiting: set[Scope], effects: dict[Scope, Effect]
    ) -> None:
        """Give one summary to the functions that call each other."""
        members = [component.pop()]
        while members[-1] is not first:
            members.append(component.pop())
        joined = Effect.NONE
        for member in members:
            joined |= effects[member]
        for member in members:
            self._joined[member] = joined
            waiting.discard(member)

    # What one function does itself

    def _own(self, scope: Scope) -> Effect:
        found = Effect.NONE
        for event in list(scope.events):
            if event.kind == "call" and isinstance(event.node, n.Call):
                found |= self._of_call(event, event.node, scope)
            elif (event.kind == "bind" and event.name in event.scope.declared) or (
                event.kind == "store" and event.target is not None and _is_foreign(event.target, event, scope)
            ):
                found |= Effect.WRITES | Effect.MOVES
        return found

    def _of_call(self, event: Event, call: n.Call, scope: Scope) -> Effect:
        func = call.func
        last = func.attr if isinstance(func, n.Attribute) else getattr(func, "id", "")
        if isinstance(func, n.Attribute):
            if last in MUTATING_METHODS and _is_foreign(func.value, event, scope):
                return Effect.WRITES | (Effect.DRAWS if last in _DRAWS else Effect.NONE)
            if last in _DRAWS:
                return Effect.DRAWS
        if last in _SETTERS:
            return Effect.WRITES
        moment = Moment(event.scope, event)
        found = Effect.CONVERTS if last in CONVERTING_METHODS else Effect.NONE
        for callee in self.project.evaluate(func, moment):
            if isinstance(callee, External):
                found |= _of_external(callee.dotted)
        return found


def _of_external(dotted: str) -> Effect:
    if dotted == "builtins.next" or classify_impure(dotted) in ("randomness", "clock"):
        return Effect.DRAWS
    if converts(dotted):
        return Effect.CONVERTS
    return Effect.CALLS_BACK if dotted in _CALLBACKS else Effect.NONE


def _is_foreign(node: n.Expression, event: Event, scope: Scope) -> bool:
    """Whether an object may come from outside the function: captured, given, or taken out of such a thing."""
    while isinstance(node, n.Attribute | n.Subscript):
        node = node.value
    if not isinstance(node, n.Name):
        return True
    home = event.scope.find(node.id)
    if home is None or home.frame is not scope:
        return True
    return any(
        isinstance(bound.value, n.Parameter | n.Name | n.Attribute | n.Subscript)
        for bound in home.bindings.get(node.id, ())
    )
