"""Whether `static_argnums` is off by one because the wrapper counts `self`, or does not."""

from __future__ import annotations

from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.flagtests import uses_as_flag
from remat_lint.project.invocations import Invocation, Signature, invocations
from remat_lint.project.levels import COMPUTES
from remat_lint.project.scalars import annotated, scalar
from remat_lint.project.traversal import is_name, mentions
from remat_lint.project.values import Moment, WrapSite

_ARRAY_ATTRIBUTES = frozenset(
    {
        "T",
        "at",
        "astype",
        "dtype",
        "ndim",
        "shape",
        "size",
        "reshape",
        "mean",
        "sum",
        "max",
        "min",
        "transpose",
        "ravel",
        "flatten",
        "dot",
        "swapaxes",
        "squeeze",
        "std",
        "var",
        "repeat",
        "take",
        "conj",
        "real",
        "imag",
        "clip",
        "cumsum",
        "prod",
        "argmax",
        "argmin",
        "sharding",
        "device",
    }
)


@dataclass(frozen=True, slots=True)
class OffByOne:
    """An index that means the neighbour of the flag.

    Attributes:
        index: the number as written.
        step: what must be added to it.
        array: the parameter that it means; empty if it means none.
        flag: the parameter that is meant.
        subject: the wrapper or the kind of function, as the subject of "counts `self`"; empty for a plain function.
        certain: whether the body needs the flag as a Python value.
    """

    index: int
    step: int
    array: str
    flag: str
    subject: str
    certain: bool


def off_by_one(
    site: WrapSite, indices: tuple[int, ...], known: tuple[Signature, ...], offset: int, project: Analysis
) -> OffByOne | None:
    """Return the index that hits the neighbour of a flag; None if there is none or it is not sure."""
    if len(known) != 1:
        return None
    signature = known[0]
    convention = _convention(site, signature, offset)
    calls = invocations(site, project)
    steps = [convention] if convention is not None else [(step, "") for step in (-1, 1)]
    for index in indices:
        for step, subject in steps:
            found = _slip(index, step, indices, signature, offset, calls, plain=convention is None)
            if found is not None and (
                convention is not None or _is_seen(index, step, signature, calls, project)
            ):
                array, flag, certain = found
                return OffByOne(index, step, array, flag, subject, certain)
    return None


def _slip(  # noqa: PLR0913, PLR0917 - an index and what it is compared with
    index: int,
    step: int,
    indices: tuple[int, ...],
    signature: Signature,
    offset: int,
    calls: tuple[Invocation, ...],
    *,
    plain: bool,
) -> tuple[str, str, bool] | None:
    """Return the array that an index hits, the flag beside it, and whether the body needs that as a Python value.

    For a `plain` function nothing tells why the index should be wrong, so both must be seen: that what it hits is
    computed with, and that its neighbour is decided by.
    """
    here, there = index + offset, index + step + offset
    first = 0 if signature.is_bound or plain else 1
    if index < 0 or index + step in indices or not first <= there < len(signature.positional) or here < first:
        return None
    if here < len(signature.positional):
        array = signature.positional[here].name
        if not is_arraylike(signature, here, calls) or (plain and not _is_computed(signature, here)):
            return None
    elif signature.rest or plain:
        return None
    else:
        array = ""
    likely, certain = flaglike(signature, there, calls)
    if not likely or (plain and not certain):
        return None
    return array, signature.positional[there].name, certain


def _is_seen(
    index: int, step: int, signature: Signature, calls: tuple[Invocation, ...], project: Analysis
) -> bool:
    """Whether a visible call of a plain function passes a bool or number as the flag, and something else as the array."""
    for call in calls:
        array, flag = call.given(signature, index), call.given(signature, index + step)
        if array is not None and flag is not None:
            moment = Moment(call.event.scope, call.event)
            if scalar(flag.value, moment, project) and not scalar(array.value, moment, project):
                return True
    return False


def _is_computed(signature: Signature, position: int) -> bool:
    """Whether the body computes with a parameter as one does with arrays only."""
    name = signature.positional[position].name
    function = signature.function.scope.node
    assert isinstance(function, n.Function)
    for node in mentions(function, name):
        match node:
            case n.Operation() if node.op in COMPUTES and any(is_name(o, name) for o in node.operands):
                return True
            case n.Attribute() if is_name(node.value, name) and node.attr in _ARRAY_ATTRIBUTES:
                return True
    return False


def _convention(site: WrapSite, signature: Signature, offset: int) -> tuple[int, str] | None:
    """Return in which direction `self` can mislead, and what decides it."""
    framework = site.wrapper.framework
    if framework in ("linen", "flaxformer"):
        return (-1 if offset else 1), site.wrapper.qualname
    if signature.is_bound:
        return -1, "a bound method"
    if signature.is_method and site.definition is signature.function.scope:
        return 1, f"{site.wrapper.qualname} on a method"
    return None


def flaglike(signature: Signature, position: int, calls: tuple[Invocation, ...]) -> tuple[bool, bool]:
    """Return whether a parameter looks like a flag, and whether it must be a Python value."""
    parameter = signature.positional[position]
    function = signature.function.scope.node
    assert isinstance(function, n.Function)
    if uses_as_flag(function, parameter.name):
        return True, True
    given = (call.given(signature, position) for call in calls)
    literal = any(
        a is not None and isinstance(a.value, n.Constant) and isinstance(a.value.value, bool) for a in given
    )
    default = parameter.default
    likely = literal or (isinstance(default, n.Constant) and isinstance(default.value, bool))
    named = isinstance(parameter.annotation, n.Name) and parameter.annotation.id == "str"
    return likely or named or bool(annotated(parameter.annotation) & {bool, int}), False


def is_arraylike(signature: Signature, position: int, calls: tuple[Invocation, ...]) -> bool:
    """Whether nothing speaks against a parameter being an array."""
    likely, _ = flaglike(signature, position, calls)
    parameter = signature.positional[position]
    if likely or annotated(parameter.annotation):
        return False
    function = signature.function.scope.node
    assert isinstance(function, n.Function)
    for node in mentions(function, parameter.name):
        match node:
            case n.Call() if is_name(node.func, parameter.name):
                return False
            case n.Attribute() if is_name(node.value, parameter.name) and node.attr not in _ARRAY_ATTRIBUTES:
                return False
            case n.Subscript() if is_name(node.value, parameter.name) and _is_key(node.index):
                return False
            case n.Operation(op="==" | "!=" | "in" | "not in") if any(
                is_name(o, parameter.name) for o in node.operands
            ):
                if any(isinstance(o, n.Constant) and isinstance(o.value, str) for o in node.operands):
                    return False
    return not any(_is_text(call.given(signature, position)) for call in calls)


def _is_key(node: n.Expression) -> bool:
    return isinstance(node, n.Constant) and isinstance(node.value, str)


def _is_text(argument: n.Argument | None) -> bool:
    return (
        argument is not None
        and isinstance(argument.value, n.Constant | n.Function)
        and isinstance(getattr(argument.value, "value", ""), str)
    )
