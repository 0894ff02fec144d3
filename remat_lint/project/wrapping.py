"""What applying a wrapper makes: wrap sites, whether it is called or stands as a decorator."""

from __future__ import annotations

from abc import abstractmethod

from remat_lint.facts import nodes as n
from remat_lint.jaxapi import wrappers
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.jaxapi.public import TRANSPARENT
from remat_lint.project.members import Members
from remat_lint.project.modules import Project
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    UNKNOWN,
    ClassRef,
    Configured,
    Environment,
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

_KNOWN = (FunctionRef, ClassRef, External, Partial, Transformed, Wrapped, Instance)


class Wrapping(Members):
    """The part of the resolver that makes wrap sites."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self.sites: dict[tuple[object, ...], WrapSite] = {}

    @abstractmethod
    def decorate_by_function(
        self, callee: FunctionRef, values: tuple[Value, ...], moment: Moment
    ) -> tuple[Value, ...]:
        """Apply a decorator of the project: its first parameter is the function."""

    def wrap(
        self,
        wrapper: wrappers.Wrapper,
        call: n.Call,
        moment: Moment,
        before: tuple[tuple[n.Call, Moment], ...],
    ) -> tuple[Value, ...]:
        """Make the site of a call of a wrapper; `before` are the partials that hold earlier arguments."""
        assert moment.event is not None
        arguments = [(a, m) for partial, m in before for a in partial.args[1:]] + [
            (a, moment) for a in call.args
        ]
        options = {a.keyword: (a, m) for a, m in arguments if a.keyword is not None}
        positional = [(a, m) for a, m in arguments if a.keyword is None]
        spread = any(a.star for a, _ in arguments)
        named = next((options.pop(key) for key in ("fun", "f", "target") if key in options), None)
        first = named or (positional.pop(0) if positional and not positional[0][0].star else None)
        form = "partial-call" if before else "call"
        if first is None and not spread:
            form = "keyword-only"
        bodies = () if first is None else self._callables(first[0].value, first[1])
        simpler = self._seen_without(call, bodies, moment)
        if simpler is not None:
            return (simpler,)
        site = self._site(wrapper, form, moment, call.at)
        if site.options or site.target is not None:
            return self._result(site)
        site.options = {key: a for key, (a, _) in options.items() if key is not None}
        site.option_moments = {key: m for key, (_, m) in options.items() if key is not None}
        site.extra = tuple(a for a, _ in positional)
        site.spread = spread
        if first is not None:
            site.target, site.bodies = first[0].value, bodies
        return self._result(site)

    def _callables(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        """Return what a target stands for; an object of the project is called through its class."""
        found: list[Value] = []
        for value in self.force(self.evaluate(node, moment), moment):
            method = self.method(value.cls.scope, "__call__") if isinstance(value, Instance) else None
            if isinstance(value, Instance) and method is not None:
                holder = Instance(value.cls, value.access or self.access(node, moment.scope), value.made)
                found.append(FunctionRef(method.scope, value.made or method.made, holder))
            else:
                found.append(value)
        return tuple(found)

    def _seen_without(self, call: n.Call, bodies: tuple[Value, ...], moment: Moment) -> Value | None:
        """Return the same site as it is seen from fewer imagined calls, if those suffice to know what it wraps.

        A function that returns `W(f)` for its own `f` is no factory: each of its calls means the one site in it.
        """
        if moment.env is None or moment.event is None or not moment.env.via:
            return None
        event = moment.env.via[1] if len(moment.env.via) > 1 else moment.event
        outer = event.node if len(moment.env.via) > 1 else call
        if not isinstance(outer, n.Call):
            return None
        for value in self.evaluate(outer, Moment(event.scope, event)):
            site = value.site if isinstance(value, Wrapped | Configured) else None
            if site is not None and (len(moment.env.via) > 1 or site.at == call.at):
                if outer is call and not all(isinstance(b, _KNOWN) for b in site.bodies):
                    continue
                if _objects(site.bodies) == _objects(bodies):
                    return value
        return None

    def _result(self, site: WrapSite) -> tuple[Value, ...]:
        return (Configured(site),) if site.form == "keyword-only" else (Wrapped(site),)

    def _site(self, wrapper: wrappers.Wrapper, form: str, moment: Moment, at: int) -> WrapSite:
        assert moment.event is not None
        via = moment.env.via if moment.env is not None else ()
        key = (moment.scope.module, at, form == "decorator", *(id(event) for event in via))
        if key not in self.sites:
            self.sites[key] = WrapSite(wrapper, form, moment.event, at, {}, via=via, env=moment.env)
        return self.sites[key]

    def _wrap_configured(self, site: WrapSite, call: n.Call, moment: Moment) -> tuple[Value, ...]:
        if not call.args or moment.event is None:
            return (UNKNOWN,)
        made = self._site(site.wrapper, "partial-call", moment, call.at)
        made.options, made.option_moments = site.options, site.option_moments
        made.target = call.args[0].value
        made.bodies = made.bodies or self.force(self.evaluate(call.args[0].value, moment), moment)
        return (Wrapped(made),)

    # Definitions

    def decorated(self, event: Event, inner: Scope, env: Environment | None) -> tuple[Value, ...]:
        """Return what a `def` binds once its decorators are applied, the lowest first."""
        assert isinstance(inner.node, n.Function)
        values: tuple[Value, ...] = (FunctionRef(inner, inner.definition, None, env),)
        for decorator in reversed(inner.node.decorators):
            moment = Moment(event.scope, inner.definition, env)
            callees = self.evaluate(decorator, moment)
            values = tuple(
                v for callee in callees for v in self._decorate(callee, decorator, values, inner, moment)
            )
        return values

    def decorated_class(self, event: Event, inner: Scope, env: Environment | None) -> tuple[Value, ...]:
        """Return what a `class` binds; only wrappers among its decorators change it."""
        assert isinstance(inner.node, n.Class)
        values: tuple[Value, ...] = (ClassRef(inner, env),)
        for decorator in reversed(inner.node.decorators):
            moment = Moment(event.scope, inner.definition, env)
            for callee in self.evaluate(decorator, moment):
                made = self._decorate(callee, decorator, values, inner, moment)
                if any(isinstance(value, Wrapped) for value in made):
                    values = made
        return values

    def _decorate(
        self, callee: Value, decorator: n.Expression, values: tuple[Value, ...], inner: Scope, moment: Moment
    ) -> tuple[Value, ...]:
        if isinstance(callee, External):
            wrapper = wrappers.lookup(callee.dotted)
            if wrapper is not None:
                return self._decorate_site(wrapper, "decorator", decorator, values, inner, moment, None)
            if callee.dotted.removesuffix("()") in TRANSPARENT:
                return values
            receiver = lookup_receiver(callee.dotted)
            if receiver is not None and receiver.kind in ("transform", "cached"):
                return (Transformed(callee.dotted, receiver.kind, values, moment.event),)
            return (UNKNOWN,)
        if isinstance(callee, Partial) and isinstance(callee.target, External):
            wrapper = wrappers.lookup(callee.target.dotted)
            if wrapper is not None:
                return self._decorate_site(
                    wrapper, "partial-decorator", decorator, values, inner, moment, callee
                )
            receiver = lookup_receiver(callee.target.dotted)
            if receiver is not None and receiver.kind in ("transform", "cached"):
                return (Transformed(callee.target.dotted, receiver.kind, values, moment.event),)
        if isinstance(callee, Configured):
            return self._decorate_configured(callee.site, decorator, values, inner, moment)
        if isinstance(callee, FunctionRef):
            return self.decorate_by_function(callee, values, moment)
        return (UNKNOWN,)

    def _decorate_site(  # noqa: PLR0913, PLR0917 - the facts of one decorator
        self,
        wrapper: wrappers.Wrapper,
        form: str,
        decorator: n.Expression,
        values: tuple[Value, ...],
        inner: Scope,
        moment: Moment,
        partial: Partial | None,
    ) -> tuple[Value, ...]:
        # A decorator that is a parameter of a factory makes a site of each call of the factory.
        given = moment.env is not None and not self._is_wrapper(decorator, Moment(moment.scope, moment.event))
        site = self._site(
            wrapper, form, moment if given else Moment(moment.scope, moment.event), decorator.at
        )
        site.bodies, site.definition = site.bodies or values, inner
        if partial is not None:
            rest = partial.call.args[1:]
            site.options = {a.keyword: a for a in rest if a.keyword is not None}
            site.option_moments = dict.fromkeys(site.options, partial.moment)
            site.extra = tuple(a for a in rest if a.keyword is None and not a.star)
            site.spread = any(a.star for a in rest)
        return (Wrapped(site),)

    def _is_wrapper(self, node: n.Expression, moment: Moment) -> bool:
        return any(is_wrapper(value) for value in self.evaluate(node, moment))

    def _decorate_configured(
        self,
        configured: WrapSite,
        decorator: n.Expression,
        values: tuple[Value, ...],
        inner: Scope,
        moment: Moment,
    ) -> tuple[Value, ...]:
        """Apply what `W(policy=…)` returned: that call is the site, for a second definition the decorator is."""
        site = configured
        if configured.definition not in (None, inner):
            site = self._site(configured.wrapper, "decorator", moment, decorator.at)
            site.options, site.option_moments = configured.options, configured.option_moments
            site.extra, site.spread = configured.extra, configured.spread
        site.bodies, site.definition = site.bodies or values, inner
        return (Wrapped(site),)


def is_wrapper(value: Value) -> bool:
    """Whether a value is a wrapper itself, bare or with options: what becomes a site once it gets a function."""
    target = value.target if isinstance(value, Partial) else value
    if isinstance(target, External):
        return wrappers.lookup(target.dotted) is not None
    return isinstance(target, Configured)


def _objects(values: tuple[Value, ...]) -> list[object]:
    """Return what identifies the things in `values`, for comparing two ways to one site."""
    return [getattr(v, "scope", None) or getattr(v, "dotted", None) or type(v) for v in values]
