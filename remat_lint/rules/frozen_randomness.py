"""Finds host randomness and clock readings inside a checkpointed function.

## What it does
Reports calls inside a checkpointed function whose value comes from the host while JAX traces the function: `random`,
`numpy.random`, `secrets`, `uuid`, `time`, `datetime.now`, a draw from a generator object, `next` of an iterator that
lives outside.

## Why it is a problem
`jax.checkpoint` traces the function once and replays the trace, also in code that never runs under `jit`. The number
is drawn while the function is traced and is a constant from then on: every later call with the same shapes uses the
same noise, the same dropout mask, the same time. Plain Python would draw again. The forward pass and the
recomputation do agree, so gradients give no sign of it.

## When to ignore it
When one constant draw for each trace is meant. Code inside a function given to `jax.pure_callback`, `io_callback` or
`jax.debug.callback` runs on the host at execution time and is not reported; nor is a generator that the function
makes itself from a seed.

## Fix safety
In an editor a placeholder puts the `jax.random` counterpart in place of the draw and adds a `key` parameter; the
callers have to pass a key.

## References
<https://docs.jax.dev/en/latest/random-numbers.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword, render
from remat_lint.project.body import Body, bodies, is_kept
from remat_lint.project.draws import Draw, draws
from remat_lint.project.summaries import Effect
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Bad, Good, Place, Report, Rule, Silent, placeholder
from remat_lint.rules.ways import inside, way

_COUNTERPARTS = {
    "random.random": "uniform",
    "numpy.random.rand": "uniform",
    "numpy.random.random": "uniform",
    "numpy.random.uniform": "uniform",
    "numpy.random.randn": "normal",
    "numpy.random.normal": "normal",
    "numpy.random.standard_normal": "normal",
}
"""Draws without parameters of a distribution, by their counterpart in `jax.random`."""
_ADVICE = {
    "linen": "use `jax.random` with a key of `self.make_rng`",
    "haiku": "use `jax.random` with `hk.next_rng_key()`",
}


class FrozenRandomness(Rule):
    """`frozen-randomness`: a number that is drawn while JAX traces."""

    code = "RML104"
    name = "frozen-randomness"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the body draws no host randomness and reads no clock"
    examples = (
        Bad(
            "numpy noise through an alias, in a decorated function",
            """
import jax as J
import jax.numpy as jnp
from numpy import random as npr

@J.checkpoint
def noisy(x):
    return jnp.sin(x) + npr.normal(size=x.shape)  # größer
#                       ^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Bad(
            "a generator kept by the object",
            """
import functools
import jax
import numpy as np

class Block:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.apply = functools.partial(jax.checkpoint, prevent_cse=False)(self.forward)

    def forward(self, x):
        return x * self.rng.binomial(1, 0.5, size=x.shape)
#                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Bad(
            "a clock and an iterator in a function that is called in a loop",
            """
import itertools
import time
import jax
import jax.numpy as jnp

def train(xs):
    steps = itertools.count()

    def layer(x):
        scale = next(steps)
#               ^^^^^^^^^^^
        return jnp.sin(x) * scale + 0 * time.time()
#                                       ^^^^^^^^^^^

    layer_ck = jax.remat(layer)
    return [layer_ck(x) for x in xs]
""",
        ),
        Bad(
            "a framework that traces at each call freezes under jit only",
            """
import flax.linen as nn
import numpy as np

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(x) + np.random.rand()
#                               ^^^^^^^^^^^^^^^^

Remat = nn.remat(Block)
""",
            severity=Severity.WARNING,
        ),
        Good(
            "a key is an argument",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def dropout(x, key):
    return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0.0)
""",
        ),
        Good(
            "the clock is read on the host when the program executes",
            """
import time
import jax
import numpy as np

def host_clock(_):
    return np.float32(time.time())

@jax.checkpoint
def layer(x):
    return x + jax.pure_callback(host_clock, jax.ShapeDtypeStruct((), np.float32), x)
""",
        ),
        Good(
            "a table made from a seed is the same each time anyway",
            """
import jax
import numpy as np

@jax.checkpoint
def project(x):
    rng = np.random.default_rng(0)
    return x @ rng.normal(size=(x.shape[-1], 8))
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each draw in the functions that the site's trace runs."""
        for body in bodies(subject, project, Effect.DRAWS):
            kept = is_kept(body, project)
            for draw in draws(body, project):
                yield self._report(draw, body, project, kept=kept)

    def _report(self, draw: Draw, body: Body, project: Analysis, *, kept: bool) -> Report:
        site = body.site
        function = f"`{body.name}`" if body.root.function.scope.name else "the lambda"
        what = f"`{render(draw.call)}`{inside(body, draw.event.frame)}"
        verb = {"randomness": "is drawn", "clock": "is read", "iterator": "is taken"}[draw.kind]
        advice = {
            "randomness": _ADVICE.get(
                site.wrapper.framework, f"use `jax.random` with a key that {function} takes as an argument"
            ),
            "clock": "read the clock outside",
            "iterator": f"take the item outside and pass it to {function}",
        }[draw.kind]
        if kept:
            message = (
                f"{what} {verb} once, when JAX traces {function}{when(project.place(site))}, and stays the same in every "
                f"later call with the same shapes, even without `jit`; {advice}"
            )
        else:
            message = (
                f"{what} {verb} when JAX traces {function}{when(project.place(site))}, not when it executes: under `jit` "
                f"every later call gets the same value; {advice}"
            )
        severity = Severity.ERROR if kept else Severity.WARNING
        notes = way(body, draw.event.frame)
        return Report(Place(draw.event.module, draw.call.at), message, severity, notes, facts=(draw, body))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Draw with a key that the function takes as a new last parameter."""
        draw: Draw = report.facts[0]
        body: Body = report.facts[1]
        scope = body.root.function.scope
        name = _COUNTERPARTS.get(draw.dotted)
        has_keys = body.site.wrapper.framework in _ADVICE or body.root.through == "class"
        shape = _shape(draw)
        plain = all(
            p.kind in ("positional", "positional-only") and p.default is None for p in scope.parameters()
        )
        if (
            name is None
            or shape is None
            or not plain
            or not scope.parameters()
            or scope.find("key") is not None
        ):
            return None
        if has_keys or draw.event.frame is not scope or draw.event.module is not report.place.module:
            return None
        function, edits = spell(report.place.module, "jax", f"random.{name}", project)
        parameter = Place(scope.module, scope.parameters()[-1].at).insert_after(", key")
        drawn = report.place.replace(f"{function}(key{shape and ', '}{shape})")
        return placeholder("Draw with a key that the callers pass", parameter, drawn, *edits)


def _shape(draw: Draw) -> str | None:
    """Return the text of the shape that a draw asks for; None if it has other arguments."""
    if not draw.call.args:
        return ""
    size = keyword(draw.call, "size")
    if size is None or len(draw.call.args) > 1:
        return None
    text = Place(draw.event.module, size.value.at).text
    return f"({text},)" if isinstance(size.value, n.Constant) else text
