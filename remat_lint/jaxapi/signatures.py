"""What `jax.checkpoint` and `jax.remat` accept, by JAX release, as measured by calling them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Effect = Literal["works", "ignored", "warns", "raises"]

SUPPORTED: tuple[str, ...] = (
    "0.4.30",
    "0.5.3",
    "0.6.2",
    "0.7.2",
    "0.8.2",
    "0.9.2",
    "0.10.2",
    "0.11.0",
    "0.11.2",
    "0.12.0.1",
)
"""Releases that the tables speak about, oldest first: the ones that were run."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What one keyword does in the releases `since <= release < until`.

    Attributes:
        keyword: name of the argument.
        wrapper: `jax.checkpoint` or `jax.remat`.
        since: first release of the range.
        until: first release after it, or None for "still so".
        effect: what passing it does. For `concrete` the effect is that of `concrete=False`;
            `concrete=True` raises everywhere.
        error: type of the exception where it raises, else an empty string.
    """

    keyword: str
    wrapper: str
    since: str
    until: str | None
    effect: Effect
    error: str = ""


_CONCRETE: tuple[tuple[str, str | None, Effect, str], ...] = (
    ("0.4.30", "0.8.0", "ignored", ""),
    ("0.8.0", "0.10.0", "warns", ""),
    ("0.10.0", "0.11.0", "raises", "NotImplementedError"),
    ("0.11.0", None, "raises", "TypeError"),
)

# `static_argnames` was measured absent in 0.9.2 and present in 0.10.2. 0.10.0 and 0.10.1 were not run.
_BEHAVIOURS = (
    *(
        Behaviour("concrete", wrapper, since, until, effect, error)
        for wrapper in ("jax.checkpoint", "jax.remat")
        for since, until, effect, error in _CONCRETE
    ),
    Behaviour("static_argnames", "jax.checkpoint", "0.4.30", "0.10.0", "raises", "TypeError"),
    Behaviour("static_argnames", "jax.checkpoint", "0.10.0", None, "ignored"),
    Behaviour("static_argnames", "jax.remat", "0.4.30", None, "raises", "TypeError"),
)

BEHAVIOURS: Mapping[tuple[str, str], tuple[Behaviour, ...]] = MappingProxyType(
    {
        key: tuple(row for row in _BEHAVIOURS if (row.wrapper, row.keyword) == key)
        for key in sorted({(row.wrapper, row.keyword) for row in _BEHAVIOURS})
    }
)
"""Rows by (wrapper, keyword), oldest first; keywords that behave the same everywhere have none."""

PREVENT_CSE_CHECKED_FROM = "0.8.2"
"""First release run that rejects, at construction, a `prevent_cse` that is no bool or sequence of bools."""

LIKE: Mapping[str, str] = MappingProxyType({"haiku.remat": "jax.remat", "trax.fastmath.remat": "jax.remat"})
"""Wrappers that hand their arguments to one of JAX as they are."""

CONCRETE_SINCE = ">=0.10"
"""Releases in which `concrete=False` raises; `concrete=True` raises in every supported one."""

STATIC_ARGNAMES_SINCE = ">=0.10"
"""Releases in which `jax.checkpoint` takes `static_argnames`, and ignores it; before it raises `TypeError`."""

STATIC_ARGNAMES_SWITCH = "jax_remat3"
"""The setting, off by default, with which `static_argnames` has an effect."""

NOT_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "jax.checkpoint": "a function",
        "jax.remat": "a function",
        "jax.checkpoint_policies": "a namespace object",
    }
)
"""Attributes of `jax` that look like modules in an import statement, and what they are, in every supported release."""

CALLABLE_KEYWORDS: frozenset[str] = frozenset(
    {"fun", "f", "fn", "func", "function", "callable", "target", "body", "body_fn"}
)
"""Keywords by which code may mean the wrapped function; each wrapper takes one of them at most."""

FOREIGN_KEYWORDS: Mapping[str, str] = MappingProxyType(
    {
        "donate_argnums": "jax.jit",
        "donate_argnames": "jax.jit",
        "has_aux": "jax.grad",
        "argnums": "jax.grad",
        "holomorphic": "jax.grad",
        "in_axes": "jax.vmap",
        "out_axes": "jax.vmap",
        "axis_name": "jax.vmap",
        "keep_unused": "jax.jit",
        "inline": "jax.jit",
        "use_reentrant": "torch.utils.checkpoint",
        "preserve_rng_state": "torch.utils.checkpoint",
        "context_fn": "torch.utils.checkpoint",
        "determinism_check": "torch.utils.checkpoint",
        "debug": "torch.utils.checkpoint",
        "function": "torch.utils.checkpoint",
        "early_stop": "torch.utils.checkpoint",
    }
)
"""Keywords that belong to another function and raise `TypeError` here, with that function."""


_BUILTIN_OUTPUTS = {
    "map": "a `map` object",
    "filter": "a `filter` object",
    "zip": "a `zip` object",
    "enumerate": "an `enumerate` object",
    "reversed": "an iterator",
    "iter": "an iterator",
    "range": "a range",
    "str": "a string",
    "repr": "a string",
    "format": "a string",
    "bytes": "a bytes object",
    "set": "a set",
    "frozenset": "a set",
    "slice": "a slice",
    "object": "a plain object",
}

NO_OUTPUTS: Mapping[str, str] = MappingProxyType(
    {
        **{f"builtins.{name}": what for name, what in _BUILTIN_OUTPUTS.items()},
        "collections.deque": "a `deque`",
        "collections.Counter": "a `Counter`",
        "types.SimpleNamespace": "a `SimpleNamespace`",
        "jax.tree.structure": "a tree structure",
        "jax.tree_util.tree_structure": "a tree structure",
        "jax.numpy.dtype": "a dtype",
        "numpy.dtype": "a dtype",
    }
)
"""Callables whose result cannot be returned from a checkpointed function (`TypeError`), and what it is."""

DTYPES: frozenset[str] = frozenset(
    f"{package}.{name}"
    for package in ("jax.numpy", "numpy")
    for name in (
        *(
            "float16",
            "float32",
            "float64",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
        ),
        *("bool_", "complex64", "complex128"),
        *(("bfloat16",) if package == "jax.numpy" else ()),
    )
)
"""Scalar types that serve as dtypes."""


def release(version: str) -> tuple[int, ...]:
    """Return `version` ("0.12.0.1") as a tuple that orders releases; a suffix such as "rc1" is dropped."""
    parts: list[int] = []
    for piece in version.split("."):
        digits = piece[: len(piece) - len(piece.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(int(digits))
        if digits != piece:
            break
    return tuple(parts)


def behaviour_in(wrapper: str, keyword: str, version: str) -> Behaviour | None:
    """Return what `keyword` of `wrapper` does in `version`; None when the table has nothing special to say."""
    wanted = release(version)
    for row in BEHAVIOURS.get((wrapper, keyword), ()):
        if release(row.since) <= wanted and (row.until is None or wanted < release(row.until)):
            return row
    return None
