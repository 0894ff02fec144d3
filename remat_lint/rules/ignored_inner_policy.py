"""Finds a policy on a checkpoint that always runs inside of another checkpoint.

## What it does
Reports a `policy` of a checkpointed function whose visible calls all lie inside of another checkpointed function.

## Why it is a problem
Between the forward and the backward pass only that is kept which the *outer* policy keeps; with none that is the
arguments of the outer function. What the inner policy names is not among it. The inner policy decides only what the
backward pass holds for a moment, while it runs the outer function again: that saves some recomputation, but it is not
the memory that the policy was given for.

## When to ignore it
When that is meant: segments of many layers whose layers keep their dots during the second run compute less twice.

## Fix safety
There is no edit: which of the two is to have the policy is for the author to say.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body, bodies
from remat_lint.project.values import Wrapped, WrapSite
from remat_lint.rules.policies_given import keeps_something
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent

_RUNS = frozenset({"call", "now", "loop", "grad", "derivative"})


class IgnoredInnerPolicy(Rule):
    """`ignored-inner-policy`: the outer checkpoint decides what is kept."""

    code = "RML411"
    name = "ignored-inner-policy"
    category = "memory"
    severity = Severity.INFO
    subject = WrapSite
    silence = "it is not seen to run inside of another checkpoint only"
    examples = (
        Bad(
            "a lambda around a checkpointed layer",
            """
import jax
import jax.numpy as jnp

cp = jax.checkpoint_policies

def layer(w, x):
    return jnp.tanh(jnp.sin(x @ w))

kept = jax.checkpoint(layer, policy=cp.dots_saveable)
#                            ^^^^^^^^^^^^^^^^^^^^^^^

def loss(ws, x):
    for w in ws:
        x = jax.checkpoint(lambda w, x: kept(w, x) * 2)(w, x)  # größerer Rahmen
    return x.sum()
""",
            message=(
                "what this policy saves is not kept for the backward pass: `layer` runs inside of the checkpointed lambda, "
                "and the outer checkpoint alone decides that; give the policy to the outer one"
            ),
        ),
        Bad(
            "a decorated layer in a decorated segment",
            """
from functools import partial
import jax as J
import jax.numpy as jnp

@partial(J.remat, policy=J.checkpoint_policies.dots_with_no_batch_dims_saveable)
#                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def layer(w, x):
    return jnp.tanh(x @ w)

@J.remat
def segment(ws, x):
    for w in ws:
        x = layer(w, x)
    return x
""",
        ),
        Bad(
            "a nested function that a scan runs in a checkpointed method",
            """
import jax
import jax.numpy as jnp
from jax import checkpoint_policies as cp

class Tower:
    def __init__(self):
        self.run = jax.checkpoint(self.forward)

    def forward(self, ws, x):
        def body(x, w):
            return jnp.tanh(x @ w), None

        return jax.lax.scan(jax.checkpoint(body, policy=cp.dots_saveable, prevent_cse=False), x, ws)[0]
#                                                ^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Good(
            "the policy stands outside",
            """
import jax
import jax.numpy as jnp

cp = jax.checkpoint_policies

@jax.checkpoint
def layer(w, x):
    return jnp.tanh(x @ w)

def segment(ws, x):
    for w in ws:
        x = layer(w, x)
    return x

segment_ck = jax.checkpoint(segment, policy=cp.dots_saveable)
""",
        ),
        Good(
            "it is called outside too",
            """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def layer(w, x):
    return jnp.tanh(x @ w)

@jax.checkpoint
def pair(w, x):
    return layer(w, layer(w, x))

def model(w, x):
    return layer(w, pair(w, x))
""",
        ),
        Good(
            "a policy that keeps nothing",
            """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, policy=jax.checkpoint_policies.nothing_saveable)
def layer(w, x):
    return jnp.tanh(x @ w)

@jax.checkpoint
def pair(w, x):
    return layer(w, layer(w, x))
""",
        ),
        Good(
            "the derivative is taken inside",
            """
import jax
import jax.numpy as jnp

kept = jax.checkpoint(lambda w, x: jnp.tanh(x @ w), policy=jax.checkpoint_policies.dots_saveable)

@jax.checkpoint
def step(w, x):
    grads = jax.grad(lambda w: kept(w, x).sum())(w)
    return jnp.sin(grads)
""",
        ),
        Miss(
            "a layer that is handed to the segment",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

def segment(one, ws, x):
    for w in ws:
        x = one(w, x)
    return x

def model(ws, x):
    kept = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable)
    return jax.checkpoint(segment, static_argnums=(0,))(kept, ws, x)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a policy that never decides what is kept."""
        policy = subject.options.get("policy")
        if policy is None or subject.via or not keeps_something(subject, project):
            return
        outer = _direct(subject, project) or _around(subject, project)
        if outer is None:
            yield Silent(self.silence)
            return
        name = next((function.scope.name for function in subject.functions if function.scope.name), "")
        inside = f"`{name}`" if name else "the function"
        around = next((function.scope.name for function in outer.functions if function.scope.name), "")
        where = f"`{around}`" if around and around != name else "function" if around else "lambda"
        message = (
            f"what this policy saves is not kept for the backward pass: {inside} runs inside of the checkpointed {where}, "
            f"and the outer checkpoint alone decides that; give the policy to the outer one"
        )
        moment = subject.option_moments.get("policy")
        module = moment.scope.module if moment is not None else subject.event.module
        note = Note(Place(outer.event.module, outer.at), "the outer checkpoint")
        yield Report(Place(module, policy.at), message, self.severity, (note,))


def _direct(site: WrapSite, project: Analysis) -> WrapSite | None:
    """Return the site that wraps the result of this one."""
    for other in project.wrap_sites(site.event.module):
        if any(isinstance(body, Wrapped) and body.site is site for body in other.bodies):
            return None if project.site_calls(site) else other
    return None


def _around(site: WrapSite, project: Analysis) -> WrapSite | None:
    """Return a site inside of whose body this one is called, if none of its calls lies elsewhere."""
    calls, placement = project.site_calls(site), project.placement(site)
    if not calls or placement.is_handed_on(site):
        return None
    contexts = placement.contexts(site)
    derived = [use.event.frame for use in (*contexts.grads, *contexts.derivatives)]
    found: list[Body] = []
    for other in project.wrap_sites(site.event.module):
        if other is not site:
            found += bodies(other, project)
    around: list[WrapSite] = []
    for call in calls:
        frame = call.event.frame
        body = next((body for body in found if frame in body.entries), None)
        if body is None or any(function.scope is frame for function in site.functions):
            return None
        if any(one in body.entries for one in derived):
            return None  # a derivative that is taken inside keeps what the inner policy says
        uses = [use for use in placement.uses(frame) if use.how in _RUNS]
        if any(use.event.frame not in body.entries for use in uses):
            return None  # what calls it runs outside of a checkpoint too
        around.append(body.site)
    return around[0]
