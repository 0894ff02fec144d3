"""Inputs of a function, taken from its text: a literal call, or the annotations of its parameters.

Takes nodes and gives values of the example grammar; what is not written out as a literal is not guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from remat_lint.equivalence.example import DTYPES, MAX_ELEMENTS, Array, Example, Group, Key, Literal, Value
from remat_lint.facts import nodes as n

_DTYPE_NAMES = frozenset(DTYPES.values())
_FILLED = frozenset({"ones", "zeros", "empty", "full"})
_RANDOM_FLOATS = frozenset({"normal", "uniform", "truncated_normal", "laplace", "gumbel"})
_MODULES = ("jax.numpy.", "numpy.")
_JAXTYPING = {
    "Float": "float32", "Float16": "float16", "BFloat16": "bfloat16", "Float32": "float32", "Int": "int32",
    "Int32": "int32", "Bool": "bool", "Complex": "complex64", "Inexact": "float32", "Num": "float32", "Shaped": "float32",
}  # fmt: skip
_SYMBOL_SIZES = (4, 8, 6, 10, 12, 14, 16, 18)
_SCALARS: Mapping[str, Literal] = {"float": Literal(0.5), "int": Literal(2), "bool": Literal(value=True)}


def find_names(body: Iterable[n.Statement]) -> dict[str, str]:
    """What module-level imports bind, as dotted names: `jnp` to `jax.numpy`."""
    names: dict[str, str] = {}
    for statement in body:
        if not isinstance(statement, n.Import) or statement.level:
            continue
        for alias in statement.names:
            if statement.module is not None:
                names[alias.bound] = f"{statement.module}.{alias.name}"
            else:
                names[alias.bound] = alias.name if alias.renamed else alias.bound
    return names


class Reader:
    """Reads expressions of one file.

    Args:
        names: what its imports bind, see `find_names`.
        bindings: value of each name that is bound exactly once in the file, by a plain assignment.
    """

    def __init__(self, names: Mapping[str, str], bindings: Mapping[str, n.Expression]) -> None:
        self._names, self._bindings = names, bindings
        self._symbols: dict[str, int] = {}

    def read_call(self, call: n.Call, function: n.Function) -> Example | None:
        """The inputs of a call, if every argument is a literal or an array of a literal shape."""
        if any(argument.star for argument in call.args):
            return None
        args: list[Value] = []
        kwargs: list[tuple[str, Value]] = []
        for argument in call.args:
            value = self._read(argument.value)
            if value is None:
                return None
            if argument.keyword is None:
                args.append(value)
            else:
                kwargs.append((argument.keyword, value))
        return arrange(Example(tuple(args), tuple(kwargs)), function.parameters)

    def read_annotations(self, function: n.Function) -> Example | None:
        """Inputs by annotation: `x: Float[Array, "4 8"]`, and float, int and bool; defaults stay what they are."""
        self._symbols = {}
        values: list[tuple[str, Value]] = []
        for parameter in function.parameters:
            if parameter.kind in ("star", "double-star") or parameter.default is not None:
                continue
            value = None if parameter.annotation is None else self._read_annotation(parameter.annotation)
            if value is None:
                return None
            values.append((parameter.name, value))
        return arrange(Example((), tuple(values)), function.parameters) if values else None

    def _dotted(self, node: n.Expression) -> str:
        if isinstance(node, n.Name):
            return self._names.get(node.id, node.id if node.id in ("float", "int", "bool", "complex") else "")
        if isinstance(node, n.Attribute):
            parent = self._dotted(node.value)
            return f"{parent}.{node.attr}" if parent else ""
        return ""

    def _read(self, node: n.Expression, depth: int = 0) -> Value | None:
        if depth > len(self._bindings) + 10:
            return None
        if isinstance(node, n.Constant):
            plain = node.kind != "ellipsis" and isinstance(node.value, bool | int | float | str | None)
            return Literal(node.value) if plain and not isinstance(node.value, bytes | complex) else None
        if isinstance(node, n.Name) and node.id in self._bindings:
            return self._read(self._bindings[node.id], depth + 1)
        if isinstance(node, n.Collection):
            return self._read_group(node, depth + 1)
        if isinstance(node, n.Call):
            return self._read_made(node, depth + 1)
        return None

    def _read_group(self, node: n.Collection, depth: int) -> Value | None:
        if node.kind not in ("list", "tuple", "dict") or any(item is None for item in node.items):
            return None
        nodes = node.items if node.kind != "dict" else node.items[1::2]
        items = [None if item is None else self._read(item, depth) for item in nodes]
        read = tuple(item for item in items if item is not None)
        if len(read) < len(items):
            return None
        if node.kind != "dict":
            return Group(node.kind, read)
        keys = [item.value if isinstance(item, n.Constant) else None for item in node.items[::2]]
        plain = tuple(name for name in keys if isinstance(name, str | int))
        return Group("dict", read, plain) if len(plain) == len(read) else None

    def _read_made(self, call: n.Call, depth: int) -> Value | None:
        """An array made by `jnp.ones((4, 8))`, `jax.random.normal(key, (4, 8))` and the like, or a key."""
        name = self._dotted(call.func)
        places = [argument.value for argument in call.args if argument.keyword is None and not argument.star]
        given = {argument.keyword: argument.value for argument in call.args if argument.keyword is not None}
        if name in ("jax.random.key", "jax.random.PRNGKey"):
            return Key()
        if name.startswith("jax.random."):
            made = name.removeprefix("jax.random.")
            shape = given.get("shape", places[1] if len(places) > 1 else None)
            return self._make(shape, given.get("dtype"), "float32") if made in _RANDOM_FLOATS else None
        made = next((name.removeprefix(module) for module in _MODULES if name.startswith(module)), "")
        if made in _FILLED:
            second = 2 if made == "full" else 1
            dtype = given.get("dtype", places[second] if len(places) > second else None)
            return self._make(given.get("shape", places[0] if places else None), dtype, "float32")
        if made in ("arange", "linspace", "eye", "array", "asarray") and places:
            return self._read_listed(made, places, given.get("dtype"), depth)
        return None

    def _read_listed(
        self, made: str, places: Sequence[n.Expression], dtype: n.Expression | None, depth: int
    ) -> Value | None:
        first = self._read(places[0], depth)
        number = first.value if isinstance(first, Literal) else None
        if made in ("arange", "eye") and len(places) == 1 and isinstance(number, int | float) and number > 0:
            size = math.ceil(number)
            shape, default = ((size,), "float32" if isinstance(number, float) else "int32")
            return (
                self._finish((size, size), dtype, "float32")
                if made == "eye"
                else self._finish(shape, dtype, default)
            )
        if made == "linspace" and len(places) == 3:  # noqa: PLR2004 - start, stop, number
            count = places[2].value if isinstance(places[2], n.Constant) else None
            return self._finish((count,), dtype, "float32") if isinstance(count, int) else None
        if made in ("array", "asarray") and first is not None:
            shape_and_dtype = _measure(first)
            return self._finish(*shape_and_dtype[:1], dtype, shape_and_dtype[1]) if shape_and_dtype else None
        return None

    def _make(self, shape: n.Expression | None, dtype: n.Expression | None, default: str) -> Array | None:
        value = None if shape is None else self._read(shape)
        sizes = value.items if isinstance(value, Group) and value.kind != "dict" else (value,)
        read = tuple(
            item.value for item in sizes if isinstance(item, Literal) and isinstance(item.value, int)
        )
        return self._finish(read, dtype, default) if len(read) == len(sizes) else None

    def _finish(self, shape: tuple[int, ...], dtype: n.Expression | None, default: str) -> Array | None:
        name = default
        if dtype is not None:
            text = dtype.value if isinstance(dtype, n.Constant) else self._dotted(dtype).rpartition(".")[2]
            name = {"float": "float32", "int": "int32", "bool_": "bool", "complex": "complex64"}.get(
                str(text), str(text)
            )
        fits = all(size >= 0 for size in shape) and math.prod(shape) <= MAX_ELEMENTS
        return Array(name, shape) if fits and name in _DTYPE_NAMES else None

    def _read_annotation(self, node: n.Expression) -> Value | None:
        if isinstance(node, n.Name):
            return _SCALARS.get(node.id)
        if not isinstance(node, n.Subscript) or not isinstance(node.index, n.Collection):
            return None
        name = self._dotted(node.value)
        dtype = _JAXTYPING.get(name.removeprefix("jaxtyping.")) if name.startswith("jaxtyping.") else None
        text = node.index.items[-1]
        if dtype is None or not isinstance(text, n.Constant) or not isinstance(text.value, str):
            return None
        sizes = [self._size(word) for word in text.value.split()]
        read = tuple(size for size in sizes if size is not None)
        fits = len(read) == len(sizes) and math.prod(read) <= MAX_ELEMENTS
        return Array(dtype, read) if fits else None

    def _size(self, word: str) -> int | None:
        """The size of an axis: a number, or one size for each symbol."""
        if word.isascii() and word.isdigit() and len(word) < 9:  # noqa: PLR2004 - longer ones are no example
            return int(word)
        if not word.isidentifier() or len(self._symbols) == len(_SYMBOL_SIZES):
            return self._symbols.get(word)
        return self._symbols.setdefault(word, _SYMBOL_SIZES[len(self._symbols)])


def _measure(value: Value) -> tuple[tuple[int, ...], str] | None:
    """Shape and dtype of the array that a nested list of numbers makes."""
    if isinstance(value, Literal):
        kinds: tuple[tuple[type, str], ...] = ((bool, "bool"), (int, "int32"), (float, "float32"))
        return next((((), name) for kind, name in kinds if isinstance(value.value, kind)), None)
    if not isinstance(value, Group) or value.kind == "dict" or not value.items:
        return None
    inner = [_measure(item) for item in value.items]
    found = [item for item in inner if item is not None]
    if len(found) < len(inner) or len({shape for shape, _ in found}) != 1:
        return None
    dtypes = {dtype for _, dtype in found}
    dtype = "float32" if "float32" in dtypes else ("int32" if "int32" in dtypes else "bool")
    return (len(inner), *found[0][0]), dtype


def arrange(example: Example, parameters: Sequence[n.Parameter]) -> Example | None:
    """The same inputs with positional parameters given by position, as static argument numbers count them.

    Returns:
        None if the inputs do not fit the parameters.
    """
    named = dict(example.kwargs)
    positional = [p for p in parameters if p.kind in ("positional", "positional-only")]
    spread = {p.kind for p in parameters} & {"star", "double-star"}
    if len(example.args) > len(positional) and "star" not in spread:
        return None
    args = list(example.args)
    for parameter in positional[len(args) :]:
        if parameter.name not in named:
            break
        args.append(named.pop(parameter.name))
    known = {p.name for p in positional[len(args) :] if p.kind == "positional"}
    known |= {p.name for p in parameters if p.kind == "keyword-only"}
    required = {p.name for p in parameters if p.default is None and p.kind == "keyword-only"}
    required |= {p.name for p in positional[len(args) :] if p.default is None}
    if not required <= named.keys() or not ("double-star" in spread or named.keys() <= known):
        return None
    return Example(tuple(args), tuple(named.items()))


def choose(readers: Iterable[Callable[[], Example | None]]) -> Example | None:
    """The first inputs that can be read."""
    return next((found for reader in readers if (found := reader()) is not None), None)
