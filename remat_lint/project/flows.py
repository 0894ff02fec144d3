"""From which parameters of a function a callable comes that stands somewhere in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.jaxapi.public import TRANSPARENT
from remat_lint.project.application import PARTIALS, arguments_of
from remat_lint.project.handing import RUNNING
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.values import (
    ClassRef,
    External,
    FunctionRef,
    Moment,
    Partial,
    Value,
    Wrapped,
)
from remat_lint.project.wrapping import is_wrapper

if TYPE_CHECKING:
    from remat_lint.project.resolver import Resolver

DEEPEST = 24
_NONE: frozenset[str] = frozenset()
_PASSING = frozenset(
    {f"flax.nnx.{name}" for name in ("split", "merge", "clone", "graphdef")}
    | {
        f"builtins.{name}"
        for name in ("getattr", "list", "tuple", "reversed", "zip", "enumerate", "next", "iter")
    }
    | PARTIALS
    | {"copy.copy", "copy.deepcopy", "inspect.unwrap", "dataclasses.replace", "equinox.combine"}
)
"""Functions whose result holds what their first arguments hold."""


class Flows:
    """Answers for one project."""

    def __init__(self, project: Resolver) -> None:
        self.project = project
        self._returned: dict[Scope, frozenset[str]] = {}
        self._seen: set[tuple[int, Scope]] = set()

    def behind(self, node: n.Expression, moment: Moment, owner: Scope) -> frozenset[str]:
        """Return the parameters of `owner` from which the callable `node` comes; `self` does not count."""
        key = (node.at, owner)
        if key in self._seen or len(self._seen) > DEEPEST:
            return _NONE
        self._seen.add(key)
        try:
            return self._behind(node, moment, owner)
        finally:
            self._seen.discard(key)

    def _behind(self, node: n.Expression, moment: Moment, owner: Scope) -> frozenset[str]:
        match node:
            case n.Name():
                return self._behind_name(node.id, moment, owner)
            case n.Attribute() | n.Subscript():
                return self.behind(node.value, moment, owner)
            case n.Conditional():
                return self.behind(node.body, moment, owner) | self.behind(node.orelse, moment, owner)
            case n.Operation() if node.op in ("and", "or", "+", "star"):
                return self._union(node.operands, moment, owner)
            case n.Collection() if node.kind != "dict":
                return self._union(node.items, moment, owner)
            case n.Bind() if node.value is not None:
                return self.behind(node.value, moment, owner)
            case n.Function():
                inner = moment.scope.module.builder.scopes.get(node.at)
                return _NONE if inner is None else self.called_in(inner, owner)
            case n.Call():
                return self._behind_call(node, moment, owner)
        return _NONE

    def _union(self, nodes: tuple[n.Expression | None, ...], moment: Moment, owner: Scope) -> frozenset[str]:
        return frozenset(
            name for node in nodes if node is not None for name in self.behind(node, moment, owner)
        )

    def _behind_name(self, name: str, moment: Moment, owner: Scope) -> frozenset[str]:
        scope = moment.scope.find(name)
        if scope is None or not owner.encloses(scope):
            return _NONE
        events = scope.bindings.get(name, [])
        same = moment.event is not None and scope.frame is moment.scope.frame
        live = reaching(events, moment.event if same else None, scope.frame) or events[-1:]
        found = _NONE
        for event in live:
            found |= self._behind_binding(event, scope, owner)
        return found

    def _behind_binding(self, event: Event, scope: Scope, owner: Scope) -> frozenset[str]:
        match event.value:
            case n.Parameter() as parameter:
                receiver = owner.owner_class is not None and parameter is owner.parameters()[0]
                static = receiver and self.project.method_kind(owner) == "staticmethod"
                return frozenset({parameter.name}) if scope is owner and (static or not receiver) else _NONE
            case n.Function() if event.inner is not None:
                return self.called_in(event.inner, owner)
            case None | n.Import() | n.Class():
                return _NONE
        return self.behind(event.value, Moment(event.scope, event), owner)

    def _behind_call(self, call: n.Call, moment: Moment, owner: Scope) -> frozenset[str]:
        found = _NONE
        for callee in self.project.evaluate(call.func, moment):
            found |= self._passed_by(callee, call, moment, owner)
        return found

    def _passed_by(self, callee: Value, call: n.Call, moment: Moment, owner: Scope) -> frozenset[str]:
        plain = [a.value for a in call.args if a.keyword in (None, "fun", "f", "target") and not a.star]
        match callee:
            case FunctionRef():
                placed = place_arguments(callee, [(argument, moment) for argument in call.args])
            case Partial(target=FunctionRef() as target):
                placed = place_arguments(target, arguments_of(callee, call, moment))
                callee = target
            case ClassRef() if self.project.method(callee.scope, "__call__") is not None:
                return self._union(tuple(plain), moment, owner)
            case External() if callee.dotted in _PASSING:
                return self._union(tuple(plain), moment, owner)
            case _ if is_wrapper(callee) or _is_passing(callee):
                return self.behind(plain[0], moment, owner) if plain else _NONE
            case Wrapped() | ClassRef() | External():
                return _NONE
            case _:
                # What a parameter returned when it was called: `factory()`.
                return self.behind(call.func, moment, owner)
        found = _NONE
        for name in self._returned_by(callee.scope):
            for argument, there in placed.get(name, ()):
                if owner.encloses(there.scope):
                    found |= self.behind(argument.value, there, owner)
        return found

    def _returned_by(self, scope: Scope) -> frozenset[str]:
        """Return the parameters of a function that its result holds or calls."""
        if scope not in self._returned:
            self._returned[scope] = _NONE
            if scope.module.matters:
                self._returned[scope] = frozenset(
                    name
                    for event in scope.returns
                    if isinstance(event.value, n.Expression)
                    for name in self.behind(event.value, Moment(event.scope, event), scope)
                )
        return self._returned[scope]

    def called_in(self, inner: Scope, owner: Scope) -> frozenset[str]:
        """Return the parameters of `owner` that a function made in it calls."""
        if not owner.encloses(inner) or inner is owner:
            return _NONE
        found = _NONE
        for event in list(inner.events):
            if event.kind == "call" and isinstance(event.node, n.Call):
                func = event.node.func
                if isinstance(func, n.Attribute) and func.attr not in RUNNING:
                    continue
                found |= self.behind(func, Moment(event.scope, event), owner)
        return found


def _is_passing(callee: Value) -> bool:
    """Whether a callable returns something that runs its first argument."""
    target = callee.target if isinstance(callee, Partial) else callee
    if not isinstance(target, External):
        return False
    receiver = lookup_receiver(target.dotted)
    transforms = receiver is not None and receiver.kind in ("transform", "cached", "partial")
    return transforms or target.dotted in PARTIALS or target.dotted.removesuffix("()") in TRANSPARENT


def place_arguments(
    function: FunctionRef, args: list[tuple[n.Argument, Moment]]
) -> dict[str, list[tuple[n.Argument, Moment]]]:
    """Return which arguments of a call reach which parameter; those behind a spread reach none."""
    names = [p.name for p in function.scope.parameters() if p.kind in ("positional-only", "positional")]
    rest = next((p.name for p in function.scope.parameters() if p.kind == "star"), None)
    if function.receiver is not None:
        names = names[1:]
    placed: dict[str, list[tuple[n.Argument, Moment]]] = {}
    for argument, moment in args:
        if argument.star:
            if argument.star == "*":
                names, rest = [], None
        elif argument.keyword is not None:
            placed.setdefault(argument.keyword, []).append((argument, moment))
        elif names:
            placed.setdefault(names.pop(0), []).append((argument, moment))
        elif rest is not None:
            placed.setdefault(rest, []).append((argument, moment))
    return placed
