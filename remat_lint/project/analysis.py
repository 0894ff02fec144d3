"""The questions that rules ask of a project: its wrap sites, who calls what they return, what runs a function."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.arguments import function_arguments
from remat_lint.project.modules import Module
from remat_lint.project.resolver import Resolver
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    Access,
    ClassRef,
    External,
    FunctionRef,
    Instance,
    ModuleRef,
    Moment,
    Partial,
    Step,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)
from remat_lint.releases import JaxRange

if TYPE_CHECKING:
    from remat_lint.project.callgraph import CallGraph
    from remat_lint.project.captures import Captures
    from remat_lint.project.compilation import Compilation
    from remat_lint.project.frameworks import Frameworks
    from remat_lint.project.placement import Placement
    from remat_lint.project.staleness import Staleness
    from remat_lint.project.summaries import Summaries


@dataclass(frozen=True, slots=True, eq=False)
class SiteCall:
    """A call of what a site returned.

    `cached` tells that a `jit` or a scan around it keeps a trace of its own, `made` which call of a factory made
    the wrapped function, `holders` what a method calls `self` and the call spells otherwise.
    """

    site: WrapSite
    event: Event
    call: n.Call
    cached: bool = False
    made: Event | None = None
    holders: tuple[tuple[Access, Access], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """An event that runs a function of the project: a call of it, or of something that calls it at once."""

    function: FunctionRef
    event: Event
    cached: bool = False


class Analysis(Resolver):
    """One project, resolved; made once per run and asked by every rule."""

    def __init__(self, project: object, jax_version: str = "") -> None:
        super().__init__(project)
        self._jax_version = jax_version
        self._surveyed: dict[Module, tuple[WrapSite, ...]] = {}
        self._site_calls: dict[WrapSite, list[SiteCall]] = {}
        self._activations: dict[Scope, list[Activation]] = {}
        self._placements: dict[tuple[Module, int], Placement] = {}

    @functools.cached_property
    def jax(self) -> JaxRange:
        """The releases of JAX that findings speak about: what the settings say, else what the project's files say."""
        from remat_lint.project.requirements import infer  # noqa: PLC0415 - read only where a finding depends on it

        if self._jax_version:
            return JaxRange.from_specifier(self._jax_version, "jax-version")
        return infer(self.project.root)

    @functools.cached_property
    def callgraph(self) -> CallGraph:
        """Who calls whom."""
        from remat_lint.project.callgraph import CallGraph  # noqa: PLC0415 - it asks this class in turn

        return CallGraph(self)

    @functools.cached_property
    def summaries(self) -> Summaries:
        """What calling a function may do besides returning a value."""
        from remat_lint.project.summaries import Summaries  # noqa: PLC0415 - it asks this class in turn

        return Summaries(self)

    @functools.cached_property
    def captures(self) -> Captures:
        """What functions read from outside."""
        from remat_lint.project.captures import Captures  # noqa: PLC0415 - it asks this class in turn

        return Captures(self)

    @functools.cached_property
    def staleness(self) -> Staleness:
        """What goes stale between calls."""
        from remat_lint.project.staleness import Staleness  # noqa: PLC0415 - it asks this class in turn

        return Staleness(self)

    @functools.cached_property
    def compilation(self) -> Compilation:
        """What `jit` compiles, and how often."""
        from remat_lint.project.compilation import Compilation  # noqa: PLC0415 - it asks this class in turn

        return Compilation(self)

    @functools.cached_property
    def frameworks(self) -> Frameworks:
        """Which values are modules of flax, equinox or haiku."""
        from remat_lint.project.frameworks import Frameworks  # noqa: PLC0415 - it asks this class in turn

        return Frameworks(self)

    def placement(self, site: WrapSite) -> Placement:
        """Return where things are used in the module in which the user sees a site."""
        from remat_lint.project.placement import Placement  # noqa: PLC0415 - it asks this class in turn

        module = self.home(site)
        self.wrap_sites(module)
        key = (module, len(module.builder.happened))
        if key not in self._placements:
            made = Placement(module, self)
            key = (module, len(module.builder.happened))
            self._placements[key] = made
        return self._placements[key]

    def wrap_sites(self, module: Module) -> tuple[WrapSite, ...]:
        """Return the sites that stand in a module, or are reached through a factory called in it, by place."""
        if module not in self._surveyed:
            self._surveyed[module] = ()
            module.load()
            self._find_sites(module)
            sites = self._sites_in(module)
            relayed = [site for site in self.factories.relayed if self.home(site) is module]
            if sites or relayed:
                module.load_around(at for site in (*sites, *relayed) for at in self._places(site))
                self._survey(module)
                sites = self._sites_in(module)
            self._surveyed[module] = sites
        return self._surveyed[module]

    def _sites_in(self, module: Module) -> tuple[WrapSite, ...]:
        found = {id(site): site for site in list(self.sites.values()) if self.home(site) is module}
        return tuple(sorted(found.values(), key=lambda site: (self.place(site).order, site.at)))

    def _places(self, site: WrapSite) -> Iterator[int]:
        """Yield the numbers of the nodes in the user's file that make the site, and of what it wraps there."""
        place = self.place(site)
        yield place.at
        if site.event.module is place.module:
            yield site.event.at
        scopes = [body.scope for body in site.bodies if isinstance(body, FunctionRef | ClassRef)]
        for scope in (*scopes, site.definition):
            if scope is not None and scope.module is place.module and scope.node is not None:
                yield scope.node.at

    def relayed_sites(self, module: Module) -> tuple[WrapSite, ...]:
        """Return the calls in a module that decide what a wrapped function in the callee runs.

        Rules are not asked about them: what is wrapped stands in the callee, whose own site they judge.
        """
        self.wrap_sites(module)
        found = [site for site in self.factories.relayed if self.home(site) is module]
        return tuple(sorted(found, key=lambda site: (self.place(site).order, site.at)))

    def place(self, site: WrapSite) -> Event:
        """Return the event at which the user sees the site: the call of a factory, or the wrapper itself."""
        return site.via[0] if site.via else site.event

    def home(self, site: WrapSite) -> Module:
        """Return the module in which the user sees a site."""
        return self.place(site).module

    def _survey(self, module: Module) -> None:
        for event in module.calls():
            if isinstance(event.node, n.Call):
                self._survey_call(event, event.node)
        self._find_decorated(module)

    def _find_sites(self, module: Module) -> None:
        """Look at the calls that may make a site, and at no other."""
        for event in module.calls():
            if isinstance(event.node, n.Call) and any(
                module.leading.may_lead(part, event.scope)
                for part in (event.node.func, *(argument.value for argument in event.node.args))
            ):
                callees = self.evaluate(event.node.func, Moment(event.scope, event))
                if any(map(self.factories.may_make, callees)):
                    self.evaluate(event.node, Moment(event.scope, event))
                    self.factories.make_sites(event, event.node)
        self._find_decorated(module)

    def _find_decorated(self, module: Module) -> None:
        for scope in list(_scopes(module.scope)):
            for events in list(scope.bindings.values()):
                for event in list(events):
                    if isinstance(event.value, n.Function | n.Class) and any(
                        module.leading.may_lead(decorator, scope) for decorator in event.value.decorators
                    ):
                        self.bound(event, None)

    def _survey_call(self, event: Event, call: n.Call) -> None:
        moment = Moment(event.scope, event)
        self.evaluate(call, moment)
        self.factories.make_sites(event, call)
        for callee in self.evaluate(call.func, moment):
            self._note_call(callee, event, call, cached=False)
            if isinstance(callee, External):
                receiver = lookup_receiver(callee.dotted)
                if receiver is not None and receiver.kind in ("now", "now-cached"):
                    for argument in function_arguments(receiver, call):
                        for value in self.evaluate(argument, moment):
                            self._note_call(value, event, call, cached=receiver.kind == "now-cached")

    def _note_call(self, callee: Value, event: Event, call: n.Call, *, cached: bool) -> None:
        match callee:
            case Wrapped():
                made = SiteCall(callee.site, event, call, cached, callee.made, self._holders(event, call))
                self._site_calls.setdefault(callee.site, []).append(made)
                for body in callee.site.functions:
                    self._note_activation(body, event, cached=cached)
            case FunctionRef():
                self._note_activation(callee, event, cached=cached)
            case Instance():
                method = self.method(callee.cls.scope, "__call__")
                if method is not None:
                    access = callee.access or self.access(call.func, event.scope)
                    holder = Instance(callee.cls, access, callee.made)
                    self._note_activation(
                        FunctionRef(method.scope, method.made, holder), event, cached=cached
                    )
            case Transformed():
                for inner in callee.inner:
                    self._note_call(inner, event, call, cached=cached or callee.kind == "cached")
            case Partial():
                self._note_call(callee.target, event, call, cached=cached)

    def _holders(self, event: Event, call: n.Call) -> tuple[tuple[Access, Access], ...]:
        """Return how the object whose attribute is called looks from its own methods, and from here."""
        if not isinstance(call.func, n.Attribute):
            return ()
        for value in self.evaluate(call.func.value, Moment(event.scope, event)):
            access = (
                value.access or self.access(call.func.value, event.scope)
                if isinstance(value, Instance)
                else None
            )
            if isinstance(value, Instance) and access is not None and access.name:
                return tuple((Access(cls, ""), access) for cls in self.lineage(value.cls.scope))
        return ()

    def _note_activation(self, function: FunctionRef, event: Event, *, cached: bool) -> None:
        self._activations.setdefault(function.scope, []).append(Activation(function, event, cached))

    def getter(self, cls: Scope, name: str) -> Scope | None:
        """Return the function behind a property of a class of the project."""
        for step in self.lineage(cls):
            for event in step.bindings.get(name, ())[:1]:
                inner = event.inner
                if inner is not None and inner.kind == "function" and self.method_kind(inner) == "property":
                    return inner
                return None
        return None

    def access(self, node: n.Expression, scope: Scope) -> Access | None:
        """Return the way that a chain of attributes and items spells; None for other expressions and for imports."""
        steps: list[Step] = []
        while isinstance(node, n.Attribute | n.Subscript):
            if isinstance(node, n.Attribute):
                steps.append((".", node.attr))
            else:
                value = node.index.value if isinstance(node.index, n.Constant) else None
                steps.append(("[]", value if isinstance(value, str | int) else None))
            node = node.value
        if not isinstance(node, n.Name):
            return None
        steps.reverse()
        return self._root(node.id, tuple(steps), scope)

    def _root(self, name: str, steps: tuple[Step, ...], scope: Scope) -> Access | None:
        found = scope.find(name)
        if found is None or found.kind == "module":
            found = scope.root
            events = found.module.lookup(name)
        else:
            events = found.bindings[name]
        if not events:
            return None
        if all(isinstance(event.value, n.Import) for event in events):
            for value in self.bound(events[-1], None):
                if isinstance(value, ModuleRef) and steps and steps[0][0] == ".":
                    return Access(value.scope, str(steps[0][1]), steps[1:])
            return None
        cls = found.owner_class
        if cls is not None and found.parameters() and found.parameters()[0].name == name:
            kind = self.method_kind(found)
            if kind in ("method", "property"):
                return Access(cls, "", steps)
            if kind == "classmethod" and cls.parent is not None:
                return Access(cls.parent, cls.name, steps)
        return Access(found, name, steps)

    def site_calls(self, site: WrapSite) -> tuple[SiteCall, ...]:
        """Return the visible calls of what a site returned, in the modules surveyed so far."""
        return tuple(self._site_calls.get(site, ()))

    def activations(self, scope: Scope, home: Module | None = None) -> tuple[Activation, ...]:
        """Return the events that run a function, in the modules surveyed so far, or in one of them."""
        found = self._activations.get(scope, ())
        return tuple(one for one in found if home is None or one.event.module is home)


def _scopes(scope: Scope) -> Iterator[Scope]:
    yield scope
    for child in scope.children:
        yield from _scopes(child)
