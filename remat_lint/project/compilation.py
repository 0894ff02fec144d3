"""Where functions are given to `jit`, and what is compiled or traced more often than the author may think."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Activation, Analysis
from remat_lint.project.arguments import function_arguments
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event, LoopNode, Scope, exclusive
from remat_lint.project.traversal import walk
from remat_lint.project.values import (
    External,
    FunctionRef,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

JITS = frozenset({"jax.jit", "jax.pmap", "jax.experimental.pjit.pjit"})
_HIGHEST = 3


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """A `jit` of what a site returned.

    Attributes:
        site: the site.
        event: when `jit` is applied: the call, or the definition that it decorates.
        at: number of the expression that stands for it.
        options: the other arguments of `jit`, and of transformations between it and the site.
        name: the name that holds the result; empty if it is called at once.
    """

    site: WrapSite
    event: Event
    at: int
    options: tuple[n.Expression, ...]
    name: str


def compiled(site: WrapSite, project: Analysis) -> Iterator[Compiled]:
    """Yield each `jit` of the site's result whose own result is used for nothing but calls in the same function."""
    if site.via or site.wrapper.framework != "jax":
        return
    if site.definition is not None:
        yield from _decorating(site, site.definition, project)
        return
    for event in site.scope.frame.events:
        if event.kind != "call" or not isinstance(event.node, n.Call):
            continue
        for value in project.evaluate(event.node.func, Moment(event.scope, event)):
            receiver = (
                lookup_receiver(value.dotted)
                if isinstance(value, External) and value.dotted in JITS
                else None
            )
            if receiver is None:
                continue
            functions = function_arguments(receiver, event.node)
            settings = _settings(functions[0], site, event, project) if len(functions) == 1 else None
            if settings is not None:
                rest = tuple(a.value for a in event.node.args if a.value is not functions[0])
                name = _holding(event.node, event.frame)
                if name is not None:
                    yield Compiled(site, event, event.node.at, (*rest, *settings), name)


def _settings(
    node: n.Expression, site: WrapSite, event: Event, project: Analysis
) -> tuple[n.Expression, ...] | None:
    """Return the options of the transformations around a site's result; None if `node` is anything else."""
    if _is_only(node, site, event, project):
        return ()
    if not isinstance(node, n.Call):
        return None
    values = project.evaluate(node.func, Moment(event.scope, event))
    receiver = (
        lookup_receiver(values[0].dotted) if len(values) == 1 and isinstance(values[0], External) else None
    )
    if receiver is None or receiver.kind != "transform":
        return None
    functions = function_arguments(receiver, node)
    inner = _settings(functions[0], site, event, project) if len(functions) == 1 else None
    return None if inner is None else (*inner, *(a.value for a in node.args if a.value is not functions[0]))


def _is_only(node: n.Expression, site: WrapSite, event: Event, project: Analysis) -> bool:
    values = project.evaluate(node, Moment(event.scope, event))
    return bool(values) and all(isinstance(value, Wrapped) and value.site is site for value in values)


def _decorating(site: WrapSite, definition: Scope, project: Analysis) -> Iterator[Compiled]:
    """Yield the `jit` directly above the wrapper among the decorators of a definition."""
    node, event = definition.node, definition.definition
    if not isinstance(node, n.Function) or event is None:
        return
    places = [decorator.at for decorator in node.decorators]
    index = places.index(site.at) if site.at in places else 0
    if index == 0 or not _only_called(node.name, node.name_at, event.frame):
        return
    above = node.decorators[index - 1]
    for value in project.evaluate(above, Moment(event.scope, event)):
        target = value.target if isinstance(value, Partial) else value
        if isinstance(target, External) and target.dotted in JITS:
            options = tuple(a.value for a in value.call.args[1:]) if isinstance(value, Partial) else ()
            yield Compiled(site, event, above.at, options, node.name)


def _holding(call: n.Call, frame: Scope) -> str | None:
    """Return the name that holds a call's result, empty if it is called at once, None if it goes elsewhere."""
    above = frame.module.builder.parents.of(call.at)
    if isinstance(above, n.Call) and above.func is call:
        return ""
    if isinstance(above, n.Bind) and len(above.targets) == 1 and isinstance(above.targets[0], n.Name):
        name = above.targets[0].id
        return name if _only_called(name, above.targets[0].at, frame) else None
    return None


def _only_called(name: str, bound_at: int, frame: Scope) -> bool:
    """Whether a local name is used, and for nothing but calls."""
    if frame.kind != "function" or name in frame.declared or not isinstance(frame.node, n.Function):
        return frame.kind == "module" and _calls_only(name, bound_at, frame, _module_body(frame))
    return _calls_only(name, bound_at, frame, frame.node.body)


def _module_body(frame: Scope) -> tuple[n.Statement, ...]:
    return tuple(statement for body in frame.module.builder.bodies for statement in body)


def _calls_only(name: str, bound_at: int, frame: Scope, body: tuple[n.Statement, ...]) -> bool:
    parents = frame.module.builder.parents
    uses = [
        node for node in walk(body) if isinstance(node, n.Name) and node.id == name and node.at != bound_at
    ]
    reads = []
    for use in uses:
        above = parents.of(use.at)
        if not (isinstance(above, n.Bind) and any(target is use for target in above.targets)):
            reads.append(isinstance(above, n.Call) and above.func is use)
    return bool(reads) and all(reads)


class Compilation:
    """Answers about `jit` for one project; keeps what each module gives to it."""

    def __init__(self, project: Analysis) -> None:
        self.project = project
        self._jitted: dict[tuple[Module, int], frozenset[Scope]] = {}

    def repeats(self, scope: Scope) -> tuple[Activation, ...]:
        """Return calls that show that a function runs more than once outside of any `jit`; nothing if none do."""
        found = list(self.project.activations(scope))
        if any(one.cached or self.is_jitted(one.event.frame) for one in found) or self.is_jitted(scope):
            return ()
        for one in found:
            if one.event.loops and not one.event.leaves and not scope.encloses(one.event.frame):
                return (one,)
        for number, one in enumerate(found):
            for other in found[number + 1 :]:
                if one.event is not other.event and not exclusive(one.event.arms, other.event.arms):
                    return (one, other)
        return ()

    def is_jitted(self, scope: Scope, height: int = 0) -> bool:
        """Whether a function visibly runs under `jit`: it or one around it is given to `jit`, or one that calls it."""
        if any(
            step in self._jitted_in(scope.module) for step in scope.ancestors() if step.kind == "function"
        ):
            return True
        if scope.kind != "function" or height >= _HIGHEST:
            return False
        for one in self.project.activations(scope):
            if one.cached or (one.event.frame is not scope and self.is_jitted(one.event.frame, height + 1)):
                return True
        return False

    def _jitted_in(self, module: Module) -> frozenset[Scope]:
        """Return the functions that a module gives to `jit`, directly or inside other transformations."""
        key = (module, len(module.builder.happened))
        if key not in self._jitted:
            found: set[Scope] = set()
            for event in list(module.builder.happened.values()):
                if event.kind == "call" and isinstance(event.node, n.Call):
                    for value in self.project.evaluate(event.node, Moment(event.scope, event)):
                        found.update(_inside_jit(value, inside=False))
            for scope in list(module.builder.scopes.values()):
                if isinstance(scope.node, n.Function) and scope.node.decorators and scope.parent is not None:
                    for event in scope.parent.bindings.get(scope.name, ()):
                        if event.inner is scope:
                            for value in self.project.bound(event, None):
                                found.update(_inside_jit(value, inside=False))
            self._jitted[key] = frozenset(found)
        return self._jitted[key]


def _inside_jit(value: Value, *, inside: bool) -> Iterator[Scope]:
    match value:
        case Transformed():
            for inner in value.inner:
                yield from _inside_jit(
                    inner,
                    inside=inside or (value.kind == "cached" and not value.dotted.endswith("make_jaxpr")),
                )
        case FunctionRef() if inside:
            yield value.scope
        case Wrapped() if inside:
            yield from (function.scope for function in value.site.functions)
        case Partial():
            yield from _inside_jit(value.target, inside=inside)


def common_loops(*events: Event) -> tuple[LoopNode, ...]:
    """Return the loops around all of the events, innermost first."""
    first, *rest = events
    return tuple(loop for loop in reversed(first.loops) if all(loop in event.loops for event in rest))


def unconditional(event: Event) -> bool:
    """Whether every run of the frame meets the event, as far as branches go; loops do not count."""
    loops = {loop.at for loop in event.loops}
    return all(at in loops for at, _ in event.arms)
