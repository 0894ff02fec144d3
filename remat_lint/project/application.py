"""What a call returns: wrappers make sites, transformations wrap functions, factories of the project are followed."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.jaxapi import wrappers
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.jaxapi.public import TRANSPARENT
from remat_lint.project.arguments import function_arguments
from remat_lint.project.arms import SPREAD, reached_returns
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    UNKNOWN,
    Access,
    ClassRef,
    Configured,
    Data,
    Deferred,
    Environment,
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Result,
    Several,
    Transformed,
    Value,
    Wrapped,
)
from remat_lint.project.wrapping import Wrapping

PARTIALS = frozenset({"functools.partial", "jax.tree_util.Partial", "jax.tree.Partial"})
DEEPEST_FACTORY = 4
_MAKERS_OF_DECORATORS = frozenset({"functools.wraps", "jax.named_scope"})
"""Transparent ones whose call returns the decorator, not the function."""


class Application(Wrapping):
    """The part of the resolver that applies callables."""

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
                return self.call_function(callee, [(a, moment) for a in call.args], moment)
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
        first = call.args[0].value if call.args and not call.args[0].star else None
        if dotted in PARTIALS and first is not None:
            targets = self.force(self.evaluate(first, moment), moment)
            return tuple(Partial(target, call, moment) for target in targets)
        if dotted in _MAKERS_OF_DECORATORS:
            return (External(f"{dotted}()"),)
        if dotted.removesuffix("()") in TRANSPARENT:
            # `nn.compact(f)`, `functools.wraps(f)(g)`, `cast(T, f)`: the function itself.
            place = 1 if dotted == "typing.cast" else 0
            if place < len(call.args) and not any(argument.star for argument in call.args[: place + 1]):
                return self.evaluate(call.args[place].value, moment)
            return (External(f"{dotted}()"),)
        receiver = lookup_receiver(dotted)
        if receiver is not None and receiver.kind in ("transform", "cached"):
            inner = tuple(v for arg in function_arguments(receiver, call) for v in self.evaluate(arg, moment))
            return (Transformed(dotted, receiver.kind, inner, moment.event),)
        return self._apply_builtin(dotted, call, moment) or (Result(dotted, call, moment.event),)

    def _apply_builtin(self, dotted: str, call: n.Call, moment: Moment) -> tuple[Value, ...]:
        """Return what `type(x)`, `super()` and `getattr(x, "name")` give; nothing if that is not known."""
        plain = [argument.value for argument in call.args if argument.keyword is None and not argument.star]
        if dotted == "builtins.type" and len(plain) == len(call.args) == 1:
            values = self.evaluate(plain[0], moment)
            return tuple(value.cls for value in values if isinstance(value, Instance))
        if dotted == "builtins.super" and not call.args:
            return self._super(moment)
        if dotted == "builtins.getattr" and len(plain) > 1 and isinstance(plain[1], n.Constant):
            name = plain[1].value
            if isinstance(name, str):
                return self.evaluate(n.Attribute(plain[0].at, plain[0], name), moment)
        return ()

    def _super(self, moment: Moment) -> tuple[Value, ...]:
        cls = next((s.owner_class for s in moment.scope.ancestors() if s.owner_class is not None), None)
        bases = () if cls is None else self.bases(cls)
        return tuple(Instance(base, Access(base.scope, "")) for base in bases if isinstance(base, ClassRef))

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
            return self.call_function(target, arguments_of(callee, call, moment), moment)
        if isinstance(target, ClassRef):
            return (Instance(target, None, moment.event),)
        return (UNKNOWN,)

    def call_function(
        self, callee: FunctionRef, args: list[tuple[n.Argument, Moment]], moment: Moment
    ) -> tuple[Value, ...]:
        """Evaluate what a function of the project returns for these arguments."""
        function = callee.scope.node
        if not isinstance(function, n.Function) or function.is_generator:
            return (UNKNOWN,)
        env = self.enter(callee, args, moment)
        if env is None or not callee.scope.module.matters:
            return self.described(function.returns, callee.scope.parent or callee.scope) or (UNKNOWN,)
        return self._returned(callee.scope, env, moment.event)

    def enter(
        self, callee: FunctionRef, args: list[tuple[n.Argument, Moment]], moment: Moment
    ) -> Environment | None:
        """Return the environment of an imagined call; None if it lies too deep."""
        via = moment.env.via if moment.env is not None else ()
        if len(via) >= DEEPEST_FACTORY:
            return None
        event = moment.event
        given = self._bind_arguments(callee, args)
        return Environment(given, via if event is None else (*via, event), callee.env)

    def _returned(self, scope: Scope, env: Environment, event: Event | None) -> tuple[Value, ...]:
        values: list[Value] = []
        for returned in reached_returns(scope, env):
            if isinstance(returned.value, n.Expression):
                found = self.evaluate(returned.value, Moment(returned.scope, returned, env))
                values += self.remade(found, env, scope, event)
        if not any(_tells(value) for value in values) and isinstance(scope.node, n.Function):
            values = [*self.described(scope.node.returns, scope.parent or scope)] or values
        return tuple(values) or (UNKNOWN,)

    def remade(
        self, values: tuple[Value, ...], env: Environment, scope: Scope, event: Event | None
    ) -> list[Value]:
        """Return values that come out of a call of `scope`; a function made in the call is made at the call."""
        found: list[Value] = []
        for value in values:
            if isinstance(value, FunctionRef) and scope.encloses(value.scope) and value.scope is not scope:
                found.append(FunctionRef(value.scope, event, value.receiver, value.env or env))
            elif isinstance(value, Wrapped) and any(scope.encloses(f.scope) for f in value.site.functions):
                found.append(Wrapped(value.site, value.instance, event))
            else:
                found.append(value)
        return found

    def taken(self, values: tuple[Value, ...], whole: Data) -> tuple[Value, ...]:
        """Return items of a collection; what was made in the call that returned it is made at the call."""
        env, frame = whole.moment.env, whole.moment.scope.frame
        if env is None or not env.via or frame.kind != "function":
            return values
        return tuple(self.remade(values, env, frame, env.via[-1]))

    def _bind_arguments(
        self, callee: FunctionRef, args: list[tuple[n.Argument, Moment]]
    ) -> dict[tuple[Scope, str], tuple[Value, ...]]:
        scope = callee.scope
        given: dict[tuple[Scope, str], tuple[Value, ...]] = {}
        names = [p.name for p in scope.parameters() if p.kind in ("positional-only", "positional")]
        if callee.receiver is not None and names:
            given[scope, names.pop(0)] = (callee.receiver,)
        rest: list[tuple[Value, ...]] = []
        complete = True
        for argument, moment in args:
            if argument.star:
                given[scope, SPREAD] = ()
                names, complete = [], complete and argument.star == "**"
            elif argument.keyword is not None:
                given[scope, argument.keyword] = self.evaluate(argument.value, moment)
            elif names:
                given[scope, names.pop(0)] = self.evaluate(argument.value, moment)
            else:
                rest.append(self.evaluate(argument.value, moment))
        for parameter in scope.parameters():
            if parameter.kind == "star" and complete:
                given[scope, parameter.name] = (Several(tuple(rest)),)
            if (scope, parameter.name) not in given and parameter.default is not None:
                definition = scope.definition
                outer = Moment(scope.parent or scope, definition, callee.env)
                given[scope, parameter.name] = self.evaluate(parameter.default, outer)
        return given

    def decorate_by_function(
        self, callee: FunctionRef, values: tuple[Value, ...], moment: Moment
    ) -> tuple[Value, ...]:
        """Apply a decorator of the project: its first parameter is the function."""
        names = [p.name for p in callee.scope.parameters() if p.kind in ("positional-only", "positional")]
        if callee.receiver is not None:
            names = names[1:]
        via = moment.env.via if moment.env is not None else ()
        if not names or len(via) >= DEEPEST_FACTORY or moment.event is None:
            return (UNKNOWN,)
        given = self._bind_arguments(callee, []) | {(callee.scope, names[0]): values}
        env = Environment(given, (*via, moment.event), callee.env)
        return self._returned(callee.scope, env, moment.event)


def _tells(value: Value) -> bool:
    """Whether a value says more than the annotation of the function that returns it."""
    return value != UNKNOWN and not (
        isinstance(value, Data) and isinstance(value.node, n.Subscript | n.Attribute)
    )


def arguments_of(partial: Partial, call: n.Call, moment: Moment) -> list[tuple[n.Argument, Moment]]:
    """Return the arguments that the target of a `partial` gets from a call of the partial."""
    before = [(argument, partial.moment) for argument in partial.call.args[1:]]
    return before + [(argument, moment) for argument in call.args]
