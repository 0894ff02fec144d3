"""Finds a time measured around the first call of a compiled checkpointed function.

## What it does
Reports a timed region whose call of something checkpointed and jitted is the first one in sight, so that tracing and
compiling fall into the measured time.

## Why it is a problem
The first call compiles: often a hundred times the time of a run, and with a checkpoint another amount than without. A
comparison of two such times says which program compiles faster, not what recomputing costs. One single run says
little besides: report several runs after a warm-up, with their spread.

## When to ignore it
When the time to the first result is what is asked for. Nothing is reported where the code says so by speaking of
compiling, nor where each round of a loop gets other data, as in a training run.

## Fix safety
In an editor a placeholder puts a first call in front of the clock; whether its arguments may be used twice (donated
buffers) is for the author to see.

## References
<https://docs.jax.dev/en/latest/benchmarking.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.timing import Timed, TimedCall
from remat_lint.project.warmth import compiles_inside
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, placeholder


class CompileInTiming(Rule):
    """`compile-in-timing`: the first call, which compiles, is measured."""

    code = "RML802"
    name = "compile-in-timing"
    category = "evidence"
    severity = Severity.WARNING
    subject = TimedCall
    silence = "what is called may be compiled already"
    examples = (
        Bad(
            "made and timed in one function",
            """
import time
import jax
import jax.numpy as jnp

def block(x):
    return jnp.tanh(x @ x)

def measure(x):
    step = jax.jit(jax.checkpoint(block))
    start = time.perf_counter()
    jax.block_until_ready(step(x))  # übersetzt erst
#                         ^^^^^^^
    return time.perf_counter() - start
""",
            message=(
                "this is the first call of `step`, which compiles it: the measured time is that of compiling and one run "
                "together; call it once before the clock is started, then report several runs"
            ),
        ),
        Bad(
            "a script, with other names for everything",
            """
from functools import partial
from time import perf_counter as now
import jax as J
import jax.numpy as jnp

@partial(J.remat, prevent_cse=False)
def layer(x, w):
    return jnp.tanh(x @ w), None

@J.jit
def grads(ws, x):
    return J.grad(lambda ws: J.lax.scan(layer, x, ws)[0].sum())(ws)

ws, x = jnp.ones((4, 8, 8)), jnp.ones((2, 8))
begin = now()
for _ in range(10):
    out = grads(ws, x)
#         ^^^^^^^^^^^^
J.block_until_ready(out)
end = now()
print((end - begin) / 10)
""",
        ),
        Bad(
            "a function that is given what it times",
            """
import time
import jax
import jax.numpy as jnp

def bench(f, x):
    t0 = time.time()
    f(x).block_until_ready()
#   ^^^^
    return time.time() - t0

def block(x):
    return jnp.tanh(x @ x)

def main(x):
    print(bench(jax.jit(block), x), bench(jax.jit(jax.checkpoint(block)), x))
""",
        ),
        Bad(
            "a nested function, called from a method that runs once",
            """
import time
import jax
import jax.numpy as jnp

class Model:
    def __init__(self, w):
        self.w = w

    def forward(self, x):
        return jnp.tanh(x @ self.w)

    def time(self, x):
        fast = jax.jit(jax.checkpoint(self.forward))

        def once():
            start = time.monotonic()
            y = fast(x)
#               ^^^^^^^
            y.block_until_ready()
            return time.monotonic() - start

        return once()
""",
        ),
        Bad(
            "the mean over a loop whose first round compiles",
            """
import time
import jax
import jax.numpy as jnp

def measure(x, runs=5):
    step = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        jax.block_until_ready(step(x))
#                             ^^^^^^^
        times.append(time.perf_counter() - start)
    return sum(times) / len(times)
""",
            message=(
                "this is the first call of `step`, which compiles it: the measured time is that of compiling and the runs "
                "together; call it once before the clock is started, then report several runs"
            ),
        ),
        Good(
            "warmed up first",
            """
import time
import jax
import jax.numpy as jnp

step = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))

def measure(x, runs=5):
    jax.block_until_ready(step(x))
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        jax.block_until_ready(step(x))
        times.append(time.perf_counter() - start)
    return sorted(times)
""",
        ),
        Good(
            "compiled ahead of time",
            """
import time
import jax
import jax.numpy as jnp

block = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))

def measure(x):
    ready = block.lower(x).compile()
    start = time.perf_counter()
    jax.block_until_ready(ready(x))
    return time.perf_counter() - start
""",
        ),
        Good(
            "the time to the first result, and it says so",
            """
import time
import jax
import jax.numpy as jnp

def first_result(x):
    step = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))
    start = time.perf_counter()
    jax.block_until_ready(step(x))
    print("compiled and run in", time.perf_counter() - start)
""",
        ),
        Good(
            "a training run",
            """
import time
import jax
import jax.numpy as jnp

@jax.checkpoint
def block(w, x):
    return jnp.tanh(x @ w)

def train(w, batches):
    step = jax.jit(jax.grad(lambda w, x: block(w, x).sum()))
    start = time.time()
    for x in batches:
        w = w - 0.1 * step(w, x)
    w.block_until_ready()
    print("trained in", time.time() - start)
    return w
""",
        ),
        Good(
            "the first of several times is left out of the mean",
            """
import statistics
import time
import jax
import jax.numpy as jnp

def measure(x):
    step = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        jax.block_until_ready(step(x))
        times.append(time.perf_counter() - start)
    return statistics.mean(times[1:]), min(times)
""",
        ),
        Miss(
            "the longest of several times",
            """
import time
import jax
import jax.numpy as jnp

def measure(x):
    step = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))
    times = []
    for _ in range(5):
        start = time.perf_counter()
        jax.block_until_ready(step(x))
        times.append(time.perf_counter() - start)
    return max(times)
""",
        ),
    )

    def check(self, subject: TimedCall, project: Analysis) -> Iterator[Report | Silent]:
        """Report a region in which a checkpointed function is compiled."""
        timed = compiles_inside(subject, project)
        if timed is None:
            yield Silent(self.silence)
            return
        module = subject.frame.module
        message = (
            f"this is the first call of `{render(timed.call.func)}`, which compiles it: the measured time is that of "
            f"compiling and {_runs(timed)} together; call it once before the clock is started, then report "
            f"several runs"
        )
        notes = (
            Note(Place(module, subject.start.at), "the clock is started"),
            Note(Place(module, subject.stop.at), "the clock is read"),
        )
        yield Report(Place(module, timed.call.at), message, self.severity, notes, facts=(subject, timed))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put a first call in front of the clock."""
        region, timed = report.facts
        module = region.frame.module
        if region.start.loops:
            return None
        start = Place(module, region.start.at)
        line = module.source.line(start.span.start.row)
        indent = line[: len(line) - len(line.lstrip())]
        call = Place(module, timed.call.at).text
        if len(indent) != start.span.start.column - 1 or "\n" in call:
            return None
        text, imports = spell(module, "jax", "block_until_ready", project)
        return placeholder(
            "Call it once before the clock is started",
            start.insert_before(f"{text}({call})\n{indent}"),
            *imports,
        )


def _runs(timed: Timed) -> str:
    """Return how many runs are measured, in words."""
    return "the runs" if timed.event.loops else "one run"
