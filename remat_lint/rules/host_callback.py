"""Finds a host callback or a run-time check inside of a checkpointed function.

## What it does
Reports `io_callback`, `pure_callback` and `checkify.check` in a checkpointed function.

## Why it is a problem
A backward pass cannot go through a checkpointed function with an `io_callback`: JAX raises "Effects not supported",
or that callbacks do not support JVP. The host function of a `pure_callback` is called once more when the backward pass
computes the function again: where it does not give the same for the same, the gradient is that of another function.
`checkify.check` inside of a checkpoint raises before JAX 0.10.

## When to ignore it
When no derivative is taken through the function, or when the host function of the `pure_callback` is pure.

## Fix safety
There is no edit. Call the host outside of the checkpointed function, on `jax.lax.stop_gradient` of what it returns.

## References
<https://docs.jax.dev/en/latest/external-callbacks.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body, bodies
from remat_lint.project.hosteffects import (
    Derivation,
    HostEffect,
    derivation,
    host_effects,
    is_everything_saved,
)
from remat_lint.project.summaries import Effect
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected, expected_at_calls
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent
from remat_lint.rules.ways import inside, is_far, way

_OLD = "<0.10"
_ERRORS = ("NotImplementedError", "ValueError", "Exception")


class HostCallback(Rule):
    """`host-callback`: the host is called from code that the backward pass runs again."""

    code = "RML109"
    name = "host-callback"
    category = "suspicious"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the body calls nothing on the host"
    examples = (
        Bad(
            "io_callback in the body of a scan",
            """
import jax
import jax.numpy as jnp
from jax.experimental import io_callback as record

def sink(v):
    return None

def body(c, w):
    c = jnp.sin(c * w)
    record(sink, None, jax.lax.stop_gradient(c))  # fürs Protokoll
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return c, None

def loss(c, ws):
    return jax.lax.scan(jax.checkpoint(body, prevent_cse=False), c, ws)[0]

def owner(x):
    return jax.grad(loss)(x, jnp.arange(3.0))
""",
            runs=True,
            message=(
                "`record` inside of the checkpointed `body` raises in the backward pass: JAX takes no derivative of a "
                "checkpoint with an `io_callback`; call it outside, on what `body` returns"
            ),
        ),
        Bad(
            "in a method that is wrapped elsewhere; whether a derivative is taken is not seen",
            """
import jax
import jax.experimental
import jax.numpy as jnp

class Net:
    scale = 2.0

    def block(self, x):
        y = jnp.sin(x) * self.scale
        jax.experimental.io_callback(print, None, y, ordered=True)
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return y

    def loss(self, x):
        return jax.checkpoint(self.block)(x)
""",
            severity=Severity.WARNING,
        ),
        Bad(
            "pure_callback in a nested helper, under partial",
            """
from functools import partial
import jax as J
import jax.numpy as jnp
import numpy as np

@partial(J.remat, prevent_cse=True)
def layer(x):
    def lookup(v):
        return J.pure_callback(np.sin, J.ShapeDtypeStruct((), np.float32), v)
#              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    return jnp.sin(lookup(J.lax.stop_gradient(x)) * x)
""",
            severity=Severity.INFO,
            message=(
                "the host function of `J.pure_callback` is called again when the backward pass computes `layer` again: where it "
                "does not give the same for the same, the gradient is wrong; call it outside, or make it pure"
            ),
        ),
        Bad(
            "a check, for all releases of JAX",
            """
import jax
import jax.numpy as jnp
from jax.experimental import checkify

@jax.checkpoint
def layer(x):
    checkify.check(x > 0, "must be positive")
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jnp.sin(x)
""",
            severity=Severity.INFO,
        ),
        Good(
            "in the training step, outside of gradient and checkpoint",
            """
import jax
import jax.numpy as jnp
from jax.experimental import io_callback

rows = []

@jax.checkpoint
def layer(x):
    return jnp.sin(jnp.sin(x))

@jax.jit
def step(x):
    value, grad = jax.value_and_grad(lambda v: layer(v) * 2.0)(x)
    io_callback(lambda v: rows.append(float(v)), None, value)
    return grad
""",
        ),
        Good(
            "a test of the error",
            """
import jax
import jax.numpy as jnp
import pytest
from jax.experimental import io_callback

@jax.checkpoint
def layer(x):
    io_callback(lambda v: None, None, jax.lax.stop_gradient(x))
    return jnp.sin(x)

def test_layer():
    with pytest.raises(NotImplementedError):
        jax.grad(lambda x: layer(x))(1.0)
""",
        ),
        Good(
            "everything is saved, so that nothing is called again",
            """
from functools import partial
import jax
import jax.numpy as jnp
import numpy as np

@partial(jax.checkpoint, policy=jax.checkpoint_policies.everything_saveable)
def layer(x):
    y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct((), np.float32), jax.lax.stop_gradient(x))
    return jnp.sin(y * x)
""",
        ),
        Miss(
            "a callback in another file's helper",
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
        """Report each call of the host in the functions that the site's trace runs."""
        for body in bodies(subject, project, Effect.CALLS_BACK):
            found = list(host_effects(body, project, "io", "pure", "check"))
            for effect in found:
                answer = self._answer(effect, body, project)
                note = isinstance(answer, Report) and answer.severity is Severity.INFO
                if note and is_far(body, effect.event.frame):
                    yield Silent("what a function of another file asks of the host is no matter of this site")
                else:
                    yield answer

    def _answer(self, effect: HostEffect, body: Body, project: Analysis) -> Report | Silent:
        site = body.site
        if effect.kind == "pure":
            if is_everything_saved(site, project):
                return Silent("everything is saved, so that the host is not called again")
            return self._pure(effect, body, project)
        if expected_at_calls(site, project, *_ERRORS):
            return Silent("a test expects the error")
        if effect.kind == "check":
            return self._check(effect, body, project)
        derived = derivation(site, project)
        if derived.seen is not None and expected(derived.seen, project, *_ERRORS):
            return Silent("a test expects the error")
        return self._io(effect, body, derived, project)

    def _io(self, effect: HostEffect, body: Body, derived: Derivation, project: Analysis) -> Report:
        function = _named(body)
        what = f"`{render(effect.call.func)}`{inside(body, effect.event.frame)} inside of the checkpointed {function}{when(project.place(body.site))}"
        advice = f"call it outside, on what {function} returns"
        if derived.seen is not None:
            message = f"{what} raises in the backward pass: JAX takes no derivative of a checkpoint with an `io_callback`; {advice}"
            note = Note(Place(derived.seen.module, derived.seen.at), "the derivative is taken here")
            return self._made(effect, body, message, Severity.ERROR, note)
        message = (
            f"{what} raises as soon as a gradient is taken: JAX takes no derivative of a checkpoint with an `io_callback`; "
            f"{advice}"
        )
        severity = Severity.INFO if derived.ruled_out else Severity.WARNING
        return self._made(effect, body, message, severity)

    def _pure(self, effect: HostEffect, body: Body, project: Analysis) -> Report:
        function = _named(body)
        message = (
            f"the host function of `{render(effect.call.func)}`{inside(body, effect.event.frame)} is called again when the backward pass computes {function} "
            f"again{when(project.place(body.site))}: where it does not give the same for the same, the gradient is wrong; call it "
            f"outside, or make it pure"
        )
        return self._made(effect, body, message, Severity.INFO)

    def _check(self, effect: HostEffect, body: Body, project: Analysis) -> Report:
        function = _named(body)
        message = (
            f"`{render(effect.call.func)}`{inside(body, effect.event.frame)} inside of the checkpointed {function}{when(project.place(body.site))} raises in the "
            f"backward pass on JAX older than 0.10; check outside of {function}"
        )
        severity = Severity.WARNING if project.jax.all(_OLD) else Severity.INFO
        made = self._made(effect, body, message, severity)
        return Report(made.place, made.message, made.severity, made.notes, versions=_OLD)

    def _made(self, effect: HostEffect, body: Body, message: str, severity: Severity, *more: Note) -> Report:
        event = effect.event
        notes = (*way(body, event.frame), *more)
        return Report(Place(event.module, effect.call.at), message, severity, notes)


def _named(body: Body) -> str:
    return f"`{body.name}`" if body.root.function.scope.name else "lambda"
