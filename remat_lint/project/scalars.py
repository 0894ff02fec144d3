"""Which Python number or bool an argument is known to be, before JAX replaces it by a traced array."""

from __future__ import annotations

from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.values import Data, Given, Moment, Result, Value

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
    found = [_scalar(value) for value in project.evaluate(node, moment)]
    if not found or any(one is None for one in found):
        return None
    known = [one for one in found if one is not None]
    if len(known) == 1:
        return known[0]
    types = frozenset(kind for one in known for kind in one.types)
    return Scalar(types, None, all(one.certain for one in known))


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
