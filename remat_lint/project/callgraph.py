"""Who calls whom: the functions of the project that a function runs, directly or by handing them to something.

What cannot be seen is left out: a call of something unknown runs nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import function_arguments
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    ClassRef,
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
)

_CONSUMERS = frozenset({"builtins.map", "builtins.filter"})


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One way into a function that runs during the trace.

    Attributes:
        function: the function.
        event: the call that runs it; None for the wrapped function itself.
        call: that call, for its arguments.
        through: dotted name of the receiver or transformation that calls it; empty for a direct call.
        partials: calls of `functools.partial` between, outermost first.
    """

    function: FunctionRef
    event: Event | None = None
    call: n.Call | None = None
    through: str = ""
    partials: tuple[Partial, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the function is called with the arguments of the call."""
        return not self.through and not self.partials

    @property
    def holder(self) -> n.Expression | None:
        """What a method is called on, as the caller spells it."""
        func = self.call.func if self.call is not None else None
        if self.function.receiver is None or self.through:
            return None
        called = self.function.scope.name == "__call__"
        if called and not (isinstance(func, n.Attribute) and func.attr == "__call__"):
            return func
        return func.value if isinstance(func, n.Attribute) else None

    def given(self, parameter: n.Parameter) -> n.Expression | None:
        """Return what a plain call of a function passes as a parameter."""
        if self.call is None or not self.is_plain or any(a.star for a in self.call.args):
            return None
        scope = self.function.scope
        names = [p.name for p in scope.parameters() if p.kind in ("positional-only", "positional")]
        if self.function.receiver is not None and scope.owner_class is not None:
            names = names[1:]
        positional = [a.value for a in self.call.args if a.keyword is None]
        by_name = dict(zip(names, positional, strict=False))
        by_name.update({a.keyword: a.value for a in self.call.args if a.keyword is not None})
        return by_name.get(parameter.name)


class CallGraph:
    """The calls of each function; kept."""

    def __init__(self, project: Analysis) -> None:
        self.project = project
        self._calls: dict[Scope, tuple[Entry, ...]] = {}
        self._reached: dict[Scope, frozenset[Scope]] = {}

    def calls(self, scope: Scope) -> tuple[Entry, ...]:
        """Return the ways that lead from a function into others."""
        if scope not in self._calls:
            self._calls[scope] = tuple(
                entry
                for event in list(scope.events)
                if event.kind == "call" and isinstance(event.node, n.Call)
                for entry in self._entered(event, event.node)
            )
        return self._calls[scope]

    def reached(self, scope: Scope) -> frozenset[Scope]:
        """Return a function and all those that it may run, by itself or through others."""
        if scope not in self._reached:
            seen, todo = {scope}, [scope]
            while todo:
                for entry in self.calls(todo.pop()):
                    if entry.function.scope not in seen:
                        seen.add(entry.function.scope)
                        todo.append(entry.function.scope)
            self._reached[scope] = frozenset(seen)
        return self._reached[scope]

    def _entered(self, event: Event, call: n.Call) -> Iterator[Entry]:
        """Yield the functions that a call runs at once, directly or by handing them to something that calls them."""
        moment = Moment(event.scope, event)
        for callee in self._values(call.func, moment):
            if not isinstance(callee, External | Wrapped | ClassRef):
                for entry in entries(callee, self.project):
                    yield replace(entry, event=event, call=call)
            if isinstance(callee, External):
                receiver = lookup_receiver(callee.dotted)
                consumed = callee.dotted in _CONSUMERS
                if receiver is not None and (receiver.kind in ("now", "now-cached") or consumed):
                    for argument in function_arguments(receiver, call):
                        for value in self._values(argument, moment):
                            for entry in entries(value, self.project):
                                yield replace(entry, event=event, call=call, through=callee.dotted)

    def _values(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        return self.project.force(self.project.evaluate(node, moment), moment)


def entries(
    value: Value, project: Analysis, partials: tuple[Partial, ...] = (), through: str = ""
) -> Iterator[Entry]:
    """Yield the functions of the project that calling `value` runs."""
    match value:
        case FunctionRef():
            yield Entry(value, through=through, partials=partials)
        case Partial():
            yield from entries(value.target, project, (*partials, value), through)
        case Transformed():
            for inner in value.inner:
                yield from entries(inner, project, partials, value.dotted)
        case Instance():
            method = project.method(value.cls.scope, "__call__")
            if method is not None:
                yield Entry(FunctionRef(method.scope, method.made, value), through=through, partials=partials)
        case ClassRef():
            method = project.method(value.scope, "__call__")
            if method is not None and not through:
                yield Entry(method, through="class", partials=partials)
