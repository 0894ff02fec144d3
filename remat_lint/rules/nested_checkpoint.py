"""Finds a function that is checkpointed twice, one wrapper directly around the other.

## What it does
Reports a wrapper that is put around what is checkpointed already and does nothing besides: `ck(ck(f))`, two decorators
one above the other, a checkpointed function wrapped again by its name.

## Why it is a problem
Both checkpoints cover the same code. What is kept between the forward and the backward pass is what the outer one
keeps, and the compiled program needs the same memory and the same number of operations as with one of them: measured
on JAX 0.12 and 0.10. The second wrapper misleads, above all where only the inner one has a policy.

## When to ignore it
When it costs nothing to leave it. Two levels with other work between them, a segment of a loop around its steps, are
another thing and are not reported.

## Fix safety
The outer wrapper is taken away where neither has options, which is safe: the program computes and keeps the same.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.values import Wrapped, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, safe
from remat_lint.rules.unwrapping import unwrap


class NestedCheckpoint(Rule):
    """`nested-checkpoint`: a checkpoint directly around a checkpoint."""

    code = "RML605"
    name = "nested-checkpoint"
    category = "memory"
    severity = Severity.INFO
    subject = WrapSite
    silence = "what it wraps is not checkpointed itself"
    examples = (
        Bad(
            "two calls, one in the other",
            """
import jax
import jax.numpy as jnp

layer = jax.checkpoint(jax.checkpoint(lambda w, x: jnp.tanh(x @ w)))  # doppelt hält nicht besser: größer null
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
import jax
import jax.numpy as jnp

layer = jax.checkpoint(lambda w, x: jnp.tanh(x @ w))  # doppelt hält nicht besser: größer null
""",
            message=(
                "the lambda is checkpointed already, and this second checkpoint covers the same code: it keeps no less and "
                "computes no less; one of the two is enough"
            ),
        ),
        Bad(
            "two decorators, by imported names",
            """
import jax.numpy as jnp
from jax import checkpoint as ck, remat

@ck
#^^
@remat
def layer(w, x):
    return jnp.tanh(x @ w)
""",
            fixed="""
import jax.numpy as jnp
from jax import checkpoint as ck, remat

@remat
def layer(w, x):
    return jnp.tanh(x @ w)
""",
        ),
        Bad(
            "a method, wrapped again where it is used; options stay for the author",
            """
from functools import partial
import jax as J
import jax.numpy as jnp

class Net:
    def __init__(self, w):
        self.w = w

    @staticmethod
    @partial(J.remat, prevent_cse=False)
    def layer(x, w):
        return jnp.tanh(x @ w), None

    def forward(self, x):
        body = J.checkpoint(Net.layer)
#              ^^^^^^^^^^^^^^^^^^^^^^^
        return J.lax.scan(body, x, self.w)[0]
""",
        ),
        Bad(
            "a nested function with a policy that the outer wrapper overrules",
            """
import jax
import jax.numpy as jnp

def loss(ws, x):
    def layer(w, x):
        return jnp.tanh(x @ w)

    kept = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable)
    twice = jax.checkpoint(kept)
#           ^^^^^^^^^^^^^^^^^^^^
    for w in ws:
        x = twice(w, x)
    return x.sum()
""",
            message=(
                "`layer` is checkpointed already, and this second checkpoint covers the same code: it alone decides what is kept "
                "for the backward pass, so that the policy of the inner one keeps nothing; one of the two is enough"
            ),
        ),
        Good(
            "a segment of steps around checkpointed steps",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def step(carry, t):
    return jnp.sin(carry * 0.8) + 0.01 * t, None

def loss(x):
    for seg in range(4):
        ts = jnp.arange(seg * 5, (seg + 1) * 5, dtype=jnp.float32)
        x, _ = jax.checkpoint(lambda c, ts: jax.lax.scan(step, c, ts))(x, ts)
    return x
""",
        ),
        Good(
            "halves of a recursion",
            """
import jax
import jax.numpy as jnp

def segment(f, n):
    if n == 1:
        return jax.checkpoint(f)
    half = segment(f, n // 2)
    return jax.checkpoint(lambda x: half(half(x)))

run = segment(lambda x: jnp.sin(x) * 1.1, 8)
""",
        ),
        Good(
            "wrapped in one of two ways",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

def make(save):
    policies = jax.checkpoint_policies
    if save:
        return jax.checkpoint(layer, policy=policies.dots_saveable)
    return jax.checkpoint(layer)
""",
        ),
        Miss(
            "a lambda that does nothing but call",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(w, x):
    return jnp.tanh(x @ w)

def loss(ws, x):
    body = jax.checkpoint(lambda c, w: (layer(w, c), None))
    return jax.lax.scan(body, x, ws)[0].sum()
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a wrapper around what is surely checkpointed."""
        inner = [body.site for body in subject.bodies if isinstance(body, Wrapped) and not body.instance]
        if not inner or len(inner) != len(subject.bodies):
            return
        if any(site.wrapper.framework != subject.wrapper.framework or site is subject for site in inner):
            yield Silent("the wrappers are those of different libraries")
            return
        event = project.place(subject)
        named = next((function.scope.name for function in subject.functions if function.scope.name), "")
        what = f"`{named}`" if named else "the lambda" if subject.functions else "what it wraps"
        effect = (
            "it alone decides what is kept for the backward pass, so that the policy of the inner one keeps nothing"
            if any("policy" in site.options for site in inner) and "policy" not in subject.options
            else "it keeps no less and computes no less"
        )
        message = (
            f"{what} is checkpointed already, and this second checkpoint covers the same code{when(event)}: {effect}; one of "
            f"the two is enough"
        )
        first = inner[0]
        note = Note(Place(first.event.module, first.at), "it is checkpointed here first")
        place = Place(event.module, event.at if subject.via else subject.at)
        yield Report(place, message, self.severity, (note,), facts=(subject, inner))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Take the outer wrapper away."""
        del project
        outer, inner = report.facts
        if any(site.options or site.extra or site.spread for site in (outer, *inner)):
            return None
        if outer.wrapper.framework != "jax":
            return None  # a module is named after its wrappers
        taken = unwrap(outer, outer.scope)
        return safe("Take the outer wrapper away", *taken.edits) if taken is not None else None
