"""Finds a checkpoint wrapper around a function that each round of a loop makes anew.

## What it does
Reports `jax.checkpoint` of a lambda, a `functools.partial` or a function defined in the loop, called in the same
round. It is a note; in a function that is visibly compiled by `jit` it is a warning, since there the loop is unrolled
and all of it is traced before anything runs.

## Why it is a problem
`jax.checkpoint` keeps the traces of a function by the function object. A new object in each round has no trace yet,
so the body is traced again in every round: 24 layers, 24 traces instead of one. The values are right. (A wrapper of
the *same* function in each round costs nothing and is never reported.)

## When to ignore it
When the rounds are few or the body is small, or when each round really needs another function.

## Fix safety
The fix makes the function once, before the loop. It is unsafe: a function that is kept replays its first trace with
what it read then. It is offered only if the function reads nothing that changes in sight.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.compilation import common_loops, compiled
from remat_lint.project.scopes import Event, LoopNode
from remat_lint.project.values import FunctionRef, Partial, Value, WrapSite
from remat_lint.rules.hoisting import hoist
from remat_lint.rules.rule import Bad, Good, Note, Place, Report, Rule, Silent, unsafe


@dataclass(frozen=True, slots=True)
class _Made:
    """The function that a round makes: where, and what to call it."""

    event: Event
    what: str
    name: str


@dataclass(frozen=True, slots=True)
class _Fresh:
    """What the fix needs."""

    site: WrapSite
    made: _Made
    loop: LoopNode


class FreshClosureWrapper(Rule):
    """`fresh-closure-wrapper`: a trace for each round of a loop."""

    code = "RML702"
    name = "fresh-closure-wrapper"
    category = "cost"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "the wrapped function is not made anew in each round of a loop"
    examples = (
        Bad(
            "a lambda in each round",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.sin(x * w)

def loss(ws, x):
    for w in ws:
        x = jax.checkpoint(lambda a, b: layer(a, b))(w, x)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return x
""",
            fixed="""
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.sin(x * w)

def loss(ws, x):
    block_ck = jax.checkpoint(lambda a, b: layer(a, b))
    for w in ws:
        x = block_ck(w, x)
    return x
""",
            severity=Severity.INFO,
        ),
        Bad(
            "a partial in each round of a compiled function",
            """
from functools import partial
import jax as J
import jax.numpy as jnp

def schicht(größe, w, x):
    return jnp.sin(x * w) * größe

@J.jit
def loss(ws, x):
    for i in range(4):
        block = partial(schicht, 2.0)
        x = J.remat(block)(ws[i], x)
#           ^^^^^^^^^^^^^^
    return x
""",
        ),
        Bad(
            "a function defined and decorated in the loop, in a method under jit",
            """
import functools
import jax
import jax.numpy as jnp

class Net:
    def __call__(self, ws, x):
        for w in ws:
            @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
#            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            def block(w, x):
                return jnp.sin(x * w)
            x = block(w, x)
        return x

@jax.jit
def loss(ws, x):
    net = Net()
    return net(ws, x).sum()
""",
        ),
        Good(
            "the same function in each round",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

def model(ws, x):
    for w in ws:
        x = jax.checkpoint(layer)(w, x)
    return x
""",
        ),
        Good(
            "made once, before the loop",
            """
import jax
import jax.numpy as jnp

@jax.jit
def model(ws, x):
    block = jax.checkpoint(lambda w, x: jnp.tanh(x @ w))
    for w in ws:
        x = block(w, x)
    return x
""",
        ),
        Good(
            "equinox traces at each call whatever it is given",
            """
import equinox as eqx
import jax.numpy as jnp

def model(ws, x):
    for w in ws:
        x = eqx.filter_checkpoint(lambda w, x: jnp.tanh(x @ w))(w, x)
    return x
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a site in a loop whose function is made in the same loop and called there."""
        if not subject.wrapper.keeps_trace or subject.via or not subject.event.loops:
            return
        made = [found for body in subject.bodies if (found := _made(body)) is not None]
        if len(made) != len(subject.bodies) or not made:
            yield Silent("the function is not made anew: its trace is found again")
            return
        loops = common_loops(subject.event, *(one.event for one in made))
        called = [call for call in project.site_calls(subject) if loops and loops[0] in call.event.loops]
        if not loops or not called:
            yield Silent("the function is not made and called in one loop")
            return
        if any(compiled(subject, project)):
            yield Silent("what it returns is given to jit in the loop, which costs more than the trace")
            return
        jitted = project.compilation.is_jitted(subject.event.frame)
        yield self._report(subject, made[0], loops[0], jitted=jitted)

    def _report(self, site: WrapSite, made: _Made, loop: LoopNode, *, jitted: bool) -> Report:
        cost = "; under `jit` all rounds are traced before anything runs" if jitted else ""
        message = (
            f"{made.what} is a new function in each round of the loop, and {site.wrapper.qualname} keeps traces by "
            f"function object: the body is traced again in every round{cost}; make it once, before the loop"
        )
        module = site.event.module
        notes = (Note(Place(module, made.event.at), "made here"),)
        severity = Severity.WARNING if jitted else Severity.INFO
        return Report(Place(module, site.at), message, severity, notes, facts=_Fresh(site, made, loop))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Wrap one function before the loop."""
        fresh: _Fresh = report.facts
        call = fresh.site.event.node
        above = fresh.site.event.module.builder.parents.of(fresh.site.at)
        called = isinstance(above, n.Call) and above.func is call
        if fresh.site.definition is not None or not isinstance(call, n.Call) or not called:
            return None
        edits = hoist(call, fresh.site.event, fresh.loop, f"{fresh.made.name}_ck", project)
        return unsafe("Wrap one function before the loop", *edits) if edits else None


def _made(body: Value) -> _Made | None:
    """Return how a loop makes a function; None if it was made before, or is a bound method or unknown."""
    if isinstance(body, Partial):
        event = body.moment.event
        return None if event is None or not event.loops else _Made(event, "this `partial`", "block")
    if not isinstance(body, FunctionRef) or body.receiver is not None:
        return None
    event = body.scope.definition
    if event is None or not event.loops:
        return None
    name = body.scope.name
    return _Made(event, f"`{name}`" if name else "this lambda", name or "block")
