"""Finds static arguments that hold what changes: `self` with its parameters, arrays, configuration that is written to.

## What it does
Reports `static_argnums` where the argument is
* the `self` of a decorated method that computes with its attributes;
* an object, a dict, a list or a numpy array that the code changes between two calls of the checkpointed function.
A static argument that visibly gets an array of JAX is a note: its values are right, but each new array is traced anew.

## Why it is a problem
JAX finds the trace of a static argument again by its hash, or by its identity where it has none. What the trace has
read from the object is frozen in it: a later change is not seen, and attributes of a static `self` that were read as
constants get the gradient 0.

## When to ignore it
When the object never changes after the first call: configuration is what static arguments are for.

## Fix safety
There is no automatic edit: pass the arrays as arguments.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.invocations import Signature, invocations, signatures
from remat_lint.project.scalars import is_array
from remat_lint.project.static_changes import changed_between, numeric_attribute
from remat_lint.project.statics import static_option, static_positions
from remat_lint.project.values import Moment, Result, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent

_KEEPS = ("jax", "trax")


class StaticArray(Rule):
    """`static-array`: a static argument that changes."""

    code = "RML304"
    name = "static-array"
    category = "suspicious"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "no static argument is seen to change"
    examples = (
        Bad(
            "the self of a decorated method",
            """
import functools
import jax
import jax.numpy as jnp

class Layer:
    def __init__(self, w):
        self.w = w

    @functools.partial(jax.checkpoint, static_argnums=(0,))
#                                                      ^
    def __call__(self, x):
        return jnp.sin(x * self.w)

def owner(x):
    layer = Layer(1.0)
    first = layer(x)
    layer.w = 2.0
    return first + layer(x)
""",
            message=(
                "`self` is static, so `self.w` is a constant in the trace of `__call__`: a later change of it is not "
                "seen, neither by values nor by gradients; pass the arrays as arguments"
            ),
            runs=True,
        ),
        Bad(
            "configuration that is written to between two calls",
            """
from jax import remat as rm

class Größe:
    scale = 1.0

def block(x, cfg):
    return x * cfg.scale

def owner(x):
    run = rm(block, static_argnums=1)
    cfg = Größe()
    first = run(x, cfg)
    cfg.scale = 5.0
    return first + run(x, cfg)
#                         ^^^
""",
            message=(
                "`cfg` is static and is found again by its identity, so this call does not see that it was changed "
                "after the first one: the values of the first trace are used; pass what changes as an argument that is "
                "traced"
            ),
            runs=True,
        ),
        Bad(
            "a numpy array that is changed in place in a loop",
            """
from functools import partial
import jax
import numpy as np

def owner(x, use_remat=True):
    def scaled(h, w):
        return h * w

    if use_remat:
        scaled = partial(jax.checkpoint, static_argnums=(1,))(scaled)
    w = np.ones(4)
    total = x
    for step in range(3):
        total = total + scaled(x, w)
#                                 ^
        w[:] = step
    return total
""",
            runs=True,
        ),
        Bad(
            "an array of JAX is right, and traced anew each time",
            """
import jax
import jax.numpy as jnp

layer = jax.checkpoint(lambda x, w: x * w, static_argnums=(1,))

def loss(x):
    return layer(x, jnp.ones(3))
#                   ^^^^^^^^^^^
""",
            severity=Severity.INFO,
        ),
        Good(
            "a static self that only holds configuration",
            """
import functools
import jax
import jax.numpy as jnp

class Layer:
    def __init__(self, features: int, name: str):
        self.features, self.kind = features, name

    @functools.partial(jax.checkpoint, static_argnums=(0,))
    def __call__(self, w, x):
        y = jnp.sin(x @ w)
        return y if self.kind == "sin" else y.reshape(self.features, -1)
""",
        ),
        Good(
            "configuration that is complete before the first call, and a new object for the second",
            """
import dataclasses
import jax

@dataclasses.dataclass(frozen=True)
class Config:
    scale: float = 1.0

def block(x, cfg, table):
    return x * cfg.scale * table["a"]

def loss(x):
    run = jax.checkpoint(block, static_argnums=(1, 2))
    cfg, table = Config(), {}
    table["a"] = 2.0
    first = run(x, cfg, table)
    cfg = dataclasses.replace(cfg, scale=5.0)
    return first + run(x, cfg, table)
""",
        ),
        Good(
            "the changed object is an argument that is traced",
            """
import jax

def block(x, params, train):
    return x * params["w"] if train else x

def loss(x):
    run = jax.checkpoint(block, static_argnums=(2,))
    params = {"w": 1.0}
    first = run(x, params, True)
    params["w"] = 5.0
    return first + run(x, params, True)
""",
        ),
        Miss(
            "another file changes the object",
            """
import jax
from settings import CONFIG, next_stage

def block(x, cfg):
    return x * cfg.scale

def loss(x):
    run = jax.checkpoint(block, static_argnums=(1,))
    first = run(x, CONFIG)
    next_stage()
    return first + run(x, CONFIG)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a static `self` that holds values, and static arguments that change between calls."""
        option = static_option(subject, project)
        if option is None or option.indices is None or subject.wrapper.framework not in _KEEPS:
            return
        for signature in signatures(subject, project):
            static = static_positions(subject, signature, project) or frozenset()
            if 0 in static and subject.definition is signature.function.scope and signature.is_method:
                yield from self._of_self(subject, signature, project)
            for position in sorted(static):
                if position < len(signature.positional):
                    yield from self._passed(subject, signature, position, project)

    def _of_self(self, site: WrapSite, signature: Signature, project: Analysis) -> Iterator[Report | Silent]:
        scope = signature.function.scope
        read = numeric_attribute(scope, project)
        if read is None:
            yield Silent("the method computes with no attribute of its static `self`")
            return
        name = render(read)
        message = (
            f"`{signature.positional[0].name}` is static, so `{name}` is a constant in the trace of `{scope.name}`: a "
            "later change of it is not seen, neither by values nor by gradients; pass the arrays as arguments"
        )
        option = static_option(site, project)
        assert option is not None
        items = option.node.items if isinstance(option.node, n.Collection) else (option.node,)
        index = next((i for i in items if isinstance(i, n.Constant) and i.value == 0), None)
        node = index if option.is_literal and index is not None else option.argument.value
        notes = (Note(Place(scope.module, read.at), f"`{name}` is read here"),)
        yield Report(Place(option.module, node.at), message, self.severity, notes)

    def _passed(
        self, site: WrapSite, signature: Signature, position: int, project: Analysis
    ) -> Iterator[Report | Silent]:
        calls = [call for call in invocations(site, project) if call.complete]
        told = False
        for call in calls:
            given = call.given(signature, position)
            change = (
                None
                if given is None
                else changed_between(call, given.value, signature, position, calls, project)
            )
            if given is None or change is None:
                continue
            told = True
            name = render(given.value)
            message = (
                f"`{name}` is static and is found again by its identity, so this call does not see that it was changed "
                f"after the first one{when(site.event)}: the values of the first trace are used; pass what changes as "
                "an argument that is traced"
            )
            notes = (Note(Place(change.module, change.at), f"`{name}` is changed here"),)
            yield Report(Place(call.event.module, given.value.at), message, self.severity, notes)
        for call in calls if not told else []:
            given = call.given(signature, position)
            if given is not None and _is_jax(given.value, Moment(call.event.scope, call.event), project):
                message = (
                    f"the static argument `{signature.positional[position].name}` gets an array: the values are right, "
                    "but each new array is traced anew; pass it as an argument that is traced"
                )
                yield Report(Place(call.event.module, given.value.at), message, Severity.INFO)
                return


def _is_jax(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    """Whether an expression is known to be made by a function of JAX that returns arrays."""
    values = project.evaluate(node, moment)
    made = ("jax.numpy.", "jax.random.", "jax.lax.", "jax.nn.")
    return is_array(node, moment, project) and all(
        isinstance(value, Result) and value.dotted.startswith(made) for value in values
    )
