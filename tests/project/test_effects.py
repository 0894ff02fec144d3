"""Effects that calls lead to: through files, methods, inheritance, partial and transformations, and what is none."""

import time

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine

NOISE = """
import numpy as np

def jitter(shape):
    return np.random.normal(size=shape)

def shaken(x):
    return x + jitter(x.shape)
"""
STATS = """
import jax.numpy as jnp

SEEN = []
count = 0

def record(values, h):
    values.append(h.mean())

def remember(h):
    SEEN.append(h)

def bump():
    global count
    count += 1

def touch(x):
    bump()
    return x

class Base:
    def __init__(self):
        self.calls, self.last = 0, None

    def tick(self, h):
        self.calls += 1
        self.keep(h)

    def keep(self, h):
        self.last = h * 2

class Depth:
    def __init__(self):
        self.depth = 0

    def enter(self):
        self.depth += 1

    def leave(self):
        self.depth -= 1

    def put(self, h):
        self.h = jnp.sin(h)
"""
HEAD = """
import functools
import jax
import jax.numpy as jnp
import noise as N
from noise import shaken
from stats import SEEN, Base, Depth, record, remember, touch

"""


class Findings:
    """Lints `main.py` beside the helpers."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "pyproject.toml").write_text("", encoding="utf-8")
        for name, text in (("noise", NOISE), ("stats", STATS)):
            (folder / f"{name}.py").write_text(text, encoding="utf-8")

    def check(self, text, paths=("main.py",), **options):
        (self.folder / "main.py").write_text(HEAD + text, encoding="utf-8")
        codes = ("RML101", "RML103", "RML104", "RML105", "RML106")
        engine = Engine(Settings(root=self.folder, select=codes), **options)
        found = engine.check_paths([self.folder / path for path in paths]).findings
        return [finding for finding in found if finding.path.endswith("main.py")]

    def codes(self, text):
        return [finding.code for finding in self.check(text)]


@pytest.fixture
def findings(tmp_path):
    return Findings(tmp_path)


BAD = {
    "a draw two calls away in another file": (
        "@jax.checkpoint\ndef layer(x):\n    return jnp.sin(shaken(x))\n",
        ["RML104"],
    ),
    "a helper given to scan": (
        """
@jax.checkpoint
def layer(x):
    def step(h, _):
        return N.shaken(h), None
    return jax.lax.scan(step, x, None, length=3)[0]
""",
        ["RML104"],
    ),
    "a branch of cond": (
        "@jax.checkpoint\ndef layer(x, p):\n    return jax.lax.cond(p, N.shaken, jnp.sin, x)\n",
        ["RML104"],
    ),
    "a partial under vmap": (
        "@jax.checkpoint\ndef layer(x):\n    return jax.vmap(functools.partial(N.shaken))(x)\n",
        ["RML104"],
    ),
    "a list that is handed on": (
        "acts = []\n\n@jax.checkpoint\ndef layer(x):\n    record(acts, x)\n    return jnp.sin(x)\n",
        ["RML103"],
    ),
    "a list of another file": (
        "@jax.checkpoint\ndef layer(x):\n    remember(jnp.sin(x))\n    return x\n",
        ["RML103"],
    ),
    "a counter two calls away": (
        "@jax.checkpoint\ndef layer(x):\n    return touch(x) * 2\n",
        ["RML106"],
    ),
    "a method of a base class in another file, through super": (
        """
class Net(Base):
    def __init__(self):
        super().__init__()
        self.run = jax.checkpoint(self.forward)

    def forward(self, x):
        super().tick(x)
        return x

    def __call__(self, x):
        return self.run(x)
""",
        ["RML103", "RML106"],
    ),
    "an attribute of known type": (
        """
class Net:
    def __init__(self):
        self.part = Base()
        self.run = jax.checkpoint(self.forward)

    def forward(self, x):
        self.part.keep(x)
        return x

    def __call__(self, x):
        return self.run(x)
""",
        ["RML103"],
    ),
    "an argument that a helper changes": (
        """
def keep(cache, x):
    cache["k"] = x

@jax.checkpoint
def block(cache, x):
    keep(cache, x)
    return jnp.sin(x)
""",
        ["RML105"],
    ),
}
GOOD = {
    "objects made in the trace": """
@jax.checkpoint
def layer(x):
    mine, depth = [], Depth()
    record(mine, x)
    depth.enter()
    depth.put(x)
    return jnp.sin(x) + sum(mine) + depth.h
""",
    "a depth that is put back by another method": """
depth = Depth()

@jax.checkpoint
def layer(x):
    depth.enter()
    y = jnp.sin(x)
    depth.leave()
    return y
""",
    "a closure made in the trace": """
def collector():
    values = []
    def put(h):
        values.append(h)
        return values
    return put

@jax.checkpoint
def layer(x):
    put = collector()
    put(x)
    return sum(put(x))
""",
    "a host function": """
def host(x):
    remember(x)
    return N.shaken(x)

@jax.checkpoint
def layer(x):
    jax.debug.callback(host, x)
    return jnp.sin(x)
""",
    "something unknown": """
from elsewhere import unknown

@jax.checkpoint
def layer(x):
    return unknown(x, SEEN)
""",
}


@pytest.mark.parametrize("name", BAD)
def test_an_effect_is_found_at_the_end_of_calls(findings, name):
    text, codes = BAD[name]
    assert findings.codes(text) == codes


@pytest.mark.parametrize("name", GOOD)
def test_what_is_no_effect_of_the_trace_is_left_alone(findings, name):
    assert findings.codes(GOOD[name]) == []


@pytest.mark.parametrize("name", [*BAD, *GOOD])
def test_effects_are_the_same_whatever_is_parsed_and_named(findings, name):
    text = BAD[name][0] if name in BAD else GOOD[name]
    lazy = findings.check(text)
    assert lazy == findings.check(text, whole=True)
    assert lazy == findings.check(text, paths=(".",))


def test_the_way_to_the_effect_is_told(findings):
    (finding,) = findings.check(BAD["a draw two calls away in another file"][0])
    assert (finding.span.start.row, finding.span.start.column) == (9, 2)
    assert "`np.random.normal(…)` in `jitter` is drawn once" in finding.message
    assert [
        (note.path.rpartition("/")[2], note.span.start.row, note.message) for note in finding.related
    ] == [
        ("main.py", 11, "`shaken` runs during the trace of `layer`"),
        ("noise.py", 8, "`jitter` runs during the trace of `layer`"),
        ("noise.py", 5, "it happens here"),
    ]


def chain(length, *, back=False):
    """Return functions that call each other in a row, the last one draws; `back` closes a cycle."""
    steps = [f"def f{i}(x):\n    return f{i + 1}(x) + 1\n" for i in range(length)]
    last = f"def f{length}(x):\n    return {'f0' if back else 'jnp.sin'}(N.shaken(x))\n"
    return "\n".join([*steps, last, "@jax.checkpoint\ndef layer(x):\n    return f0(x)\n"])


@pytest.mark.parametrize("back", [False, True])
def test_a_long_chain_of_calls_is_followed(findings, back):
    (finding,) = findings.check(chain(100, back=back))
    assert finding.code == "RML104"
    assert len(finding.related) == 104


def test_time_grows_with_the_length_of_a_chain(findings):
    took = []
    for length in (50, 400):
        findings.check(chain(length))
        start = time.process_time()
        findings.check(chain(length))
        took.append(time.process_time() - start)
    assert took[1] < took[0] * 24
