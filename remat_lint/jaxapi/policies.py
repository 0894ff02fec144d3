"""The members of `jax.checkpoint_policies`: which are policies, which must be called first, and since when."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Kind = Literal["policy", "factory", "class"]


@dataclass(frozen=True, slots=True)
class Policy:
    """One member of `jax.checkpoint_policies`.

    Attributes:
        name: attribute name.
        kind: "policy" is passed as it is; "factory" and "class" make one when called.
        since: oldest supported release that has it.
        until: first release without it, or None.
        varargs: whether the factory takes names as separate positional arguments.
        refuses_list: whether a list given to a varargs factory raises; a tuple of names never does.
        keyword_only: whether every argument must be given by keyword.
        positional: parameter names that may be positional, in order.
        keywords: keyword-only parameter names.
        name_lists: keywords that take a list of names (a string there is read letter by letter).
        same_as: the member this one is an alias of.
        called_bare: what `name()` does for a policy: "raises" at construction, or "passes" and returns a
            bool, which surfaces under differentiation or never.
    """

    name: str
    kind: Kind
    since: str = "0.4.30"
    until: str | None = None
    varargs: bool = False
    refuses_list: bool = False
    keyword_only: bool = False
    positional: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    name_lists: tuple[str, ...] = ()
    same_as: str | None = None
    called_bare: Literal["raises", "passes"] = "raises"

    @property
    def absent(self) -> str:
        """Specifier of the supported releases that do not have it; empty if all have it."""
        return f"!={self.since.rpartition('.')[0]}.*" if self.until is not None else ""


_OFFLOAD_LISTS = ("names_which_can_be_saved", "names_which_can_be_offloaded")
_OFFLOAD_ENDS = ("offload_src", "offload_dst")

_ROWS = (
    Policy("everything_saveable", "policy", called_bare="passes"),
    Policy("nothing_saveable", "policy", called_bare="passes"),
    Policy("dots_saveable", "policy"),
    Policy("checkpoint_dots", "policy", same_as="dots_saveable"),
    Policy("dots_with_no_batch_dims_saveable", "policy"),
    Policy("checkpoint_dots_with_no_batch_dims", "policy", same_as="dots_with_no_batch_dims_saveable"),
    Policy("save_only_these_names", "factory", varargs=True, refuses_list=True),
    Policy("save_any_names_but_these", "factory", varargs=True, refuses_list=True),
    # Ignores its arguments and saves everything.
    Policy("save_anything_except_these_names", "factory", varargs=True),
    Policy("save_from_both_policies", "factory", positional=("policy_1", "policy_2")),
    Policy("offload_dot_with_no_batch_dims", "factory", positional=_OFFLOAD_ENDS),
    Policy(
        "save_and_offload_only_these_names",
        "factory",
        keyword_only=True,
        keywords=_OFFLOAD_LISTS + _OFFLOAD_ENDS,
        name_lists=_OFFLOAD_LISTS,
    ),
    Policy("SaveOnlyTheseNames", "class", since="0.11.0", until="0.12.0"),
    Policy("SaveAnyNamesButThese", "class", since="0.11.0", until="0.12.0"),
    Policy("SaveAndOffloadOnlyTheseNames", "class", since="0.11.0", until="0.12.0"),
)

POLICIES: Mapping[str, Policy] = MappingProxyType({row.name: row for row in _ROWS})
"""Every member by its attribute name; no supported release has another public one."""

NAMESPACES: frozenset[str] = frozenset(
    {
        "jax.checkpoint_policies",
        "jax.ad_checkpoint.checkpoint_policies",
        "jax._src.ad_checkpoint.checkpoint_policies",
    }
)
"""Dotted names of the namespace. It is no module in any release: `import jax.checkpoint_policies` fails."""

ELSEWHERE: Mapping[str, str] = MappingProxyType(
    {
        name: f"jax.ad_checkpoint.{name}"
        for name in ("checkpoint_name", "print_saved_residuals", "Saveable", "Recompute", "Offloadable")
    }
    | {"checkpoint": "jax.checkpoint", "remat": "jax.remat"}
)
"""What is looked for in the namespace and lives in another place."""

_GUESSES: Mapping[str, str] = MappingProxyType(
    {
        "save_dots": "dots_saveable",
        "dots": "dots_saveable",
        "save_matmuls": "dots_saveable",
        "offload_dots": "offload_dot_with_no_batch_dims",
        "save_all": "everything_saveable",
        "save_everything": "everything_saveable",
        "checkpoint_all": "everything_saveable",
        "checkpoint_everything": "everything_saveable",
        "everything": "everything_saveable",
        "save_nothing": "nothing_saveable",
        "checkpoint_nothing": "nothing_saveable",
        "nothing": "nothing_saveable",
        "full": "nothing_saveable",
        "save_names": "save_only_these_names",
        "save_only_names": "save_only_these_names",
        "save_these_names": "save_only_these_names",
        "offload_names": "save_and_offload_only_these_names",
    }
)
"""Names that people guess, and what they mean."""

PRODUCTS: frozenset[str] = frozenset({"dot_general", "conv_general_dilated"})
"""Operations whose results `dots_saveable` saves."""

PRIMITIVES: frozenset[str] = PRODUCTS | frozenset(
    """
    bitcast_convert_type broadcast_in_dim convert_element_type custom_jvp_call custom_vjp_call dynamic_slice
    dynamic_update_slice erf_inv integer_pow reduce_and reduce_max reduce_min reduce_or reduce_precision reduce_prod
    reduce_sum reduce_window reduce_window_max reduce_window_sum select_n triangular_solve
    """.split()  # noqa: SIM905 - a list of words
)
"""Operations of JAX whose names no value is likely to be given; words such as `tanh` or `all_gather` are left out."""

_CLOSE, _ALIKE = 2, 0.7


def lookup_policy(dotted: str) -> Policy | None:
    """Return the policy that the fully resolved name `dotted` means, or None."""
    namespace, _, name = dotted.rpartition(".")
    return POLICIES.get(name) if namespace in NAMESPACES else None


def find_nearest(name: str, kind: Kind | None = None) -> Policy | None:
    """Return the one member within edit distance 2 of `name` (of `kind`, if given); None when unsure.

    Two members equally near make the answer None: a suggestion must be the only one.
    """
    scored = sorted(
        (edit_distance(name, row.name), row.name)
        for row in _ROWS
        if row.until is None and kind in {None, row.kind}
    )
    if not scored or scored[0][0] > _CLOSE or (len(scored) > 1 and scored[1][0] == scored[0][0]):
        return None
    return POLICIES[scored[0][1]]


def suggest(name: str) -> str | None:
    """Return the member that somebody who writes `name` may mean; None if nothing is like it."""
    if name in _GUESSES:
        return _GUESSES[name]
    current = [row.name for row in _ROWS if row.until is None]
    return next(iter(difflib.get_close_matches(name, current, 1, _ALIKE)), None)


def edit_distance(left: str, right: str) -> int:
    """Return the number of inserted, deleted and replaced characters between two names."""
    above = list(range(len(right) + 1))
    for row, mine in enumerate(left, 1):
        line = [row]
        for column, theirs in enumerate(right, 1):
            line.append(min(above[column] + 1, line[-1] + 1, above[column - 1] + (mine != theirs)))
        above = line
    return above[-1]
