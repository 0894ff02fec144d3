"""Finds a test of a checkpointed function that passes whatever the checkpoint does.

## What it does
Reports a test in which both sides of every comparison are the same checkpointed function, and a test that compares
what a plain and a checkpointed function return, but never their gradients.

## Why it is a problem
The first kind compares a function with itself and passes for any function. The second kind runs forwards only, where
nothing is recomputed: a checkpoint acts on the backward pass. Both stay green when the gradient is wrong.

## When to ignore it
When the gradients are compared in another file. Nothing is reported where another test of the file takes a derivative
of something checkpointed, nor where the name of the test says that it is about repeated calls.

## Fix safety
There is no edit: what is to be compared is for the author to say. `remat-lint generate` writes such a test.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.comparisons import Comparison, TestFunction, is_derived_in_another_test
from remat_lint.project.sameness import compares_with_itself
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent

_REPEATS = re.compile(
    r"determin|twice|repeat|again|cache|stable|reproduc|retrace|key|rng|seed|dropout|consisten"
)


class VacuousEquivalenceTest(Rule):
    """`vacuous-equivalence-test`: the comparison cannot fail, or does not touch what a checkpoint changes."""

    code = "RML803"
    name = "vacuous-equivalence-test"
    category = "evidence"
    severity = Severity.WARNING
    subject = TestFunction
    silence = "gradients of a plain and a checkpointed function are compared, or something else is tested"
    examples = (
        Bad(
            "one function on both sides",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

layer_ck = jax.checkpoint(layer)

def test_layer_matches():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    assert jnp.allclose(layer_ck(w, x), jax.checkpoint(layer)(w, x))  # trifft immer zu: größer Null
#          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            message=(
                "both sides call the checkpointed `layer` with the same arguments, so that this holds whatever the checkpoint "
                "does; compare with the plain function, its gradients too"
            ),
        ),
        Bad(
            "the plain function was decorated away, gradients and all",
            """
from functools import partial
import jax as J
import jax.numpy as jnp
import numpy as np

@partial(J.remat, prevent_cse=False)
def layer(w, x):
    return jnp.tanh(x @ w).sum()

class TestLayer:
    def test_gradients(self):
        w, x = jnp.eye(2), jnp.ones((1, 2))
        expected = J.grad(layer)(w, x)
        actual = J.grad(layer)(w, x)
        np.testing.assert_allclose(actual, expected, rtol=1e-6)
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Bad(
            "outputs only",
            """
import jax
import jax.numpy as jnp

def block(w, x):
    return jnp.tanh(jnp.sin(x @ w))

def test_block():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    plain = block(w, x)
    checked = jax.checkpoint(block)(w, x)
    assert jnp.allclose(plain, checked, rtol=1e-5)
#          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            message=(
                "the test compares what plain and checkpointed code return, never their gradients: without a derivative nothing "
                "is recomputed, so that it passes whatever the backward pass does; compare the gradients too"
            ),
        ),
        Bad(
            "outputs of a nested function, through jit, as trees",
            """
import jax
import jax.numpy as jnp
from numpy.testing import assert_allclose

def test_tower():
    def tower(ws, x, one):
        for w in ws:
            x = one(w, x)
        return {"out": x}

    def layer(w, x):
        return jnp.tanh(x @ w)

    ws, x = [jnp.eye(2)] * 3, jnp.ones((1, 2))
    a = jax.jit(lambda ws, x: tower(ws, x, layer))(ws, x)
    b = jax.jit(lambda ws, x: tower(ws, x, jax.checkpoint(layer)))(ws, x)
    jax.tree.map(assert_allclose, a, b)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Good(
            "values and gradients",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

layer_ck = jax.checkpoint(layer)

def test_layer_matches():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    assert jnp.allclose(layer(w, x), layer_ck(w, x), rtol=1e-5)
    a = jax.grad(lambda w: layer(w, x).sum())(w)
    b = jax.grad(lambda w: layer_ck(w, x).sum())(w)
    assert jnp.allclose(a, b, rtol=1e-5) and jnp.isfinite(b).all()
""",
        ),
        Good(
            "gradients in another test",
            """
import jax
import jax.numpy as jnp
import numpy as np

def layer(w, x):
    return jnp.tanh(x @ w)

layer_ck = jax.checkpoint(layer)
w, x = jnp.eye(2), jnp.ones((1, 2))

def test_outputs():
    np.testing.assert_allclose(layer(w, x), layer_ck(w, x), rtol=1e-5)

def test_gradients():
    a, b = (jax.grad(lambda w, f=f: f(w, x).sum())(w) for f in (layer, layer_ck))
    np.testing.assert_allclose(a, b, rtol=1e-5)
""",
        ),
        Good(
            "the same key twice",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def dropout(key, x):
    return x * jax.random.bernoulli(key, 0.5, x.shape)

def test_mask_is_deterministic():
    key, x = jax.random.key(0), jnp.ones(8)
    assert jnp.array_equal(dropout(key, x), dropout(key, x))
""",
        ),
        Good(
            "two policies",
            """
import jax
import jax.numpy as jnp

policies = jax.checkpoint_policies

def layer(w, x):
    return jnp.tanh(x @ w)

def test_policies_agree():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    dots = jax.checkpoint(layer, policy=policies.dots_saveable)(w, x)
    none = jax.checkpoint(layer, policy=policies.nothing_saveable)(w, x)
    assert jnp.allclose(dots, none)
""",
        ),
        Miss(
            "a comparison in a helper",
            """
import jax
import jax.numpy as jnp

def same(a, b):
    assert jnp.allclose(a, b)

def layer(w, x):
    return jnp.tanh(x @ w)

def test_layer():
    w, x = jnp.eye(2), jnp.ones((1, 2))
    same(layer(w, x), jax.checkpoint(layer)(w, x))
""",
        ),
    )

    def check(self, subject: TestFunction, project: Analysis) -> Iterator[Report | Silent]:
        """Report a test that cannot fail for what a checkpoint does wrong."""
        if _REPEATS.search(subject.scope.name):
            yield Silent("the test is about repeated calls")
            return
        compared = subject.comparisons
        if all(compares_with_itself(comparison, project) for comparison in compared):
            for comparison in compared:
                yield self._itself(comparison)
            return
        mixed = [comparison for comparison in compared if comparison.is_mixed]
        if not mixed or subject.derives:
            yield Silent(self.silence)
        elif is_derived_in_another_test(subject, project):
            yield Silent("another test of the file takes a derivative of something checkpointed")
        else:
            message = (
                "the test compares what plain and checkpointed code return, never their gradients: without a derivative "
                "nothing is recomputed, so that it passes whatever the backward pass does; compare the gradients too"
            )
            yield self._made(mixed[0], message)

    def _itself(self, comparison: Comparison) -> Report:
        names = sorted(
            {
                function.scope.name
                for side in comparison.sides
                for site in side.lead.sites
                for function in site.functions
                if function.scope.name
            }
        )
        what = f"`{names[0]}`" if len(names) == 1 else "function"
        message = (
            f"both sides call the checkpointed {what} with the same arguments, so that this holds whatever the checkpoint "
            f"does; compare with the plain function, its gradients too"
        )
        return self._made(comparison, message)

    def _made(self, comparison: Comparison, message: str) -> Report:
        module = comparison.event.module
        notes = [
            Note(Place(site.event.module, site.at), "it is checkpointed here")
            for site in {site.at: site for side in comparison.sides for site in side.lead.sites}.values()
            if not isinstance(site.event.node, n.Bind)
        ]
        return Report(Place(module, comparison.node.at), message, self.severity, tuple(notes[:1]))
