"""What the rules say of effects behind calls is what JAX does; the helpers stand in a file of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine

HELPERS = """
import time
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

SEEN, CACHE, count = [], {}, 0

def jitter(x):
    return x * np.random.rand()

def shaken(x):
    return jitter(x) + 1.0

def late(x):
    return x * time.perf_counter()

def record(values, h):
    values.append(h * 2)

def remember(h):
    record(SEEN, h)

def bump():
    global count
    count += 1

def touch(x):
    bump()
    return x

def put(store, value):
    store["last"] = value

def mask(n):
    if n not in CACHE:
        CACHE[n] = jnp.tril(jnp.ones((n, n)))
    return CACHE[n]

def eager_mask(n):
    with jax.ensure_compile_time_eval():
        return mask(n)

def peak(values):
    return values.max().item()

def normalised(values):
    return values / peak(values)

def log(x):
    io_callback(lambda value: None, None, x)
    return x

def logged(x):
    return log(x) * 2

def tell(x):
    jax.debug.callback(keep_told, x)
    return x

def keep_told(x):
    TOLD.append(x)

TOLD = []

class Base:
    def __init__(self):
        self.calls, self.scale, self.last = 0, 1.0, None

    def tick(self, h):
        self.calls += 1
        self.keep(h)

    def keep(self, h):
        self.last = h * 2

    def set_scale(self, scale):
        self.scale = scale

    def scaled(self, x):
        return x * self.scale
"""
HEAD = """
import functools
import jax
import jax.numpy as jnp
import helpers
from helpers import Base

def raised(action):
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return ""
"""
# Each program defines `shown()`, which must return what stands beside it.
PROGRAMS = {
    "noise two calls away": (
        {"RML104"},
        """
@jax.checkpoint
def layer(x):
    return jnp.sin(helpers.shaken(x))

def shown():
    return len({float(layer(1.0)) for _ in range(4)})
""",
        1,
    ),
    "noise in the body of a scan": (
        {"RML104"},
        """
@jax.checkpoint
def layer(x):
    return jax.lax.scan(lambda h, _: (helpers.shaken(h), None), x, None, length=3)[0]

def shown():
    return len({float(layer(1.0)) for _ in range(4)})
""",
        1,
    ),
    "a clock that is multiplied in": (
        {"RML104"},
        """
@jax.checkpoint
def layer(x):
    return helpers.late(x)

def shown():
    return len({float(layer(1.0)) for _ in range(4)})
""",
        1,
    ),
    "a list that is handed on": (
        {"RML103"},
        """
acts = []

@jax.checkpoint
def layer(x):
    helpers.record(acts, x)
    return jnp.sin(x)

def shown():
    layer(1.0)
    layer(2.0)
    return [len(acts), raised(lambda: acts[0] + 1)]
""",
        [1, "UnexpectedTracerError"],
    ),
    "a list of another file": (
        {"RML103"},
        """
@jax.checkpoint
def layer(x):
    helpers.remember(x)
    return jnp.sin(x)

def shown():
    layer(1.0)
    layer(2.0)
    return [len(helpers.SEEN), raised(lambda: helpers.SEEN[0] + 1)]
""",
        [1, "UnexpectedTracerError"],
    ),
    "a table made on first use": (
        {"RML103"},
        """
@jax.checkpoint
def attend(x):
    return x * helpers.mask(2)

def shown():
    attend(jnp.ones((2, 2)))
    return raised(lambda: helpers.CACHE[2] + 1)
""",
        "UnexpectedTracerError",
    ),
    "a table made at once": (
        set(),
        """
@jax.checkpoint
def attend(x):
    return x * helpers.eager_mask(2)

def shown():
    attend(jnp.ones((2, 2)))
    return raised(lambda: helpers.CACHE[2] + 1)
""",
        "",
    ),
    "a counter two calls away": (
        {"RML106"},
        """
@jax.checkpoint
def layer(x):
    return helpers.touch(x) * 2

def shown():
    layer(1.0)
    layer(2.0)
    return helpers.count
""",
        1,
    ),
    "a dict that a helper changes": (
        {"RML105"},
        """
@jax.checkpoint
def block(cache, x):
    helpers.put(cache, x * 3)
    return x

def shown():
    cache = {"last": 0.0}
    block(cache, 1.0)
    return cache["last"]
""",
        0.0,
    ),
    "a value that a helper asks for": (
        {"RML306"},
        """
@jax.checkpoint
def layer(x):
    return helpers.normalised(jnp.sin(x))

def shown():
    return raised(lambda: layer(jnp.ones(3)))
""",
        "ConcretizationTypeError",
    ),
    "a callback two calls away": (
        {"RML109"},
        """
@jax.checkpoint
def layer(x):
    return helpers.logged(x)

def shown():
    return [float(layer(1.0)), raised(lambda: jax.grad(layer)(1.0)) != ""]
""",
        [2.0, True],
    ),
    "a debug callback in another file": (
        {"RML108"},
        """
@jax.checkpoint
def layer(x):
    return jnp.sin(helpers.tell(x))

step = jax.grad(layer)

def shown():
    step(1.0)
    jax.effects_barrier()
    return len(helpers.TOLD)
""",
        2,
    ),
    "state of a base class": (
        {"RML103", "RML106"},
        """
class Net(Base):
    def __init__(self):
        super().__init__()
        self.run = jax.checkpoint(self.forward)

    def forward(self, x):
        super().tick(x)
        return x

def shown():
    net = Net()
    net.run(1.0)
    net.run(2.0)
    return [net.calls, raised(lambda: net.last + 1)]
""",
        [1, "UnexpectedTracerError"],
    ),
    "an attribute that a method of a base class sets": (
        {"RML101"},
        """
class Net(Base):
    def __init__(self):
        super().__init__()
        self.run = jax.checkpoint(self.forward)

    def forward(self, x):
        return self.scaled(x)

    def __call__(self, x):
        return self.run(x)

def shown():
    net = Net()
    first = float(net(1.0))
    net.set_scale(5.0)
    return [first, float(net(1.0))]
""",
        [1.0, 1.0],
    ),
}


def write(name, folder):
    (folder / "pyproject.toml").write_text("", encoding="utf-8")
    (folder / "helpers.py").write_text(HELPERS, encoding="utf-8")
    (folder / "program.py").write_text(HEAD + PROGRAMS[name][1], encoding="utf-8")


CHILD = """
import json, sys

results = []
for folder in sys.argv[1:]:
    sys.path.insert(0, folder)
    import program
    results.append(program.shown())
    sys.path.remove(folder)
    del sys.modules["program"], sys.modules["helpers"]
json.dump(results, sys.stdout)
"""


@pytest.mark.execution
def test_the_programs_do_what_the_rules_say(tmp_path):
    folders = [tmp_path / str(number) for number in range(len(PROGRAMS))]
    for name, folder in zip(PROGRAMS, folders, strict=True):
        folder.mkdir()
        write(name, folder)
    command = [sys.executable, "-c", CHILD, *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    shown = dict(zip(PROGRAMS, json.loads(done.stdout), strict=True))
    assert shown == {name: expected for name, (_, _, expected) in PROGRAMS.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_rules_speak_of_the_program_and_no_others_do(name, tmp_path: Path):
    write(name, tmp_path)
    codes = ("RML101", "RML103", "RML104", "RML105", "RML106", "RML108", "RML109", "RML306")
    found = Engine(Settings(root=tmp_path, select=codes)).check_paths([tmp_path / "program.py"]).findings
    assert {finding.code for finding in found} == PROGRAMS[name][0]
