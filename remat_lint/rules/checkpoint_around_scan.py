"""Finds a checkpoint around a whole scan, where one around its body would save memory.

## What it does
Reports a checkpointed function that does next to nothing but run one `lax.scan`, `lax.map` or `lax.fori_loop`, and
`nn.remat(nn.scan(Block))`, if the body of the loop is not checkpointed.

## Why it is a problem
When it is differentiated, the backward pass runs the scan again, and this time the scan keeps what every one of its
steps needs for the way back, all at once: as much as without the checkpoint. With a checkpoint around the body the
scan keeps only the carry of each step, and computes the rest of one step at a time.

Measured on JAX 0.12 for 24 dense layers: 201 MiB without a checkpoint, 201 MiB with one around the scan, 12 MiB with
one around the body.

## When to ignore it
When the scan is one segment of something larger: a function that is called in a loop, or is the body of another scan,
saves memory with a checkpoint around its own scan, and is not reported. Neither is one whose step is checkpointed too.

## Fix safety
The edit takes the wrapper away and puts it around the body of the scan. It is unsafe because it decides again what is
computed twice; values and gradients stay the same. Of linen modules the names of parameters may change.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword, render
from remat_lint.project.interior import DIFFERENTIABLE_LOOPS, only_scan, reaches_checkpoint
from remat_lint.project.placement import Contexts
from remat_lint.project.scopes import Scope, exclusive
from remat_lint.project.values import (
    ClassRef,
    External,
    FunctionRef,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import in_test_file
from remat_lint.rules.policies_given import keeps_something
from remat_lint.rules.rule import Bad, Good, Note, Place, Report, Rule, Silent, unsafe
from remat_lint.rules.unwrapping import unwrap

_LIFTED = frozenset({"flax.linen.scan", "flax.core.lift.scan", "flax.nnx.scan"})


@dataclass(frozen=True, slots=True, eq=False)
class _Repeated:
    """What the loop repeats: the expression, the loop's name, where the loop is called."""

    body: n.Expression
    dotted: str
    scope: Scope
    at: int


class CheckpointAroundScan(Rule):
    """`checkpoint-around-scan`: the wrapper is outside of the loop."""

    code = "RML602"
    name = "checkpoint-around-scan"
    category = "memory"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "what it wraps is not just a scan"
    examples = (
        Bad(
            "a lambda around the scan",
            """
import jax
import jax.numpy as jnp

def body(c, w):
    return jnp.tanh(c @ w), None

def loss(ws, x):
    run = jax.checkpoint(lambda ws, x: jax.lax.scan(body, x, ws)[0])
#         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return run(ws, x).sum()

grads = jax.grad(loss)
""",
            fixed="""
import jax
import jax.numpy as jnp

def body(c, w):
    return jnp.tanh(c @ w), None

def loss(ws, x):
    run = lambda ws, x: jax.lax.scan(jax.checkpoint(body), x, ws)[0]
    return run(ws, x).sum()

grads = jax.grad(loss)
""",
            message=(
                "the checkpoint is around the whole `lax.scan`: in the backward pass the scan runs again and keeps what "
                "every step needs, all at once, as without the checkpoint; wrap its body `body` instead"
            ),
        ),
        Bad(
            "a decorated function, with options and an alias",
            """
from functools import partial
import jax as J
import jax.numpy as jnp
from jax import lax

@partial(J.remat, prevent_cse=False)
#^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def tower(ws, x):
    def größer(c, w):
        return jnp.tanh(c @ w), None

    out, _ = lax.scan(größer, x, ws)
    return out
""",
            fixed="""
from functools import partial
import jax as J
import jax.numpy as jnp
from jax import lax

def tower(ws, x):
    def größer(c, w):
        return jnp.tanh(c @ w), None

    out, _ = lax.scan(partial(J.remat, prevent_cse=False)(größer), x, ws)
    return out
""",
        ),
        Bad(
            "a scanned linen module",
            """
import flax.linen as nn
import jax.numpy as jnp

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return jnp.tanh(nn.Dense(64)(x)), None

Layers = nn.remat(nn.scan(Block, variable_axes={"params": 0}, split_rngs={"params": True}, length=8))
#        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
import flax.linen as nn
import jax.numpy as jnp

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, _):
        return jnp.tanh(nn.Dense(64)(x)), None

Layers = nn.scan(nn.remat(Block), variable_axes={"params": 0}, split_rngs={"params": True}, length=8)
""",
        ),
        Bad(
            "a partial of the scan, called at once",
            """
from functools import partial
import jax
import jax.numpy as jnp

def step(h, x):
    h = jnp.tanh(h + x)
    return h, h

def loss(h, xs):
    h, hs = jax.checkpoint(partial(jax.lax.scan, step))(h, xs)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return hs.sum()
""",
            fixed="""
from functools import partial
import jax
import jax.numpy as jnp

def step(h, x):
    h = jnp.tanh(h + x)
    return h, h

def loss(h, xs):
    h, hs = (partial(jax.lax.scan, jax.checkpoint(step)))(h, xs)
    return hs.sum()
""",
        ),
        Good(
            "one segment of a long loop",
            """
import jax
import jax.numpy as jnp

def step(c, t):
    return jnp.sin(c) + t, None

def loss(x, ts):
    for part in jnp.split(ts, 4):
        x, _ = jax.checkpoint(lambda c, part=part: jax.lax.scan(step, c, part))(x)
    return x
""",
        ),
        Good(
            "the body of another scan",
            """
import jax
import jax.numpy as jnp

def inner(c, w):
    return jnp.tanh(c @ w), None

@jax.checkpoint
def group(c, ws):
    return jax.lax.scan(inner, c, ws)

def loss(groups, x):
    return jax.lax.scan(group, x, groups)[0].sum()
""",
        ),
        Good(
            "both levels are checkpointed",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def body(c, w):
    return jnp.tanh(c @ w), None

run = jax.checkpoint(lambda ws, x: jax.lax.scan(body, x, ws)[0])
""",
        ),
        Good(
            "a block that does other work too",
            """
import jax
import jax.numpy as jnp
from model import attention

@jax.checkpoint
def block(params, x):
    x = attention(params["attention"], x)
    return jax.lax.map(lambda row: jnp.tanh(row @ params["w"]), x)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a site that wraps a scan whose body is not checkpointed."""
        found = [_repeated(body, project) for body in subject.bodies]
        repeated = found[0] if found else None
        if repeated is None or any(one is None for one in found):
            return
        if keeps_something(subject, project) or in_test_file(subject.event):
            yield Silent("a policy decides what is kept, or a test compares values")
            return
        if _is_checkpointed(repeated, subject, project):
            yield Silent("the body of the scan is checkpointed too")
            return
        if _is_segment(project.placement(subject).contexts(subject)):
            yield Silent("the scan is one of several that the backward pass goes through one by one")
            return
        if repeated.dotted not in _LIFTED and _is_method(subject, project):
            yield Silent("a layer of something larger may be one of many")
            return
        yield self._report(repeated, subject, project)

    def _report(self, repeated: _Repeated, site: WrapSite, project: Analysis) -> Report:
        spelled = repeated.dotted.removeprefix("jax.").removeprefix("flax.").replace("linen.", "nn.")
        body = f" `{render(repeated.body)}`" if isinstance(repeated.body, n.Name | n.Attribute) else ""
        message = (
            f"the checkpoint is around the whole `{spelled}`{when(project.place(site))}: in the backward pass the scan runs "
            f"again and keeps what every step needs, all at once, as without the checkpoint; wrap its body{body} instead"
        )
        place = Place(project.place(site).module, project.place(site).at if site.via else site.at)
        notes: tuple[Note, ...] = ()
        if repeated.at and repeated.scope.module is place.module:
            notes = (Note(Place(repeated.scope.module, repeated.at), "this is the scan"),)
        return Report(place, message, self.severity, notes, facts=(site, repeated))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Take the wrapper away and put it around the body of the scan."""
        del project
        site: WrapSite = report.facts[0]
        repeated: _Repeated = report.facts[1]
        if repeated.scope.module is not report.place.module:
            return None
        taken = unwrap(site, repeated.scope)
        if taken is None:
            return None
        body = Place(report.place.module, repeated.body.at)
        edits = (*taken.edits, body.replace(taken.around(body.text)))
        return unsafe("Wrap the body of the scan instead of the scan", *edits)


def _repeated(value: Value, project: Analysis) -> _Repeated | None:
    """Return what the loop repeats that is all of a wrapped function or class."""
    match value:
        case FunctionRef():
            scan = only_scan(value.scope, project)
            if scan is not None:
                return _Repeated(scan.body, scan.dotted, value.scope, scan.call.at)
        case Partial(target=External(dotted=dotted)) if dotted in DIFFERENTIABLE_LOOPS:
            plain = [argument.value for argument in value.call.args[1:] if argument.keyword is None]
            if plain:
                return _Repeated(plain[0], dotted, value.moment.scope, 0)
        case Transformed(dotted=dotted) if dotted in _LIFTED and value.made is not None:
            call = value.made.node
            if isinstance(call, n.Call) and call.args and _scans_parameters(call, dotted):
                return _Repeated(call.args[0].value, dotted, value.made.scope, 0)
    return None


def _scans_parameters(call: n.Call, dotted: str) -> bool:
    """Whether a lifted scan runs over layers that have parameters of their own, as far as its axes tell."""
    if dotted == "flax.nnx.scan":
        return False
    axes = keyword(call, "variable_axes")
    spread = any(argument.star == "**" for argument in call.args)
    if axes is None:
        return spread
    items = axes.value.items[::2] if isinstance(axes.value, n.Collection) else ()
    return any(isinstance(item, n.Constant) and item.value == "params" for item in items)


def _is_checkpointed(repeated: _Repeated, site: WrapSite, project: Analysis) -> bool:
    moment = Moment(repeated.scope, None)
    if any(isinstance(value, Wrapped) for value in project.evaluate(repeated.body, moment)):
        return True
    if any(reaches_checkpoint(function.scope, project) for function in site.functions):
        return True
    for value in project.evaluate(repeated.body, moment):
        scopes = [value.scope] if isinstance(value, FunctionRef) else []
        if isinstance(value, ClassRef):
            methods = (project.method(value.scope, name) for name in ("__call__", "setup"))
            scopes = [method.scope for method in methods if method is not None]
        if any(reaches_checkpoint(scope, project) for scope in scopes):
            return True
    return False


def _is_segment(contexts: Contexts) -> bool:
    """Whether the backward pass goes through several such scans, one at a time."""
    if contexts.loops or contexts.rounds:
        return True
    calls = contexts.calls
    for number, one in enumerate(calls):
        for other in calls[number + 1 :]:
            together = one.event.frame is other.event.frame and one.event.frame.kind == "function"
            if together and not exclusive(one.event.arms, other.event.arms):
                return True
    return False


def _is_method(site: WrapSite, project: Analysis) -> bool:
    """Whether the site stands in a class, whose objects may be the layers of something larger."""
    return any(scope.kind == "class" for scope in project.place(site).scope.ancestors())
