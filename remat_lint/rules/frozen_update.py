"""Finds a counter or another Python state that a checkpointed function moves on: it moves once per trace.

## What it does
Reports `self.calls += 1`, `count[0] += 1`, `total = total + 1` of a `global` or `nonlocal` name, and other updates that
make a Python value outside of the function from the one before.

## Why it is a problem
`jax.checkpoint` traces the function once and replays the trace, also in code that never runs under `jit`. The update
is Python: it happens when the function is traced, and no later call with the same shapes repeats it. What the function
computes from the value is a constant from then on. Plain Python would update at every call.

## When to ignore it
When it is traces that are counted: what is named so is not reported, nor is what the function puts back again. A
stored array is a matter of `leaked-value`.

## Fix safety
There is no automatic edit: count outside of the checkpointed function, or pass the value in and return it.

## References
<https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body, bodies, is_kept
from remat_lint.project.counters import Step, steps
from remat_lint.project.summaries import Effect
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import in_test_file
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent
from remat_lint.rules.ways import inside, way


class FrozenUpdate(Rule):
    """`frozen-update`: an update that the replay of a trace does not repeat."""

    code = "RML106"
    name = "frozen-update"
    category = "suspicious"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "the body updates no Python state outside itself"
    examples = (
        Bad(
            "a counter of calls",
            """
import jax
import jax.numpy as jnp

class Layer:
    def __init__(self):
        self.zähler = 0
        self.run = jax.checkpoint(self.forward)

    def forward(self, x):
        self.zähler += 1
#       ^^^^^^^^^^^^^^^^
        return jnp.sin(x)

def owner(x):
    layer = Layer()
    for _ in range(3):
        x = layer.run(x)
    return float(layer.zähler)
""",
            runs=True,
            message=(
                "`self.zähler` is updated once, when JAX traces `forward`, and not by later calls with the same shapes, "
                "even without `jit`; update it outside of `forward`, or pass the value in and return it"
            ),
        ),
        Bad(
            "a cell, through an alias and partial",
            """
from functools import partial
import jax as J
import jax.numpy as jnp

def build():
    step = [0]

    @partial(J.remat, prevent_cse=True)
    def layer(x):
        step[0] += 1
#       ^^^^^^^^^^^^
        return jnp.sin(x)

    return layer, step

def owner(x):
    layer, step = build()
    layer(layer(x))
    return float(step[0])
""",
            runs=True,
        ),
        Bad(
            "a global name",
            """
import jax
import jax.numpy as jnp

calls = 0

@jax.checkpoint
def layer(x):
    global calls
    calls = calls + 1
#   ^^^^^^^^^^^^^^^^^
    return jnp.sin(x)

def owner(x):
    layer(layer(x))
    return float(calls)
""",
            runs=True,
        ),
        Good(
            "the count is passed through",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(x, count):
    count += 1
    return jnp.sin(x) * count, count
""",
        ),
        Good(
            "counted where the function is called",
            """
import jax
import jax.numpy as jnp

class Layer:
    def __init__(self):
        self.calls = 0
        self.run = jax.checkpoint(jnp.sin)

    def __call__(self, x):
        self.calls += 1
        return self.run(x)
""",
        ),
        Good(
            "traces are what is counted",
            """
import jax
import jax.numpy as jnp

trace_count = 0

@jax.checkpoint
def layer(x):
    global trace_count
    trace_count += 1
    return jnp.sin(x)
""",
        ),
        Good(
            "the depth of a context is put back",
            """
import jax
import jax.numpy as jnp

class Scope:
    depth = 0

scope = Scope()

@jax.checkpoint
def layer(x):
    scope.depth += 1
    y = jnp.sin(x)
    scope.depth -= 1
    return y
""",
        ),
        Good(
            "a local object is counted up",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def tower(ws, x):
    seen = {"layers": 0}
    for w in ws:
        x = jnp.tanh(x @ w)
        seen["layers"] += 1
    return x / seen["layers"]
""",
        ),
        Good(
            "state that flax keeps",
            """
import jax.numpy as jnp
from flax import nnx

class Layer(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros(()))

    @nnx.remat
    def __call__(self, x):
        self.calls[...] += 1
        return jnp.sin(x)
""",
        ),
        Miss(
            "a method that counts",
            """
import collections
import jax
import jax.numpy as jnp

seen = collections.Counter()

@jax.checkpoint
def layer(x):
    seen.update(["layer"])
    return jnp.sin(x)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each update of a Python state that lives outside of the body."""
        for body in bodies(subject, project, Effect.MOVES):
            found = list(steps(body, project))
            if not found:
                continue
            if in_test_file(subject.event):
                yield Silent("a test counts what JAX traces")
            elif not is_kept(body, project):
                yield Silent("no later call is seen to meet the trace")
            else:
                yield from (self._report(step, body, project) for step in found)

    def _report(self, step: Step, body: Body, project: Analysis) -> Report:
        site, event = body.site, step.event
        function = f"`{body.name}`" if body.root.function.scope.name else "the lambda"
        what = f"{step.scope} `{render(step.target)}`" if step.scope else f"`{render(step.target)}`"
        what += inside(body, event.frame)
        message = (
            f"{what} is updated once, when JAX traces {function}{when(project.place(site))}, and not by later calls with "
            f"the same shapes, even without `jit`; update it outside of {function}, or pass the value in and return it"
        )
        return Report(Place(event.module, event.at), message, self.severity, way(body, event.frame))
