"""Finds a checkpointed function that reads something from outside which changes between its calls.

## What it does
Reports a call of a checkpointed function that replays a trace made before a name, item or attribute that the
function reads from outside was changed: a loop variable, an entry of a dict, `self.w`, a global, a captured list.

## Why it is a problem
`jax.checkpoint` traces a function once for each function object, static arguments, argument tree, shapes and dtypes,
and keeps the result, even in code that never runs under `jit`. Everything that the function reads from outside its
arguments is frozen by the first call. Later calls compute with the old value: the loss and the gradient are wrong
and nothing raises. A new wrapper around the same function finds the old trace again.

## When to ignore it
When the change is meant to be ignored after the first call, or when the function is known to be called only once
for each set of shapes.

## Fix safety
The fix passes the changing value as an argument. It changes what the program computes, so it is unsafe. It is
offered only when every call of the function is seen and can be rewritten, and when the text shows that the value can
be traced or must be static: not for an object, nor where a test or a shape uses a value of a kind that is not known.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.pairs import Stale
from remat_lint.project.values import WrapSite
from remat_lint.rules.arguments import ArgumentEdit
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, unsafe


class StaleCapture(Rule):
    """`stale-capture`: a value that is frozen by the first call."""

    code = "RML101"
    name = "stale-capture"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    examples = (
        Bad(
            "a function made before the loop reads the loop's variable",
            """
import jax
import jax.numpy as jnp

def owner(x):
    ws = [jnp.full(4, 1.0), jnp.full(4, 2.0), jnp.full(4, 3.0)]

    @jax.checkpoint
    def layer(x):
        return jnp.sin(x) * w
        #                   ^

    for w in ws:
        x = layer(x)
    return x
""",
            fixed="""
import jax
import jax.numpy as jnp

def owner(x):
    ws = [jnp.full(4, 1.0), jnp.full(4, 2.0), jnp.full(4, 3.0)]

    @jax.checkpoint
    def layer(x, w):
        return jnp.sin(x) * w

    for w in ws:
        x = layer(x, w)
    return x
""",
            message=(
                "`w` is frozen in `layer` by its first call: jax.checkpoint traces a function once and keeps the trace, "
                "so each later round of the loop still uses the old value; pass `w` as an argument"
            ),
            runs=True,
        ),
        Bad(
            "an index that is used for nothing but an item: the item is passed",
            """
from jax import checkpoint as ck
import jax.numpy as jnp

def owner(x):
    ps = [jnp.full(4, 1.0), jnp.full(4, 2.0)]

    def layer(h):
        return jnp.tanh(h * ps[i])
        #                      ^

    for i in range(2):
        x = ck(layer)(x)
    return x
""",
            fixed="""
from jax import checkpoint as ck
import jax.numpy as jnp

def owner(x):
    ps = [jnp.full(4, 1.0), jnp.full(4, 2.0)]

    def layer(h, p):
        return jnp.tanh(h * p)

    for i in range(2):
        x = ck(layer)(x, ps[i])
    return x
""",
            runs=True,
        ),
        Bad(
            "a setting that changes between two calls, through a partial decorator",
            """
import functools
import jax
import jax.numpy as jnp

settings = {"größe": 1.0, "scale": 1.0}

@functools.partial(jax.remat, prevent_cse=True)
def layer(x):
    return jnp.sin(x) * settings["scale"]  # größer wird nichts
    #                   ^^^^^^^^^^^^^^^^^

def owner(x):
    settings["scale"] = 1.0
    first = layer(x)
    settings["scale"] = 5.0
    return first + layer(x)
""",
            fixed="""
import functools
import jax
import jax.numpy as jnp

settings = {"größe": 1.0, "scale": 1.0}

@functools.partial(jax.remat, prevent_cse=True)
def layer(x, scale):
    return jnp.sin(x) * scale  # größer wird nichts

def owner(x):
    settings["scale"] = 1.0
    first = layer(x, settings["scale"])
    settings["scale"] = 5.0
    return first + layer(x, settings["scale"])
""",
            runs=True,
        ),
        Bad(
            "a global that is bound again, seen through a helper that wraps anew",
            """
import jax
import jax.numpy as jnp

GAIN = 1.0

def layer(x):
    return jnp.sin(x) * GAIN
    #                   ^^^^

def model(x):
    return jax.checkpoint(layer)(x)

def owner(x):
    global GAIN
    GAIN = 1.0
    first = model(x)
    GAIN = 3.0
    return first + model(x)
""",
            fixed="""
import jax
import jax.numpy as jnp

GAIN = 1.0

def layer(x, GAIN):
    return jnp.sin(x) * GAIN

def model(x):
    return jax.checkpoint(layer)(x, GAIN)

def owner(x):
    global GAIN
    GAIN = 1.0
    first = model(x)
    GAIN = 3.0
    return first + model(x)
""",
            runs=True,
        ),
        Bad(
            "a bound method that is wrapped once and kept",
            """
import jax
import jax.numpy as jnp

class Stack:
    def __init__(self, gains):
        self.gains, self.gain = gains, gains[0]
        self.run = jax.checkpoint(self.layer)

    def layer(self, x):
        return jnp.tanh(x) * self.gain
        #                    ^^^^^^^^^

    def __call__(self, x):
        for self.gain in self.gains:
            x = self.run(x)
        return x

def owner(x):
    return Stack([1.0, 2.0, 3.0])(x)
""",
            runs=True,
        ),
        Bad(
            "an attribute that another method sets",
            """
import jax
import jax.numpy as jnp

class Model:
    def __init__(self):
        self.scale = 1.0
        self.run = jax.checkpoint(self.layer)

    def layer(self, x):
        return jnp.sin(x) * self.scale
        #                   ^^^^^^^^^^

    def set_scale(self, scale):
        self.scale = scale

    def __call__(self, x):
        return self.run(x)
""",
            severity=Severity.WARNING,
        ),
        Good(
            "the function is made anew in every round",
            """
import jax
import jax.numpy as jnp

def run(x, ws):
    for w in ws:
        x = jax.checkpoint(lambda h: jnp.sin(h) * w)(x)  # noqa: RML702
    return x
""",
        ),
        Good(
            "a bound method that is wrapped per call is another object each time",
            """
import jax

class Net:
    def __init__(self):
        self.training = True

    def block(self, x):
        return x * 2 if self.training else x

    def eval(self):
        self.training = False

    def __call__(self, x):
        return jax.checkpoint(self.block)(x)
""",
        ),
        Good(
            "filled once, before the first call",
            """
import jax
import jax.numpy as jnp

class Attention:
    def __init__(self, size):
        self.size, self.mask = size, None
        self.run = jax.checkpoint(self.scores)

    def scores(self, x):
        return x * self.mask

    def prepare(self):
        if self.mask is None:
            self.mask = jnp.tril(jnp.ones((self.size, self.size)))

    def __call__(self, x):
        self.prepare()
        return self.run(x)
""",
        ),
        Good(
            "changed and changed back before the next call",
            """
import jax

def train(model, batches, x):
    model.training = True
    step = jax.checkpoint(lambda h: h * 0.5 if model.training else h)
    for batch in batches:
        x = step(x) + batch
        model.training = False
        print(model.score(x))
        model.training = True
    return x
""",
        ),
        Good(
            "jit keeps a trace of its own, with or without the checkpoint",
            """
import jax

def compare(x):
    setting = {"scale": 1.0}
    step = jax.jit(jax.checkpoint(lambda h: h * setting["scale"]))
    before = step(x)
    setting["scale"] = 5.0
    return before, step(x)
""",
        ),
        Miss(
            "an alias of the container is written",
            """
import jax

def run(x):
    table = {"w": 1.0}
    other = table
    layer = jax.checkpoint(lambda h: h * table["w"])
    first = layer(x)
    other["w"] = 2.0
    return first, layer(x)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each outside value that a call of the site's result sees as it was at an earlier call."""
        for answer in project.staleness.of(subject):
            if isinstance(answer, str):
                yield Silent(answer)
            else:
                yield self._report(answer, subject)

    def _report(self, stale: Stale, site: WrapSite) -> Report:
        frame = stale.second.frame
        name = stale.function.scope.name
        function = f"`{name}`" if name else "the lambda"
        what = f"`{stale.second.seen(stale.read.access)}`"
        if stale.loop is not None:
            again = "each later round of the loop"
        elif stale.first is not stale.second:
            again = f"the call in line {frame.module.span(stale.second.event.at).start.row}"
        else:
            again = "each later call"
        message = (
            f"{what} is frozen in {function} by its first call: {site.wrapper.qualname} traces a function once and keeps "
            f"the trace, so {again} still uses the old value; pass {what} as an argument"
        )
        written = stale.write.event.target or stale.write.event.node
        notes = [Note(Place(stale.write.event.module, written.at), f"this change of {what} is not seen")]
        if stale.first is not stale.second:
            notes.append(Note(Place(frame.module, stale.first.event.at), "the first call is traced"))
        notes.append(
            Note(Place(frame.module, stale.second.event.at), f"this call replays the trace of {function}")
        )
        if stale.second.lifted:
            notes.append(
                Note(Place(stale.call.event.module, stale.call.event.at), f"where {function} is called")
            )
        severity = Severity.ERROR if stale.certain else Severity.WARNING
        return Report(Place(stale.read.module, stale.read.at), message, severity, tuple(notes), facts=stale)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Pass the value as an argument, at every call."""
        stale: Stale = report.facts
        function = stale.function
        if stale.read.module is not function.scope.module or function.receiver is not None:
            return None
        sites = tuple(
            site
            for site in project.sites.values()
            if any(other.scope is function.scope for other in site.functions)
        )
        sites = tuple(sorted(sites, key=lambda site: (str(site.event.module.path), site.at)))
        edits = ArgumentEdit(function, sites, stale.read.access, project).edits()
        return unsafe(f"Pass `{stale.read.access}` as an argument", *edits) if edits else None
