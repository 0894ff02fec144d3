"""What a call returns: wrappers make sites, transformations wrap functions, factories of the project are followed."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.jaxapi import wrappers
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.arguments import function_arguments
from remat_lint.project.members import Members
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    UNKNOWN,
    ClassRef,
    Configured,
    Deferred,
    Environment,
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Result,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

PARTIALS = frozenset({"functools.partial", "jax.tree_util.Partial", "jax.tree.Partial"})
TRANSPARENT = frozenset(
    {
        "flax.linen.compact",
        "flax.linen.nowrap",
        "functools.wraps",
        "jax.named_call",
        "jax.named_scope",
        "haiku.transparent",
        "builtins.staticmethod",
        "builtins.classmethod",
        "contextlib.contextmanager",
        "typing.no_type_check",
        "typing.cast",
        "abc.abstractmethod",
        "typing.override",
        "typing_extensions.override",
    }
)
DEEPEST_FACTORY = 4
_KNOWN = (FunctionRef, ClassRef, External, Partial, Transformed, Wrapped, Instance)


class Application(Members):
    """The part of the resolver that applies callables."""

    def __init__(self, project: object) -> None:
        super().__init__(project)  # type: ignore[arg-type]  # the same project; its type is named once, in Members
        self.sites: dict[tuple[object, ...], WrapSite] = {}

    def apply(self, callee: Value, call: n.Call, moment: Moment) -> tuple[Value, ...]:
        """Return what calling `callee` with the arguments of `call` gives."""
        match callee:
            case External():
                return self._apply_external(callee.dotted, call, moment)
            case Partial():
                return self._apply_partial(callee, call, moment)
            case Configured():
                return self._wrap_configured(callee.site, call, moment)
            case FunctionRef():
                return self._apply_function(callee, call, moment)
            case ClassRef():
                return (Instance(callee, None, moment.event),)
            case Deferred():
                return (callee.then("()"),)
            case Wrapped() if not callee.instance and any(
                isinstance(b, ClassRef) for b in callee.site.bodies
            ):
                return (Wrapped(callee.site, instance=True),)
            case _:
                return (UNKNOWN,)

    def _apply_external(self, dotted: str, call: n.Call, moment: Moment) -> tuple[Value, ...]:
        wrapper = wrappers.lookup(dotted)
        if wrapper is not None:
            return self.wrap(wrapper, call, moment, ())
        if dotted in PARTIALS and call.args and not call.args[0].star:
            targets = self.force(self.evaluate(call.args[0].value, moment), moment)
            return tuple(Partial(target, call, moment) for target in targets)
        if dotted in TRANSPARENT:
            return (External(f"{dotted}()"),)
        receiver = lookup_receiver(dotted)
        if receiver is not None and receiver.kind in ("transform", "cached"):
            inner = tuple(v for arg in function_arguments(receiver, call) for v in self.evaluate(arg, moment))
            return (Transformed(dotted, receiver.kind, inner, moment.event),)
        return (Result(dotted, call, moment.event),)

    def _apply_partial(self, callee: Partial, call: n.Call, moment: Moment) -> tuple[Value, ...]:
        target = callee.target
        if isinstance(target, External):
            wrapper = wrappers.lookup(target.dotted)
            if wrapper is not None:
                return self.wrap(wrapper, call, moment, ((callee.call, callee.moment),))
            receiver = lookup_receiver(target.dotted)
            if receiver is not None and receiver.kind in ("transform", "cached") and call.args:
                inner = self.evaluate(call.args[0].value, moment)
                return (Transformed(target.dotted, receiver.kind, inner, moment.event),)
        if isinstance(target, FunctionRef):
            before = callee.call.args[1:]
            return self._call_function(
                target, [(a, callee.moment) for a in before] + [(a, moment) for a in call.args], moment
            )
        return (UNKNOWN,)

    def _apply_function(self, callee: FunctionRef, call: n.Call, moment: Moment) -> tuple[Value, ...]:
        return self._call_function(callee, [(a, moment) for a in call.args], moment)

    def _call_function(
        self, callee: FunctionRef, args: list[tuple[n.Argument, Moment]], moment: Moment
    ) -> tuple[Value, ...]:
        """Evaluate what a function of the project returns for these arguments."""
        via = moment.env.via if moment.env is not None else ()
        function = callee.scope.node
        if len(via) >= DEEPEST_FACTORY or not isinstance(function, n.Function) or function.is_generator:
            return (UNKNOWN,)
        if not callee.scope.module.matters:
            return (UNKNOWN,)
        given = self._bind_arguments(callee, args)
        event = moment.event
        env = Environment(given, via if event is None else (*via, event), callee.env)
        values: list[Value] = []
        for returned in callee.scope.returns:
            if isinstance(returned.value, n.Expression):
                values += self._remade(
                    returned.value, Moment(returned.scope, returned, env), callee.scope, event
                )
        return tuple(values) or (UNKNOWN,)

    def _remade(self, node: n.Expression, inside: Moment, scope: Scope, event: Event | None) -> list[Value]:
        """Evaluate a returned expression; a function made in the call is made at the call."""
        values: list[Value] = []
        for value in self.evaluate(node, inside):
            if isinstance(value, FunctionRef) and scope.encloses(value.scope) and value.scope is not scope:
                values.append(FunctionRef(value.scope, event, value.receiver, value.env or inside.env))
            elif isinstance(value, Wrapped) and any(scope.encloses(f.scope) for f in value.site.functions):
                values.append(Wrapped(value.site, value.instance, event))
            else:
                values.append(value)
        return values

    def _bind_arguments(
        self, callee: FunctionRef, args: list[tuple[n.Argument, Moment]]
    ) -> dict[tuple[Scope, str], tuple[Value, ...]]:
        scope = callee.scope
        given: dict[tuple[Scope, str], tuple[Value, ...]] = {}
        names = [p.name for p in scope.parameters() if p.kind in ("positional-only", "positional")]
        if callee.receiver is not None and names:
            given[scope, names.pop(0)] = (callee.receiver,)
        for argument, moment in args:
            if argument.star:
                names = []
            elif argument.keyword is not None:
                given[scope, argument.keyword] = self.evaluate(argument.value, moment)
            elif names:
                given[scope, names.pop(0)] = self.evaluate(argument.value, moment)
        for parameter in scope.parameters():
            if (scope, parameter.name) not in given and parameter.default is not None:
                definition = scope.definition
                outer = Moment(scope.parent or scope, definition, callee.env)
                given[scope, parameter.name] = self.evaluate(parameter.default, outer)
        return given

    # Wrapping

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
        key = (moment.scope.module.path, at, form == "decorator", *(id(event) for event in via))
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
            callee.site.bodies = callee.site.bodies or values
            callee.site.definition = inner
            return (Wrapped(callee.site),)
        if isinstance(callee, FunctionRef):
            return self._decorate_by_function(callee, values, moment)
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
        site = self._site(wrapper, form, Moment(moment.scope, moment.event), decorator.at)
        site.bodies, site.definition = site.bodies or values, inner
        if partial is not None:
            rest = partial.call.args[1:]
            site.options = {a.keyword: a for a in rest if a.keyword is not None}
            site.option_moments = dict.fromkeys(site.options, partial.moment)
            site.extra = tuple(a for a in rest if a.keyword is None and not a.star)
            site.spread = any(a.star for a in rest)
        return (Wrapped(site),)

    def _decorate_by_function(
        self, callee: FunctionRef, values: tuple[Value, ...], moment: Moment
    ) -> tuple[Value, ...]:
        """Apply a decorator of the project: its first parameter is the function."""
        names = [p.name for p in callee.scope.parameters() if p.kind in ("positional-only", "positional")]
        via = moment.env.via if moment.env is not None else ()
        if not names or len(via) >= DEEPEST_FACTORY or moment.event is None:
            return (UNKNOWN,)
        env = Environment({(callee.scope, names[0]): values}, (*via, moment.event), callee.env)
        out: list[Value] = []
        for returned in callee.scope.returns:
            if isinstance(returned.value, n.Expression):
                out += self._remade(
                    returned.value, Moment(returned.scope, returned, env), callee.scope, moment.event
                )
        return tuple(out) or (UNKNOWN,)


def _objects(values: tuple[Value, ...]) -> list[object]:
    """Return what identifies the things in `values`, for comparing two ways to one site."""
    return [getattr(v, "scope", None) or getattr(v, "dotted", None) or type(v) for v in values]
