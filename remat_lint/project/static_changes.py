"""Changes of a static argument that a later call does not see."""

from __future__ import annotations

from collections.abc import Sequence

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import MUTATING_METHODS
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import Invocation, Signature
from remat_lint.project.levels import COMPUTES
from remat_lint.project.scalars import annotated
from remat_lint.project.scopes import Event, Scope, exclusive
from remat_lint.project.traversal import is_name, walk
from remat_lint.project.values import Data, External, Instance, Moment, Result


def changed_between(  # noqa: PLR0913, PLR0917 - a call and what it is compared with
    call: Invocation,
    node: n.Expression,
    signature: Signature,
    position: int,
    calls: Sequence[Invocation],
    project: Analysis,
) -> Event | None:
    """Return the change of the object `node` between an earlier call, or an earlier round of a loop, and `call`."""
    if not isinstance(node, n.Name):
        return None
    holder = call.event.scope.find(node.id)
    if holder is None or not _is_mutable(node, call.event, project):
        return None
    frame = call.event.frame
    changes = [
        event for event in frame.events if _changes(event, node.id) and event.scope.find(node.id) is holder
    ]
    for other in calls:
        given = other.given(signature, position)
        if given is None or not is_name(given.value, node.id) or other.event.frame is not frame:
            continue
        for change in changes:
            if _lies_between(other.event, change, call.event, again=other is call) and not _rebound(
                holder, node.id, other.event, call.event, again=other is call
            ):
                return change
    return None


def _is_mutable(node: n.Name, event: Event, project: Analysis) -> bool:
    """Whether a name holds an object that is static by its identity: a display, an object, a numpy array."""
    for value in project.evaluate(node, Moment(event.scope, event)):
        display = (
            isinstance(value, Data) and isinstance(value.node, n.Collection) and value.node.kind != "tuple"
        )
        array = isinstance(value, Result) and _is_double(value)
        if (
            not display
            and not array
            and not (isinstance(value, Instance) and has_identity(value.cls.scope, project))
        ):
            return False
    return True


def _is_double(value: Result) -> bool:
    """Whether a call makes a numpy array of 64 bits: JAX copies it into the trace; one of 32 bits it may share."""
    package, _, name = value.dotted.rpartition(".")
    arguments = value.call.args
    if package != "numpy" or any(a.keyword == "dtype" or a.star for a in arguments):
        return False
    literal = bool(arguments) and isinstance(arguments[0].value, n.Collection)
    return (name in ("ones", "zeros") and len(arguments) == 1) or (
        name == "array" and literal and len(arguments) == 1
    )


def has_identity(cls: Scope, project: Analysis) -> bool:
    """Whether objects of a class can change, and are found again by their identity: nothing gives them a hash."""
    for step in project.lineage(cls):
        if "__hash__" in step.bindings or project.external_bases(step) - _CHANGEABLE:
            return False
        node = step.node
        for decorator in node.decorators if isinstance(node, n.Class) else ():
            func = decorator.func if isinstance(decorator, n.Call) else decorator
            values = project.evaluate(func, Moment(step.parent or step, step.definition))
            options = decorator.args if isinstance(decorator, n.Call) else ()
            hashed = any(option.keyword in ("frozen", "unsafe_hash") for option in options)
            if values != (External("dataclasses.dataclass"),) or hashed:
                return False
    return True


_CHANGEABLE = frozenset(
    {"builtins.object", "abc.ABC", "typing.Generic", "flax.nnx.Module", "flax.nnx.Pytree"}
)
"""Bases that neither freeze an object nor give it a hash of its contents."""


def _changes(event: Event, name: str) -> bool:
    """Whether an event writes into the object of a name."""
    if event.kind == "store":
        target = event.target
        while isinstance(target, n.Attribute | n.Subscript):
            target = target.value
        return is_name(target, name)
    node = event.node
    return (
        event.kind == "call"
        and isinstance(node, n.Call)
        and isinstance(node.func, n.Attribute)
        and node.func.attr in MUTATING_METHODS
        and is_name(node.func.value, name)
    )


def _lies_between(first: Event, change: Event, second: Event, *, again: bool) -> bool:
    if exclusive(change.arms, first.arms) or exclusive(change.arms, second.arms):
        return False
    if first.order < change.order < second.order:
        return True
    return again and any(loop in first.loops for loop in change.loops)


def _rebound(holder: Scope, name: str, first: Event, second: Event, *, again: bool) -> bool:
    """Whether the name gets another object between two calls, or in each round of the loop around a call."""
    for event in holder.bindings.get(name, ()):
        if first.order < event.order < second.order:
            return True
        if again and any(loop in first.loops for loop in event.loops):
            return True
    return False


def numeric_attribute(scope: Scope, project: Analysis) -> n.Attribute | None:
    """Return the first attribute of `self` that a method computes with and that is no visible setting of the class."""
    cls, parameters = scope.owner_class, scope.parameters()
    if (
        cls is None
        or not parameters
        or not isinstance(scope.node, n.Function)
        or not has_identity(cls, project)
    ):
        return None
    name = parameters[0].name
    parents = scope.module.builder.parents
    for node in walk(scope.node.body):
        if (
            isinstance(node, n.Attribute)
            and is_name(node.value, name)
            and not _is_setting(cls, node.attr, project)
        ):
            above = parents.of(node.at)
            if isinstance(above, n.Operation) and above.op in COMPUTES:
                return node
            if isinstance(above, n.Call) and above.func is not node and _computes(above, scope, project):
                return node
    return None


def _computes(call: n.Call, scope: Scope, project: Analysis) -> bool:
    """Whether a function of `jax.numpy` that multiplies or adds gets the attribute."""
    event = scope.module.happened(call.at)
    values = project.evaluate(call.func, Moment(scope, event))
    names = ("dot", "matmul", "multiply", "add", "einsum", "tensordot", "inner", "vdot", "take", "subtract")
    return any(
        isinstance(value, External)
        and value.dotted.startswith("jax.numpy.")
        and value.dotted.rpartition(".")[2] in names
        for value in values
    )


def _is_setting(cls: Scope, attr: str, project: Analysis) -> bool:
    """Whether an attribute is a plain setting: a method, a class constant, or annotated or given as a scalar."""
    if _is_changed(cls, attr):
        return False
    for step in project.lineage(cls):
        for event in step.bindings.get(attr, ()):
            if not (
                isinstance(event.node, n.Bind)
                and event.value is None
                and not annotated(event.node.annotation)
            ):
                return True
        for event in project.attribute_stores(step).get(attr, ()):
            if isinstance(event.value, n.Constant):
                return True
            given = event.value if isinstance(event.value, n.Name) else None
            parameter = event.frame.parameter(given.id) if given is not None else None
            if parameter is not None and (annotated(parameter.annotation) or _is_literal(parameter.default)):
                return True
    return False


def _is_literal(node: n.Expression | None) -> bool:
    return isinstance(node, n.Constant) and node.value is not None


def _is_changed(cls: Scope, attr: str) -> bool:
    """Whether an attribute of that name is stored in the file outside of a constructor."""
    cls.module.load_mentions(attr)
    return any(
        event.kind == "store"
        and isinstance(event.target, n.Attribute)
        and event.target.attr == attr
        and not (event.frame.owner_class is not None and event.frame.name == "__init__")
        for scope in (cls.module.scope, *cls.module.builder.scopes.values())
        for event in scope.events
    )
