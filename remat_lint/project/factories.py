"""The functions of the project that wrap what they are given: wrapper factories, and functions that apply one.

A summary lists the places in a function at which a parameter of it ends up in a wrapper, whether the result is
returned, called at once, given to a scan or stored back on a class. A call of such a function is a site of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.wrappers import SPELLING_WORDS
from remat_lint.project.application import arguments_of
from remat_lint.project.flows import Flows, place_arguments
from remat_lint.project.modules import Module
from remat_lint.project.scopes import CHUNK_BITS, Event, Scope
from remat_lint.project.values import (
    ClassRef,
    Configured,
    Environment,
    External,
    FunctionRef,
    Given,
    Instance,
    Moment,
    Partial,
    Value,
    Wrapped,
    WrapSite,
)
from remat_lint.project.wrapping import is_wrapper

if TYPE_CHECKING:
    from remat_lint.project.resolver import Resolver

_WORD = re.compile(r"[^\W\d]\w*+")
MOST_SITES = 16
"""Sites that one call of a factory makes at most."""

Placed = list[tuple[n.Argument, Moment]]


@dataclass(frozen=True, slots=True, eq=False)
class Inner:
    """A place in a function that wraps a parameter.

    Attributes:
        event: the call, or the definition that is decorated.
        targets: parameters that are wrapped.
        applied: parameters that must be a wrapper themselves for this to be a site; none if it always is one.
        site: the site, if it wraps a function of its own that calls the parameter.
        callee: the factory that is called there with the parameter.
        args: its arguments.
    """

    event: Event
    targets: frozenset[str]
    applied: frozenset[str] = frozenset()
    site: WrapSite | None = None
    callee: FunctionRef | None = None
    args: tuple[tuple[n.Argument, Moment], ...] = ()


class Factories:
    """Answers for one project."""

    def __init__(self, project: Resolver) -> None:
        self.project = project
        self.flows = Flows(project)
        self._summaries: dict[Scope, tuple[Inner, ...]] = {}
        self._relayed: dict[tuple[object, ...], WrapSite] = {}
        self._reached: dict[Module, bool] = {}

    # Summaries

    def summary(self, scope: Scope) -> tuple[Inner, ...]:
        """Return the places in a function that wrap a parameter of it."""
        if not isinstance(scope.node, n.Function) or not scope.parameters():
            return ()
        if scope not in self._summaries:
            self._summaries[scope] = ()
            if scope.module.matters and self._may_wrap(scope, scope.node):
                self._summaries[scope] = tuple(itertools.islice(self._inner(scope), MOST_SITES))
        return self._summaries[scope]

    def _may_wrap(self, scope: Scope, node: n.Function) -> bool:
        """Whether the text of a function lets it wrap something: most functions need no closer look."""
        module = scope.module
        text = module.chunks[node.at >> CHUNK_BITS].text
        if any(word in text for word in SPELLING_WORDS):
            return True
        if any(f"{p.name}(" in text or f"@{p.name}" in text for p in node.parameters):
            return True
        reach = module.project.reach
        owner = next((step for step in scope.ancestors() if step.kind == "class"), None)
        words = {owner.name} if owner is not None else set[str]()
        return reach.any_leads(module.path, words.union(_WORD.findall(text)))

    def _inner(self, owner: Scope) -> Iterator[Inner]:
        for event in _events(owner):
            if event.kind == "call" and isinstance(event.node, n.Call):
                yield from self._of_call(event, event.node, owner)
            elif event.kind == "define" and event.inner is not None and event.inner.kind == "function":
                yield from self._of_definition(event, event.inner, owner)

    def _of_call(self, event: Event, call: n.Call, owner: Scope) -> Iterator[Inner]:
        moment = Moment(event.scope, event)
        leads = event.module.leading.may_lead(call.func, event.scope)
        if not leads and not self._may_be_given(call.func, event.scope):
            return
        for callee in self.project.evaluate(call.func, moment):
            target = _target(call)
            if is_wrapper(callee):
                if target is not None:
                    targets = self.flows.behind(target, moment, owner)
                    if targets:
                        yield Inner(event, targets, site=self._own(target, call, moment, owner))
            elif isinstance(callee, Given):
                if isinstance(call.func, n.Name) and target is not None:
                    applied = self.flows.behind(call.func, moment, owner)
                    given = self.flows.behind(target, moment, owner)
                    if applied and given:
                        yield Inner(event, given, applied)
            else:
                for function, args in self.called(callee, call, moment):
                    yield from self._of_factory(event, function, args, owner)

    def _may_be_given(self, func: n.Expression, scope: Scope) -> bool:
        """Whether what is called is a variable of a function."""
        found = scope.find(func.id) if isinstance(func, n.Name) else None
        return found is not None and found is not scope.root

    def _of_factory(self, event: Event, function: FunctionRef, args: Placed, owner: Scope) -> Iterator[Inner]:
        """Yield one place if a call gives parameters of `owner` on to a factory."""
        if function.scope is owner:
            return
        placed = place_arguments(function, args)
        for inner in self.summary(function.scope):
            applied: frozenset[str] = frozenset()
            if inner.applied and not self._are_wrappers(inner.applied, placed):
                applied = self._behind(inner.applied, placed, owner)
                if not applied:
                    continue
            targets = self._behind(inner.targets, placed, owner)
            if targets:
                yield Inner(event, targets, applied, callee=function, args=tuple(args))
                return

    def _of_definition(self, event: Event, inner: Scope, owner: Scope) -> Iterator[Inner]:
        assert isinstance(inner.node, n.Function)
        for decorator in inner.node.decorators:
            moment = Moment(event.scope, event)
            for callee in self.project.evaluate(decorator, moment):
                applied: frozenset[str] = frozenset()
                if isinstance(callee, Given):
                    applied = self.flows.behind(decorator, moment, owner)
                if applied or is_wrapper(callee):
                    targets = self.flows.called_in(inner, owner)
                    if targets:
                        yield Inner(event, targets, applied, site=self._decorated(inner))

    def _own(self, target: n.Expression, call: n.Call, moment: Moment, owner: Scope) -> WrapSite | None:
        """Return the site of a call that wraps a function made in `owner`, or a library's function with arguments."""
        values = self.project.evaluate(target, moment)
        if not all(_is_own(value, owner) for value in values):
            return None
        for value in self.project.evaluate(call, moment):
            if isinstance(value, Wrapped):
                return value.site
        return None

    def _decorated(self, inner: Scope) -> WrapSite | None:
        for event in _bindings(inner):
            for value in self.project.bound(event, None):
                if isinstance(value, Wrapped):
                    return value.site
        return None

    def _behind(self, names: frozenset[str], placed: dict[str, Placed], owner: Scope) -> frozenset[str]:
        found: set[str] = set()
        for name in names:
            for argument, moment in placed.get(name, ()):
                if owner.encloses(moment.scope):
                    found |= self.flows.behind(argument.value, moment, owner)
        return frozenset(found)

    def _are_wrappers(self, names: frozenset[str], placed: dict[str, Placed]) -> bool:
        return any(
            is_wrapper(value)
            for name in names
            for argument, moment in placed.get(name, ())
            for value in self.project.evaluate(argument.value, moment)
        )

    def called(self, callee: Value, call: n.Call, moment: Moment) -> Iterator[tuple[FunctionRef, Placed]]:
        """Yield the functions of the project that a call enters, with their arguments."""
        args = [(argument, moment) for argument in call.args]
        match callee:
            case FunctionRef():
                yield callee, args
            case Partial(target=FunctionRef() as target):
                yield target, arguments_of(callee, call, moment)
            case Instance():
                method = self.project.method(callee.cls.scope, "__call__")
                if method is not None:
                    yield FunctionRef(method.scope, method.made, callee), args

    # Sites

    def may_make(self, callee: Value) -> bool:
        """Whether a call of a value may make a site: it is a wrapper, or hands on what it is given."""
        match callee:
            case FunctionRef():
                return bool(self.summary(callee.scope))
            case Partial(target=FunctionRef() as target):
                return bool(self.summary(target.scope))
            case Instance():
                method = self.project.method(callee.cls.scope, "__call__")
                return method is not None and bool(self.summary(method.scope))
        return isinstance(callee, Configured) or is_wrapper(callee)

    def make_sites(self, event: Event, call: n.Call) -> None:
        """Make the sites of a call of a factory: those that a rule judges, and those that it relays."""
        moment = Moment(event.scope, event)
        for callee in self.project.evaluate(call.func, moment):
            for function, args in self.called(callee, call, moment):
                self._spread(function, args, moment, [])

    def _spread(self, function: FunctionRef, args: Placed, moment: Moment, done: list[Event]) -> None:
        places = self.summary(function.scope)
        env = self.project.enter(function, args, moment) if places else None
        if env is None or moment.event in done:
            return
        placed = place_arguments(function, args)
        for place in places:
            if place.applied and not self._given_wrapper(place.applied, function.scope, env):
                continue
            if not any(name in placed for name in place.targets):
                continue
            there = Moment(place.event.scope, place.event, env)
            if place.site is not None:
                self._relay(place.site, env)
            elif place.callee is not None:
                inside = [(argument, Moment(m.scope, m.event, env)) for argument, m in place.args]
                self._spread(place.callee, inside, there, [*done, *env.via])
            elif isinstance(place.event.node, n.Call):
                self.project.evaluate(place.event.node, there)
            elif place.event.inner is not None:
                for binding in _bindings(place.event.inner):
                    self.project.bound(binding, env)

    def _given_wrapper(self, names: frozenset[str], scope: Scope, env: Environment) -> bool:
        return any(is_wrapper(value) for name in names for value in env.get(scope, name) or ())

    def _relay(self, site: WrapSite, env: Environment) -> None:
        """Make the site of a call that decides what the function wrapped in the callee calls."""
        key = (site, *(id(event) for event in env.via))
        if key not in self._relayed:
            made = WrapSite(
                site.wrapper,
                site.form,
                site.event,
                site.at,
                site.options,
                site.extra,
                site.target,
                site.bodies,
            )
            made.via, made.spread, made.definition, made.env = env.via, site.spread, site.definition, env
            made.option_moments = site.option_moments
            self._relayed[key] = made

    @property
    def relayed(self) -> tuple[WrapSite, ...]:
        """The sites of calls of functions that wrap a function of their own around what they are given."""
        return tuple(self._relayed.values())

    # Names

    def is_reached(self, module: Module) -> bool:
        """Whether a file imports a wrapper, or a function that applies one, under a name of the project."""
        if module not in self._reached:
            self._reached[module] = False
            project = self.project.project
            self._reached[module] = any(
                self._is_factory_name(source, name)
                for path, name in project.reach.leads(module.path)
                if (source := project.module(path)) is not None
            )
        return self._reached[module]

    def _is_factory_name(self, module: Module, name: str) -> bool:
        moment = Moment(module.scope, None)
        return any(
            self.is_factory(value) for value in self.project.force(self.project.name(name, moment), moment)
        )

    def is_factory(self, value: Value) -> bool:
        """Whether a value is a wrapper, wraps what it is called with, or has a method that does."""
        if is_wrapper(value):
            return True
        match value:
            case FunctionRef():
                if any(self._is_ready(place, value.scope) for place in self.summary(value.scope)):
                    return True
                return any(
                    is_wrapper(made)
                    for returned in value.scope.returns
                    if isinstance(returned.value, n.Expression)
                    for made in self.project.evaluate(returned.value, Moment(returned.scope, returned))
                )
            case Partial():
                return self.is_factory(value.target) or any(
                    is_wrapper(one)
                    for argument in value.call.args[1:]
                    for one in self.project.evaluate(argument.value, value.moment)
                )
            case ClassRef() | Instance():
                cls = value.cls if isinstance(value, Instance) else value
                return any(self._has_factory(step) for step in self.project.lineage(cls.scope))
        return False

    def _is_ready(self, place: Inner, scope: Scope) -> bool:
        """Whether a place wraps what a call gives without being given a wrapper."""
        defaults = [
            p.default for p in scope.parameters() if p.name in place.applied and p.default is not None
        ]
        moment = Moment(scope.parent or scope, scope.definition)
        given = any(is_wrapper(value) for node in defaults for value in self.project.evaluate(node, moment))
        return given or not place.applied

    def _has_factory(self, cls: Scope) -> bool:
        for word in SPELLING_WORDS:
            cls.module.load_member(cls, word)
        methods = [scope for scope in cls.children if scope.kind == "function"]
        return any(self.is_factory(FunctionRef(method)) for method in methods)


def _events(owner: Scope) -> Iterator[Event]:
    """Yield the events of a function and of the functions in it."""
    todo = [owner]
    while todo:
        scope = todo.pop()
        if scope.kind == "function":
            yield from list(scope.events)
        todo += scope.children


def _is_own(value: Value, owner: Scope) -> bool:
    """Whether what is wrapped is the same for all callers of a function, but for what it calls in turn."""
    if isinstance(value, Partial):
        return isinstance(value.target, External) or _is_own(value.target, owner)
    return isinstance(value, FunctionRef) and owner.encloses(value.scope)


def _bindings(inner: Scope) -> list[Event]:
    """Return the events that bind the name of a definition to it."""
    events = (inner.parent or inner).bindings.get(inner.name, ())
    return [event for event in events if event.inner is inner]


def _target(call: n.Call) -> n.Expression | None:
    """Return the argument of a wrapper that is wrapped."""
    for argument in call.args:
        if argument.star:
            return None
        if argument.keyword is None or argument.keyword in ("fun", "f", "target"):
            return argument.value
    return None
