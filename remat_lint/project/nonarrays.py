"""Which values are neither arrays nor trees of arrays, so that they cannot be traced."""

from __future__ import annotations

import builtins
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.pytrees import is_enum, is_plain
from remat_lint.project.values import (
    ClassRef,
    Data,
    External,
    FunctionRef,
    Given,
    Instance,
    Moment,
    Partial,
    Result,
    Transformed,
    Value,
    Wrapped,
)

_FUNCTIONS = (
    "jax.numpy.",
    "jax.nn.",
    "jax.lax.",
    "jax.scipy.",
    "jax.random.",
    "numpy.",
    "math.",
    "flax.linen.",
)
_NO_FUNCTIONS = frozenset("pi e inf nan tau newaxis euler_gamma index_exp s_ c_ r_ mgrid ogrid".split())  # noqa: SIM905 - a list of words
_DTYPES = frozenset(
    """bfloat16 float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool_ complex64 complex128
    float_ int_ complex_""".split()  # noqa: SIM905 - a list of words
)
_RESULTS = {
    "jax.numpy.dtype": "a dtype",
    "numpy.dtype": "a dtype",
    "builtins.str": "a string",
    "builtins.range": "a range",
    "builtins.slice": "a slice",
    "builtins.set": "a set",
    "builtins.frozenset": "a set",
    "builtins.object": "a plain object",
    "types.SimpleNamespace": "a plain object",
    "pathlib.Path": "a path",
    "functools.partial": "a function",
    "jax.sharding.PartitionSpec": "a partition spec",
    "jax.sharding.NamedSharding": "a sharding",
}
_BUILTIN_TYPES = frozenset(
    f"builtins.{name}" for name in ("int", "float", "bool", "str", "list", "tuple", "dict")
)
_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class NonArray:
    """What a value is, in words, and whether that is certain or told by an annotation only."""

    what: str
    certain: bool = True


def non_array(node: n.Expression, moment: Moment, project: Analysis, depth: int = 0) -> NonArray | None:
    """Return what keeps an argument from being traced; None if nothing is known to."""
    if depth > _DEEPEST:
        return None
    member = _member(node, moment, project)
    if member is not None:
        return member
    found = [_of(value, project, depth) for value in project.force(project.evaluate(node, moment), moment)]
    if not found or any(one is None for one in found):
        return None
    known = [one for one in found if one is not None]
    return NonArray(known[0].what, all(one.certain for one in known))


def _member(node: n.Expression, moment: Moment, project: Analysis) -> NonArray | None:
    """Return what a member of an enumeration is."""
    if isinstance(node, n.Attribute):
        for value in project.evaluate(node.value, moment):
            if isinstance(value, ClassRef) and is_enum(value.scope, project):
                return NonArray(f"a member of `{value.scope.name}`")
    return None


def _of(value: Value, project: Analysis, depth: int) -> NonArray | None:
    match value:
        case Partial():
            made = project.evaluate(value.call.func, value.moment)
            return NonArray("a function") if made == (External("functools.partial"),) else None
        case FunctionRef() | Transformed() | Wrapped():
            return NonArray("a function") if not getattr(value, "instance", False) else None
        case ClassRef():
            return NonArray("a class")
        case Instance():
            plain = is_plain(value.cls.scope, project)
            if is_enum(value.cls.scope, project):
                return NonArray(f"a member of `{value.cls.scope.name}`")
            return NonArray(f"an object of `{value.cls.scope.name}`, which is no pytree") if plain else None
        case External():
            return _external(value.dotted)
        case Result():
            return _result(value.dotted)
        case Data():
            return _data(value.node, value.moment, project, depth)
        case Given():
            return _annotated(value.parameter.annotation) or _defaulted(value, project, depth)
    return None


def _external(dotted: str) -> NonArray | None:
    package, _, name = dotted.rpartition(".")
    if package in ("jax.numpy", "numpy") and name in _DTYPES:
        return NonArray("a dtype")
    if dotted in _BUILTIN_TYPES:
        return NonArray("a class")
    if package == "builtins" and callable(getattr(builtins, name, None)):
        return NonArray("a function")
    function = dotted.startswith(_FUNCTIONS) and name.islower() and name not in _NO_FUNCTIONS
    return NonArray("a function") if function else None


def _result(dotted: str) -> NonArray | None:
    package, _, name = dotted.rpartition(".")
    if package == "flax.linen" and name[:1].isupper():
        return NonArray("a linen module")
    if dotted.startswith("jax.nn.initializers."):
        return NonArray("a function")
    return NonArray(_RESULTS[dotted]) if dotted in _RESULTS else None


def _data(node: n.Expression, moment: Moment, project: Analysis, depth: int) -> NonArray | None:
    match node:
        case n.Constant():
            if isinstance(node.value, bytes):
                return NonArray("bytes")
            if isinstance(node.value, str):
                return NonArray("an ellipsis" if node.kind == "ellipsis" else "a string")
        case n.Operation(op="string"):
            return NonArray("a string")
        case n.Comprehension(kind="generator"):
            return NonArray("a generator")
        case n.Collection(kind="set") | n.Comprehension(kind="set"):
            return NonArray("a set")
        case n.Collection():
            items = node.items[1::2] if node.kind == "dict" else node.items
            for item in items:
                inner = None if item is None else non_array(item, moment, project, depth + 1)
                if inner is not None and inner.certain:
                    what = inner.what if " with " not in inner.what else "another"
                    return NonArray(f"a {node.kind} with {what} in it")
    return None


def _defaulted(value: Given, project: Analysis, depth: int) -> NonArray | None:
    """Return what the default of a parameter says of the arguments it gets."""
    default = value.parameter.default
    if default is None or value.scope.parent is None or value.parameter.annotation is not None:
        return None
    known = non_array(default, Moment(value.scope.parent, value.scope.definition), project, depth + 1)
    return None if known is None else NonArray(known.what, certain=False)


def _annotated(node: n.Expression | None) -> NonArray | None:
    """Return what an annotation says that no array meets."""
    if isinstance(node, n.Subscript):
        node = node.value
    name = getattr(node, "attr", getattr(node, "id", ""))
    if isinstance(node, n.Constant) and isinstance(node.value, str):
        name = node.value.partition("[")[0].rpartition(".")[2]
    kinds = {"str": "a string", "Callable": "a function"}
    return NonArray(kinds[name], certain=False) if name in kinds else None
