"""What runs while the function of a wrap site is traced: the function, those defined in it, helpers beside it.

A function that is only handed to the host (`jax.pure_callback`) or kept for later runs elsewhere and is no part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import function_arguments
from remat_lint.project.scopes import Event, Scope, exclusive
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
    WrapSite,
)

MODULE_FIRST = frozenset({"linen", "lift", "flaxformer"})
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


@dataclass(eq=False, slots=True)
class Body:
    """The code that one wrapped function runs while it is traced.

    Attributes:
        site: where it is wrapped.
        root: the wrapped function.
        entries: how each function of the body is entered, the root first.
    """

    site: WrapSite
    root: Entry
    entries: dict[Scope, list[Entry]] = field(default_factory=dict)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The functions of the body, the wrapped one first."""
        return tuple(self.entries)

    @property
    def name(self) -> str:
        """The wrapped function's name for messages."""
        return self.root.function.scope.name or "the lambda"

    def contains(self, scope: Scope) -> bool:
        """Whether what `scope` binds is made anew by each trace."""
        return scope.frame in self.entries


def bodies(site: WrapSite, project: Analysis) -> Iterator[Body]:
    """Yield the body of each function that a site wraps; of a class its `__call__`."""
    seen: set[Scope] = set()
    for value in site.bodies:
        for entry in _entries(value, project):
            if entry.function.scope not in seen:
                seen.add(entry.function.scope)
                body = Body(site, entry)
                _collect(body, project)
                yield body


def _entries(
    value: Value, project: Analysis, partials: tuple[Partial, ...] = (), through: str = ""
) -> Iterator[Entry]:
    """Yield the functions of the project that calling `value` runs."""
    match value:
        case FunctionRef():
            yield Entry(value, through=through, partials=partials)
        case Partial():
            yield from _entries(value.target, project, (*partials, value), through)
        case Transformed():
            for inner in value.inner:
                yield from _entries(inner, project, partials, value.dotted)
        case Instance():
            method = project.method(value.cls.scope, "__call__")
            if method is not None:
                yield Entry(FunctionRef(method.scope, method.made, value), through=through, partials=partials)
        case ClassRef():
            method = project.method(value.scope, "__call__")
            if method is not None and not through:
                yield Entry(method, through="class", partials=partials)


def _collect(body: Body, project: Analysis) -> None:
    """Follow the calls of the body to nested functions, and to helpers of the same file one call away."""
    root = body.root.function.scope
    body.entries[root] = [body.root]
    todo = [root]
    while todo:
        scope = todo.pop()
        for event in scope.events:
            if event.kind != "call" or not isinstance(event.node, n.Call):
                continue
            for entry in entered(event, event.node, project):
                inner = entry.function.scope
                if inner in body.entries:
                    if inner is not root:
                        body.entries[inner].append(entry)
                elif root.encloses(inner) or (scope is root and _is_helper(entry, root)):
                    body.entries[inner] = [entry]
                    todo.append(inner)


def _is_helper(entry: Entry, root: Scope) -> bool:
    scope = entry.function.scope
    plain = not entry.through and not entry.partials
    return (
        plain
        and scope.module is root.module
        and not scope.encloses(root)
        and not getattr(scope.node, "is_generator", False)
    )


def entered(event: Event, call: n.Call, project: Analysis) -> Iterator[Entry]:
    """Yield the functions that a call runs at once, directly or by handing them to something that calls them."""
    moment = Moment(event.scope, event)
    for callee in project.evaluate(call.func, moment):
        if not isinstance(callee, External | Wrapped | ClassRef):
            for entry in _entries(callee, project):
                yield Entry(entry.function, event, call, entry.through, entry.partials)
        if isinstance(callee, External):
            receiver = lookup_receiver(callee.dotted)
            consumed = callee.dotted in _CONSUMERS
            if receiver is not None and (receiver.kind in ("now", "now-cached") or consumed):
                for argument in function_arguments(receiver, call):
                    for value in project.evaluate(argument, moment):
                        for entry in _entries(value, project):
                            yield Entry(entry.function, event, call, callee.dotted, entry.partials)


def is_kept(body: Body, project: Analysis) -> bool:
    """Whether a later call visibly meets the trace of an earlier one.

    A function made anew for each call is traced anew; one that is called again, or that outlives the function
    that made it, is not. A method that is bound for each call is another object each time.
    """
    site, function = body.site, body.root.function
    if not site.wrapper.keeps_trace:
        return False
    scope = function.scope
    anew = bool(body.root.partials) or (function.receiver is not None and site.form == "call")
    around = site.scope if anew else scope.parent
    home = around.frame if around is not None else None
    if home is None or home.kind != "function":
        return True
    calls = list(project.site_calls(site))
    if not anew:
        others = [
            other for other in project.sites.values() if other is not site and other.wrapper.keeps_trace
        ]
        calls += [
            c for o in others if any(f.scope is scope for f in o.functions) for c in project.site_calls(o)
        ]
    made = site.event if anew else scope.definition
    loops = made.loops if made is not None else ()
    for number, one in enumerate(calls):
        if one.event.frame is not home or any(loop not in loops for loop in one.event.loops):
            return True
        if any(not exclusive(one.event.arms, other.event.arms) for other in calls[number + 1 :]):
            return True
    return not calls
