"""How a check ends: with evidence, with a mismatch, or without a verdict."""

from __future__ import annotations

import unittest
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class LeafError:
    """The difference of one leaf between two runs.

    Attributes:
        name: key path, `out['loss']` or `grad[0]['W1']`.
        shape: shape of the leaf.
        dtype: its dtype.
        error: relative L2 difference for float leaves, number of unequal elements for all others.
        limit: what the error may reach.
        origin: where the limit comes from.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    error: float
    limit: float
    origin: str

    @property
    def passed(self) -> bool:
        """Whether the error stays within its limit; a NaN does not."""
        return self.error <= self.limit

    def describe(self) -> str:
        """Error, limit and origin of the limit in one line."""
        if self.origin.endswith("exact"):
            return f"{self.name}: {self.error:.0f} elements differ ({self.origin})"
        return f"{self.name}: relative L2 {self.error:.1e} > {self.limit:.1e} ({self.origin})"


@dataclass
class Evidence:
    """What one call of `check_equivalence` showed; grows while the check runs.

    Attributes:
        target: the function that was run, as the test named it.
        applied: how many times a checkpoint was applied while the checkpointed side ran first.
        stages: leaf errors by stage, in the order in which they were judged.
        gradients: number of argument leaves whose gradient was compared.
        notes: what was left out, and why.
        tolerance: the rule that the limits follow.
        verdict: `verified`, `mismatch` or `not verified`; empty while the check runs.
        reason: the message of a mismatch or of a missing verdict.
    """

    target: str
    applied: int = 0
    stages: dict[str, list[LeafError]] = field(default_factory=dict)
    gradients: int = 0
    notes: list[str] = field(default_factory=list)
    tolerance: str = ""
    verdict: str = ""
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON values; no values of the user's arrays are among them."""
        return asdict(self)


class Mismatch(AssertionError):  # noqa: N818 - reads as the outcome it is
    """The checkpointed side computes something else than the plain side."""


class NotVerified(unittest.SkipTest):
    """No verdict is possible; test runners show it as a skip with this reason, never as a pass."""
