"""What generated tests import: the check itself, makers of example inputs, and `no_remat`."""

from __future__ import annotations

from remat_lint.runtime.checks import check_equivalence
from remat_lint.runtime.inputs import array, key, zeros
from remat_lint.runtime.modules import load_fresh
from remat_lint.runtime.outcomes import Evidence, LeafError, Mismatch, NotVerified
from remat_lint.runtime.plain import UnsupportedJax, no_remat

__all__ = [
    "Evidence",
    "LeafError",
    "Mismatch",
    "NotVerified",
    "UnsupportedJax",
    "array",
    "check_equivalence",
    "key",
    "load_fresh",
    "no_remat",
    "zeros",
]
