"""Finds `dots_with_no_batch_dims_saveable` where the products have batch dimensions, so that it does not save them.

## What it does
Reports the policy `dots_with_no_batch_dims_saveable` (or `checkpoint_dots_with_no_batch_dims`) of a checkpointed function
that visibly computes a product with a batch dimension: an `einsum` with a letter in both operands and in the result, or
a product of two arguments that `jax.vmap` maps both.

## Why it is a problem
The policy saves products of activations with weights and leaves out those between activations, which grow with the
batch. A product of per-example or per-stage weights counts among the latter once it is mapped: it is computed again
in the backward pass although the policy seems to say that matrix products are kept.

## When to ignore it
When that is what the policy was chosen for: attention scores are often not worth keeping.

## Fix safety
There is no edit. `checkpoint_name` with `save_only_these_names` keeps chosen values, `dots_saveable` keeps every product.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.batchdots import BatchDot, batch_dots
from remat_lint.project.policies import PolicyOption, policies
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent

_NAMES = frozenset({"dots_with_no_batch_dims_saveable", "checkpoint_dots_with_no_batch_dims"})


class BatchDimsPolicy(Rule):
    """`batch-dims-policy`: the policy leaves out the products of this function."""

    code = "RML412"
    name = "batch-dims-policy"
    category = "memory"
    severity = Severity.INFO
    subject = PolicyOption
    silence = "no product with a batch dimension is seen"
    examples = (
        Bad(
            "attention scores",
            """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
#                               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def attend(q, k, v):
    scores = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k))  # größter Zwischenwert
    return jnp.einsum("bqk,bkd->bqd", scores, v)
""",
            message=(
                "`dots_with_no_batch_dims_saveable` does not save the product inside that has a batch dimension (`b` is in both "
                "operands and in the result), which is computed again; `dots_saveable` saves it, and so does a name"
            ),
        ),
        Bad(
            "stages that are mapped with their weights",
            """
import jax as J
import jax.numpy as jnp

policy = J.checkpoint_policies.checkpoint_dots_with_no_batch_dims

def stage(w, x):
    return jnp.sin(x @ w)

def pipeline(ws, xs):
    return J.vmap(J.checkpoint(stage, policy=policy))(ws, xs).sum()
#                                            ^^^^^^
""",
        ),
        Bad(
            "a method with a nested function that is mapped inside",
            """
import jax
import jax.numpy as jnp
from jax import checkpoint_policies as cp

class Experts:
    def forward(self, ws, xs):
        def expert(w, x):
            return jnp.tanh(jnp.dot(x, w))

        run = jax.checkpoint(jax.vmap(expert, in_axes=(0, 1)), policy=cp.dots_with_no_batch_dims_saveable)
#                                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return run(ws, xs)
""",
        ),
        Good(
            "weights that all examples share",
            """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
def layer(w, x):
    return jnp.sin(jnp.einsum("bqd,df->bqf", x, w))

def mapped(w, xs):
    return jax.vmap(layer, in_axes=(None, 0))(w, xs)
""",
        ),
        Good(
            "the policy that saves every product",
            """
import jax
import jax.numpy as jnp

def stage(w, x):
    return jnp.sin(x @ w)

def pipeline(ws, xs):
    return jax.vmap(jax.checkpoint(stage, policy=jax.checkpoint_policies.dots_saveable))(ws, xs).sum()
""",
        ),
        Good(
            "one operand is not mapped",
            """
import jax
import jax.numpy as jnp

cp = jax.checkpoint_policies

def layer(w, x):
    return jnp.tanh(x @ w)

def run(w, xs):
    return jax.vmap(jax.checkpoint(layer, policy=cp.dots_with_no_batch_dims_saveable), (None, 0))(w, xs)
""",
        ),
        Miss(
            "arrays of three dimensions",
            """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
def layer(ws, xs):
    return jnp.tanh(xs @ ws)

out = layer(jnp.ones((3, 4, 4)), jnp.ones((3, 2, 4)))
""",
        ),
    )

    def check(self, subject: PolicyOption, project: Analysis) -> Iterator[Report | Silent]:
        """Report the policy where a product of the function has a batch dimension."""
        chosen = [(choice, policies([choice.value])) for choice in subject.choices]
        if not all(found and found[0].name in _NAMES for _, found in chosen):
            return
        dot = next(iter(batch_dots(subject.site, project)), None)
        if dot is None:
            yield Silent(self.silence)
            return
        yield self._made(Place(subject.module, subject.at), chosen[0][1][0].name, dot)

    def _made(self, place: Place, policy: str, dot: BatchDot) -> Report:
        message = (
            f"`{policy}` does not save the product inside that has a batch dimension ({dot.why}), which is computed again; "
            f"`dots_saveable` saves it, and so does a name"
        )
        return Report(place, message, self.severity, (Note(Place(dot.module, dot.at), "the product"),))
