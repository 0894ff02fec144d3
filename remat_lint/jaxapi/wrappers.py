"""Every spelling of a rematerialisation wrapper, and what the function behind the spelling does.

The columns were measured by running JAX 0.4.30 to 0.12 with flax, equinox and haiku; haliax, trax and
flaxformer were read in source. `tests/jaxapi` compares each row with the library where it is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Framework = Literal["jax", "linen", "lift", "nnx", "equinox", "haiku", "haliax", "trax", "flaxformer"]


@dataclass(frozen=True, slots=True)
class Wrapper:
    """One wrapper function and its conventions.

    Attributes:
        qualname: canonical dotted name, the key in `WRAPPERS`.
        spellings: every dotted name it can be imported by, `qualname` included.
        framework: the library whose conventions hold.
        accepts: keyword names it takes besides the wrapped callable, over all supported versions.
        target: parameter name of the wrapped callable.
        positional: number of positional parameters, the wrapped callable included.
        takes: what may be wrapped.
        trace_key: what a kept trace is found again by. "function": the function object, so that a second
            wrapper of it replays the first trace; "wrapper": the object the wrapper call returned, so
            that only calls of that one share a trace; None: every call traces.
        counts_self: whether `static_argnums` counts the module (`self`, or the first parameter of a
            function over a module) as 0.
        keyword_only_form: whether `W(policy=...)` without a callable returns a decorator.
        has_static: whether `static_argnums` exists.
        negative_static: whether a negative index means what it means in Python.
        integer_static: whether a bare integer is accepted for `static_argnums`.
    """

    qualname: str
    spellings: frozenset[str]
    framework: Framework
    accepts: frozenset[str]
    target: str = "fun"
    positional: int = 1
    takes: Literal["function", "class", "both"] = "function"
    trace_key: Literal["function", "wrapper"] | None = None
    counts_self: bool = False
    keyword_only_form: bool = False
    has_static: bool = True
    negative_static: bool = True
    integer_static: bool = True

    @property
    def keeps_trace(self) -> bool:
        """Whether two calls of one wrapped function share a trace."""
        return self.trace_key is not None


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


_JAX_KEYWORDS = _names("prevent_cse policy static_argnums concrete")
_LIFT_KEYWORDS = _names("variables rngs concrete prevent_cse static_argnums policy")
_LINEN_KEYWORDS = _LIFT_KEYWORDS | {"methods"}
_SCAN_KEYWORDS = _names("lengths policy variable_broadcast variable_carry variable_axes split_rngs")
_NNX_KEYWORDS = _names("prevent_cse static_argnums policy graph graph_updates")

_ROWS = (
    Wrapper(
        qualname="jax.checkpoint",
        spellings=_names("jax.checkpoint jax.ad_checkpoint.checkpoint jax._src.ad_checkpoint.checkpoint"),
        framework="jax",
        accepts=_JAX_KEYWORDS | {"static_argnames"},
        trace_key="function",
    ),
    Wrapper(
        # A separate function since 0.8.2: it never got `static_argnames`.
        qualname="jax.remat",
        spellings=_names("jax.remat jax.ad_checkpoint.remat jax._src.ad_checkpoint.remat"),
        framework="jax",
        accepts=_JAX_KEYWORDS,
        trace_key="function",
    ),
    Wrapper(
        qualname="flax.linen.remat",
        spellings=_names(
            "flax.linen.remat flax.linen.checkpoint flax.linen.transforms.remat flax.linen.transforms.checkpoint"
        ),
        framework="linen",
        accepts=_LINEN_KEYWORDS,
        target="target",
        positional=8,
        takes="both",
        counts_self=True,
        negative_static=False,
    ),
    Wrapper(
        # Splits static arguments off before jax.remat sees them, so it needs a tuple of plain indices.
        qualname="flax.linen.partitioning.remat",
        spellings=_names("flax.linen.partitioning.remat"),
        framework="linen",
        accepts=_LINEN_KEYWORDS,
        target="target",
        positional=8,
        takes="both",
        negative_static=False,
        integer_static=False,
    ),
    Wrapper(
        qualname="flax.linen.remat_scan",
        spellings=_names("flax.linen.remat_scan flax.linen.transforms.remat_scan"),
        framework="linen",
        accepts=_SCAN_KEYWORDS,
        target="target",
        positional=7,
        takes="both",
        has_static=False,
        negative_static=False,
        integer_static=False,
    ),
    Wrapper(
        qualname="flax.core.lift.remat",
        spellings=_names("flax.core.lift.remat flax.core.lift.checkpoint flax.core.remat"),
        framework="lift",
        accepts=_LIFT_KEYWORDS,
        target="fn",
        positional=7,
        negative_static=False,
    ),
    Wrapper(
        qualname="flax.core.lift.remat_scan",
        spellings=_names("flax.core.lift.remat_scan flax.core.remat_scan"),
        framework="lift",
        accepts=_SCAN_KEYWORDS,
        target="body_fn",
        positional=7,
        has_static=False,
        negative_static=False,
        integer_static=False,
    ),
    Wrapper(
        # Puts an object of its own around the function, and JAX keys the trace by that object
        # (flax 0.12; in flax 0.8.5 every call traced).
        qualname="flax.nnx.remat",
        spellings=_names("flax.nnx.remat flax.nnx.transforms.autodiff.remat flax.experimental.nnx.remat"),
        framework="nnx",
        accepts=_NNX_KEYWORDS,
        target="f",
        trace_key="wrapper",
        counts_self=True,
        keyword_only_form=True,
    ),
    Wrapper(
        qualname="flax.nnx.compat.remat",
        spellings=_names("flax.nnx.compat.remat"),
        framework="nnx",
        accepts=_NNX_KEYWORDS,
        target="f",
        trace_key="wrapper",
        counts_self=True,
        keyword_only_form=True,
    ),
    Wrapper(
        qualname="equinox.filter_checkpoint",
        spellings=_names("equinox.filter_checkpoint equinox._ad.filter_checkpoint"),
        framework="equinox",
        accepts=_names("prevent_cse policy"),
        keyword_only_form=True,
        has_static=False,
        negative_static=False,
        integer_static=False,
    ),
    Wrapper(
        # Wraps a fresh lambda around the callable on purpose, so that no trace is ever found again.
        qualname="haiku.remat",
        spellings=_names("haiku.remat haiku._src.stateful.remat"),
        framework="haiku",
        accepts=_JAX_KEYWORDS,
    ),
    Wrapper(
        qualname="haliax.jax_utils.filter_checkpoint",
        spellings=_names("haliax.jax_utils.filter_checkpoint"),
        framework="haliax",
        accepts=_names("prevent_cse policy"),
        has_static=False,
        negative_static=False,
        integer_static=False,
    ),
    Wrapper(
        qualname="trax.fastmath.remat",
        spellings=_names("trax.fastmath.remat trax.fastmath.ops.remat"),
        framework="trax",
        accepts=_JAX_KEYWORDS,
        trace_key="function",
    ),
    Wrapper(
        qualname="flaxformer.components.transforms.remat",
        spellings=_names("flaxformer.components.transforms.remat"),
        framework="flaxformer",
        accepts=_LINEN_KEYWORDS,
        target="target",
        positional=8,
        takes="both",
        negative_static=False,
        integer_static=False,
    ),
)

WRAPPERS: Mapping[str, Wrapper] = MappingProxyType({row.qualname: row for row in _ROWS})
"""Every wrapper by its canonical name."""

CANONICAL: Mapping[str, str] = MappingProxyType(
    {spelling: row.qualname for row in _ROWS for spelling in sorted(row.spellings)}
)
"""From every importable dotted spelling to the canonical one; look-alikes of other libraries are absent."""

_LAST_PARTS = {spelling.rpartition(".")[2] for spelling in CANONICAL}

SPELLING_WORDS: tuple[str, ...] = (
    *sorted(word for word in _LAST_PARTS if not any(other in word for other in _LAST_PARTS - {word})),
    "Remat",
)
"""A file without one of these words spells no wrapper, and no name that one once had (`flax.nnx.Remat`)."""

FRAMEWORK_WORDS: tuple[str, ...] = tuple(sorted({spelling.partition(".")[0] for spelling in CANONICAL}))
"""Top-level packages that export a wrapper; code that imports none of them reaches one only through its project."""


@dataclass(frozen=True, slots=True)
class Retired:
    """A spelling that some supported version no longer has.

    Attributes:
        spelling: the dotted name as code writes it.
        instead: what to write.
        package: the library whose version decides.
        warns_from: first release that warns, or None.
        gone_from: first release without it, or None where no release that can be installed has it.
    """

    spelling: str
    instead: str
    package: str
    warns_from: str | None
    gone_from: str | None


RETIRED: Mapping[str, Retired] = MappingProxyType(
    {
        row.spelling: row
        for row in (
            Retired("jax.ad_checkpoint.checkpoint", "jax.checkpoint", "jax", "0.8.2", "0.10.0"),
            Retired("jax.ad_checkpoint.remat", "jax.remat", "jax", "0.8.2", "0.10.0"),
            Retired("jax.new_checkpoint", "jax.checkpoint", "jax", None, None),
            Retired("jax.experimental.remat", "jax.remat", "jax", None, None),
            Retired("jax.lax.checkpoint", "jax.checkpoint", "jax", None, None),
            Retired("jax.api.checkpoint", "jax.checkpoint", "jax", None, None),
            Retired("jax.api.remat", "jax.remat", "jax", None, None),
            Retired("jax.interpreters.partial_eval.remat", "jax.remat", "jax", None, None),
            Retired("jax.checkpoint_name", "jax.ad_checkpoint.checkpoint_name", "jax", None, None),
            Retired("jax.ad_checkpoint.new_checkpoint", "jax.checkpoint", "jax", None, None),
            Retired("jax.experimental.checkpoint", "jax.checkpoint", "jax", None, None),
            # A class that made a module of a module class; the function that took its place wraps functions.
            Retired("flax.nnx.Remat", "flax.nnx.remat", "flax", None, "0.10.6"),
            Retired("flax.nnx.checkpoint", "flax.nnx.remat", "flax", None, None),
            Retired("equinox.checkpoint", "equinox.filter_checkpoint", "equinox", None, None),
            Retired("haiku.checkpoint", "haiku.remat", "haiku", None, None),
        )
    }
)
"""Removed spellings; the ones in `CANONICAL` too still resolve, because code for older releases means them."""

CHECKPOINT_NAME: frozenset[str] = _names(
    "jax.ad_checkpoint.checkpoint_name jax._src.ad_checkpoint.checkpoint_name"
)
"""Dotted names of the function that names an intermediate value for a policy."""


def lookup(dotted: str) -> Wrapper | None:
    """Return the wrapper that the fully resolved name `dotted` means, or None."""
    canonical = CANONICAL.get(dotted)
    return None if canonical is None else WRAPPERS[canonical]
