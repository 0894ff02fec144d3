"""What the rules about changed arguments and counters say happens, shown beside the plain function."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine

HEAD = "import functools\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n"
# Each program defines `shown(wrap)`; `wrap` is `jax.checkpoint` or does nothing.
PROGRAMS = {
    "an item of a dict, and update": (
        "RML105",
        """
def block(state, x):
    state["mean"] = x.mean()
    state.update(last=x[0])
    return x * state["scale"]

def shown(wrap):
    state = {"scale": 2.0}
    wrap(block)(state, jnp.ones(3))
    return sorted(state)
""",
        ["last", "mean", "scale"],
        ["scale"],
    ),
    "a list that grows and shrinks": (
        "RML105",
        """
def block(cache, x):
    cache.append(x)
    cache.pop(0)
    cache += [x, x]
    return x * 2

def shown(wrap):
    cache = [jnp.zeros(3)]
    wrap(block)(cache, jnp.ones(3))
    return len(cache)
""",
        3,
        1,
    ),
    "a deleted item and one further in": (
        "RML105",
        """
def block(state, x):
    del state["b"]
    state["a"]["k"] = x
    return x * 2

def shown(wrap):
    state = {"a": {}, "b": 1.0}
    wrap(block)(state, jnp.ones(3))
    return [sorted(state), len(state["a"])]
""",
        [["a"], 1],
        [["a", "b"], 0],
    ),
    "a numpy array": (
        "RML105",
        """
def block(x):
    x[0] = 5.0
    return x.sum()

def shown(wrap):
    return raised(lambda: wrap(block)(np.ones(3)))
""",
        "",
        "TypeError",
    ),
    "an item of an array that is added to": (
        "RML105",
        """
def block(x):
    x[0] += 5.0
    return x.sum()

def shown(wrap):
    return raised(lambda: wrap(block)(np.ones(3)))
""",
        "",
        "TypeError",
    ),
    "a counter": (
        "RML106",
        """
class Layer:
    calls = 0

layer = Layer()

def block(x):
    layer.calls += 1
    return x * 2

def shown(wrap):
    before, run = layer.calls, wrap(block)
    for _ in range(3):
        run(jnp.ones(3))
    return layer.calls - before
""",
        3,
        1,
    ),
    "a static argument is the caller's own": (
        "",
        """
class Names(list):
    __hash__ = object.__hash__

def block(x, names):
    names.append("block")
    return x * 2

def shown(wrap):
    names = Names()
    made = functools.partial(wrap, static_argnums=(1,)) if wrap is jax.checkpoint else wrap
    made(block)(jnp.ones(3), names)
    return len(names)
""",
        1,
        1,
    ),
    "a variable that is rebound to a sum": (
        "",
        """
def block(x):
    x += 1
    return x.sum()

def shown(wrap):
    return float(wrap(block)(jnp.ones(3)))
""",
        6.0,
        6.0,
    ),
}
CHILD = """
import json, sys
import jax

def raised(action):
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return ""

out = {}
for name, code in json.load(sys.stdin).items():
    space = {"__name__": "program", "raised": raised}
    exec(compile(code, name, "exec"), space)
    out[name] = [space["shown"](lambda function: function), space["shown"](jax.checkpoint)]
json.dump(out, sys.stdout)
"""


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [os.environ.get("REMAT_LINT_TEST_PYTHON", sys.executable), "-c", CHILD],
        input=json.dumps({name: HEAD + row[1] for name, row in PROGRAMS.items()}),
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.execution
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_checkpointed_function_does_what_the_rule_says(name, results):
    _, _, plain, checkpointed = PROGRAMS[name]
    assert results[name] == [plain, checkpointed]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rule_speaks_of_the_program_and_no_other_does(name):
    code, text, _, _ = PROGRAMS[name]
    program = HEAD + text + "\nwrapped = jax.checkpoint(block)\n"
    if not code and "static_argnums" in text:
        program = program.replace("jax.checkpoint(block)\n", "jax.checkpoint(block, static_argnums=(1,))\n")
    path = Path("/project/program.py")
    settings = Settings(root=path.parent, select=("RML103", "RML105", "RML106"))
    found = {finding.code for finding in Engine(settings).check_text(program, path).findings}
    assert found == ({code} if code else set())
