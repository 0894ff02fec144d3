"""Finds a time measured around a checkpointed call that nobody waits for.

## What it does
Reports a clock that is read again after a call of something checkpointed, where nothing between the two readings
waits for what the call computes.

## Why it is a problem
JAX returns from a call as soon as the work is handed over and computes in the background. Without
`jax.block_until_ready` the difference of the two readings is the time of handing over: milliseconds where the
computation takes seconds, and the same with and without a checkpoint. What recomputing costs cannot be read off it.

## When to ignore it
When the time of handing over is what is wanted. Nothing is reported where the numbers are needed before the clock is
read (a print, `float`, numpy, a branch), or where an unknown function gets the result and may wait.

## Fix safety
The edit waits for the result of the call; the program computes the same.

## References
<https://docs.jax.dev/en/latest/async_dispatch.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.timing import Timed, TimedCall
from remat_lint.project.waiting import may_wait
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, safe


class UnsynchronizedTiming(Rule):
    """`unsynchronized-timing`: the clock is read before the computation has ended."""

    code = "RML801"
    name = "unsynchronized-timing"
    category = "evidence"
    severity = Severity.WARNING
    subject = TimedCall
    silence = "something waits for the result before the clock is read"
    examples = (
        Bad(
            "one call",
            """
import time
import jax
import jax.numpy as jnp

@jax.jit
@jax.checkpoint
def block(x):
    return jnp.tanh(x @ x)

def measure(x):
    jax.block_until_ready(block(x))
    start = time.perf_counter()
    y = block(x)  # läuft noch
    took = time.perf_counter() - start
#          ^^^^^^^^^^^^^^^^^^^
    return y, took
""",
            fixed="""
import time
import jax
import jax.numpy as jnp

@jax.jit
@jax.checkpoint
def block(x):
    return jnp.tanh(x @ x)

def measure(x):
    jax.block_until_ready(block(x))
    start = time.perf_counter()
    y = jax.block_until_ready(block(x))  # läuft noch
    took = time.perf_counter() - start
    return y, took
""",
            message=(
                "the clock is read while `block` still computes: JAX returns from a call once the work is handed over, so "
                "this is not the time of the checkpointed computation; wait for its result with `jax.block_until_ready` first"
            ),
        ),
        Bad(
            "gradients in a loop, clocks under other names",
            """
from functools import partial
from time import perf_counter as now
import jax as J
import jax.numpy as jnp

@partial(J.remat, prevent_cse=False)
def layer(x, w):
    return jnp.tanh(x @ w), None

def loss(ws, x):
    return J.lax.scan(layer, x, ws)[0].sum()

grads = J.jit(J.grad(loss))

def benchmark(ws, x, runs):
    J.block_until_ready(grads(ws, x))
    begin = now()
    for _ in range(runs):
        out = grads(ws, x)
    end = now()
#         ^^^^^
    return (end - begin) / runs, out
""",
            fixed="""
from functools import partial
from time import perf_counter as now
import jax as J
import jax.numpy as jnp

@partial(J.remat, prevent_cse=False)
def layer(x, w):
    return jnp.tanh(x @ w), None

def loss(ws, x):
    return J.lax.scan(layer, x, ws)[0].sum()

grads = J.jit(J.grad(loss))

def benchmark(ws, x, runs):
    J.block_until_ready(grads(ws, x))
    begin = now()
    for _ in range(runs):
        out = J.block_until_ready(grads(ws, x))
    end = now()
    return (end - begin) / runs, out
""",
        ),
        Bad(
            "a function that is given what it times",
            """
import time
import jax
import jax.numpy as jnp

def bench(f, x):
    jax.block_until_ready(f(x))
    t0 = time.time()
    f(x)
    return time.time() - t0
#          ^^^^^^^^^^^

def block(x):
    return jnp.tanh(x @ x)

def main(x):
    print(bench(jax.jit(block), x), bench(jax.jit(jax.checkpoint(block)), x))
""",
            fixed="""
import time
import jax
import jax.numpy as jnp

def bench(f, x):
    jax.block_until_ready(f(x))
    t0 = time.time()
    jax.block_until_ready(f(x))
    return time.time() - t0

def block(x):
    return jnp.tanh(x @ x)

def main(x):
    print(bench(jax.jit(block), x), bench(jax.jit(jax.checkpoint(block)), x))
""",
        ),
        Bad(
            "a method, and a call without jit",
            """
import time
import jax
import jax.numpy as jnp

class Model:
    def __init__(self, w):
        self.w = w
        self.block = jax.checkpoint(lambda w, x: jnp.sin(x @ w))

    def time(self, x):
        start = time.monotonic()
        y, z = self.block(self.w, x), None
        stop = time.monotonic()
#              ^^^^^^^^^^^^^^^^
        print(f"{stop - start:.3f} s")
        return y
""",
            fixed="""
import time
import jax
import jax.numpy as jnp

class Model:
    def __init__(self, w):
        self.w = w
        self.block = jax.checkpoint(lambda w, x: jnp.sin(x @ w))

    def time(self, x):
        start = time.monotonic()
        y, z = jax.block_until_ready((self.block(self.w, x), None))
        stop = time.monotonic()
        print(f"{stop - start:.3f} s")
        return y
""",
        ),
        Good(
            "warmed up, synchronised, several runs",
            """
import statistics
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
    return statistics.median(times), max(times)
""",
        ),
        Good(
            "the method of an array waits",
            """
import time
import jax
import jax.numpy as jnp

block = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))

def measure(x):
    block(x).block_until_ready()
    start = time.time()
    y = block(x)
    y.block_until_ready()
    return time.time() - start
""",
        ),
        Good(
            "the value is printed inside of the region",
            """
import time
import jax
import jax.numpy as jnp

@jax.checkpoint
def block(w, x):
    return jnp.tanh(x @ w)

step = jax.jit(jax.value_and_grad(lambda w, x: block(w, x).sum()))

def train(w, batches):
    start = time.time()
    for x in batches:
        loss, grad = step(w, x)
        w = w - 0.1 * grad
        print(f"loss {loss:.3f}")
    print(time.time() - start)
    return w
""",
        ),
        Good(
            "the clock is read around something else",
            """
import time
import jax
import jax.numpy as jnp

block = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))

def run(x, path):
    start = time.time()
    data = path.read_bytes()
    print("read", len(data), "in", time.time() - start)
    return block(x)
""",
        ),
        Miss(
            "a clock that a context manager reads",
            """
import contextlib
import time
import jax
import jax.numpy as jnp

@contextlib.contextmanager
def clock():
    start = time.perf_counter()
    yield
    print(time.perf_counter() - start)

block = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))

def run(x):
    with clock():
        return block(x)
""",
        ),
    )

    def check(self, subject: TimedCall, project: Analysis) -> Iterator[Report | Silent]:
        """Report a region in which nothing waits for a checkpointed call."""
        if may_wait(subject, project):
            yield Silent(self.silence)
            return
        module, last = subject.frame.module, subject.calls[-1]
        message = (
            f"the clock is read while `{render(last.call.func)}` still computes: JAX returns from a call once the work is "
            f"handed over, so this is not the time of the checkpointed computation; wait for its result with "
            f"`jax.block_until_ready` first"
        )
        notes = (
            Note(Place(module, subject.start.at), "the clock is started"),
            Note(Place(module, last.call.at), "this returns at once"),
        )
        yield Report(Place(module, subject.stop.at), message, self.severity, notes, facts=subject)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Wait for the result of every checkpointed call in the region."""
        region: TimedCall = report.facts
        module = region.frame.module
        text, imports = spell(module, "jax", "block_until_ready", project)
        edits: dict[int, tuple[Edit, Edit]] = {}
        for timed in region.calls:
            whole = _awaited(timed)
            if whole is None:
                return None
            bare = isinstance(whole, n.Collection) and not Place(module, whole.at).text.startswith("(")
            opening, closing = ("((", "))") if bare else ("(", ")")
            place = Place(module, whole.at)
            edits[whole.at] = (place.insert_before(f"{text}{opening}"), place.insert_after(closing))
        return safe("Wait for the result", *(edit for pair in edits.values() for edit in pair), *imports)


def _awaited(timed: Timed) -> n.Expression | None:
    """Return the expression to wait for: all that a statement binds, else the call."""
    for above in timed.event.module.builder.parents.chain(timed.call.at):
        if isinstance(above, n.Bind) and above.how in ("assign", "annotated"):
            return above.value
        if isinstance(above, n.Bind | n.Return):
            return None
        if isinstance(above, n.Evaluate):
            break
    return timed.call
