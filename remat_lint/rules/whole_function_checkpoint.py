"""Finds a checkpoint around the whole of what is differentiated, which saves no memory.

## What it does
Reports `jax.grad`, `jax.value_and_grad` and their like applied to a function that is one checkpoint as a whole, and a
checkpointed function that is called once in what is differentiated and whose body is the loop over all layers. Nothing
inside is checkpointed, and no policy keeps anything.

## Why it is a problem
The backward pass starts by computing the function again, now keeping every intermediate value, and only then goes
back through them. At that moment as much memory is in use as without the checkpoint; `value_and_grad` also pays for a
second forward pass. Memory is saved where the checkpoints are many and each is small beside the whole: the backward
pass then holds the intermediate values of one of them at a time.

Measured on JAX 0.12 for 24 dense layers: 121 MiB without any checkpoint, 121 MiB with one around the loss, 5 MiB with
one around each layer.

## When to ignore it
When the checkpoint is there to compare values, not to save memory. Files of tests are not reported, nor is a pull-back
of `jax.vjp`: it may be kept for long, and keeps only the arguments.

## Fix safety
There is no automatic edit: take the wrapper away here, and put it around the function of one layer, or around the
body of the scan over the layers.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import bodies
from remat_lint.project.differentiation import called_once, differentiated_whole, is_outermost
from remat_lint.project.interior import deepest_loop, has_layers, only_scan, reaches_checkpoint
from remat_lint.project.placement import Use
from remat_lint.project.values import FunctionRef, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import in_test_file
from remat_lint.rules.policies_given import keeps_something
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent


class WholeFunctionCheckpoint(Rule):
    """`whole-function-checkpoint`: one checkpoint around everything."""

    code = "RML601"
    name = "whole-function-checkpoint"
    category = "memory"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "it is not the whole of what is differentiated"
    examples = (
        Bad(
            "the loss itself is a checkpoint",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

@jax.checkpoint
def loss(ws, x):
    for w in ws:
        x = layer(w, x)
    return (x**2).mean()  # größer als nötig

train_grad = jax.jit(jax.grad(loss))
#                    ^^^^^^^^^^^^^^
""",
            message=(
                "`loss` is differentiated as a whole and is one checkpoint: the backward pass computes all of its "
                "intermediate values again before it uses the first, so the peak of memory is that of no checkpoint; "
                "checkpoint its layers one by one instead"
            ),
        ),
        Bad(
            "through a lambda, partial and jit, with a method",
            """
from functools import partial
import jax as J
import jax.numpy as jnp

class Trainer:
    def loss(self, params, batch):
        x = batch["x"]
        for w in params:
            x = jnp.tanh(x @ w)
        return ((x - batch["y"]) ** 2).mean()

    def step(self, params, batch):
        loss = partial(J.remat, prevent_cse=True)(self.loss)
        value, grads = J.value_and_grad(lambda p: loss(p, batch))(params)
#                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return value, grads
""",
            message=(
                "`loss` is differentiated as a whole and is one checkpoint: the backward pass computes all of its "
                "intermediate values again before it uses the first, so the peak of memory is that of no checkpoint, at "
                "the price of a second forward pass; checkpoint its layers one by one instead"
            ),
        ),
        Bad(
            "the loop over all layers is one checkpoint below the loss",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
#^^^^^^^^^^^^^^
def forward(params, x):
    for layer in params:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x

def loss(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)

grads = jax.jit(jax.grad(loss))
""",
            message=(
                "`forward` is one checkpoint around the loop over its layers and is called once: the backward pass "
                "computes the intermediate values of every layer again and holds them all at once, so the peak of memory "
                "is that of no checkpoint; checkpoint the function of one layer inside the loop instead"
            ),
        ),
        Bad(
            "a nested function, wrapped under a condition",
            """
import jax
import jax.numpy as jnp

def make_step(model, use_remat):
    def loss_fn(params, batch):
        logits = model.apply(params, batch["x"])
        return jnp.mean((logits - batch["y"]) ** 2)

    if use_remat:
        loss_fn = jax.checkpoint(loss_fn)

    @jax.jit
    def step(params, batch):
        loss, grads = jax.value_and_grad(loss_fn)(params, batch)
#                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), loss

    return step
""",
        ),
        Good(
            "each layer is a checkpoint",
            """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

def loss(ws, x):
    for w in ws:
        x = jax.checkpoint(layer)(w, x)
    return (x**2).mean()

train_grad = jax.jit(jax.grad(loss))
outer_too = jax.jit(jax.grad(jax.checkpoint(loss)))
""",
        ),
        Good(
            "one block below a separate loss saves what the block holds",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def block(x, w1, w2):
    return jax.nn.gelu(x @ w1) @ w2

def loss(x, w1, w2, y):
    return jnp.mean((block(x, w1, w2) - y) ** 2)

grads = jax.jit(jax.grad(loss, argnums=(1, 2)))
""",
        ),
        Good(
            "a chunk of layers that is called several times",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def chunk(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    return x

def loss(ws, x):
    for i in range(0, len(ws), 4):
        x = chunk(ws[i : i + 4], x)
    return (x**2).mean()

grads = jax.jit(jax.grad(loss))
""",
        ),
        Good(
            "a policy decides what is kept",
            """
import jax
import jax.numpy as jnp

def loss(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    return (x**2).mean()

grads = jax.grad(jax.checkpoint(loss, policy=jax.checkpoint_policies.dots_saveable))
""",
        ),
        Good(
            "a pull-back that is kept holds the arguments only",
            """
import jax
import jax.numpy as jnp

def stage(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    return x

def forward(ws, x):
    return jax.vjp(jax.checkpoint(stage), ws, x)
""",
        ),
        Good(
            "the inner derivative of an outer one",
            """
import jax
import jax.numpy as jnp

def inner_loss(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    return (x**2).mean()

def outer_loss(ws, x):
    grads = jax.grad(jax.checkpoint(inner_loss))(ws, x)
    return inner_loss([w - 0.1 * g for w, g in zip(ws, grads)], x)

meta_grad = jax.grad(outer_loss)
""",
        ),
        Miss(
            "the derivative is taken in another file",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def loss(ws, x):
    for w in ws:
        x = jnp.tanh(x @ w)
    return (x**2).mean()
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a site whose result is all that is differentiated, or all of its layers."""
        placement = project.placement(subject)
        if not any(use.how in ("grad", "call") for use in placement.uses(subject)):
            return
        functions = [body.root.function for body in bodies(subject, project)]
        if not functions or len(functions) != len(subject.bodies):
            yield Silent("what it wraps is not known")
            return
        if in_test_file(subject.event) or keeps_something(subject, project):
            yield Silent("a policy decides what is kept, or a test compares values")
            return
        if any(reaches_checkpoint(function.scope, project) for function in functions):
            yield Silent("something inside is checkpointed")
            return
        contexts = placement.contexts(subject)
        whole = differentiated_whole(subject, placement, project)
        if whole is not None:
            if all(_has_parts(function, project) for function in functions) and is_outermost(
                subject, whole, contexts, placement
            ):
                yield self._whole(subject, functions[0], whole, project)
        elif all(deepest_loop(function.scope, project) is not None for function in functions):
            grad = called_once(contexts, placement, project)
            if grad is not None:
                yield self._below(subject, functions[0], grad, project)

    def _whole(self, site: WrapSite, function: FunctionRef, use: Use, project: Analysis) -> Report:
        name = _name_of(function)
        price = ", at the price of a second forward pass" if use.dotted.endswith("value_and_grad") else ""
        message = (
            f"{name} is differentiated as a whole and is one checkpoint{when(project.place(site))}: the backward pass "
            f"computes all of its intermediate values again before it uses the first, so the peak of memory is that of no "
            f"checkpoint{price}; checkpoint its layers one by one instead"
        )
        wrapped = Place(site.event.module, site.at)
        note = Note(wrapped, f"{name} is wrapped by {site.wrapper.qualname}")
        place = wrapped if use.call is None else Place(use.event.module, use.call.at)
        return Report(place, message, self.severity, (note,))

    def _below(self, site: WrapSite, function: FunctionRef, grad: Use, project: Analysis) -> Report:
        name = _name_of(function)
        message = (
            f"{name} is one checkpoint around the loop over its layers and is called once{when(project.place(site))}: the "
            f"backward pass computes the intermediate values of every layer again and holds them all at once, so the peak "
            f"of memory is that of no checkpoint; checkpoint the function of one layer inside the loop instead"
        )
        notes = [Note(Place(grad.event.module, grad.event.at), "the derivative is taken here")]
        loop = deepest_loop(function.scope, project)
        if loop is not None:
            notes.append(Note(Place(loop[0].module, loop[1].at), "this loop runs over the layers"))
        place = Place(project.place(site).module, project.place(site).at if site.via else site.at)
        return Report(place, message, self.severity, tuple(notes))


def _name_of(function: FunctionRef) -> str:
    cls, name = function.scope.owner_class, function.scope.name
    if name == "__call__" and cls is not None:
        name = cls.name
    return f"`{name}`" if name else "the lambda"


def _has_parts(function: FunctionRef, project: Analysis) -> bool:
    """Whether a function has parts that could be checkpoints of their own; a lone scan is for another rule."""
    return only_scan(function.scope, project) is None and has_layers(function.scope, project)
