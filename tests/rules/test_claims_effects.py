"""What the rules about effects and repeated work say of a program is what JAX does with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine
from remat_lint.findings import Finding

# Each program defines `shown()`, which returns what the claim is about.
PROGRAMS = {
    "append to an outer list": (
        "RML103",
        """
import jax
import jax.numpy as jnp

acts = []

@jax.checkpoint
def block(x):
    h = jnp.sin(x)
    acts.append(h)
    return h

def shown():
    block(1.0)
    block(2.0)
    return [len(acts), raised(lambda: acts[0] + 1)]
""",
    ),
    "attribute of a captured object": (
        "RML103",
        """
import jax
import jax.numpy as jnp

class Encoder:
    def __init__(self):
        self.seen = None
        self.run = jax.remat(self.forward)

    def forward(self, x):
        self.seen = jnp.mean(x)
        return x * 2

def shown():
    encoder = Encoder()
    encoder.run(jnp.ones(3))
    encoder.seen, first = None, encoder.seen
    encoder.run(jnp.ones(3))
    return [encoder.seen is None, raised(lambda: first + 1)]
""",
    ),
    "constant made on first use": (
        "RML103",
        """
import jax
import jax.numpy as jnp

MASKS = {}

@jax.checkpoint
def attend(x):
    if "m" not in MASKS:
        MASKS["m"] = jnp.tril(jnp.ones((2, 2)))
    return x * MASKS["m"]

def shown():
    attend(jnp.ones((2, 2)))
    return raised(lambda: MASKS["m"] + 1)
""",
    ),
    "operation on a captured array": (
        "RML103",
        """
import jax
import jax.numpy as jnp

W = jnp.ones(3)
cache = {}

@jax.checkpoint
def layer(x):
    cache["double"] = W * 2
    return x

def shown():
    layer(jnp.ones(3))
    return raised(lambda: cache["double"] + 1)
""",
    ),
    "global key split inside": (
        "RML103",
        """
import jax

key = jax.random.key(0)

@jax.checkpoint
def noisy(x):
    global key
    key, sub = jax.random.split(key)
    return x + jax.random.normal(sub)

def shown():
    same = float(noisy(1.0)) == float(noisy(1.0))
    return [same, raised(lambda: jax.random.normal(key))]
""",
    ),
    "list taken as a default": (
        "RML103",
        """
import jax

@jax.checkpoint
def layer(x, acc=[]):
    acc.append(x * 2)
    return x

def shown():
    layer(1.0)
    return raised(lambda: layer.__wrapped__.__defaults__[0][0] + 1)
""",
    ),
    "store through a helper": (
        "RML103",
        """
import jax

STATS = {}

def record(name, value):
    STATS[name] = value

@jax.checkpoint
def layer(x):
    record("mean", x.mean())
    return x

def shown():
    import jax.numpy as jnp

    layer(jnp.ones(3))
    return raised(lambda: STATS["mean"] + 1)
""",
    ),
    "numpy noise": (
        "RML104",
        """
import jax
import numpy as np

@jax.checkpoint
def noisy(x):
    return x * np.random.rand()

def shown():
    return len({float(noisy(1.0)) for _ in range(4)})
""",
    ),
    "generator of an object, clock and iterator": (
        "RML104",
        """
import itertools
import random
import time
import jax

class Block:
    def __init__(self):
        self.rng = random.Random(0)
        self.steps = itertools.count()

    def make(self):
        def forward(x):
            return x * self.rng.random() + next(self.steps) + time.perf_counter()

        return jax.checkpoint(forward)

def shown():
    forward = Block().make()
    return len({float(forward(1.0)) for _ in range(4)})
""",
    ),
    "jit of a wrapper in a loop": (
        "RML701",
        """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.sin(x)

def shown():
    x = jnp.ones(3)
    before = count("jit(layer)")
    for _ in range(4):
        x = jax.jit(jax.checkpoint(layer))(x)
    return count("jit(layer)") - before
""",
    ),
    "jit of a wrapper in a step": (
        "RML701",
        """
import jax
import jax.numpy as jnp

def step(x):
    @jax.jit
    @jax.checkpoint
    def inner_layer(x):
        return jnp.sin(x)

    return inner_layer(x)

def shown():
    x = jnp.ones(3)
    before = count("jit(inner_layer)")
    for _ in range(4):
        x = step(x)
    return count("jit(inner_layer)") - before
""",
    ),
    "lambda wrapped in a loop under jit": (
        "RML702",
        """
import jax
import jax.numpy as jnp

traces = []

def layer(w, x):
    traces.append(None)
    return jnp.sin(x * w)

@jax.jit
def model(w, x):
    for _ in range(4):
        x = jax.checkpoint(lambda w, x: layer(w, x))(w, x)
    return x

def shown():
    jax.grad(model)(1.0, 2.0)
    return len(traces)
""",
    ),
    "values of another checkpointed call": (
        "",
        """
import jax
import jax.numpy as jnp

W = jnp.ones(3)
seen, table = [], {}

@jax.checkpoint
def layer(x):
    seen.append(x.shape)
    table["w"] = W
    with jax.ensure_compile_time_eval():
        table["mask"] = jnp.arange(3)
    return x * table["mask"]

def shown():
    layer(jnp.ones(3))
    return [seen[0] == (3,), raised(lambda: table["w"] + table["mask"])]
""",
    ),
    "random numbers by key and host functions": (
        "",
        """
import random
import jax
import numpy as np

def host(_):
    return np.float32(random.random())

@jax.checkpoint
def layer(x):
    return x + jax.pure_callback(host, jax.ShapeDtypeStruct((), np.float32), x)

def shown():
    return len({float(layer(1.0)) for _ in range(4)})
""",
    ),
    "the same function wrapped in a loop": (
        "",
        """
import jax
import jax.numpy as jnp

traces = []

def layer(x):
    traces.append(None)
    return jnp.sin(x)

def shown():
    x = jnp.ones(3)
    for _ in range(4):
        x = jax.checkpoint(layer)(x)
    return len(traces)
""",
    ),
}

EXPECTED = {
    "append to an outer list": [1, "UnexpectedTracerError"],
    "attribute of a captured object": [True, "UnexpectedTracerError"],
    "constant made on first use": "UnexpectedTracerError",
    "operation on a captured array": "UnexpectedTracerError",
    "global key split inside": [True, "UnexpectedTracerError"],
    "list taken as a default": "UnexpectedTracerError",
    "store through a helper": "UnexpectedTracerError",
    "numpy noise": 1,
    "generator of an object, clock and iterator": 1,
    "jit of a wrapper in a loop": 4,
    "jit of a wrapper in a step": 4,
    "lambda wrapped in a loop under jit": 4,
    "values of another checkpointed call": [True, ""],
    "random numbers by key and host functions": 4,
    "the same function wrapped in a loop": 1,
}

CHILD = """
import json, logging, sys
import jax

class Compilations(logging.Handler):
    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())

compilations = Compilations()
logging.getLogger("jax").addHandler(compilations)
logging.getLogger("jax").propagate = False
jax.config.update("jax_log_compiles", True)

def count(name):
    return sum(m.startswith("Compiling") and (name in m or name[4:-1] in m) for m in compilations.messages)

def raised(action):
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return ""

results = {}
for name, (_, code) in json.load(sys.stdin).items():
    space = {"__name__": "program", "count": count, "raised": raised}
    exec(compile(code, name, "exec"), space)
    results[name] = space["shown"]()
json.dump(results, sys.stdout)
"""


@pytest.fixture(scope="module")
def results():
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(PROGRAMS),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def lint(code: str, folder: Path) -> tuple[Finding, ...]:
    settings = Settings(root=folder, select=("RML103", "RML104", "RML701", "RML702"))
    return Engine(settings).check_text(code, folder / "program.py").findings


@pytest.mark.execution
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_program_does_what_the_rule_says(name, results):
    assert results[name] == EXPECTED[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rule_speaks_of_the_program_and_no_other_does(name, tmp_path):
    code, text = PROGRAMS[name]
    assert {finding.code for finding in lint(text, tmp_path)} == ({code} if code else set())
