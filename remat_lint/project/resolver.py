"""Evaluates expressions to what they can stand for, by the rules of scopes and order."""

from __future__ import annotations

import functools

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.public import is_public
from remat_lint.jaxapi.wrappers import SPELLING_WORDS
from remat_lint.project.arms import takes_body
from remat_lint.project.factories import Factories
from remat_lint.project.lookups import MOST_VALUES, NOTHING
from remat_lint.project.sequences import Sequences
from remat_lint.project.values import (
    UNKNOWN,
    ClassRef,
    Configured,
    Data,
    Deferred,
    External,
    FunctionRef,
    Given,
    Instance,
    Member,
    ModuleRef,
    Moment,
    Partial,
    Result,
    Transformed,
    Unknown,
    Value,
    Wrapped,
)

MOST_DEPTH, MOST_STEPS = 60, 20_000
_PURE = frozenset({"haiku.transform", "haiku.transform_with_state", "haiku.without_apply_rng"})
"""Transformations whose result has the function as its attributes `init` and `apply`."""


class Resolver(Sequences):
    """Answers for one project; answers that depend on no imagined call are kept."""

    def __init__(self, project: object) -> None:
        super().__init__(project)
        self.project.reaches = self.factories.is_reached

    @functools.cached_property
    def factories(self) -> Factories:
        """The functions of the project that wrap what they are given."""
        return Factories(self)

    def evaluate(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        """Return what `node` can stand for at `moment`; never empty."""
        self.steps = self.steps + 1 if self.depth else 0
        if self.depth > MOST_DEPTH or self.steps > MOST_STEPS:
            return NOTHING
        self.depth += 1
        try:
            values = self._evaluate(node, moment)
        finally:
            self.depth -= 1
        return _distinct(values)[:MOST_VALUES] or NOTHING

    def _evaluate(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        match node:
            case n.Name():
                return self.name(node.id, moment)
            case n.Attribute():
                bases = self.evaluate(node.value, moment)
                return tuple(
                    value for base in bases for value in self.attribute(base, node.attr, node, moment)
                )
            case n.Call():
                return self._call(node, moment)
            case n.Function():
                event = moment.scope.module.happened(node.at)
                inner = moment.scope.module.builder.scopes.get(node.at)
                return NOTHING if inner is None else (FunctionRef(inner, event, None, moment.env),)
            case n.Conditional():
                taken = takes_body(node, moment.scope, moment.env)
                if taken is not None:
                    return self.evaluate(node.body if taken else node.orelse, moment)
                return self.evaluate(node.body, moment) + self.evaluate(node.orelse, moment)
            case n.Operation() if node.op in ("or", "and"):
                return self.evaluate(node.operands[0], moment) + self.evaluate(node.operands[1], moment)
            case n.Bind() if node.value is not None:
                return self.evaluate(node.value, moment)
            case n.Subscript():
                return self.subscript(node, moment)
            case _:
                return (Data(node, moment),)

    def _call(self, node: n.Call, moment: Moment) -> tuple[Value, ...]:
        module = moment.scope.module
        event = module.happened(node.at)
        if event is None:
            return NOTHING
        key = (module, node.at)
        if moment.env is None and key in self.calls:
            return self.calls[key]
        if moment.env is not None and key in moment.env.known:
            return moment.env.known[key]
        guard = (node.at, module, id(moment.env))
        if guard in self.active:
            return NOTHING
        self.active.add(guard)
        try:
            here = Moment(event.scope, event, moment.env)
            callees = self.evaluate(node.func, here)
            values = tuple(value for callee in callees for value in self.apply(callee, node, here))
        finally:
            self.active.discard(guard)
        if moment.env is None:
            self.calls[key] = values
        else:
            moment.env.known[key] = values
        return values

    def attribute(self, base: Value, attr: str, node: n.Attribute, moment: Moment) -> tuple[Value, ...]:
        """Return what `base.attr` can stand for."""
        match base:
            case External():
                return (External(f"{base.dotted}.{attr}"),)
            case ModuleRef():
                return self._module_attribute(base, attr)
            case Instance():
                return self._attribute_of_object(base, attr, node, moment)
            case ClassRef():
                return self.class_member(base, attr, moment)
            case Result():
                return (Member(base, attr),)
            case Deferred():
                longer = base.then(attr)
                if is_public(longer.dotted):
                    return (External(longer.dotted),)
                # What a wrapper may be called is looked up although the module that passes it on spells none.
                spells = any(word in attr for word in SPELLING_WORDS)
                return self.force((longer,), moment) if spells else (longer,)
            case Given():
                described = self.described(base.parameter.annotation, base.scope.parent or base.scope)
                found = tuple(v for one in described for v in self.attribute(one, attr, node, moment))
                return found or (Data(node, moment),)
            case _:
                return _attribute_of_callable(base, attr) or (Data(node, moment),)

    def _attribute_of_object(
        self, base: Instance, attr: str, node: n.Attribute, moment: Moment
    ) -> tuple[Value, ...]:
        if attr == "__class__":
            return (base.cls,)
        known = base
        if base.access is None:
            known = Instance(base.cls, self.access(node.value, moment.scope), base.made)
        return self._stored(known, attr) or self.member(known, attr, moment)

    def _stored(self, base: Instance, attr: str) -> tuple[Value, ...]:
        """Return what the frame of a local object stored in its attribute from outside of its class."""
        if base.access is None or not base.access.name:
            return ()
        wanted = base.access.then((".", attr))
        values: list[Value] = []
        for event in base.access.scope.frame.events:
            if event.kind == "store" and isinstance(event.target, n.Attribute) and event.target.attr == attr:
                plain = not isinstance(event.value, n.Parameter | n.Import | None) and not event.part
                if plain and self.access(event.target, event.scope) == wanted:
                    values += self.evaluate(event.value, Moment(event.scope, event))  # type: ignore[arg-type]  # an expression
        return tuple(values)

    def _module_attribute(self, base: ModuleRef, attr: str) -> tuple[Value, ...]:
        full = f"{base.dotted}.{attr}"
        if is_public(full):
            return (External(full),)
        module = base.scope.module
        if self.has(module, attr):
            return self.exported(module.scope, attr)
        if module.path.name == "__init__.py":
            path = module.project.find(module.path, attr, 1)
            if path is not None:
                return (self.module_value(full, path),)
        return (External(full),)


def _attribute_of_callable(base: Value, attr: str) -> tuple[Value, ...]:
    """Return an attribute that leads from one callable to another; nothing for values that are no callables."""
    match base:
        case FunctionRef() if attr in ("__call__", "__wrapped__"):
            return (base,)
        case FunctionRef() if attr == "__func__":
            return (FunctionRef(base.scope, base.made, None, base.env),)
        case Partial() if attr == "func":
            return (base.target,)
        case Transformed() if base.dotted in _PURE and attr in ("init", "apply"):
            return (base,)
        case Wrapped() | Partial() | Configured() | Unknown():
            return NOTHING
    return ()


def _distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return values without repetitions, which would crowd out others; what is unknown stands last."""
    if len(values) <= 1:
        return values
    unique = dict.fromkeys(values)
    return (*(value for value in unique if value != UNKNOWN), *(() if UNKNOWN not in unique else NOTHING))
