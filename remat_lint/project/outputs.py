"""What a function gives back that JAX cannot take out of a trace: no array, number or None, nor a container of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.signatures import DTYPES, NO_OUTPUTS
from remat_lint.project.analysis import Analysis
from remat_lint.project.pytrees import is_enum, is_plain
from remat_lint.project.scopes import Scope
from remat_lint.project.values import (
    ClassRef,
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
)

_DEEPEST = 4
_VIEWS = frozenset({"keys", "values", "items"})
_TEXT_METHODS = frozenset({"join", "format", "upper", "lower", "strip", "replace", "title"})


@dataclass(frozen=True, slots=True, eq=False)
class Unfit:
    """One part of what a function returns: where it is spelled, in which scope, and what it is."""

    node: n.Expression
    moment: Moment
    what: str


def unfit_outputs(scope: Scope, project: Analysis) -> Iterator[Unfit]:
    """Yield the parts of the returned values that are surely no JAX type."""
    for event in scope.returns:
        if isinstance(event.value, n.Expression):
            yield from _unfit(event.value, Moment(event.scope, event), project, 0)


def _unfit(node: n.Expression, moment: Moment, project: Analysis, depth: int) -> Iterator[Unfit]:
    parts = _parts(node)
    if parts is not None:
        for part in parts:
            yield from _unfit(part, moment, project, depth)
        return
    held = _held(node, moment, project) if isinstance(node, n.Name) and depth < _DEEPEST else None
    if held is not None:
        yield from _unfit(held.node, held.moment, project, depth + 1)
        return
    what = _literal(node)
    if not what and isinstance(node, n.Name | n.Attribute | n.Call) and depth < _DEEPEST:
        what = _valued(node, moment, project, depth)
    if what:
        yield Unfit(node, moment, what)


def _parts(node: n.Expression) -> tuple[n.Expression, ...] | None:
    """Return the values in a container that JAX takes apart, or what a conditional chooses from."""
    match node:
        case n.Collection(kind="tuple" | "list", items=items):
            return tuple(item for item in items if item is not None)
        case n.Collection(kind="dict", items=items):
            return tuple(item for item in items[1::2] if item is not None)
        case n.Call(func=n.Name(id="dict")):
            return tuple(argument.value for argument in node.args if argument.keyword is not None)
        case n.Conditional():
            return (node.body, node.orelse)
    return None


def _held(node: n.Name, moment: Moment, project: Analysis) -> Data | None:
    """Return the display that a name holds, if nothing else is ever done to it."""
    values = project.evaluate(node, moment)
    access = project.access(node, moment.scope)
    shown = values[0] if len(values) == 1 else None
    if access is None or not isinstance(shown, Data) or not isinstance(shown.node, n.Collection):
        return None
    return shown if len(project.staleness.writes.to(access)) == 1 else None


def _literal(node: n.Expression) -> str:
    match node:
        case n.Constant(kind="ellipsis"):
            return "an ellipsis"
        case n.Constant(value=str()) | n.Operation(op="string"):
            return "a string"
        case n.Constant(value=bytes()):
            return "a bytes object"
        case n.Function():
            return "a function"
        case n.Collection(kind="set") | n.Comprehension(kind="set"):
            return "a set"
        case n.Comprehension(kind="generator"):
            return "a generator"
        case n.Call(func=n.Attribute(value=n.Constant(value=str()), attr=attr)) if attr in _TEXT_METHODS:
            return "a string"
    return ""


def _valued(node: n.Expression, moment: Moment, project: Analysis, depth: int) -> str:
    """Return what a name, an attribute or a call surely stands for, if it is unfit."""
    special = (
        _attribute(node, moment, project) if isinstance(node, n.Attribute) else _view(node, moment, project)
    )
    if special:
        return special
    kinds = {_kind(value, node, project, depth) for value in project.evaluate(node, moment)}
    return kinds.pop() if len(kinds) == 1 else ""


def _kind(value: Value, node: n.Expression, project: Analysis, depth: int) -> str:
    match value:
        case FunctionRef() | Wrapped(instance=False) | Transformed():
            return "a function"
        case Partial() if not value.call.at or _last(value.call.func) == "partial":
            return "a `functools.partial`"
        case ClassRef():
            return "a class"
        case Instance(cls=cls):
            return f"an object of `{cls.scope.name}`" if is_plain(cls.scope, project) else ""
        case Result(dotted=dotted):
            return NO_OUTPUTS.get(dotted, "")
        case External(dotted=dotted):
            return "a dtype" if dotted in DTYPES else ""
        case Data() if value.node is not node:
            inner = list(_unfit(value.node, value.moment, project, depth + 1))
            whole = len(inner) == 1 and inner[0].node is value.node
            return inner[0].what if whole else ""
    return ""


def _last(node: n.Expression) -> str:
    return node.id if isinstance(node, n.Name) else node.attr if isinstance(node, n.Attribute) else ""


def _attribute(node: n.Attribute, moment: Moment, project: Analysis) -> str:
    """Return what `x.dtype` of a parameter, or a member of an enumeration, is."""
    base = node.value
    if node.attr == "dtype" and isinstance(base, n.Name):
        events = moment.scope.bindings.get(base.id, ())
        return "a dtype" if len(events) == 1 and isinstance(events[0].value, n.Parameter) else ""
    values = project.evaluate(base, moment)
    if len(values) == 1 and isinstance(values[0], ClassRef) and node.attr in values[0].scope.bindings:
        return "a member of an enumeration" if is_enum(values[0].scope, project) else ""
    return ""


def _view(node: n.Expression, moment: Moment, project: Analysis) -> str:
    """Return "a view of a dict" for `d.values()` of what is known to be a dict."""
    if not isinstance(node, n.Call) or node.args or not isinstance(node.func, n.Attribute):
        return ""
    if node.func.attr not in _VIEWS:
        return ""
    values = project.evaluate(node.func.value, moment)
    return "a view of a dict" if values and all(_is_dict(value) for value in values) else ""


def _is_dict(value: Value) -> bool:
    match value:
        case Data(node=n.Collection(kind="dict") | n.Comprehension(kind="dict")):
            return True
        case Result(dotted="builtins.dict"):
            return True
    return False
