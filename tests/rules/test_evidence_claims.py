"""What the rules about evidence say is so: what is measured, and which tests a wrong backward pass gets through."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from remat_lint import rules
from remat_lint.rules.rule import Bad, Good

from .examples import read

pytestmark = pytest.mark.execution
TIMING = """
import json
import time
import jax
import jax.numpy as jnp

def body(x):
    return jnp.tanh(x @ x)

x = jnp.ones((1200, 1200))

def once(f, wait):
    start = time.perf_counter()
    y = wait(f(x))
    took = time.perf_counter() - start
    jax.block_until_ready(y)
    return took

def times(f, wait):
    return min(once(f, wait) for _ in range(3))

out = {}
for name, f in {
    "jit": jax.jit(jax.checkpoint(body)),
    "eager": jax.checkpoint(body),
    "grad": jax.jit(jax.grad(lambda x: jax.checkpoint(body)(x).sum())),
}.items():
    first = once(f, jax.block_until_ready)
    out[name] = [first, times(f, lambda y: y), times(f, jax.block_until_ready)]
small = jax.jit(lambda x: jax.checkpoint(body)(x))
x = jnp.ones((8, 8))
out["small"] = [once(small, jax.block_until_ready), 0, times(small, jax.block_until_ready)]
print(json.dumps(out))
"""
# A checkpoint whose backward pass is wrong: what is compared must notice it.
BROKEN = """
import jax

def checkpoint(f, **options):
    @jax.custom_vjp
    def run(*args):
        return f(*args)

    def forward(*args):
        return run(*args), args

    def backward(args, cotangent):
        return jax.tree.map(lambda leaf: leaf * 0 + 7.0, args)

    run.defvjp(forward, backward)
    return run

jax.checkpoint = jax.remat = checkpoint
"""
CALL = """
passed = []
for name, test in list(globals().items()):
    if isinstance(test, type) and name.startswith("Test"):
        passed += [getattr(test(), one)() is None for one in dir(test) if one.startswith("test")]
    elif name.startswith("test") and callable(test):
        test()
        passed.append(True)
print(len(passed))
"""


def run(program):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.strip(), done.stderr


def test_time_without_waiting_is_not_that_of_the_computation():
    pytest.importorskip("jax")
    code, out, err = run(TIMING)
    assert code == 0, err
    for name, (_, handed_over, whole) in json.loads(out).items():
        assert name == "small" or handed_over < whole / 2


def test_first_call_takes_far_longer_than_a_run():
    pytest.importorskip("jax")
    first, _, later = json.loads(run(TIMING)[1])["small"]
    assert first > 10 * later


def examples(kind, code):
    return [example for example in rules.registry()[code].examples if isinstance(example, kind)]


@pytest.mark.parametrize("example", examples(Bad, "RML803"), ids=lambda example: example.title)
def test_what_is_reported_passes_with_a_wrong_backward_pass(example):
    pytest.importorskip("jax")
    code, out, err = run(f"{BROKEN}{read(example.code).text}{CALL}")
    assert (code, out) == (0, "1"), err


@pytest.mark.parametrize("example", examples(Good, "RML803")[:2], ids=lambda example: example.title)
def test_what_compares_gradients_fails_with_a_wrong_backward_pass(example):
    pytest.importorskip("jax")
    assert "AssertionError" in run(f"{BROKEN}{read(example.code).text}{CALL}")[2]


@pytest.mark.parametrize("example", examples(Bad, "RML804")[:2], ids=lambda example: example.title)
def test_masked_comparison_passes_where_the_values_are_no_use(example):
    pytest.importorskip("jax")
    broken = BROKEN if "atol" in example.code else ""
    code, out, err = run(f"{broken}{read(example.code).text}{CALL}")
    assert (code, out) == (0, "1"), err
