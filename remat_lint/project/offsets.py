"""Whether `static_argnums` is off by one because the wrapper counts `self`, or does not."""

from __future__ import annotations

from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.flagtests import uses_as_flag
from remat_lint.project.invocations import Invocation, Signature, invocations
from remat_lint.project.scalars import annotated
from remat_lint.project.traversal import is_name, mentions
from remat_lint.project.values import WrapSite

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
        subject: the wrapper or the kind of function, as the subject of "counts `self`".
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
    if convention is None:
        return None
    step, subject = convention
    calls = invocations(site, project)
    for index in indices:
        here, there = index + offset, index + step + offset
        first = 0 if signature.is_bound else 1
        if (
            index < 0
            or index + step in indices
            or not first <= there < len(signature.positional)
            or here < first
        ):
            continue
        flag = signature.positional[there]
        if here < len(signature.positional):
            array = signature.positional[here].name
            if not is_arraylike(signature, here, calls):
                continue
        elif signature.rest:
            continue
        else:
            array = ""
        likely, certain = flaglike(signature, there, calls)
        if likely:
            return OffByOne(index, step, array, flag.name, subject, certain)
    return None


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
