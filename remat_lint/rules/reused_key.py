"""Finds a random key that a checkpointed function draws with twice.

## What it does
Reports a draw of `jax.random` whose key an earlier draw in the checkpointed function used already, or that a Python loop
repeats with the same key, without `split` or `fold_in` between.

## Why it is a problem
A key is not moved on by a draw: the same key gives the same random bits. Two masks are the same mask, and uniform
and normal numbers of one key rise and fall together. The recomputation of a checkpoint repeats exactly this, so
that values and gradients agree and nothing shows the mistake.

## When to ignore it
When the same numbers are wanted twice, as for a mask that is applied to two arrays: better draw it once.

## Fix safety
In an editor a placeholder splits the key in front of the second draw.

## References
<https://docs.jax.dev/en/latest/random-numbers.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import bodies
from remat_lint.project.keyuse import Reuse, reused_keys
from remat_lint.project.values import WrapSite
from remat_lint.rules.expected_errors import in_test_file
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, placeholder


class ReusedKey(Rule):
    """`reused-key`: one key, two draws."""

    code = "RML111"
    name = "reused-key"
    category = "suspicious"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "no key is drawn with twice"
    examples = (
        Bad(
            "two draws of the same distribution",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def block(x, key):
    drop = jax.random.uniform(key, x.shape)
    noise = jax.random.uniform(key, x.shape)  # dieselben Zahlen, größer null
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jnp.tanh(x) * drop + noise
""",
            message=(
                "`key` was used by `jax.random.uniform` in line 7 already: the same key gives the same random bits, so that the "
                "two draws are not independent; split the key first"
            ),
        ),
        Bad(
            "a mask and noise, through an alias and partial",
            """
from functools import partial
from jax import random as jr
import jax as J

@partial(J.remat, prevent_cse=True)
def block(x, *, rng):
    x = x * jr.bernoulli(rng, 0.5, x.shape)
    return x + jr.normal(key=rng, shape=x.shape)
#              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Bad(
            "in a loop of a nested function and a method's helper",
            """
import jax
import jax.numpy as jnp

def dropout(key, x):
    return x * jax.random.bernoulli(key, 0.5, x.shape)

class Net:
    def forward(self, ws, x, key):
        def tower(ws, x, key):
            for w in ws:
                x = dropout(key, jnp.tanh(x @ w))
#                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            return x

        return jax.checkpoint(tower)(ws, x, key)
""",
            message=(
                "each round of the loop draws with the same `key`: the same key gives the same random bits, so that the draws "
                "are not independent; split the key first"
            ),
        ),
        Bad(
            "one item of several keys",
            """
import jax

@jax.checkpoint
def block(x, key):
    keys = jax.random.split(key)
    x = x + jax.random.normal(keys[0], x.shape)
    return x * jax.random.bernoulli(keys[0], 0.9, x.shape) + jax.random.normal(keys[1], x.shape)
#              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Good(
            "split, folded in, or in branches",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def block(x, key, extra=None):
    key, sub = jax.random.split(key)
    drop = jax.random.bernoulli(sub, 0.5, x.shape)
    noise = jax.random.normal(jax.random.fold_in(key, 1), x.shape)
    if extra is None:
        tail = jax.random.normal(key, x.shape)
    else:
        tail = jax.random.uniform(key, x.shape)
    return jnp.tanh(x) * drop + noise + tail
""",
        ),
        Good(
            "a key for each round",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def tower(ws, x, key):
    for w, sub in zip(ws, jax.random.split(key, len(ws))):
        x = jnp.tanh(x @ w) * jax.random.bernoulli(sub, 0.5, x.shape)
    for i, w in enumerate(ws):
        step = jax.random.fold_in(key, i)
        x = x + jax.random.normal(step, x.shape)
    return x
""",
        ),
        Good(
            "what splits the key itself",
            """
import jax

@jax.checkpoint
def block(x, key):
    order = jax.random.permutation(key, x.shape[0])
    return x[order] + jax.random.normal(key, x.shape)
""",
        ),
        Good(
            "the key is bound again in the loop",
            """
import jax

@jax.checkpoint
def block(x, key):
    for _ in range(3):
        x = x + jax.random.normal(key, x.shape)
        key = jax.random.fold_in(key, 0)
    return x
""",
        ),
        Miss(
            "a key in an attribute",
            """
import jax

@jax.checkpoint
def block(x, state):
    return x + jax.random.normal(state.key, x.shape) + jax.random.normal(state.key, x.shape)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each draw with a key that was drawn with before."""
        for body in bodies(subject, project):
            for reuse in reused_keys(body, project):
                if in_test_file(subject.event):
                    yield Silent("a test compares draws with one key")
                else:
                    yield self._report(reuse)

    def _report(self, reuse: Reuse) -> Report:
        first, second = reuse.first, reuse.second
        module = second.event.module
        why = "the same key gives the same random bits, so that the"
        if first is second:
            message = (
                f"each round of the loop draws with the same `{second.name}`: {why} draws are not independent; split the key "
                f"first"
            )
            return Report(Place(module, second.call.at), message, self.severity)
        line = Place(module, first.call.at).span.start.row
        message = (
            f"`{second.name}` was used by `{render(first.call.func)}` in line {line} already: {why} two draws are not "
            f"independent; split the key first"
        )
        note = Note(Place(module, first.call.at), "the first draw with this key")
        return Report(Place(module, second.call.at), message, self.severity, (note,), facts=second)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Split the key in front of the second draw."""
        draw = report.facts
        if draw is None or draw.loops or not draw.name.isidentifier():
            return None
        module = report.place.module
        statement: n.Node | None = None
        for above in module.builder.parents.chain(draw.call.at):
            if isinstance(above, n.Bind | n.Return | n.Evaluate):
                statement = above
                break
        if statement is None:
            return None
        start = Place(module, statement.at)
        line = module.source.line(start.span.start.row)
        indent = line[: len(line) - len(line.lstrip())]
        if len(indent) != start.span.start.column - 1:
            return None
        split, edits = spell(module, "jax", "random.split", project)
        new = f"{draw.name}, _ = {split}({draw.name})\n{indent}"
        return placeholder("Split the key before it is used again", start.insert_before(new), *edits)
