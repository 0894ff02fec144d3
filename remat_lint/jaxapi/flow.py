"""Callables that receive functions: when each runs its argument, and whether it keeps a trace of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Kind = Literal["transform", "cached", "now", "now-cached", "host", "partial", "keeps"]


@dataclass(frozen=True, slots=True)
class Receiver:
    """How one callable treats the functions given to it.

    Attributes:
        name: canonical dotted name.
        kind: "transform" returns a function that runs the argument's Python at each call; "cached"
            returns one that keeps its own trace; "now" runs the argument during the call;
            "now-cached" too, and finds the trace of an equal function again; "host" gives it to the
            host, where values are concrete; "partial" returns a new object that calls it; "keeps"
            stores it for a later call.
        functions: positional indices of the arguments that are functions.
        keywords: their names as keywords.
        listed: whether the argument at `functions` is a sequence of functions (`lax.switch`).
        rest: whether the positional arguments after the last function are operands of it.
    """

    name: str
    kind: Kind
    functions: tuple[int, ...] = (0,)
    keywords: tuple[str, ...] = ()
    listed: bool = False
    rest: bool = False


def _rows(
    kind: Kind, names: str, keywords: str = "fun", functions: tuple[int, ...] = (0,), *, rest: bool = False
) -> list[Receiver]:
    words = tuple(keywords.split())
    return [Receiver(name, kind, functions, words, rest=rest) for name in names.split()]


_TRANSFORMS = (
    *_rows(
        "transform", "jax.grad jax.value_and_grad jax.vmap jax.hessian jax.jacfwd jax.jacrev jax.jacobian"
    ),
    *_rows("transform", "jax.named_call jax.custom_jvp jax.custom_vjp jax.custom_gradient"),
    *_rows("transform", "jax.experimental.checkify.checkify flax.nnx.checkify", "f"),
    # Eager `shard_map` traces at every call, unlike `pmap`.
    *_rows(
        "transform", "jax.shard_map jax.experimental.shard_map.shard_map jax.smap flax.nnx.shard_map", "f"
    ),
    *_rows("transform", "flax.nnx.grad flax.nnx.value_and_grad flax.nnx.vmap flax.nnx.custom_vjp", "f"),
    *_rows("transform", "equinox.filter_grad equinox.filter_value_and_grad equinox.filter_vmap"),
    *_rows("transform", "equinox.filter_jacfwd equinox.filter_jacrev equinox.filter_hessian"),
    *_rows("transform", "equinox.filter_make_jaxpr equinox.filter_custom_vjp equinox.filter_custom_jvp"),
    *_rows("transform", "haiku.grad haiku.value_and_grad haiku.vmap"),
    *_rows("transform", "haiku.transform haiku.transform_with_state haiku.without_apply_rng", "f"),
    *_rows(
        "transform",
        "flax.linen.vmap flax.linen.scan flax.linen.map_variables flax.linen.named_call",
        "target",
    ),
    *_rows("transform", "flax.core.lift.vmap flax.core.lift.scan", "fn"),
    *_rows("transform", "jax.numpy.vectorize numpy.vectorize", "pyfunc"),
)

_CACHED = (
    *_rows("cached", "jax.jit jax.pmap jax.experimental.pjit.pjit jax.make_jaxpr"),
    *_rows("cached", "flax.nnx.jit flax.nnx.pmap", "fun f"),
    *_rows("cached", "flax.nnx.scan", "f"),
    *_rows("cached", "flax.linen.jit", "target"),
    *_rows("cached", "equinox.filter_jit equinox.filter_pmap"),
    *_rows("cached", "jax.numpy.frompyfunc", "func"),
)

_NOW = (
    *_rows("now", "jax.vjp jax.jvp jax.linearize jax.linear_transpose", "fun", rest=True),
    *_rows("now", "equinox.filter_vjp equinox.filter_jvp equinox.filter_eval_shape", "fun", rest=True),
    *_rows("now", "equinox.filter_closure_convert", "fn", rest=True),
    *_rows("now", "flax.nnx.eval_shape flax.nnx.vjp flax.nnx.jvp", "f", rest=True),
    *_rows("now", "flax.nnx.while_loop", "cond_fun body_fun", (0, 1)),
    # The loops and branches of nnx put a fresh function around the body, as `lax.map` does.
    *_rows("now", "flax.nnx.fori_loop", "body_fun", (2,)),
    *_rows("now", "flax.nnx.cond", "true_fun false_fun", (1, 2), rest=True),
    *_rows("now", "jax.lax.map", "f"),
    *_rows("now", "jax.lax.associative_scan", "fn"),
    *_rows("now", "jax.tree.map jax.tree_util.tree_map jax.tree_map jax.tree.map_with_path", "f", rest=True),
    *_rows("now", "jax.tree_util.tree_map_with_path", "f", rest=True),
    *_rows("now", "jax.tree.reduce jax.tree_util.tree_reduce functools.reduce", "function", rest=True),
    *_rows("now", "sorted min max", "key", ()),
    *_rows("now", "numpy.apply_along_axis jax.numpy.apply_along_axis", "func1d"),
    *_rows("now", "jax.ad_checkpoint.print_saved_residuals", "f", rest=True),
    *_rows("now", "jax.test_util.check_grads", "f"),
    Receiver("flax.nnx.switch", "now", (1,), ("branches",), listed=True, rest=True),
)

_NOW_CACHED = (
    *_rows("now-cached", "jax.eval_shape jax.closure_convert", "fun", rest=True),
    *_rows("now-cached", "jax.lax.scan", "f"),
    *_rows("now-cached", "jax.lax.while_loop", "cond_fun body_fun", (0, 1)),
    *_rows("now-cached", "jax.lax.fori_loop", "body_fun", (2,)),
    *_rows("now-cached", "jax.lax.cond", "true_fun false_fun", (1, 2), rest=True),
    *_rows("now-cached", "jax.lax.reduce jax.lax.reduce_window", "computation", (2,)),
    Receiver("jax.numpy.piecewise", "now-cached", (2,), ("funclist",), listed=True, rest=True),
    Receiver("jax.lax.switch", "now-cached", (1,), ("branches",), listed=True, rest=True),
)

# Haiku runs its own stateful function in place of the one given, so that nothing is found again.
_HAIKU = (
    *_rows("now", "haiku.scan haiku.map", "f"),
    *_rows("now", "haiku.while_loop", "cond_fun body_fun", (0, 1)),
    *_rows("now", "haiku.fori_loop", "body_fun", (2,)),
    *_rows("now", "haiku.cond", "true_fun false_fun", (1, 2), rest=True),
    *_rows("now", "haiku.eval_shape", "fun", rest=True),
    Receiver("haiku.switch", "now", (1,), ("branches",), listed=True, rest=True),
)

_HOST = (
    *_rows(
        "host", "jax.pure_callback jax.experimental.pure_callback jax.experimental.io_callback", "callback"
    ),
    *_rows("host", "jax.debug.callback", "callback"),
    *_rows(
        "host",
        "jax.experimental.host_callback.call jax.experimental.host_callback.id_tap",
        "callback_func tap_func",
    ),
)

_PARTIAL = (
    *_rows("partial", "functools.partial jax.tree_util.Partial", "func", rest=True),
    *_rows("partial", "functools.partialmethod equinox.Partial", "func", rest=True),
)

# A lazily consumed iterator runs its function when it is consumed, which may be after the iteration.
_KEEPS = (
    *_rows("keeps", "map filter itertools.starmap itertools.accumulate", ""),
    *_rows("keeps", "atexit.register threading.Thread threading.Timer", "target function"),
)

_ROWS = (*_TRANSFORMS, *_CACHED, *_NOW, *_NOW_CACHED, *_HAIKU, *_HOST, *_PARTIAL, *_KEEPS)

RECEIVERS: Mapping[str, Receiver] = MappingProxyType({row.name: row for row in _ROWS})
"""Every known receiver by canonical dotted name; builtins stand under their bare name."""

SCANS: frozenset[str] = frozenset(
    f"{package}.{name}"
    for package in ("jax.lax", "flax.linen", "flax.nnx", "flax.core.lift", "haiku")
    for name in ("scan", "map", "fori_loop", "while_loop", "associative_scan")
)
"""Loops of XLA: a body inside one is compiled once, so that no unrolled copies exist to be merged by CSE."""


def lookup_receiver(dotted: str) -> Receiver | None:
    """Return how the callable with the fully resolved name `dotted` treats functions, or None if unknown.

    `jax._src` spellings are private and unknown; a builtin is looked up by its bare name.
    """
    return RECEIVERS.get(dotted.removeprefix("builtins."))
