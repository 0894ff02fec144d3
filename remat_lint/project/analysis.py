"""The questions that rules ask of a project: its wrap sites, who calls what they return, what runs a function."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.arguments import function_arguments
from remat_lint.project.modules import Module
from remat_lint.project.resolver import Resolver
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
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


@dataclass(frozen=True, slots=True, eq=False)
class SiteCall:
    """A call of what a site returned; `cached` if a `jit` around it keeps a trace of its own."""

    site: WrapSite
    event: Event
    call: n.Call
    cached: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """An event that runs a function of the project: a call of it, or of something that calls it at once."""

    function: FunctionRef
    event: Event
    cached: bool = False


class Analysis(Resolver):
    """One project, resolved; made once per run and asked by every rule."""

    def __init__(self, project: object) -> None:
        super().__init__(project)
        self._surveyed: dict[Module, tuple[WrapSite, ...]] = {}
        self._site_calls: dict[WrapSite, list[SiteCall]] = {}
        self._activations: dict[Scope, list[Activation]] = {}

    def wrap_sites(self, module: Module) -> tuple[WrapSite, ...]:
        """Return the sites that stand in a module, or are reached through a factory called in it, by place."""
        if module not in self._surveyed:
            self._surveyed[module] = ()
            module.load()
            self._survey(module)
            found = {id(site): site for site in list(self.sites.values()) if self._home(site) is module}
            self._surveyed[module] = tuple(sorted(found.values(), key=lambda site: (self.place(site).order, site.at)))
        return self._surveyed[module]

    def place(self, site: WrapSite) -> Event:
        """Return the event at which the user sees the site: the call of a factory, or the wrapper itself."""
        return site.via[0] if site.via else site.event

    def _home(self, site: WrapSite) -> Module:
        return self.place(site).module

    def _survey(self, module: Module) -> None:
        for event in list(module.builder.happened.values()):
            if event.kind == "call" and isinstance(event.node, n.Call):
                self._survey_call(event, event.node)
        for scope in _scopes(module.scope):
            for events in scope.bindings.values():
                for event in events:
                    if isinstance(event.value, n.Function | n.Class):
                        self.bound(event, None)

    def _survey_call(self, event: Event, call: n.Call) -> None:
        moment = Moment(event.scope, event)
        self.evaluate(call, moment)
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
                self._site_calls.setdefault(callee.site, []).append(SiteCall(callee.site, event, call, cached))
                for body in callee.site.functions:
                    self._note_activation(body, event, cached=cached)
            case FunctionRef():
                self._note_activation(callee, event, cached=cached)
            case Instance():
                method = self.method(callee.cls.scope, "__call__")
                if method is not None:
                    self._note_activation(FunctionRef(method.scope, method.made, callee), event, cached=cached)
            case Transformed():
                for inner in callee.inner:
                    self._note_call(inner, event, call, cached=cached or callee.kind == "cached")
            case Partial():
                self._note_call(callee.target, event, call, cached=cached)

    def _note_activation(self, function: FunctionRef, event: Event, *, cached: bool) -> None:
        self._activations.setdefault(function.scope, []).append(Activation(function, event, cached))

    def site_calls(self, site: WrapSite) -> tuple[SiteCall, ...]:
        """Return the visible calls of what a site returned, in the modules surveyed so far."""
        return tuple(self._site_calls.get(site, ()))

    def activations(self, scope: Scope) -> tuple[Activation, ...]:
        """Return the events that run a function, in the modules surveyed so far."""
        return tuple(self._activations.get(scope, ()))


def _scopes(scope: Scope) -> Iterator[Scope]:
    yield scope
    for child in scope.children:
        yield from _scopes(child)
