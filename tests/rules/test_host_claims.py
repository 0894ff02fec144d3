"""What the rules about output, callbacks and keys say is what JAX does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from remat_lint.project.keyuse import _OF_BITS, _OTHERS

pytestmark = pytest.mark.execution
HEAD = """
import json
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify, io_callback

cp, seen = jax.checkpoint_policies, []

def count(body, run, **options):
    seen.clear()
    jax.block_until_ready(run(jax.checkpoint(body, **options)))
    jax.effects_barrier()
    return len(seen)

def raised(run):
    try:
        jax.block_until_ready(run())
        jax.effects_barrier()
    except Exception as error:
        return type(error).__name__
    return ""

def grad(f):
    return jax.grad(lambda x: f(x) * 2.0)(1.0)

def jit_grad(f):
    return jax.jit(jax.grad(lambda x: f(x) * 2.0))(1.0)
"""
PROGRAMS = {
    "a debug callback runs twice with a derivative, once without": """
def body(x):
    jax.debug.callback(lambda v: seen.append(v), x)
    return jnp.sin(jnp.sin(x))
said = [count(body, grad), count(body, jit_grad), count(body, lambda f: f(1.0))] == [2, 2, 1]
""",
    "outside of the function it runs once": """
def loss(x):
    y = jax.checkpoint(lambda v: jnp.sin(jnp.sin(v)))(x)
    jax.debug.callback(lambda v: seen.append(v), y)
    return y
grad(loss)
jax.effects_barrier()
said = len(seen) == 1
""",
    "a pure callback runs again unless everything is saved": """
def body(x):
    def host(v):
        seen.append(1)
        return np.sin(v)
    y = jax.pure_callback(host, jax.ShapeDtypeStruct((), np.float32), jax.lax.stop_gradient(x))
    return jnp.sin(y * x)
saved = count(body, lambda f: jax.value_and_grad(f)(1.0), policy=cp.everything_saveable)
said = [count(body, lambda f: jax.value_and_grad(f)(1.0)), saved, count(body, lambda f: f(1.0))] == [2, 1, 1]
""",
    "an io callback raises under every derivative that goes back, and outside of the function it does not": """
@jax.checkpoint
def layer(x):
    io_callback(lambda v: None, None, jax.lax.stop_gradient(x))
    return jnp.sin(x)
def outside(x):
    y = jax.checkpoint(jnp.sin)(x)
    io_callback(lambda v: None, None, jax.lax.stop_gradient(y))
    return y
back = [lambda: grad(layer), lambda: jax.vjp(layer, 1.0), lambda: jax.linearize(layer, 1.0), lambda: jax.hessian(layer)(1.0),
        lambda: jax.jacrev(layer)(1.0)]
said = [raised(run) for run in back] == ["NotImplementedError"] * 5
said = said and [raised(lambda: layer(1.0)), raised(lambda: jax.jvp(layer, (1.0,), (1.0,)))] == ["", ""]
said = said and raised(lambda: grad(outside)) == ""
""",
    "Python output happens once per trace and never in the backward pass": """
def body(x):
    seen.append(x)
    return jnp.sin(jnp.sin(x))
f = jax.checkpoint(body)
for _ in range(5):
    grad(f)
said = len(seen) == 1 and isinstance(seen[0], jax.core.Tracer)
""",
    "a check raises in no release from 0.10 on": """
@jax.checkpoint
def layer(x):
    checkify.check(x > 0, "must be positive")
    return jnp.sin(x)
new = tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 10)
said = raised(lambda: checkify.checkify(jax.grad(lambda v: layer(v) * 1.0))(-1.0)[1]) == "" or not new
""",
}
DRAWS = """
import json
import sys
import jax
import numpy as np

N, own = 2000, {
    "bernoulli": (0.5,), "truncated_normal": (-1.0, 1.0), "weibull_min": (1.0, 2.0), "pareto": (2.0,), "rayleigh": (1.0,),
}
def draw(name):
    f = getattr(jax.random, name)
    key = jax.random.key(7)
    if name == "truncated_normal":
        return f(key, -1.0, 1.0, (N,))
    if name == "weibull_min":
        return f(key, 1.0, 2.0, (N,))
    return f(key, *own.get(name, ()), shape=(N,)) if name != "bits" else f(key, (N,)) >> 8

def ranks(values):
    return np.argsort(np.argsort(np.asarray(values, dtype=float), kind="stable"), kind="stable")

base = ranks(draw("uniform"))
print(json.dumps({name: abs(np.corrcoef(base, np.asarray(draw(name), dtype=float).argsort().argsort())[0, 1])
                  for name in sys.argv[1:]}))
"""


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_said_is_so(program):
    pytest.importorskip("jax")
    text = f"{HEAD}{program}\nprint(json.dumps(bool(said)))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) is True


def test_draws_that_are_made_of_the_same_bits_rise_and_fall_together():
    pytest.importorskip("jax")
    names = sorted(name.rpartition(".")[2] for name in _OF_BITS)
    done = subprocess.run([sys.executable, "-c", DRAWS, *names], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {name: found for name, found in json.loads(done.stdout).items() if found < 0.4} == {}


def test_every_other_draw_exists():
    jax = pytest.importorskip("jax")
    assert [name for name in _OTHERS | _OF_BITS if not hasattr(jax.random, name.rpartition(".")[2])] == []
