"""What the rules about placement say of memory, measured: temporaries of the compiled backward pass.

The figures are those of XLA's compiler for the CPU. Its older releases remove the barriers of `jax.checkpoint` before
they merge equal computations, which other backends do not; a flag keeps them from that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine

pytestmark = pytest.mark.execution
FLAG = "--xla_disable_hlo_passes=cse_barrier_expander"
HEAD = """
import jax
import jax.numpy as jnp
from jax import lax

WS, X = jnp.ones((8, 64, 64)), jnp.ones((256, 64))

def layer(w, x):
    return jnp.tanh(jnp.sin(x @ w))

def body(x, w):
    return layer(w, x), None

def tower(ws, x, one=layer):
    for w in ws:
        x = one(w, x)
    return x
"""
# Each program defines `plain`, `reported` and `better`, functions of the weights and the input that are compiled as
# they are: what is reported must need what the plain one needs, and what is better much less.
PROGRAMS = {
    "the whole loss": (
        "RML601",
        """
def loss(ws, x):
    return tower(ws, x).sum()

def good(ws, x):
    return tower(ws, x, jax.checkpoint(layer)).sum()

plain, reported, better = jax.grad(loss), jax.grad(jax.checkpoint(loss)), jax.grad(good)
""",
    ),
    "the whole loss, with its value": (
        "RML601",
        """
def loss(ws, x):
    return tower(ws, x).sum()

def good(ws, x):
    return tower(ws, x, jax.checkpoint(layer)).sum()

plain, reported = jax.value_and_grad(loss), jax.value_and_grad(jax.checkpoint(loss))
better = jax.value_and_grad(good)
""",
    ),
    "the loop over the layers below a loss": (
        "RML601",
        """
forward = jax.checkpoint(tower)

def loss(ws, x):
    return ((tower(ws, x) - 1) ** 2).mean()

def loss_ck(ws, x):
    return ((forward(ws, x) - 1) ** 2).mean()

def good(ws, x):
    return ((tower(ws, x, jax.checkpoint(layer)) - 1) ** 2).mean()

plain, reported, better = jax.grad(loss), jax.grad(loss_ck), jax.grad(good)
""",
    ),
    "around a scan": (
        "RML602",
        """
def scanned(ws, x):
    return lax.scan(body, x, ws)[0]

def loss(ws, x):
    return scanned(ws, x).sum()

def loss_ck(ws, x):
    return jax.checkpoint(scanned)(ws, x).sum()

def good(ws, x):
    return lax.scan(jax.checkpoint(body), x, ws)[0].sum()

plain, reported, better = jax.grad(loss), jax.grad(loss_ck), jax.grad(good)
""",
    ),
    "around a map": (
        "RML602",
        """
def mapped(ws, x):
    return lax.map(lambda w: layer(w, x), ws)

def loss(ws, x):
    return (mapped(ws, x) ** 2).sum()

def loss_ck(ws, x):
    return (jax.checkpoint(mapped)(ws, x) ** 2).sum()

def good(ws, x):
    return (lax.map(jax.checkpoint(lambda w: layer(w, x)), ws) ** 2).sum()

plain, reported, better = jax.grad(loss), jax.grad(loss_ck), jax.grad(good)
""",
    ),
    "around a fori_loop": (
        "RML602",
        """
def looped(ws, x):
    return lax.fori_loop(0, 8, lambda i, x: layer(ws[i], x), x)

def loss(ws, x):
    return looped(ws, x).sum()

def loss_ck(ws, x):
    return jax.checkpoint(looped)(ws, x).sum()

def good(ws, x):
    return lax.fori_loop(0, 8, jax.checkpoint(lambda i, x: layer(ws[i], x)), x).sum()

plain, reported, better = jax.grad(loss), jax.grad(loss_ck), jax.grad(good)
""",
    ),
    "merged in a Python loop": (
        "RML603",
        """
unsafe = jax.checkpoint(layer, prevent_cse=False)

def loss(ws, x):
    return tower(ws, x).sum()

def loss_ck(ws, x):
    for w in ws:
        x = unsafe(w, x)
    return x.sum()

def good(ws, x):
    return tower(ws, x, jax.checkpoint(layer)).sum()

plain, reported, better = jax.grad(loss), jax.grad(loss_ck), jax.grad(good)
""",
    ),
    "merged in an unrolled scan": (
        "RML603",
        """
def loss(ws, x):
    return lax.scan(body, x, ws, unroll=8)[0].sum()

def loss_ck(ws, x):
    return lax.scan(jax.checkpoint(body, prevent_cse=False), x, ws, unroll=8)[0].sum()

def good(ws, x):
    return lax.scan(jax.checkpoint(body), x, ws, unroll=8)[0].sum()

plain, reported, better = jax.grad(loss), jax.grad(loss_ck), jax.grad(good)
""",
    ),
    "around the derivative": (
        "RML604",
        """
def loss(ws, x):
    return tower(ws, x).sum()

def good(ws, x):
    return tower(ws, x, jax.checkpoint(layer)).sum()

plain, better = jax.grad(loss), jax.grad(good)
reported = jax.checkpoint(plain)
""",
    ),
    "around a training step": (
        "RML604",
        """
def loss(ws, x):
    return tower(ws, x).sum()

def plain(ws, x):
    return ws - 0.1 * jax.grad(loss)(ws, x)

@jax.checkpoint
def step(ws, x):
    return ws - 0.1 * jax.grad(loss)(ws, x)

def good(ws, x):
    return tower(ws, x, jax.checkpoint(layer)).sum()

def better(ws, x):
    return ws - 0.1 * jax.grad(good)(ws, x)

reported = jax.jit(step)
""",
    ),
}
# The same for what must not be reported: `reported` must need much less than `plain`.
RIGHT = {
    "inner steps of an outer derivative": """
def loss(ws, x):
    return tower(ws, x).sum()

def step(ws, x):
    return ws - 0.1 * jax.grad(loss)(ws, x)

def outer(ws, x, one):
    for _ in range(2):
        ws = one(ws, x)
    return loss(ws, x)

plain = jax.grad(lambda ws, x: outer(ws, x, step))
reported = jax.grad(lambda ws, x: outer(ws, x, jax.checkpoint(step)))
""",
    "an inner loss of an outer derivative": """
def loss(ws, x):
    return tower(ws, x).sum()

def outer(ws, x, inner):
    for _ in range(2):
        ws = ws - 0.1 * jax.grad(inner)(ws, x)
    return loss(ws, x)

plain = jax.grad(lambda ws, x: outer(ws, x, loss))
reported = jax.grad(lambda ws, x: outer(ws, x, jax.checkpoint(loss)))
""",
    "segments of a scan": """
def segment(ws, x):
    return lax.scan(body, x, ws)[0]

def loss(ws, x, run):
    return lax.scan(lambda x, w: (run(w, x), None), x, ws.reshape(4, 2, 64, 64))[0].sum()

plain = jax.grad(lambda ws, x: loss(ws, x, segment))
reported = jax.grad(lambda ws, x: loss(ws, x, jax.checkpoint(segment)))
""",
    "chunks of layers": """
def loss(ws, x, run):
    for i in range(0, 8, 2):
        x = run(ws[i : i + 2], x)
    return x.sum()

plain = jax.grad(lambda ws, x: loss(ws, x, tower))
reported = jax.grad(lambda ws, x: loss(ws, x, jax.checkpoint(tower)))
""",
    "no barriers in the body of a scan": """
def loss(ws, x, f):
    return lax.scan(f, x, ws)[0].sum()

plain = jax.grad(lambda ws, x: loss(ws, x, body))
reported = jax.grad(lambda ws, x: loss(ws, x, jax.checkpoint(body, prevent_cse=False)))
""",
    "no barriers in branches": """
def loss(ws, x, f):
    for w in ws:
        x = lax.cond(x[0, 0] > 0, f, lambda w, x: x, w, x)
    return x.sum()

plain = jax.grad(lambda ws, x: loss(ws, x, layer))
reported = jax.grad(lambda ws, x: loss(ws, x, jax.checkpoint(layer, prevent_cse=False)))
""",
}
STOPPED = """
def loss(ws, x, target):
    return ((x @ ws[0] - target(ws, x)) ** 2).sum()

def forms():
    ck = jax.checkpoint(tower)
    yield lambda ws, x: lax.stop_gradient(ck(ws, x))
    yield lambda ws, x: lax.stop_gradient(ck(lax.stop_gradient(ws), x))
    yield lambda ws, x: jax.tree.map(lax.stop_gradient, ck(ws, x))
    yield jax.checkpoint(lambda ws, x: lax.stop_gradient(tower(ws, x)))

def barriers():
    for target in forms():
        lowered = jax.jit(jax.grad(lambda ws, x: loss(ws, x, target))).lower(WS, X)
        yield lowered.as_text().count("optimization_barrier")
"""
CHILD = """
import json, sys
import jax

def temporaries(function, space):
    compiled = jax.jit(function).lower(space["WS"], space["X"]).compile()
    return compiled.memory_analysis().temp_size_in_bytes

out = {}
for name, code in json.load(sys.stdin).items():
    space = {"__name__": "program"}
    exec(compile(code, name, "exec"), space)
    names = [n for n in ("plain", "reported", "better") if n in space]
    out[name] = {n: temporaries(space[n], space) for n in names} or list(space["barriers"]())
json.dump(out, sys.stdout)
"""


@pytest.fixture(scope="module")
def measured():
    programs = {name: HEAD + code for name, (_, code) in PROGRAMS.items()}
    programs |= {name: HEAD + code for name, code in RIGHT.items()}
    programs["stopped"] = HEAD + STOPPED
    done = subprocess.run(
        [os.environ.get("REMAT_LINT_TEST_PYTHON", sys.executable), "-c", CHILD],
        input=json.dumps(programs),
        env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": FLAG},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_reported_needs_the_memory_of_no_checkpoint(name, measured):
    assert measured[name]["reported"] >= 0.95 * measured[name]["plain"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_the_message_advises_needs_much_less(name, measured):
    assert measured[name]["better"] <= 0.7 * measured[name]["plain"]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_not_reported_saves_memory(name, measured):
    assert measured[name]["reported"] <= 0.75 * measured[name]["plain"]


def test_nothing_is_computed_again_for_a_stopped_gradient(measured):
    assert measured["stopped"] == [0, 0, 0, 0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rule_speaks_of_the_program(name):
    code, text = PROGRAMS[name]
    assert code in codes(HEAD + text)


@pytest.mark.parametrize("name", RIGHT)
def test_no_rule_speaks_of_what_is_right(name):
    assert codes(HEAD + RIGHT[name]) == set()


def codes(text: str) -> set[str]:
    path = Path("/project/program.py")
    settings = Settings(root=path.parent, select=("RML601", "RML602", "RML603", "RML604"))
    return {finding.code for finding in Engine(settings).check_text(text, path).findings}
