"""Whether an expression gives a value that surely cannot be called: an array, a number, a container."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import makes_traced
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import reaching
from remat_lint.project.values import (
    Data,
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

_DEEPEST = 6
_TRACING = frozenset({"jax", "nnx", "haiku", "trax"})
_CALLING = frozenset({"transform", "cached", "now", "now-cached"})
_UNCLEAR = frozenset({"and", "or", "await", "yield", "yield from", "star"})
_VALUES = frozenset(
    f"builtins.{name}"
    for name in (
        "abs",
        "bool",
        "dict",
        "float",
        "int",
        "len",
        "list",
        "pow",
        "range",
        "round",
        "str",
        "sum",
        "tuple",
    )
)
_SAME_RESULT = frozenset(
    {"jax.jit", "jax.vmap", "jax.named_call", "flax.nnx.jit", "flax.nnx.vmap", "equinox.filter_jit"}
)
_ARRAY_ATTRIBUTES = frozenset({"T", "mT", "shape", "dtype", "size", "ndim", "real", "imag"})
_ARRAY_METHODS = frozenset(
    {"astype", "reshape", "sum", "mean", "transpose", "ravel", "flatten", "squeeze", "swapaxes", "std", "var"}
)


def is_value(node: n.Expression, moment: Moment, project: Analysis, depth: int = 0) -> bool:
    """Whether everything that `node` can stand for at `moment` is surely no callable."""
    if depth > _DEEPEST:
        return False
    values = project.evaluate(node, moment)
    if all(_is_known_value(value) for value in values):
        return True
    match node:
        case n.Call():
            return _gives_value(node, moment, project, depth)
        case n.Name():
            return _holds_value(node, moment, project, depth)
        case n.Conditional():
            branches = (node.body, node.orelse)
            return all(is_value(branch, moment, project, depth + 1) for branch in branches)
    return False


def _is_known_value(value: Value) -> bool:
    match value:
        case Data(node=n.Operation(op=op)):
            return op not in _UNCLEAR
        case Data(node=n.Constant(value=constant)):
            return constant is not None
        case Data(node=n.Attribute(attr=attr)):
            return attr in _ARRAY_ATTRIBUTES
        case Data(node=n.Collection() | n.Comprehension() | n.Format()):
            return True
        case Result(dotted=dotted):
            return dotted in _VALUES or (makes_traced(dotted) and lookup_receiver(dotted) is None)
    return False


def _gives_value(call: n.Call, moment: Moment, project: Analysis, depth: int) -> bool:
    """Whether what a call runs surely returns a value."""
    event = moment.scope.module.happened(call.at)
    if event is None:
        return False
    here = Moment(event.scope, event, moment.env)
    if isinstance(call.func, n.Attribute) and call.func.attr in _ARRAY_METHODS:
        return is_value(call.func.value, here, project, depth + 1)
    return all(_returns_value(callee, project, depth) for callee in project.evaluate(call.func, here))


def _returns_value(callee: Value, project: Analysis, depth: int) -> bool:
    match callee:
        case FunctionRef():
            return returns_value(callee, project, depth + 1)
        case Partial():
            return _returns_value(callee.target, project, depth)
        case Wrapped(instance=False):
            known = callee.site.functions
            return len(known) == len(callee.site.bodies) > 0 and all(
                returns_value(function, project, depth + 1) for function in known
            )
        case Transformed() if callee.dotted in _SAME_RESULT:
            return bool(callee.inner) and all(_returns_value(inner, project, depth) for inner in callee.inner)
        case Instance():
            method = project.method(callee.cls.scope, "__call__")
            return method is not None and returns_value(method, project, depth + 1)
    return False


def returns_value(function: FunctionRef, project: Analysis, depth: int = 0) -> bool:
    """Whether a function of the project surely gives back a value that cannot be called."""
    scope, node = function.scope, function.scope.node
    if depth > _DEEPEST or not isinstance(node, n.Function) or node.is_async or node.is_generator:
        return False
    returned = [
        (e.value, Moment(e.scope, e, function.env))
        for e in scope.returns
        if isinstance(e.value, n.Expression)
    ]
    real = [(v, m) for v, m in returned if not (isinstance(v, n.Constant) and v.value is None)]
    return bool(real) and all(is_value(value, moment, project, depth + 1) for value, moment in real)


def _holds_value(node: n.Name, moment: Moment, project: Analysis, depth: int) -> bool:
    """Whether each binding that may hold gives the name a value."""
    scope = moment.scope.find(node.id)
    if scope is None or moment.event is None or scope.frame is not moment.scope.frame:
        return False
    live = reaching(scope.bindings.get(node.id, []), moment.event, scope.frame)
    for event in live:
        augmented = isinstance(event.node, n.Bind) and event.node.how == "augmented"
        if (
            augmented
            and isinstance(event.node, n.Bind)
            and event.node.op in ("+", "-", "*", "/", "@", "+=", "-=", "*=", "/=")
        ):
            continue
        if event.part or not isinstance(event.value, n.Expression):
            return False
        if not is_value(event.value, Moment(event.scope, event, moment.env), project, depth + 1):
            return False
    return bool(live)


def takes_functions(site: WrapSite) -> str:
    """Return the function that takes functions, if that is what is wrapped and its arguments are all traced."""
    if site.wrapper.framework not in _TRACING or site.spread or "static_argnums" in site.options:
        return ""
    names = [body.dotted if isinstance(body, External) else "" for body in site.bodies]
    rows = [lookup_receiver(name) for name in names]
    if not rows or any(row is None or row.kind not in _CALLING or not row.functions for row in rows):
        return ""
    return names[0]
