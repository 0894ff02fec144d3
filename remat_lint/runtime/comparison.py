"""Comparing what two runs gave: form, finiteness, repeatability, leaves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .outcomes import LeafError, Mismatch, NotVerified
from .tolerance import Widening, is_inexact, judge, relative_difference, root_mean_square
from .trees import Observation

_Leaves = Mapping[str, np.ndarray]


def _parts(observation: Observation) -> tuple[_Leaves, _Leaves]:
    return observation.outputs, observation.gradients


def _is_finite(leaf: np.ndarray) -> bool:
    return not is_inexact(leaf) or bool(np.all(np.isfinite(leaf.astype(np.complex128))))


def _name_infinite(observation: Observation) -> str | None:
    for leaves in _parts(observation):
        for name, leaf in leaves.items():
            if not _is_finite(leaf):
                return name
    return None


def require_finite(stage: str, plain: Observation) -> None:
    """Refuses a verdict where the plain side gives infinities or NaN, which compare with nothing.

    Raises:
        NotVerified: names the first such leaf.
    """
    name = _name_infinite(plain)
    if name is not None:
        raise NotVerified(
            f"[{stage}] {name} is not finite on the plain side: give an example inside the domain"
        )


def require_substance(plain: Observation) -> None:
    """Refuses a verdict where nothing was there to compare.

    Raises:
        NotVerified: if the outputs hold no float, or all floats or all gradients have no elements.
    """
    floats = [leaf for leaf in plain.outputs.values() if is_inexact(leaf)]
    if not floats:
        raise NotVerified("no output is a float, so there is no value with a gradient to compare")
    if not sum(leaf.size for leaf in floats):
        raise NotVerified("all float outputs have size zero, so nothing was compared")
    if plain.gradients and not sum(leaf.size for leaf in plain.gradients.values()):
        raise NotVerified("all float arguments have size zero, so no gradient was compared")


def require_repeatable(stage: str, plain: Observation, again: Observation) -> None:
    """Refuses a verdict where two runs of the plain side differ by themselves.

    Raises:
        NotVerified: names the first such leaf.
    """
    same_form = plain.structure == again.structure and plain.outputs.keys() == again.outputs.keys()
    for ours, theirs in zip(_parts(plain), _parts(again), strict=True):
        for name, leaf in ours.items():
            other = theirs.get(name)
            if not same_form or other is None or not np.array_equal(leaf, other, equal_nan=is_inexact(leaf)):
                raise NotVerified(
                    f"[{stage}] {name} differs between two runs of the plain side: the program is not deterministic "
                    "(host randomness, clock, or state that an earlier run left)"
                )


def compare_form(stage: str, plain: Observation, other: Observation) -> None:
    """Compares trees, then shapes and dtypes, then finiteness of the checkpointed side.

    Raises:
        Mismatch: names the first difference.
    """
    ours, theirs = list(plain.outputs) + list(plain.others), list(other.outputs) + list(other.others)
    if sorted(ours) != sorted(theirs):
        missing = sorted(set(ours) ^ set(theirs))
        raise Mismatch(f"[{stage}] output trees differ: {', '.join(missing[:3])} is on one side only")
    if plain.structure != other.structure:
        raise Mismatch(
            f"[{stage}] output trees differ: plain {plain.structure}, checkpointed {other.structure}"
        )
    for name, text in plain.others.items():
        if other.others.get(name) != text:
            raise Mismatch(f"[{stage}] {name}: plain {text!r}, checkpointed {other.others.get(name)!r}")
    for left, right in zip(_parts(plain), _parts(other), strict=True):
        for name, leaf in left.items():
            twin = right[name]
            if (leaf.shape, leaf.dtype) != (twin.shape, twin.dtype):
                raise Mismatch(
                    f"[{stage}] {name}: plain {leaf.dtype}{list(leaf.shape)}, "
                    f"checkpointed {twin.dtype}{list(twin.shape)}"
                )
    infinite = _name_infinite(other)
    if infinite is not None:
        raise Mismatch(
            f"[{stage}] {infinite} is finite on the plain side and not finite on the checkpointed side"
        )


def measure_drift(plain: Observation, compiled: Observation) -> dict[str, float]:
    """What compiling alone changes on the plain side: relative L2 difference by leaf, 0 where forms differ."""
    drift: dict[str, float] = {}
    for left, right in zip(_parts(plain), _parts(compiled), strict=True):
        for name, leaf in left.items():
            twin = right.get(name)
            comparable = (
                twin is not None and twin.shape == leaf.shape and is_inexact(leaf) and _is_finite(twin)
            )
            drift[name] = relative_difference(leaf, twin) if twin is not None and comparable else 0.0
    return drift


def compare_leaves(
    plain: Observation, other: Observation, drift: Mapping[str, float], widening: Widening | None
) -> list[LeafError]:
    """Errors of all leaves, outputs first, in the order of the trees.

    Args:
        plain: the plain side.
        other: the checkpointed side, of the same form.
        drift: for an eager run, what compiling alone changes; empty for a compiled one.
        widening: a limit set by the user.
    """
    errors: list[LeafError] = []
    for left, right in zip(_parts(plain), _parts(other), strict=True):
        rms = root_mean_square(list(left.values()))
        errors += [
            judge(
                name,
                leaf,
                right[name],
                tree_rms=rms,
                eager_against_jit=drift.get(name, 0.0),
                widening=widening,
            )
            for name, leaf in left.items()
        ]
    return errors
