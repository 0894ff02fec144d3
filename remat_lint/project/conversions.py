"""Calls that need the Python value of an array: builtins, functions of math and numpy, methods.

Each was run on a tracer with JAX 0.10.2 and 0.12.0.1.
"""

from __future__ import annotations

CONCRETE, TRUTH = "ConcretizationTypeError", "TracerBoolConversionError"
_CONVERSIONS = {
    "float": CONCRETE,
    "int": CONCRETE,
    "complex": CONCRETE,
    "bool": TRUTH,
}
CONVERTING_METHODS = frozenset({"item", "tolist"})
_MATH = frozenset(
    f"math.{name}"
    for name in """sqrt exp expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan atan2 floor ceil fabs pow
    hypot isnan isinf isfinite isclose erf""".split()  # noqa: SIM905 - a list of words
)
"""Functions of math that convert their operand; `math.prod` computes with it, as an operator does."""
_NUMPY = frozenset(
    """array asarray sqrt exp log sin cos tanh abs maximum minimum where concatenate stack dot matmul outer isnan
    isfinite isinf allclose median percentile clip unique count_nonzero histogram zeros_like ones_like copy float32
    float64 int32 int64 linalg.norm""".split()  # noqa: SIM905 - a list of words
)
"""Functions of numpy that a tracer as operand makes raise; `numpy.sum` and its like call a method of the tracer."""


def converts(dotted: str) -> str:
    """Return the exception that a call of `dotted` raises for a tracer as its first operand; empty if it takes one."""
    if dotted.startswith("numpy."):
        return "TracerArrayConversionError" if dotted.removeprefix("numpy.") in _NUMPY else ""
    return CONCRETE if dotted in _MATH else _CONVERSIONS.get(dotted.removeprefix("builtins."), "")
