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

ALWAYS: frozenset[str] = frozenset({"prevent_cse", "policy", "static_argnums"})
"""Keywords that both functions take in every supported release."""

PREVENT_CSE_CHECKED_FROM = "0.8.2"
"""First release run that rejects, at construction, a `prevent_cse` that is no bool or sequence of bools."""

PREVENT_CSE_SEQUENCE_FROM: Mapping[str, str] = MappingProxyType(
    {"jax.checkpoint": "0.9.2", "jax.remat": "0.12.0.1"}
)
"""First release run that documents a sequence of bools for `prevent_cse`."""

FOREIGN_KEYWORDS: Mapping[str, str] = MappingProxyType(
    {
        "donate_argnums": "jax.jit",
        "donate_argnames": "jax.jit",
        "has_aux": "jax.grad",
        "argnums": "jax.grad",
        "use_reentrant": "torch.utils.checkpoint",
        "preserve_rng_state": "torch.utils.checkpoint",
        "context_fn": "torch.utils.checkpoint",
        "determinism_check": "torch.utils.checkpoint",
        "debug": "torch.utils.checkpoint",
        "function": "torch.utils.checkpoint",
    }
)
"""Keywords that belong to another function and raise `TypeError` here, with that function."""


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
