"""Finds `prevent_cse=False` where the compiler then undoes the rematerialisation.

## What it does
Reports `prevent_cse=False` on a function that is called in straight code or in a Python loop, outside of any scan, and
on the body of a scan that is unrolled. Only a literal `False`, or a name that is bound to it, is reported.

## Why it is a problem
What a checkpoint computes again is the same computation as the one of the forward pass. Under `jit` XLA merges equal
computations (CSE), and then nothing is computed twice and nothing is saved. By default JAX puts barriers between the
two. `prevent_cse=False` leaves them out, which is right for the body of a scan: forward and backward pass are
different loops there, and XLA does not merge across them.

Measured on JAX 0.12 for 8 dense layers in a Python loop: 41 MiB without a checkpoint, 41 MiB with
`prevent_cse=False`, 5 MiB with the default.

## When to ignore it
When the function never runs under `jit`, or when the barriers cost more than the memory is worth. A function that is
returned, stored, or handed to something unknown is not reported: a scan may run it.

## Fix safety
The edit writes `True`, the default. It is unsafe because the program then computes more and holds less; values and
gradients stay the same.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword, render
from remat_lint.project.differentiation import is_straight
from remat_lint.project.placement import Use
from remat_lint.project.values import ClassRef, Data, FunctionRef, Moment, Partial, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import in_test_file
from remat_lint.rules.rule import Bad, Good, Note, Place, Report, Rule, Silent, unsafe


class CseUndoesRemat(Rule):
    """`cse-undoes-remat`: the recomputation is merged with the forward pass."""

    code = "RML603"
    name = "cse-undoes-remat"
    category = "memory"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "`prevent_cse` is not switched off"
    examples = (
        Bad(
            "layers in a Python loop",
            """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, prevent_cse=False)
#                        ^^^^^^^^^^^^^^^^^
def block(w, x):
    return jnp.tanh(x @ w)

def loss(ws, x):
    for w in ws:
        x = block(w, x)
    return x.sum()

grads = jax.jit(jax.grad(loss))
""",
            fixed="""
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, prevent_cse=True)
def block(w, x):
    return jnp.tanh(x @ w)

def loss(ws, x):
    for w in ws:
        x = block(w, x)
    return x.sum()

grads = jax.jit(jax.grad(loss))
""",
            message=(
                "`prevent_cse=False` is for the body of a scan, but `block` is called in a Python loop: under `jit` XLA "
                "merges what the backward pass computes again with the forward pass, so that nothing is saved; leave "
                "`prevent_cse` out"
            ),
        ),
        Bad(
            "one block below the loss, through an alias",
            """
import jax as J
import jax.numpy as jnp

def größer(w, x):
    return jnp.tanh(jnp.sin(x @ w))

def loss(w, v, x):
    h = J.remat(größer, prevent_cse=False)(w, x)
#                       ^^^^^^^^^^^^^^^^^
    return (h @ v).sum()

step = J.jit(J.value_and_grad(loss))
""",
            fixed="""
import jax as J
import jax.numpy as jnp

def größer(w, x):
    return jnp.tanh(jnp.sin(x @ w))

def loss(w, v, x):
    h = J.remat(größer, prevent_cse=True)(w, x)
    return (h @ v).sum()

step = J.jit(J.value_and_grad(loss))
""",
        ),
        Bad(
            "a scan that is unrolled",
            """
import jax
import jax.numpy as jnp

def body(c, w):
    return jnp.tanh(c @ w), None

def loss(ws, x):
    f = jax.checkpoint(body, prevent_cse=False)
#                            ^^^^^^^^^^^^^^^^^
    return jax.lax.scan(f, x, ws, unroll=8)[0].sum()
""",
            fixed="""
import jax
import jax.numpy as jnp

def body(c, w):
    return jnp.tanh(c @ w), None

def loss(ws, x):
    f = jax.checkpoint(body, prevent_cse=True)
    return jax.lax.scan(f, x, ws, unroll=8)[0].sum()
""",
            message=(
                "`prevent_cse=False` is for a scan that runs its steps one by one, but `unroll=8` turns several into "
                "straight code: that takes more memory, and where it unrolls the whole scan XLA merges what the backward "
                "pass computes again with the forward pass, so that nothing is saved; leave `prevent_cse` out"
            ),
        ),
        Bad(
            "linen blocks that are made in a loop",
            """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.gelu(nn.Dense(64)(x))

class Tower(nn.Module):
    @nn.compact
    def __call__(self, x):
        block = nn.remat(Block, prevent_cse=False)
#                               ^^^^^^^^^^^^^^^^^
        for i in range(8):
            x = block(name=f"block_{i}")(x)
        return x
""",
            fixed="""
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.gelu(nn.Dense(64)(x))

class Tower(nn.Module):
    @nn.compact
    def __call__(self, x):
        block = nn.remat(Block, prevent_cse=True)
        for i in range(8):
            x = block(name=f"block_{i}")(x)
        return x
""",
        ),
        Good(
            "the body of a scan, and of other loops of XLA",
            """
import jax
import jax.numpy as jnp

def layer(c, w):
    return jnp.tanh(c @ w), None

def loss(ws, x):
    x, _ = jax.lax.scan(jax.checkpoint(layer, prevent_cse=False), x, ws)
    rows = jax.lax.map(jax.checkpoint(lambda row: jnp.tanh(row @ ws[0]), prevent_cse=False), x)
    return rows.sum()

grads = jax.grad(loss)
""",
        ),
        Good(
            "a scan runs the function that calls it",
            """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, prevent_cse=False)
def project(w, h):
    return jnp.tanh(h @ w)

def step(h, ws):
    for i in range(2):
        h = project(ws[i], h)
    return h, None

def loss(ws, h):
    return jax.lax.scan(step, h, ws)[0].sum()

grads = jax.grad(loss)
""",
        ),
        Good(
            "switched off only where a scan runs it",
            """
import jax
import jax.numpy as jnp

def layer(c, w):
    return jnp.tanh(c @ w), None

def apply_all(ws, x, scan_layers):
    f = jax.checkpoint(layer, prevent_cse=not scan_layers)
    if scan_layers:
        return jax.lax.scan(f, x, ws)[0]
    for w in ws:
        x, _ = f(x, w)
    return x

grads = jax.grad(lambda ws, x: apply_all(ws, x, False).sum())
""",
        ),
        Good(
            "what runs it stands elsewhere",
            """
import jax
import jax.numpy as jnp
from layers import run_layers

def layer(c, w):
    return jnp.tanh(c @ w), None

def loss(ws, x):
    return run_layers(jax.checkpoint(layer, prevent_cse=False), x, ws).sum()

def make_layer():
    return jax.checkpoint(layer, prevent_cse=False)

grads = jax.grad(loss)
""",
        ),
        Good(
            "branches of XLA keep the passes apart as well",
            """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.tanh(jnp.sin(x))

def loss(x):
    for _ in range(8):
        x = jax.lax.cond(x[0] > 0, jax.checkpoint(layer, prevent_cse=False), jnp.negative, x)
    return x.sum()

grads = jax.grad(loss)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a site without barriers whose result runs in straight code."""
        option = subject.options.get("prevent_cse")
        if option is None or not _is_false(subject, option, project):
            return
        if in_test_file(subject.event):
            yield Silent("a test compares values")
            return
        placement = project.placement(subject)
        contexts = placement.contexts(subject)
        for use in contexts.loops:
            unroll = _unroll(use, project)
            if unroll is not None:
                yield self._unrolled(subject, option, use, unroll, project)
                return
        if contexts.is_handed_on:
            yield Silent("it is handed on, and a scan may run it")
            return
        for use in placement.uses(subject):
            if use.how in ("call", "new") and is_straight(use, placement):
                yield self._straight(subject, option, use, project)
                return
        yield Silent("no call of it is seen in straight code that is differentiated")

    def _straight(self, site: WrapSite, option: n.Argument, use: Use, project: Analysis) -> Report:
        name = _name_of(site)
        condition = when(project.place(site)) or when(use.event)
        where = "is called in a Python loop" if use.event.loops else "is called outside of any scan"
        message = (
            f"`prevent_cse=False` is for the body of a scan, but {name} {where}{condition}: under `jit` XLA "
            f"merges what the backward pass computes again with the forward pass, so that nothing is saved; leave "
            f"`prevent_cse` out"
        )
        note = Note(Place(use.event.module, use.event.at), "it is called here")
        return Report(_place(site, option, project), message, self.severity, (note,), facts=(site, option))

    def _unrolled(
        self, site: WrapSite, option: n.Argument, use: Use, unroll: str, project: Analysis
    ) -> Report:
        message = (
            f"`prevent_cse=False` is for a scan that runs its steps one by one, but `unroll={unroll}` turns several into "
            f"straight code{when(project.place(site))}: that takes more memory, and where it unrolls the whole scan XLA "
            f"merges what the backward pass computes again with the forward pass, so that nothing is saved; leave "
            f"`prevent_cse` out"
        )
        note = Note(Place(use.event.module, use.event.at), "the scan is unrolled here")
        return Report(_place(site, option, project), message, self.severity, (note,), facts=(site, option))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Write the default."""
        del project
        site: WrapSite = report.facts[0]
        option: n.Argument = report.facts[1]
        literal = isinstance(option.value, n.Constant)
        if not literal or site.via or report.place.at != option.at:
            return None
        edit = Place(report.place.module, option.value.at).replace("True")
        return unsafe("Keep the barriers between the passes", edit)


def _is_false(site: WrapSite, option: n.Argument, project: Analysis) -> bool:
    moment = site.option_moments.get("prevent_cse", Moment(site.scope, site.event))
    values = project.evaluate(option.value, moment)
    return all(
        isinstance(value, Data) and isinstance(value.node, n.Constant) and value.node.value is False
        for value in values
    )


def _place(site: WrapSite, option: n.Argument, project: Analysis) -> Place:
    moment = site.option_moments.get("prevent_cse")
    if site.via or moment is None:
        event = project.place(site)
        return Place(event.module, event.at if site.via else site.at)
    return Place(moment.scope.module, option.at)


def _name_of(site: WrapSite) -> str:
    for body in site.bodies:
        inner = body
        while isinstance(inner, Partial):
            inner = inner.target
        name = inner.scope.name if isinstance(inner, FunctionRef | ClassRef) else ""
        if name:
            return f"`{name}`"
    if site.via or site.target is None:
        return "the wrapped function"
    return "the lambda" if isinstance(site.target, n.Function) else f"`{render(site.target)}`"


def _unroll(use: Use, project: Analysis) -> str | None:
    """Return the text of an `unroll` that visibly asks for more than one step at a time."""
    argument = keyword(use.call, "unroll") if use.call is not None else None
    if argument is None:
        return None
    values = project.evaluate(argument.value, Moment(use.event.scope, use.event))
    asked = [value.node for value in values if isinstance(value, Data) and isinstance(value.node, n.Constant)]
    several = [node for node in asked if isinstance(node.value, int) and int(node.value) > 1]
    whole = [node for node in asked if node.value is True]
    if len(asked) != len(values) or not (several or whole):
        return None
    return render(argument.value)
