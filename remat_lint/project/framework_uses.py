"""What a checkpointed function does with modules of flax, equinox and haiku while it is traced.

The functions that it calls are followed, also methods of modules and functions in other files, with the arguments
that are seen. For every layer that is called, and for everything that changes something beyond the call, a `Use`
tells where the object came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.jaxapi.frameworks import HAIKU_KEYS, HAIKU_MAKERS, LINEN_MAKERS, Kind
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import function_arguments
from remat_lint.project.framework_classes import FrameworkModule
from remat_lint.project.framework_origins import Origin, Origins
from remat_lint.project.invocations import invocations, signatures
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.statics import static_option
from remat_lint.project.values import (
    Data,
    Environment,
    External,
    FunctionRef,
    Instance,
    Member,
    Moment,
    Partial,
    Result,
    Transformed,
    Unknown,
    Value,
    Wrapped,
    WrapSite,
)

Deed = Literal["layer", "function", "method", "draw", "write"]
_DEEPEST, _MOST = 7, 1500
_PURE = frozenset({"haiku.transform", "haiku.transform_with_state", "haiku.without_apply_rng"})
"""What makes a pure function of a function of haiku: what that does inside stays inside."""
_CALLS = frozenset({"__call__", "attend"})


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """Something of a framework that runs while a body is traced.

    Attributes:
        kind: the framework.
        deed: a layer is called; a function of the framework or a method of a module that keeps something is; a key is
            drawn from random streams of nnx; a variable of nnx is written.
        name: of the layer, function, method or attribute.
        event: the call or the store.
        moment: the same with the imagined calls around it.
        origin: where the object that is called or written came from.
        path: the calls that led from the body there, outermost first.
        module: the layer that is called.
    """

    kind: Kind
    deed: Deed
    name: str
    event: Event
    moment: Moment
    origin: Origin
    path: tuple[Event, ...]
    module: FrameworkModule | None = None

    @property
    def first(self) -> Event:
        """The event in the body itself."""
        return self.path[0] if self.path else self.event


def uses(site: WrapSite, project: Analysis) -> tuple[Use, ...]:
    """Return what the functions that a site wraps do with modules; worked out once."""
    memo = project.frameworks.uses
    if site not in memo:
        memo[site] = ()
        found = [use for value in site.bodies for use in _of_body(value, site, project)]
        if not found and site.target is not None and all(isinstance(b, Unknown | Data) for b in site.bodies):
            found = list(_of_object(site.target, site, project))
        memo[site] = tuple(found)
    return memo[site]


def _of_object(node: n.Expression, site: WrapSite, project: Analysis) -> Iterator[Use]:
    """Yield what calling a module does that only its place tells: an item of a list, an annotated attribute."""
    name = "__call__"
    moment = Moment(site.event.scope, site.event, site.env)
    found = project.frameworks.modules(node, moment)
    if not found and isinstance(node, n.Attribute):
        name, found = node.attr, project.frameworks.modules(node.value, moment)
    for module in found:
        method = project.method(module.cls.scope, name) if module.cls is not None else None
        if module.cls is not None and method is not None:
            bound = FunctionRef(method.scope, method.made, Instance(module.cls), method.env)
            yield from _of_body(bound, site, project)
        elif module.layer and name in _CALLS:
            yield Use(module.kind, "layer", module.layer, site.event, moment, "captured", (), module)


def _of_body(value: Value, site: WrapSite, project: Analysis) -> Iterator[Use]:
    for runs, bound in _runs(value, project):
        walk = _Walk(project, Origins(project, project.frameworks))
        if isinstance(runs, FunctionRef):
            env = _root(runs, bound, site, walk, project)
            yield from walk.function(runs, env, ())
        else:
            moment = Moment(site.event.scope, site.event, site.env)
            yield Use(runs.kind, "layer", runs.layer, site.event, moment, "captured", (), runs)


def _runs(
    value: Value, project: Analysis, bound: int = 0
) -> Iterator[tuple[FunctionRef | FrameworkModule, int]]:
    """Yield the functions and layers that calling a value runs, with the number of arguments that a `partial` gives."""
    match value:
        case Result() | Member(attr="__call__" | "attend"):
            made = value if isinstance(value, Result) else value.base
            yield from ((module, bound) for module in project.frameworks.of_value(made))
        case FunctionRef():
            yield value, bound
        case Partial():
            yield from _runs(value.target, project, bound + len(value.call.args) - 1)
        case Transformed() if value.dotted not in _PURE:
            for inner in value.inner:
                yield from _runs(inner, project, bound)
        case Instance():
            method = project.method(value.cls.scope, "__call__")
            if method is not None:
                yield FunctionRef(method.scope, method.made, value, method.env), bound
        case Wrapped():
            for inner in value.site.bodies:
                yield from _runs(inner, project, bound)


def _root(
    function: FunctionRef, bound: int, site: WrapSite, walk: _Walk, project: Analysis
) -> Environment | None:
    """Note where the parameters of the wrapped function come from; return what the visible calls give them."""
    scope = function.scope
    names = [p.name for p in scope.parameters() if p.kind in ("positional-only", "positional")]
    for parameter in scope.parameters():
        walk.origins.given[scope, parameter.name] = "argument"
    values: dict[tuple[Scope, str], tuple[Value, ...]] = {}
    if function.receiver is not None and names:
        walk.origins.given[scope, names[0]] = "captured"
        values[scope, names[0]] = (function.receiver,)
        bound += 1
    for name in names[:bound]:
        walk.origins.given[scope, name] = "captured"
    for name in _static(site, names, bound, project):
        walk.origins.given[scope, name] = "captured"
    known = signatures(site, project)
    mine = [one for one in known if one.function.scope is scope]
    for invocation in invocations(site, project) if mine else ():
        for index, parameter in enumerate(mine[0].positional):
            argument = invocation.given(mine[0], index)
            if argument is not None:
                here = Moment(invocation.event.scope, invocation.event)
                found = project.frameworks.values(argument.value, here)
                values[scope, parameter.name] = values.get((scope, parameter.name), ()) + found
            elif parameter.default is not None:
                walk.origins.given[scope, parameter.name] = "captured"
    return Environment(values, (), function.env)


def _static(site: WrapSite, names: list[str], bound: int, project: Analysis) -> Iterator[str]:
    option = static_option(site, project)
    for index in option.indices or () if option is not None else ():
        if 0 <= index + bound < len(names):
            yield names[index + bound]


@dataclass(eq=False, slots=True)
class _Walk:
    """One walk through the functions that run during a trace."""

    project: Analysis
    origins: Origins
    seen: set[tuple[object, ...]] = field(default_factory=set)
    steps: int = 0

    def function(
        self, function: FunctionRef, env: Environment | None, path: tuple[Event, ...]
    ) -> Iterator[Use]:
        """Yield what a function and all that it calls do."""
        receiver = function.receiver.cls.scope if function.receiver is not None else None
        key = (function.scope, receiver, self.origins.parameters(function.scope))
        if key in self.seen or len(path) > _DEEPEST:
            return
        self.seen.add(key)
        self.origins.inside.add(function.scope)
        for event in list(function.scope.events):
            self.steps += 1
            if self.steps > _MOST:
                return
            moment = Moment(event.scope, event, env)
            if event.kind == "call" and isinstance(event.node, n.Call):
                yield from self._call(event, event.node, moment, path)
            elif event.kind == "store" and event.target is not None:
                yield from self._store(event, moment, path)

    def _call(self, event: Event, call: n.Call, moment: Moment, path: tuple[Event, ...]) -> Iterator[Use]:
        callees = self.project.force(self.project.evaluate(call.func, moment), moment)
        for callee in callees:
            if isinstance(callee, External):
                yield from self._external(callee.dotted, event, call, moment, path)
            else:
                yield from self._enter(callee, event, call, moment, path)
        if not any(isinstance(callee, FunctionRef | Instance | Wrapped | Transformed) for callee in callees):
            yield from self._method(event, call, moment, path)

    def _external(
        self, dotted: str, event: Event, call: n.Call, moment: Moment, path: tuple[Event, ...]
    ) -> Iterator[Use]:
        if dotted in HAIKU_KEYS or dotted in HAIKU_MAKERS:
            name = dotted.rpartition(".")[2]
            yield Use("haiku", "function", name, event, moment, "captured", path)
        receiver = lookup_receiver(dotted)
        if receiver is None or receiver.kind not in ("now", "now-cached"):
            return
        for argument in function_arguments(receiver, call):
            for value in self.project.force(self.project.evaluate(argument, moment), moment):
                if not isinstance(value, External):
                    yield from self._enter(value, event, None, moment, path)
            yield from self._modules(argument, "__call__", event, None, moment, path)

    def _enter(
        self, callee: Value, event: Event, call: n.Call | None, moment: Moment, path: tuple[Event, ...]
    ) -> Iterator[Use]:
        """Follow a call into what it runs."""
        match callee:
            case FunctionRef():
                env = self._arguments(callee, call, moment)
                yield from self.function(callee, env, (*path, event))
            case Instance():
                method = self.project.method(callee.cls.scope, "__call__")
                if method is not None:
                    bound = FunctionRef(method.scope, method.made, callee, method.env)
                    yield from self._enter(bound, event, call, moment, path)
            case Partial():
                yield from self._enter(callee.target, event, None, moment, path)
            case Transformed() if callee.dotted not in _PURE:
                for inner in callee.inner:
                    yield from self._enter(inner, event, None, moment, path)
            case Wrapped():
                for made in self.project.frameworks.of_value(callee):
                    yield from self._run(made, None, "__call__", event, call, moment, path)
                for inner in callee.site.bodies:
                    yield from self._enter(inner, event, call, moment, path)

    def _arguments(self, function: FunctionRef, call: n.Call | None, moment: Moment) -> Environment:
        """Return what the parameters of a function hold in a call, and note where it came from."""
        scope, given = function.scope, self.origins.given
        values: dict[tuple[Scope, str], tuple[Value, ...]] = {}
        names = [p.name for p in scope.parameters() if p.kind in ("positional-only", "positional")]
        if function.receiver is not None and names:
            name = names.pop(0)
            values[scope, name] = (function.receiver,)
            given[scope, name] = "unknown" if call is None else self.origins.of(call.func, moment)
        for argument in call.args if call is not None else ():
            if argument.star:
                break
            target = argument.keyword or (names.pop(0) if names else None)
            if target is not None:
                values[scope, target] = self.project.frameworks.values(argument.value, moment)
                given[scope, target] = self.origins.of(argument.value, moment)
        return Environment(values, (), function.env or moment.env)

    def _method(self, event: Event, call: n.Call, moment: Moment, path: tuple[Event, ...]) -> Iterator[Use]:
        """Yield what the call of a module, or of a method of one, does."""
        found = list(self._modules(call.func, "__call__", event, call, moment, path))
        yield from found
        for owner, name in _drawn_from(call.func):
            if self.project.frameworks.is_stream(owner, moment):
                yield Use("nnx", "draw", name, event, moment, self.origins.of(owner, moment), path)
                return
        if found or not isinstance(call.func, n.Attribute):
            return
        owner, name = call.func.value, call.func.attr
        if name in _WRITERS and self.project.frameworks.is_variable(owner, moment):
            yield Use("nnx", "write", _last(owner), event, moment, self.origins.of(owner, moment), path)
        else:
            yield from self._modules(owner, name, event, call, moment, path)

    def _modules(  # noqa: PLR0913, PLR0917 - the facts of one call
        self,
        owner: n.Expression,
        name: str,
        event: Event,
        call: n.Call | None,
        moment: Moment,
        path: tuple[Event, ...],
    ) -> Iterator[Use]:
        for module in self.project.frameworks.modules(owner, moment):
            yield from self._run(module, owner, name, event, call, moment, path)

    def _run(  # noqa: PLR0913, PLR0917 - the facts of one call
        self,
        module: FrameworkModule,
        owner: n.Expression | None,
        name: str,
        event: Event,
        call: n.Call | None,
        moment: Moment,
        path: tuple[Event, ...],
    ) -> Iterator[Use]:
        """Yield what the method `name` of a module does."""
        origin = self.origins.of(owner, moment) if owner is not None else "unknown"
        method = self.project.method(module.cls.scope, name) if module.cls is not None else None
        if module.cls is not None and method is not None:
            bound = FunctionRef(method.scope, method.made, Instance(module.cls), method.env)
            env = self._arguments(bound, call, moment)
            for parameter in bound.scope.parameters()[:1]:
                self.origins.given[bound.scope, parameter.name] = origin
            yield from self.function(bound, env, (*path, event))
        elif module.kind in ("linen", "nnx") and name in LINEN_MAKERS:
            yield Use(module.kind, "method", name, event, moment, origin, path, module)
        elif module.layer and name in _CALLS:
            parts = list(self.project.frameworks.inner(module))
            for part in parts:
                yield from self._run(part, owner, "__call__", event, None, moment, path)
            if not parts:
                yield Use(module.kind, "layer", module.layer, event, moment, origin, path, module)

    def _store(self, event: Event, moment: Moment, path: tuple[Event, ...]) -> Iterator[Use]:
        """Yield a write to a variable of nnx: `v.value = …`, `v[...] = …`."""
        target = event.target
        named = isinstance(target, n.Attribute) and target.attr in ("value", "raw_value")
        if isinstance(target, n.Subscript) or (isinstance(target, n.Attribute) and named):
            owner = target.value
            if self.project.frameworks.is_variable(owner, moment):
                origin = self.origins.of(owner, moment)
                yield Use("nnx", "write", _last(owner), event, moment, origin, path)


_WRITERS = frozenset({"set_value", "copy_from", "set_raw_value"})
_NOT_DRAWN = frozenset({"fork", "split", "items", "keys", "values", "get", "update"})


def _drawn_from(func: n.Expression) -> Iterator[tuple[n.Expression, str]]:
    """Yield the expressions that may be random streams if a call draws a key: `rngs()`, `rngs.dropout()`."""
    yield func, "()"
    if isinstance(func, n.Attribute) and func.attr not in _NOT_DRAWN:
        yield func.value, func.attr


def _last(node: n.Expression) -> str:
    return node.attr if isinstance(node, n.Attribute) else node.id if isinstance(node, n.Name) else ""
