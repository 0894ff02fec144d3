"""What a function does, as far as memory is concerned: loops over layers, scans, checkpoints inside, or next to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi import wrappers
from remat_lint.jaxapi.flow import SCANS, lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import function_arguments, keyword
from remat_lint.project.levels import ARRAY_METHODS, CONTAINER_METHODS, is_activation
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import (
    UNKNOWN,
    ClassRef,
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
)

DIFFERENTIABLE_LOOPS = frozenset(
    name for name in SCANS if name.endswith((".scan", ".map", ".fori_loop")) and name != "flax.linen.scan"
)
"""Loops of XLA whose backward pass keeps something for every step."""

_COMPUTING = ("jax.", "numpy.", "builtins.", "math.", "functools.", "operator.", "einops.", "optax.losses.")
_PRODUCTS = frozenset(
    {
        *(
            f"jax.numpy.{name}"
            for name in ("dot", "matmul", "einsum", "tensordot", "vdot", "inner", "convolve")
        ),
        *(
            f"jax.lax.{name}"
            for name in ("dot", "dot_general", "batch_matmul", "conv", "conv_general_dilated")
        ),
        *(f"jax.lax.{name}" for name in ("conv_transpose", "conv_with_general_padding")),
    }
)
_METHODS = (
    ARRAY_METHODS | CONTAINER_METHODS | {"at", "set", "add", "keys", "append", "update", "format", "join"}
)
_LOSSES = ("optax.softmax_", "optax.sigmoid_", "optax.l2_", "optax.huber_", "optax.squared_", "optax.log_")
_MODELS = frozenset({"apply", "apply_fn", "forward", "model", "net", "network"})
_DEEPEST = 5
_FEW, _MANY = 1, 9


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A loop of XLA that a function runs; `body` is the expression of what it repeats, `dotted` its name."""

    event: Event
    call: n.Call
    body: n.Expression
    dotted: str

    @property
    def unroll(self) -> n.Argument | None:
        """The argument that asks for several steps in one."""
        return keyword(self.call, "unroll")


def scans_in(scope: Scope, project: Analysis) -> Iterator[Scan]:
    """Yield the loops of XLA whose call stands in a function itself, not in one defined inside."""
    for event in scope.events:
        if event.kind == "call" and isinstance(event.node, n.Call):
            for value in project.evaluate(event.node.func, Moment(event.scope, event)):
                receiver = lookup_receiver(value.dotted) if isinstance(value, External) else None
                if isinstance(value, External) and receiver is not None and value.dotted in SCANS:
                    functions = function_arguments(receiver, event.node)
                    if functions and receiver.kind in ("now", "now-cached"):
                        yield Scan(event, event.node, functions[-1], value.dotted)


def only_scan(scope: Scope, project: Analysis) -> Scan | None:
    """Return the one loop of XLA that a function runs and next to nothing besides."""
    scans = list(scans_in(scope, project))
    if len(scans) != 1 or scans[0].dotted not in DIFFERENTIABLE_LOOPS or scans[0].event.loops:
        return None
    return scans[0] if is_light(scope, project, without=frozenset({scans[0].call.at})) else None


def layer_loop(scope: Scope, project: Analysis) -> n.Loop | None:
    """Return a loop whose rounds compute with what the round before has computed, by more than single operations."""
    loops = (
        loop
        for loop in _carrying_loops(scope)
        if any(_is_layer(part, scope, project) for part in walk(loop.body))
    )
    return next(loops, None)


def _carrying_loops(scope: Scope) -> Iterator[n.Loop]:
    """Yield the `for` loops of a function that give a variable a value made from its value before."""
    for event in scope.events:
        loop = event.loops[-1] if event.loops else None
        if event.kind != "bind" or not isinstance(loop, n.Loop) or loop.iter is None or loop.orelse:
            continue
        if _is_short(loop.iter) or not isinstance(event.value, n.Expression) or event.part == "iteration":
            continue
        reads = (part for part in walk(loop.body) if isinstance(part, n.Name) and part.id == event.name)
        if any(part is not event.target and part.at <= _last(event.value) for part in reads):
            yield loop


def _last(node: n.Expression) -> int:
    numbers: list[int] = [part.at for part in walk(node)]
    return max(numbers)


def _is_layer(part: n.Node, scope: Scope, project: Analysis) -> bool:
    """Whether a node computes more than one operation of JAX on each element."""
    if not isinstance(part, n.Call):
        return isinstance(part, n.Operation) and part.op == "@"
    event = scope.module.happened(part.at)
    values = () if event is None else project.evaluate(part.func, Moment(event.scope, event))
    dotted = [value.dotted for value in values if isinstance(value, External)]
    if len(dotted) == len(values):
        return any(one in _PRODUCTS or not _is_computing(one) for one in dotted)
    return not (isinstance(part.func, n.Attribute) and part.func.attr in _METHODS)


def deepest_loop(scope: Scope, project: Analysis) -> tuple[Scope, n.Loop] | None:
    """Return the loop over layers of a function, or of the function whose result it passes on, and where it stands."""
    for _ in range(_DEEPEST):
        loop = layer_loop(scope, project)
        if loop is not None:
            return scope, loop
        inner = _passed_on(scope, project)
        if inner is None or inner is scope:
            return None
        scope = inner
    return None


def _passed_on(scope: Scope, project: Analysis) -> Scope | None:
    """Return the one function of the project whose result a function returns as it is."""
    returned = [event.value for event in scope.returns]
    if len(returned) != 1 or not isinstance(returned[0], n.Call):
        return None
    event = scope.module.happened(returned[0].at)
    values = () if event is None else project.evaluate(returned[0].func, Moment(event.scope, event))
    single = values[0] if len(values) == 1 else None
    return single.scope if isinstance(single, FunctionRef) else None


def _computes(loop: n.Loop) -> bool:
    return any(
        isinstance(part, n.Call) or (isinstance(part, n.Operation) and part.op == "@")
        for part in walk(loop.body)
    )


def _is_short(node: n.Expression) -> bool:
    """Whether a loop visibly has no more than two rounds."""
    if isinstance(node, n.Collection):
        return len(node.items) <= _FEW + 1
    if isinstance(node, n.Call) and isinstance(node.func, n.Name) and node.func.id == "range" and node.args:
        last = node.args[0].value if len(node.args) == 1 else node.args[1].value
        return isinstance(last, n.Constant) and isinstance(last.value, int) and last.value <= _FEW + 1
    return False


def is_light(
    scope: Scope, project: Analysis, *, without: frozenset[int] = frozenset(), depth: int = 0
) -> bool:
    """Whether a function does next to nothing besides the calls numbered in `without`.

    That is: operators, single functions of JAX and numpy, at most one product of matrices, no loop that carries
    something on, and nothing that is not known.
    """
    if (
        depth > _DEEPEST
        or not isinstance(scope.node, n.Function)
        or any(map(_computes, _carrying_loops(scope)))
    ):
        return False
    products = sum(isinstance(part, n.Operation) and part.op == "@" for part in _own(scope.node))
    for event in scope.events:
        if event.kind == "call" and isinstance(event.node, n.Call) and event.node.at not in without:
            weight = _weight(event, event.node, project, without, depth)
            if weight is None:
                return False
            products += weight
    return products <= _FEW


def _own(node: n.Function) -> Iterator[n.Node]:
    return walk(node.body, lambda part: not isinstance(part, n.Function))


def _weight(event: Event, call: n.Call, project: Analysis, without: frozenset[int], depth: int) -> int | None:
    """Return how many products of matrices a call computes; None if it does more, or is not known."""
    total = 0
    for callee in project.evaluate(call.func, Moment(event.scope, event)):
        if isinstance(callee, External):
            if wrappers.lookup(callee.dotted) is not None:
                continue  # what is wrapped runs when the result is called, and that call is weighed
            if callee.dotted in SCANS or not _is_computing(callee.dotted):
                return None
            total = max(total, int(callee.dotted in _PRODUCTS))
        elif isinstance(callee, FunctionRef):
            if not is_light(callee.scope, project, without=without, depth=depth + 1):
                return None
        elif not (isinstance(call.func, n.Attribute) and call.func.attr in _METHODS):
            return None
    return total


def _is_computing(dotted: str) -> bool:
    return dotted.startswith(_COMPUTING) or dotted.startswith(_LOSSES) or is_activation(dotted)


def has_layers(scope: Scope, project: Analysis) -> bool:
    """Whether a function visibly computes several things one after the other: layers, or a model that is called."""
    return _layers(scope, project, set()) > _FEW


def _layers(scope: Scope, project: Analysis, seen: set[Scope]) -> int:
    """Return how many products of matrices a function computes; a loop or a model counts as many."""
    if scope in seen or not isinstance(scope.node, n.Function):
        return 0
    seen.add(scope)
    if layer_loop(scope, project) is not None:
        return _MANY
    total = sum(isinstance(part, n.Operation) and part.op == "@" for part in _own(scope.node))
    for event in list(scope.events):
        if event.kind == "call" and isinstance(event.node, n.Call):
            total += _layers_of_call(event, event.node, project, seen)
    return total


def _layers_of_call(event: Event, call: n.Call, project: Analysis, seen: set[Scope]) -> int:
    last = call.func.attr if isinstance(call.func, n.Attribute) else getattr(call.func, "id", "")
    found = _MANY if last in _MODELS and len(call.args) > 0 else 0
    for callee in project.evaluate(call.func, Moment(event.scope, event)):
        step: Value = callee
        while isinstance(step, Transformed | Partial):
            step = step.target if isinstance(step, Partial) else next(iter(step.inner), UNKNOWN)
        if isinstance(step, External):
            found = max(
                found, _MANY if step.dotted in DIFFERENTIABLE_LOOPS else int(step.dotted in _PRODUCTS)
            )
        elif isinstance(step, FunctionRef):
            found = max(found, _layers(step.scope, project, seen))
        elif isinstance(step, Instance):
            method = project.method(step.cls.scope, "__call__")
            found = max(found, 0 if method is None else _layers(method.scope, project, seen))
    return found


def reaches_checkpoint(scope: Scope, project: Analysis) -> bool:
    """Whether something that a function runs, as far as it is seen, may be checkpointed."""
    return _reaches(scope, project, set(), 0)


def _reaches(scope: Scope, project: Analysis, seen: set[Scope], depth: int) -> bool:
    if scope in seen or depth > _DEEPEST:
        return False
    seen.add(scope)
    for event in list(scope.events):
        if event.kind == "call" and isinstance(event.node, n.Call):
            moment = Moment(event.scope, event)
            values = list(project.evaluate(event.node.func, moment))
            for argument in event.node.args:
                if isinstance(argument.value, n.Name | n.Attribute | n.Function | n.Call):
                    values += project.evaluate(argument.value, moment)
            if any(_is_checkpoint(value, project, seen, depth) for value in values):
                return True
    return any(
        _reaches(child, project, seen, depth) for child in list(scope.children) if child.kind == "function"
    )


def _is_checkpoint(value: Value, project: Analysis, seen: set[Scope], depth: int) -> bool:
    match value:
        case Wrapped():
            return True
        case External():
            return wrappers.lookup(value.dotted) is not None
        case FunctionRef():
            return _reaches(value.scope, project, seen, depth + 1)
        case Partial():
            return _is_checkpoint(value.target, project, seen, depth)
        case Transformed():
            return any(_is_checkpoint(inner, project, seen, depth) for inner in value.inner)
        case Instance():
            return _class_reaches(value.cls.scope, project, seen, depth)
        case ClassRef():
            return _class_reaches(value.scope, project, seen, depth)
        case _:
            return False


def _class_reaches(cls: Scope, project: Analysis, seen: set[Scope], depth: int) -> bool:
    for name in ("__call__", "setup", "__init__"):
        method = project.method(cls, name)
        if method is not None and _reaches(method.scope, project, seen, depth + 1):
            return True
    return False
