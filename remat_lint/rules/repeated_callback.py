"""Finds `jax.debug` calls in a checkpointed function: they run again when the backward pass computes it again.

## What it does
Reports `jax.debug.print`, `jax.debug.callback` and `jax.debug.breakpoint` in a checkpointed function. It is a warning
where a derivative is seen to be taken and the host function of the callback changes something outside of itself: a list
that is appended to, a counter.

## Why it is a problem
Such a call is part of the traced function. The forward pass runs it, and the backward pass runs it once more, because
it computes the function again: each line is printed twice, each step counted twice. Without a derivative it runs once.

## When to ignore it
When it is there for debugging and it is known that each line comes twice.

## Fix safety
There is no edit. Return the value and print, log or count it outside of the checkpointed function: there it runs once.

## References
<https://docs.jax.dev/en/latest/debugging/print_breakpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body, bodies
from remat_lint.project.hosteffects import (
    HostEffect,
    derivation,
    host_effects,
    is_everything_saved,
    written_outside,
)
from remat_lint.project.summaries import Effect
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import in_test_file
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent
from remat_lint.rules.ways import inside, is_far, way


class RepeatedCallback(Rule):
    """`repeated-callback`: a debug callback runs in the forward and in the backward pass."""

    code = "RML108"
    name = "repeated-callback"
    category = "suspicious"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "the body has no debug callback"
    examples = (
        Bad(
            "a counter in a callback",
            """
import jax
import jax.numpy as jnp

gesehen = []  # zählt Aufrufe für die Statistik

@jax.checkpoint
def layer(x):
    jax.debug.callback(lambda v: gesehen.append(float(v)), x)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jnp.sin(jnp.sin(x))

def train(x):
    return jax.grad(lambda x: layer(x) * 2.0)(x)
""",
            message=(
                "`jax.debug.callback` runs in the forward pass and again when the backward pass computes `layer` again, so that "
                "what its host function changes is changed more than once; return the value and do it outside of `layer`"
            ),
        ),
        Bad(
            "a print, through an alias and partial",
            """
from functools import partial
import jax as J
import jax.numpy as jnp
from jax.debug import print as show

@partial(J.remat, prevent_cse=True)
def layer(x):
    show("x = {}", x)
#   ^^^^^^^^^^^^^^^^^
    return jnp.sin(jnp.sin(x))
""",
            severity=Severity.INFO,
            message=(
                "`show` runs in the forward pass and again when the backward pass computes `layer` again; return the value and "
                "do it outside of `layer`"
            ),
        ),
        Bad(
            "in a nested function that a scan runs, and a method that counts",
            """
import jax
import jax.numpy as jnp

class Tower:
    def __init__(self):
        self.steps = 0

    def count(self, _):
        self.steps += 1

    def loss(self, c, ws):
        def body(c, w):
            jax.debug.callback(self.count, c)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            return jnp.sin(c * w), None

        return jax.lax.scan(jax.checkpoint(body, prevent_cse=False), c, ws)[0]

    def gradient(self, c, ws):
        return jax.grad(self.loss)(c, ws)
""",
        ),
        Good(
            "outside of the checkpointed function",
            """
import jax
import jax.numpy as jnp

seen = []

def loss(x):
    y = jax.checkpoint(lambda v: jnp.sin(jnp.sin(v)))(x)
    jax.debug.callback(lambda v: seen.append(1), y)
    return y

grads = jax.grad(loss)
""",
        ),
        Good(
            "nothing is computed again",
            """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, policy=jax.checkpoint_policies.everything_saveable)
def layer(x):
    jax.debug.print("x = {}", x)
    return jnp.sin(jnp.sin(x))
""",
        ),
        Good(
            "a function of the same name that is no callback of JAX",
            """
import jax
import jax.numpy as jnp

class Log:
    def callback(self, f, x):
        return x

debug = Log()

@jax.checkpoint
def layer(x):
    return jnp.sin(debug.callback(len, x))
""",
        ),
        Miss(
            "in a helper of another file",
            """
import jax
from metrics import report

@jax.checkpoint
def layer(x):
    report(x)
    return x * 2
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each debug callback in the functions that the site's trace runs."""
        for body in bodies(subject, project, Effect.CALLS_BACK):
            found = list(host_effects(body, project, "debug"))
            if not found:
                continue
            if is_everything_saved(subject, project):
                yield Silent("everything is saved, so that nothing is computed again")
                continue
            derived = derivation(subject, project)
            if derived.ruled_out:
                yield Silent("no derivative is taken, so that it runs once")
                continue
            for effect in found:
                report = self._report(effect, body, derived.seen is not None, project)
                if report.severity is Severity.INFO and is_far(body, effect.event.frame):
                    yield Silent("what a function of another file shows is no matter of this site")
                else:
                    yield report

    def _report(self, effect: HostEffect, body: Body, derived: bool, project: Analysis) -> Report:  # noqa: FBT001 - a fact of the site
        site = body.site
        function = f"`{body.name}`" if body.root.function.scope.name else "the lambda"
        written = written_outside(effect, project) if effect.dotted == "jax.debug.callback" else None
        changed = (
            ", so that what its host function changes is changed more than once"
            if written is not None
            else ""
        )
        message = (
            f"`{render(effect.call.func)}`{inside(body, effect.event.frame)} runs in the forward pass and again when the backward pass computes {function} "
            f"again{when(project.place(site))}{changed}; return the value and do it outside of {function}"
        )
        notes = way(body, effect.event.frame)
        loud = written is not None and derived and not in_test_file(effect.event)
        severity = Severity.WARNING if loud else Severity.INFO
        return Report(Place(effect.event.module, effect.call.at), message, severity, notes)
