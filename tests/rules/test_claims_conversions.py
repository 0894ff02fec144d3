"""Every call that the table of conversions names raises what it says for a tracer."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from remat_lint.project.conversions import _CONVERSIONS, _MATH, _NUMPY, CONVERTING_METHODS, converts

CHILD = """
import json, math, sys
import jax, jax.numpy as jnp, numpy as np

def arguments(name, x):
    last = name.rpartition(".")[2]
    more = {"maximum": (x,), "minimum": (x,), "where": (x, x), "dot": (x,), "matmul": (x,), "outer": (x,), "allclose": (x,),
            "percentile": (50,), "clip": (0.0, 1.0), "atan2": (x,), "pow": (x,), "hypot": (x,), "isclose": (x,)}
    first = [x, x] if last in ("concatenate", "stack") else x
    return (first, *more.get(last, ()))

def raised(function, x):
    try:
        jax.checkpoint(lambda v: (function(v), v)[1])(x)
    except Exception as error:
        return type(error).__name__
    return ""

found = {}
for name in json.load(sys.stdin):
    value = jnp.ones(3) if name.startswith("numpy.") else jnp.float32(0.5)
    if name.startswith("."):
        found[name] = raised(lambda v: getattr(v, name[1:])(), value)
    else:
        function = eval(name.replace("numpy.", "np."))
        found[name] = raised(lambda v: function(*arguments(name, v)), value)
json.dump(found, sys.stdout)
"""


@pytest.mark.execution
def test_each_raises_what_the_table_says():
    names = [*_CONVERSIONS, *_MATH, *(f"numpy.{name}" for name in _NUMPY)]
    expected = {name: converts(name) for name in names}
    expected |= {f".{name}": "ConcretizationTypeError" for name in CONVERTING_METHODS}
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(list(expected)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == expected
