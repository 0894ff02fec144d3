"""Which Python number or bool an argument is known to be, before JAX replaces it by a traced array."""

from __future__ import annotations

from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event
from remat_lint.project.values import Data, External, Given, Moment, Result, Value

_TYPES: dict[str, type] = {"bool": bool, "int": int, "float": float}
_BOOLEAN = frozenset({"not", "is", "is not", "in", "not in"})


@dataclass(frozen=True, slots=True)
class Scalar:
    """What is known of a value: its possible types, and the value itself if it is a literal.

    `certain` is false where only an annotation tells the type.
    """

    types: frozenset[type]
    value: object = None
    certain: bool = True


def scalar(node: n.Expression, moment: Moment, project: Analysis) -> Scalar | None:
    """Return what scalar an expression is; None if it can be something else, or nothing is known."""
    if _is_size(node) or _is_count(node, moment, project):
        return Scalar(frozenset({int}))
    field = _field(node, moment, project)
    if field:
        return Scalar(field, None, certain=False)
    found = [_scalar(value) for value in project.evaluate(node, moment)]
    if not found or any(one is None for one in found):
        return None
    known = [one for one in found if one is not None]
    if len(known) == 1:
        return known[0]
    types = frozenset(kind for one in known for kind in one.types)
    return Scalar(types, None, all(one.certain for one in known))


def _is_size(node: n.Expression) -> bool:
    """Whether an expression is a number that tells the size of an array."""
    if isinstance(node, n.Subscript):
        single = not (isinstance(node.index, n.Operation) and node.index.op == "slice")
        return single and isinstance(node.value, n.Attribute) and node.value.attr == "shape"
    return isinstance(node, n.Attribute) and node.attr == "ndim"


def _is_count(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    """Whether a name counts the rounds of a loop, or is unpacked from a shape."""
    scope = moment.scope.find(node.id) if isinstance(node, n.Name) else None
    if scope is None or not isinstance(node, n.Name):
        return False
    bound = scope.bindings.get(node.id, [])
    return bool(bound) and all(_counts(event, project) for event in bound)


def _counts(event: Event, project: Analysis) -> bool:
    value = event.value
    if event.part == "element":
        return isinstance(value, n.Attribute) and value.attr == "shape"
    if event.part != "iteration" or not isinstance(value, n.Call):
        return False
    values = project.evaluate(value.func, Moment(event.scope, event))
    target = event.node.target if isinstance(event.node, n.Loop | n.Clause) else None
    if values == (External("builtins.range"),):
        return event.target is target
    first = target.items[0] if isinstance(target, n.Collection) and target.items else None
    return values == (External("builtins.enumerate"),) and first is event.target


def _field(node: n.Expression, moment: Moment, project: Analysis) -> frozenset[type]:
    """Return the scalar types that a field of the class, read from `self`, is annotated with."""
    way = project.access(node, moment.scope) if isinstance(node, n.Attribute) else None
    if way is None or way.name or len(way.steps) != 1:
        return frozenset()
    found = (
        event.node.annotation
        for cls in project.lineage(way.scope)
        for event in cls.bindings.get(str(way.steps[0][1]), ())
        if isinstance(event.node, n.Bind)
    )
    return annotated(next(found, None))


def is_array(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    """Whether an expression is known to be made by a call of a library: an array, for what an argument can be."""
    return all(isinstance(value, Result) for value in project.evaluate(node, moment))


def _scalar(value: Value) -> Scalar | None:
    if isinstance(value, Data):
        node = value.node
        if isinstance(node, n.Constant) and isinstance(node.value, bool | int | float) and not node.kind:
            return Scalar(frozenset({type(node.value)}), node.value)
        if isinstance(node, n.Operation) and node.op in _BOOLEAN:
            return Scalar(frozenset({bool}))
    if isinstance(value, Result) and value.dotted.removeprefix("builtins.") in (*_TYPES, "len"):
        name = value.dotted.removeprefix("builtins.")
        return Scalar(frozenset({_TYPES.get(name, int)}))
    if isinstance(value, Given):
        types = annotated(value.parameter.annotation)
        default = value.parameter.default
        if value.parameter.annotation is None and isinstance(default, n.Constant):
            # A parameter with the default True or False is a flag; one with a number may well get an array.
            types = frozenset({bool} if isinstance(default.value, bool) else ())
        return Scalar(types, None, certain=False) if types else None
    return None


def annotated(node: n.Expression | None) -> frozenset[type]:
    """Return the Python scalar types that an annotation admits; none if it admits anything but them and None."""
    if isinstance(node, n.Name) and node.id in _TYPES:
        return frozenset({_TYPES[node.id]})
    if isinstance(node, n.Constant) and isinstance(node.value, str):
        words = [word.strip() for word in node.value.split("|")]
        known = [_TYPES[word] for word in words if word in _TYPES]
        return frozenset(known) if len(known) + words.count("None") == len(words) else frozenset()
    if isinstance(node, n.Operation) and node.op == "|":
        parts = [part for part in node.operands if not (isinstance(part, n.Constant) and part.value is None)]
        kinds = [annotated(part) for part in parts]
        return frozenset().union(*kinds) if all(kinds) else frozenset()
    if isinstance(node, n.Subscript) and isinstance(node.value, n.Name | n.Attribute):
        name = node.value.id if isinstance(node.value, n.Name) else node.value.attr
        return annotated(node.index) if name == "Optional" else frozenset()
    return frozenset()
