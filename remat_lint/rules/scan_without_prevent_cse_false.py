"""Finds a checkpointed body of a scan that keeps barriers it does not need.

## What it does
Reports a checkpointed function that nothing but `jax.lax.scan` (or `lax.map`) runs, without `prevent_cse=False`.

## Why it is a problem
`prevent_cse` puts barriers around the function, so that the compiler does not merge what the backward pass computes
again with the forward pass. The two passes of a scan are loops of their own, which the compiler does not merge anyway;
the documentation of JAX says that the barriers can be left out there and that they may cost speed on accelerators. On
the CPU neither memory nor time was seen to differ.

## When to ignore it
When the scan is, or may be, unrolled: then the barriers are needed. A scan with `unroll` is not reported.

## Fix safety
The edit adds `prevent_cse=False`. It is unsafe because a function that is later called outside of the scan loses its
effect: RML603 finds that.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword
from remat_lint.project.values import WrapSite
from remat_lint.rules.options import add_option
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, unsafe

_SCANS = frozenset({"jax.lax.scan", "jax.lax.map"})


class ScanWithoutPreventCseFalse(Rule):
    """`scan-without-prevent-cse-false`: barriers where nothing could be merged."""

    code = "RML606"
    name = "scan-without-prevent-cse-false"
    category = "cost"
    severity = Severity.INFO
    subject = WrapSite
    silence = "it is not seen to run in a scan only"
    examples = (
        Bad(
            "the body of a scan",
            """
import jax
import jax.numpy as jnp

def body(x, w):
    return jnp.tanh(x @ w), None

def tower(ws, x):
    return jax.lax.scan(jax.checkpoint(body), x, ws)[0]  # läuft über alle Schichten
#                       ^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
import jax
import jax.numpy as jnp

def body(x, w):
    return jnp.tanh(x @ w), None

def tower(ws, x):
    return jax.lax.scan(jax.checkpoint(body, prevent_cse=False), x, ws)[0]  # läuft über alle Schichten
""",
            message=(
                "only `jax.lax.scan` runs the checkpointed `body`, where the compiler merges nothing over the passes: "
                "`prevent_cse=False` leaves out barriers that may cost speed on accelerators"
            ),
        ),
        Bad(
            "a decorated nested function",
            """
import jax as J
import jax.numpy as jnp
from functools import partial
from jax import lax

def tower(ws, x):
    @J.remat
#    ^^^^^^^
    def body(x, w):
        return jnp.tanh(x @ w), None

    return lax.scan(body, x, ws)[0]
""",
            fixed="""
import jax as J
import jax.numpy as jnp
from functools import partial
from jax import lax

def tower(ws, x):
    @partial(J.remat, prevent_cse=False)
    def body(x, w):
        return jnp.tanh(x @ w), None

    return lax.scan(body, x, ws)[0]
""",
        ),
        Bad(
            "a method and a policy",
            """
from functools import partial
import jax
import jax.numpy as jnp

class Tower:
    @staticmethod
    @partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
#    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    def body(x, w):
        return jnp.tanh(x @ w), None

    def forward(self, ws, x):
        return jax.lax.scan(Tower.body, x, ws)[0]
""",
            fixed="""
from functools import partial
import jax
import jax.numpy as jnp

class Tower:
    @staticmethod
    @partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable, prevent_cse=False)
    def body(x, w):
        return jnp.tanh(x @ w), None

    def forward(self, ws, x):
        return jax.lax.scan(Tower.body, x, ws)[0]
""",
        ),
        Good(
            "it says so",
            """
import jax
import jax.numpy as jnp

def body(x, w):
    return jnp.tanh(x @ w), None

def tower(ws, x):
    return jax.lax.scan(jax.checkpoint(body, prevent_cse=False), x, ws)[0]
""",
        ),
        Good(
            "an unrolled scan needs the barriers",
            """
import jax
import jax.numpy as jnp

def body(x, w):
    return jnp.tanh(x @ w), None

def tower(ws, x):
    return jax.lax.scan(jax.checkpoint(body), x, ws, unroll=4)[0]
""",
        ),
        Good(
            "a loop of Python runs it too",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def body(x, w):
    return jnp.tanh(x @ w), None

def tower(ws, x):
    return jax.lax.scan(body, x, ws)[0]

def unrolled(ws, x):
    for w in ws:
        x, _ = body(x, w)
    return x
""",
        ),
        Miss(
            "called inside of the body",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(x, w):
    return jnp.tanh(x @ w)

def tower(ws, x):
    return jax.lax.scan(lambda x, w: (layer(x, w), None), x, ws)[0]
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a site with barriers whose result only scans run."""
        options = subject.options
        if "prevent_cse" in options or subject.spread or subject.via or subject.wrapper.framework != "jax":
            return
        placement = project.placement(subject)
        uses = placement.uses(subject)
        scans = [use for use in uses if use.how == "loop" and use.dotted in _SCANS]
        if not scans or len(scans) != len(uses) or placement.is_handed_on(subject):
            yield Silent(self.silence)
            return
        if any(use.call is None or _may_unroll(use.call) for use in scans):
            yield Silent("the scan may be unrolled, where barriers are needed")
            return
        name = next((function.scope.name for function in subject.functions if function.scope.name), "")
        what = f"the checkpointed `{name}`" if name else "the checkpointed function"
        message = (
            f"only `{scans[0].dotted}` runs {what}, where the compiler merges nothing over the passes: `prevent_cse=False` "
            f"leaves out barriers that may cost speed on accelerators"
        )
        notes = (Note(Place(scans[0].event.module, scans[0].event.at), "the scan"),)
        yield Report(Place(subject.event.module, subject.at), message, self.severity, notes, facts=subject)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Add the option."""
        edits = add_option(report.facts, "prevent_cse=False", project)
        return unsafe("Add `prevent_cse=False`", *edits) if edits else None


def _may_unroll(call: n.Call) -> bool:
    return keyword(call, "unroll") is not None or any(argument.star == "**" for argument in call.args)
