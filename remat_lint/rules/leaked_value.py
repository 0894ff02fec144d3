"""Finds a checkpointed function that keeps a value it computes in something outside itself.

## What it does
Reports a store of a traced value into an object that was there before the call: `acts.append(h)`, `stats["mean"] = h`,
`self.cache = h`, an assignment to a `global` or `nonlocal` name, a lazily filled cache. A value is traced if it comes
from an argument that is not static, or from a call of `jax.numpy`, `jax.lax`, `jax.random` and the like: also a
constant made by `jnp.zeros` inside the function.

## Why it is a problem
`jax.checkpoint` traces the function, even in code that never runs under `jit`. What it computes on the way are
tracers, which mean nothing once the trace has ended: computing with one later raises `UnexpectedTracerError`. A later
call with the same shapes replays the trace without running the Python code, so it stores nothing at all: terms that
are collected in a list are silently missing from the loss.

## When to ignore it
When nothing but the shape or dtype of the stored value is ever used. Values that a framework collects
(`self.sow`, `hk.set_state`, variables of a module) are not reported.

## Fix safety
There is no automatic edit: return the value from the function and store it outside.

## References
<https://docs.jax.dev/en/latest/errors.html#jax.errors.UnexpectedTracerError>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body, bodies, is_kept
from remat_lint.project.stores import Store, kept_stores
from remat_lint.project.summaries import Effect
from remat_lint.project.traversal import walk
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected_at_calls
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent
from remat_lint.rules.ways import inside, way

_ERRORS = ("UnexpectedTracerError", "JAXTypeError", "Exception")


class LeakedValue(Rule):
    """`leaked-value`: a traced value that outlives its trace."""

    code = "RML103"
    name = "leaked-value"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the body stores no traced value outside itself"
    examples = (
        Bad(
            "auxiliary losses collected in a list",
            """
import jax
import jax.numpy as jnp

def loss(ws, x):
    aux = []

    def block(w, h):
        h = jnp.tanh(h @ w)
        aux.append((h**2).mean())
#       ^^^^^^^^^^^^^^^^^^^^^^^^^
        return h

    block = jax.checkpoint(block)
    for w in ws:
        x = block(w, x)
    return x.sum() + sum(aux)
""",
        ),
        Bad(
            "an attribute of the object whose method is checkpointed",
            """
from functools import partial
import jax as J
import jax.numpy as jnp

class Encoder:
    def __init__(self, w):
        self.w, self.überblick = w, None
        self.run = J.remat(self.forward)

    def forward(self, x):
        h = x @ self.w
        self.überblick = h.mean()
#       ^^^^^^^^^^^^^^^^^^^^^^^^^
        return jnp.sin(h)
""",
        ),
        Bad(
            "a global random key that is split in the body",
            """
import functools
import jax
from jax import random

key = random.key(0)

@functools.partial(jax.checkpoint, prevent_cse=False)
def noisy(x):
    global key
    key, sub = random.split(key)
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return x + random.normal(sub, x.shape)
""",
        ),
        Bad(
            "a constant that is made on first use",
            """
import jax
import jax.numpy as jnp

MASKS = {}

@jax.checkpoint
def attend(scores):
    n = scores.shape[-1]
    if n not in MASKS:
        MASKS[n] = jnp.tril(jnp.ones((n, n), bool))
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jnp.where(MASKS[n], scores, -1e9)
""",
        ),
        Bad(
            "a function inside the body that scan runs",
            """
import jax
import jax.numpy as jnp

def collect(xs, w):
    seen = []

    @jax.checkpoint
    def tower(x):
        def step(h, _):
            seen.append(h)
#           ^^^^^^^^^^^^^^
            return jnp.tanh(h @ w), None

        return jax.lax.scan(step, x @ w, None, length=3)[0] @ w

    return tower(xs), seen
""",
        ),
        Good(
            "the list is made inside and returned",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def tower(ws, x):
    hidden = []
    for w in ws:
        x = jnp.tanh(x @ w)
        hidden.append(x)
    return x, hidden
""",
        ),
        Good(
            "shapes and names are Python values",
            """
import jax
import jax.numpy as jnp

shapes, größen = [], {}

@jax.checkpoint
def layer(x):
    shapes.append(x.shape)
    größen["n"] = x.ndim + len(x.shape)
    return jnp.sin(x)
""",
        ),
        Good(
            "flax collects what a module sows",
            """
import flax.linen as nn
import jax.numpy as jnp

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        count = self.variable("state", "n", lambda: jnp.zeros(()))
        count.value = count.value + 1
        self.sow("intermediates", "mean", x.mean())
        return nn.Dense(4)(x)

Remat = nn.remat(Block)
""",
        ),
        Good(
            "a host function runs when the program executes",
            """
import jax
import jax.numpy as jnp

log = []

@jax.checkpoint
def layer(x):
    def write(value):
        log.append(value)

    jax.debug.callback(write, x.mean())
    return jnp.sin(x)
""",
        ),
        Miss(
            "the container comes through a call of something unknown",
            """
import jax
import jax.numpy as jnp
from registry import collector

@jax.checkpoint
def layer(x):
    collector("means").update(mean=x.mean())
    return jnp.sin(x)
""",
        ),
        Good(
            "a `with` shows that using the stored value later raises",
            """
import jax
import jax.numpy as jnp
import pytest

def test_leak(x):
    seen = []

    @jax.checkpoint
    def block(x):
        seen.append(x)
        return jnp.sin(x)

    block(x)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        seen[0] + 1
""",
        ),
        Good(
            "a `try` catches the error of the stored value",
            """
import jax
import jax.numpy as jnp
from jax.errors import UnexpectedTracerError

def leaks(x):
    seen = []

    @jax.checkpoint
    def block(x):
        seen.append(x)
        return jnp.sin(x)

    block(x)
    try:
        return seen[0] + 1
    except UnexpectedTracerError:
        return None
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each store of a traced value into something outside the body."""
        if expected_at_calls(subject, project, *_ERRORS) or _is_shown_to_raise(subject):
            yield Silent("a test expects the error")
            return
        for body in bodies(subject, project, Effect.WRITES):
            if _first_of(body, project) is not subject:
                yield Silent("the same function is reported at the first place that wraps it")
                continue
            kept = is_kept(body, project)
            for store in kept_stores(body, project):
                if isinstance(store, str):
                    yield Silent(store)
                else:
                    yield self._report(store, body, project, kept=kept)

    def _report(self, store: Store, body: Body, project: Analysis, *, kept: bool) -> Report:
        event = store.event
        function = f"`{body.name}`" if body.root.function.scope.name else "the lambda"
        site = body.site
        changed = event.target if isinstance(event.target, n.Attribute) else store.owner
        what = f"`{render(changed)}`" if store.owner is not None else f"{store.scope} `{event.name}`"
        what += inside(body, event.frame)
        again = ", and a later call with the same shapes reuses the trace and stores nothing" if kept else ""
        condition = when(project.place(site))
        message = (
            f"{what} outlives the trace of {function} and is given a tracer here{condition}: computing with it later "
            f"raises UnexpectedTracerError{again}; return the value from {function}"
        )
        return Report(Place(event.module, event.at), message, self.severity, way(body, event.frame))


def _is_shown_to_raise(site: WrapSite) -> bool:
    """Whether the function around the site guards something against the very error of a leaked tracer."""
    outermost = [scope for scope in site.scope.ancestors() if isinstance(scope.node, n.Function)]
    if not outermost:
        return False
    guards = (part for part in walk(outermost[-1].node) if isinstance(part, n.With | n.Try))
    for guard in guards:
        if isinstance(guard, n.With):
            named = tuple(context for context, _ in guard.items)
        else:
            named = tuple(handler.type for handler in guard.handlers if handler.type is not None)
        for part in walk(named):
            if getattr(part, "attr", getattr(part, "id", "")) == _ERRORS[0]:
                return True
    return False


def _first_of(body: Body, project: Analysis) -> WrapSite:
    """Return the first site of the file that wraps the function of a body in the same way."""
    for site in project.wrap_sites(project.place(body.site).module):
        same = any(f.scope is body.root.function.scope for f in site.functions)
        if same and site.wrapper is body.site.wrapper and site.options.keys() == body.site.options.keys():
            return site
    return body.site
