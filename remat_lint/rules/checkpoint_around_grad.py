"""Finds a checkpoint around something that is not differentiated, where it has no effect.

## What it does
Reports `jax.checkpoint` of a function that `jax.grad` made, of a training step that takes the derivative inside and
applies the update, and of a forward pass whose result goes through `lax.stop_gradient`.

## Why it is a problem
A checkpoint changes what a backward pass *through it* keeps. Here no backward pass goes through it: the derivative is
taken inside, or stopped outside. The compiled program is the one without the checkpoint, barrier for barrier, and the
memory that was to be saved is not.

## When to ignore it
When a derivative of the step itself is taken, as in meta-learning: there a checkpoint around each inner step does save
memory. Where such an outer derivative is seen, or could stand in another file, nothing is reported.

## Fix safety
The edit takes the wrapper away. It is unsafe because what was meant, a checkpoint around the layers inside, is left to
do; the compiled program stays the same.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.placement import DERIVATIVES
from remat_lint.project.scopes import Scope
from remat_lint.project.stopping import stops_gradient
from remat_lint.project.training import applies_update, is_host_loop, takes_derivative
from remat_lint.project.values import Transformed, Value, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import in_test_file
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, unsafe
from remat_lint.rules.unwrapping import unwrap

_JITS = frozenset({"jax.jit", "jax.pmap"})


class CheckpointAroundGrad(Rule):
    """`checkpoint-around-grad`: no backward pass goes through the wrapper."""

    code = "RML604"
    name = "checkpoint-around-grad"
    category = "memory"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "a backward pass may go through it"
    examples = (
        Bad(
            "the derivative is wrapped instead of the function",
            """
import jax
import jax.numpy as jnp

def loss(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    return x.sum()

grad_fn = jax.checkpoint(jax.grad(loss))  # größer wird nichts kleiner
#         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
import jax
import jax.numpy as jnp

def loss(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    return x.sum()

grad_fn = jax.grad(loss)  # größer wird nichts kleiner
""",
            message=(
                "`jax.grad` takes the derivative inside of the checkpoint, so that no backward pass goes through it: it "
                "has no effect; checkpoint the layers inside of the differentiated function instead"
            ),
        ),
        Bad(
            "the whole training step",
            """
from functools import partial
import jax as J
import jax.numpy as jnp

def loss(w, x):
    return jnp.tanh(jnp.sin(x @ w)).sum()

@J.jit
@partial(J.remat, prevent_cse=False)
#^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def train_step(w, x):
    g = J.grad(loss)(w, x)
    return w - 0.1 * g
""",
            fixed="""
from functools import partial
import jax as J
import jax.numpy as jnp

def loss(w, x):
    return jnp.tanh(jnp.sin(x @ w)).sum()

@J.jit
def train_step(w, x):
    g = J.grad(loss)(w, x)
    return w - 0.1 * g
""",
            message=(
                "`train_step` takes its derivative inside of the checkpoint, so that no backward pass goes through it: it "
                "has no effect; checkpoint the layers inside of the differentiated function instead"
            ),
        ),
        Bad(
            "a step with an optimizer, called in the training loop",
            """
import jax
import jax.numpy as jnp
import optax

optimizer = optax.adam(1e-3)

def loss_fn(params, batch):
    return jnp.mean((batch["x"] @ params - batch["y"]) ** 2)

def update(params, state, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, loss

def train(params, batches):
    state = optimizer.init(params)
    step = jax.jit(jax.checkpoint(update))
#                  ^^^^^^^^^^^^^^^^^^^^^^
    for batch in batches:
        params, state, loss = step(params, state, batch)
        print(loss)
    return params
""",
            fixed="""
import jax
import jax.numpy as jnp
import optax

optimizer = optax.adam(1e-3)

def loss_fn(params, batch):
    return jnp.mean((batch["x"] @ params - batch["y"]) ** 2)

def update(params, state, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, loss

def train(params, batches):
    state = optimizer.init(params)
    step = jax.jit(update)
    for batch in batches:
        params, state, loss = step(params, state, batch)
        print(loss)
    return params
""",
        ),
        Bad(
            "a teacher whose result is a constant for the derivative",
            """
import jax
import jax.numpy as jnp
from jax import lax

def teacher(w, x):
    return jax.nn.softmax(jnp.tanh(x @ w))

def loss(w, teacher_w, x):
    target = lax.stop_gradient(jax.checkpoint(teacher)(teacher_w, x))
#                              ^^^^^^^^^^^^^^^^^^^^^^^
    return -(target * jax.nn.log_softmax(x @ w)).sum()

grads = jax.grad(loss)
""",
            fixed="""
import jax
import jax.numpy as jnp
from jax import lax

def teacher(w, x):
    return jax.nn.softmax(jnp.tanh(x @ w))

def loss(w, teacher_w, x):
    target = lax.stop_gradient(teacher(teacher_w, x))
    return -(target * jax.nn.log_softmax(x @ w)).sum()

grads = jax.grad(loss)
""",
            message=(
                "the result of `teacher` goes through `stop_gradient`, so that no backward pass goes through the "
                "checkpoint: it has no effect; take the wrapper away"
            ),
        ),
        Good(
            "inner steps of an outer derivative",
            """
import jax
import jax.numpy as jnp

def inner_loss(w, x):
    return jnp.tanh(x @ w).sum()

@jax.checkpoint
def inner_step(w, x):
    return w - 0.1 * jax.grad(inner_loss)(w, x)

def meta_loss(w, x):
    for _ in range(4):
        w = inner_step(w, x)
    return inner_loss(w, x)

meta_grad = jax.jit(jax.grad(meta_loss))
""",
        ),
        Good(
            "a residual with a derivative in it, below a loss",
            """
import jax
import jax.numpy as jnp

def field(params, t):
    return jnp.tanh(t * params).sum()

@jax.checkpoint
def residual(params, t):
    return jax.grad(field, argnums=1)(params, t) + field(params, t)

def loss(params, ts):
    return sum(residual(params, t) ** 2 for t in ts)

grads = jax.grad(loss)
""",
        ),
        Good(
            "a step that somebody may differentiate",
            """
import jax
import jax.numpy as jnp

def make_step(loss_fn, rate):
    @jax.checkpoint
    def step(params, batch):
        grads = jax.grad(loss_fn)(params, batch)
        return jax.tree.map(lambda p, g: p - rate * g, params, grads)

    return step
""",
        ),
        Good(
            "the layers inside are checkpointed",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

def loss(ws, x):
    for w in ws:
        x = jax.checkpoint(layer)(w, x)
    return x.sum()

@jax.jit
def train_step(ws, x):
    return jax.tree.map(lambda w, g: w - 0.1 * g, ws, jax.grad(loss)(ws, x))
""",
        ),
        Good(
            "one of two results is stopped",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def encode(w, x):
    return jnp.tanh(x @ w)

def loss(w, x):
    return ((encode(w, x) - jax.lax.stop_gradient(encode(w, x + 1))) ** 2).sum()

grads = jax.grad(loss)
""",
        ),
        Miss(
            "a step that is used in another file",
            """
import jax
import jax.numpy as jnp

def loss(w, x):
    return jnp.tanh(x @ w).sum()

@jax.checkpoint
def step(w, x):
    return w - 0.1 * jax.grad(loss)(w, x)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a site through which no backward pass can go."""
        derivative = _derivative(subject.bodies)
        inside = derivative is not None or any(
            takes_derivative(function.scope, project) for function in subject.functions
        )
        stopped = not inside and stops_gradient(subject, project)
        if not inside and not stopped:
            return
        if in_test_file(subject.event):
            yield Silent("a test compares values")
        elif stopped:
            yield self._stopped(subject, project)
        elif _is_outermost(subject, project, plain=derivative is not None):
            yield self._inside(subject, derivative, project)
        else:
            yield Silent("it may be differentiated in turn")

    def _inside(self, site: WrapSite, derivative: Transformed | None, project: Analysis) -> Report:
        name = site.functions[0].scope.name if site.functions else ""
        named = f"`{name}`" if name else "the lambda"
        what = (
            f"{named} takes its derivative"
            if derivative is None
            else f"`{derivative.dotted}` takes the derivative"
        )
        message = (
            f"{what} inside of the checkpoint{when(project.place(site))}, so that no backward pass goes through it: it has "
            f"no effect; checkpoint the layers inside of the differentiated function instead"
        )
        return self._made(message, site, project)

    def _stopped(self, site: WrapSite, project: Analysis) -> Report:
        name = site.functions[0].scope.name if site.functions else ""
        named = f"`{name}`" if name else "the lambda"
        message = (
            f"the result of {named} goes through `stop_gradient`{when(project.place(site))}, so that no backward pass goes "
            f"through the checkpoint: it has no effect; take the wrapper away"
        )
        return self._made(message, site, project)

    def _made(self, message: str, site: WrapSite, project: Analysis) -> Report:
        event = project.place(site)
        notes: tuple[Note, ...] = ()
        if site.via:
            notes = (Note(Place(site.event.module, site.at), f"it is wrapped by {site.wrapper.qualname}"),)
        place = Place(event.module, event.at if site.via else site.at)
        return Report(place, message, self.severity, notes, facts=site)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Take the wrapper away."""
        del project
        taken = unwrap(report.facts, report.facts.scope)
        return unsafe("Take the wrapper away", *taken.edits) if taken is not None else None


def _derivative(bodies: tuple[Value, ...]) -> Transformed | None:
    """Return the derivative that a site wraps, if it is all that the site can wrap."""
    found = [body for body in bodies if isinstance(body, Transformed) and body.dotted in DERIVATIVES]
    return found[0] if found and len(found) == len(bodies) else None


def _is_outermost(site: WrapSite, project: Analysis, *, plain: bool) -> bool:
    """Whether nothing can take a derivative of what a site returns, as far as is seen.

    A training step shows by its update what it is, a plain derivative by where it is used.
    """
    placement = project.placement(site)
    contexts = placement.contexts(site)
    if contexts.loops or contexts.grads or contexts.derivatives:
        return False
    updates = any(applies_update(function.scope, project) for function in site.functions)
    if not plain and not updates:
        return False
    uses = placement.uses(site)
    compiled = any(use.how == "made" and use.dotted in _JITS for use in uses)
    if contexts.reaches_top or (updates and compiled):
        return True
    if plain and all(use.event.frame.kind == "module" for use in uses):
        return site.scope.kind == "module"
    frames = [use.event.frame for use in uses if use.how == "call"]
    if not frames or placement.is_handed_on(site):
        return False
    return all(_is_end(frame, project, plain=plain) for frame in frames)


def _is_end(frame: Scope, project: Analysis, *, plain: bool) -> bool:
    """Whether nobody takes a derivative of the function that calls the result: a training loop, or a compiled step."""
    if frame.kind == "module" or is_host_loop(frame):
        return True
    return plain and applies_update(frame, project) and project.compilation.is_jitted(frame)
