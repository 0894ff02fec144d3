"""Finds Python output in a checkpointed function: it happens once per trace, not once per call.

## What it does
Reports `print`, the methods of a logger, `warnings.warn` and `sys.stdout.write` in a checkpointed function.

## Why it is a problem
`jax.checkpoint` traces the function once and replays the trace, also in code that never runs under `jit`. The output is
Python: it happens when the function is traced, no later call with the same shapes repeats it, and the backward pass
never does. What it shows of an array is a tracer, not a number.

## When to ignore it
When it is the trace that is to be seen. Nothing is reported where the text speaks of tracing, compiling or shapes, or
where all that is shown is known while JAX traces.

## Fix safety
In an editor a placeholder writes `jax.debug.print`, which shows the numbers at each call; in a checkpointed function it
prints twice when a derivative is taken, so that it is better moved outside.

## References
<https://docs.jax.dev/en/latest/debugging/print_breakpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body, bodies, is_kept
from remat_lint.project.hosteffects import HostEffect, host_effects, is_about_tracing
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, placeholder


class TraceTimeOutput(Rule):
    """`trace-time-output`: printed while the function is traced."""

    code = "RML107"
    name = "trace-time-output"
    category = "suspicious"
    severity = Severity.INFO
    subject = WrapSite
    silence = "the body prints and logs nothing"
    examples = (
        Bad(
            "a print and a log line",
            """
import logging
import jax
import jax.numpy as jnp

log = logging.getLogger("größe")

@jax.checkpoint
def layer(x):
    print("mean", x.mean())
#   ^^^^^^^^^^^^^^^^^^^^^^^
    log.warning("layer called with %s", x)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jnp.sin(x)
""",
            message=(
                "`print` runs once, when JAX traces `layer`, and not at later calls with the same shapes, nor in the backward "
                "pass; print outside of `layer`, or with `jax.debug.print`"
            ),
        ),
        Bad(
            "in a nested function and a method, through aliases",
            """
from functools import partial
from warnings import warn as complain
import jax as J
import jax.numpy as jnp

class Net:
    @staticmethod
    @partial(J.remat, prevent_cse=True)
    def block(x):
        def inner(h):
            complain(f"value {h}")
#           ^^^^^^^^^^^^^^^^^^^^^^
            return jnp.sin(h)

        return inner(x * 2)
""",
        ),
        Bad(
            "in a helper of the file",
            """
import sys
import jax
import jax.numpy as jnp

def show(x):
    sys.stdout.write("layer done\\n")
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return x

layer = jax.checkpoint(lambda x: show(jnp.sin(x)))
""",
        ),
        Good(
            "outside, and at a time when the numbers are there",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(x):
    return jnp.sin(x)

def main():
    for step in range(2):
        print(step, float(layer(float(step))))
""",
        ),
        Good(
            "what is known while JAX traces",
            """
import logging
import jax
import jax.numpy as jnp

log = logging.getLogger(__name__)

@jax.checkpoint
def layer(x):
    log.debug("tracing layer with %s", x.shape)
    return jnp.sin(x)
""",
        ),
        Good(
            "in the host function of a callback",
            """
import jax
import jax.numpy as jnp

def loss(x):
    y = jax.checkpoint(jnp.sin)(x)
    jax.debug.callback(lambda v: print("value", v), y)
    return y
""",
        ),
        Miss(
            "a logger in an attribute",
            """
import jax
import jax.numpy as jnp

class Net:
    def __init__(self, log):
        self.log = log

    def block(self, x):
        self.log.info("value %s", x)
        return jnp.sin(x)

    def forward(self, x):
        return jax.checkpoint(self.block)(x)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each output in the functions that the site's trace runs."""
        for body in bodies(subject, project):
            found = list(host_effects(body, project, "output"))
            kept = bool(found) and is_kept(body, project)
            for effect in found:
                if is_about_tracing(effect, body, project):
                    yield Silent("the output is about the trace")
                else:
                    yield self._report(effect, body, project, kept=kept)

    def _report(self, effect: HostEffect, body: Body, project: Analysis, *, kept: bool) -> Report:
        site = body.site
        function = f"`{body.name}`" if body.root.function.scope.name else "the lambda"
        often = (
            f"runs once, when JAX traces {function}{when(project.place(site))}, and not at later calls with the same shapes, nor "
            f"in the backward pass"
            if kept
            else f"runs when JAX traces {function}{when(project.place(site))}, not when it executes, and not in the backward pass"
        )
        message = (
            f"`{render(effect.call.func)}` {often}; print outside of {function}, or with `jax.debug.print`"
        )
        note = Note(Place(site.event.module, site.at), f"{function} is traced by {site.wrapper.qualname}")
        place = Place(effect.event.module, effect.call.at)
        return Report(place, message, self.severity, (note,), facts=effect)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Write `jax.debug.print` with a field for each value."""
        effect: HostEffect = report.facts
        call = effect.call
        if effect.dotted != "print" or any(argument.keyword or argument.star for argument in call.args):
            return None
        fields, values = [], []
        for argument in call.args:
            node = argument.value
            if isinstance(node, n.Constant) and isinstance(node.value, str) and "{" not in node.value:
                fields.append(node.value)
            elif isinstance(node, n.Name | n.Attribute | n.Call | n.Subscript):
                fields.append("{}")
                values.append(Place(report.place.module, node.at).text)
            else:
                return None
        function, edits = spell(report.place.module, "jax", "debug.print", project)
        text = " ".join(fields).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        arguments = ", ".join((f'"{text}"', *values))
        return placeholder(
            "Print the numbers at each call", report.place.replace(f"{function}({arguments})"), *edits
        )
