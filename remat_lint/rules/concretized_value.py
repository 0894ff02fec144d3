"""Finds Python or numpy code in a checkpointed function that needs the value of a traced array.

## What it does
Reports `float(x)`, `x.item()`, `math.sqrt(x)`, `np.maximum(x, 0)`, an f-string with a format specification, and tests
like `if (x > 0).all():` where the operand is computed from an argument that is not static, or by `jax.numpy`. Functions
that the body calls count, wherever they stand.

## Why it is a problem
`jax.checkpoint` traces the function, also in code that never runs under `jit`: the operand is a tracer without a value,
and the call raises `ConcretizationTypeError`, `TracerArrayConversionError`, `TracerBoolConversionError` or `TypeError`.
The function without the checkpoint runs.

## When to ignore it
When the line is never reached with a tracer; under a condition it is a warning. What stands in a `try`, what a test of the type of the operand guards, and
what a test expects to raise is not reported; a parameter that is tested itself is a matter of
`branch-on-traced-flag`.

## Fix safety
There is no automatic edit: compute with `jax.numpy`, choose with `jnp.where` or `lax.cond`, or make the argument
static.

## References
<https://docs.jax.dev/en/latest/errors.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body, bodies
from remat_lint.project.concretization import Concretization, Concretizations
from remat_lint.project.conversions import TRUTH
from remat_lint.project.origins import Origins
from remat_lint.project.summaries import Effect
from remat_lint.project.traversal import walk
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected_at_calls
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent
from remat_lint.rules.ways import inside, way

_ERRORS = ("TypeError", "ConcretizationTypeError", "TracerArrayConversionError", TRUTH, "Exception")
_ASKING = frozenset(
    {"isinstance", "hasattr", "type", "callable", "isscalar", "is_concrete", "Tracer", "trace_state_clean"}
)


class ConcretizedValue(Rule):
    """`concretized-value`: a tracer where a value is needed."""

    code = "RML306"
    name = "concretized-value"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the body asks for the value of no traced array"
    examples = (
        Bad(
            "functions of math and methods that give a number",
            """
import math
import jax as J

@J.checkpoint
def layer(x):
    größe = x.sum()
    scale = math.sqrt(größe)
#           ^^^^^^^^^^^^^^^^
    return x / scale

def owner(x):
    return layer(x)
""",
            runs=True,
            message=(
                "`math.sqrt(größe)` needs a value, and in the trace of `layer` it gets a tracer: this raises "
                "ConcretizationTypeError, also without `jit`; compute it with jax.numpy, or outside of `layer`"
            ),
        ),
        Bad(
            "a numpy function in a method that is wrapped with partial",
            """
from functools import partial
import jax
import numpy as np

class Block:
    def __init__(self, floor):
        self.floor = floor
        self.run = partial(jax.checkpoint, prevent_cse=False)(self.forward)

    def forward(self, x):
        return x * np.maximum(x, self.floor)
#                  ^^^^^^^^^^^^^^^^^^^^^^^^^

def owner(x):
    return Block(0.0).run(x)
""",
            runs=True,
        ),
        Bad(
            "a test of computed values in a nested function, and a format",
            """
import jax
import jax.numpy as jnp

def owner(x):
    @jax.remat
    def guarded(h):
        def limited(v):
            if (v > 9.0).any():
#              ^^^^^^^^^^^^^^^
                v = v / 2
            return v

        print(f"norm {jnp.sum(h * h):.3f}")
#                     ^^^^^^^^^^^^^^
        return limited(h)

    return guarded(x)
""",
            runs=True,
        ),
        Bad(
            "behind calls",
            """
import jax
import jax.numpy as jnp

def peak(values):
    return values.max().item()
#          ^^^^^^^^^^^^^^^^^^^

def normalised(values):
    return values / peak(values)

@jax.checkpoint
def layer(x):
    return normalised(jnp.sin(x))

def owner(x):
    return layer(x)
""",
            runs=True,
        ),
        Good(
            "shapes, captured arrays and static arguments have values",
            """
import math
from functools import partial
import jax
import jax.numpy as jnp
import numpy as np

TABLE, LIMIT = np.arange(4.0), jnp.float32(2.0)

@partial(jax.checkpoint, static_argnums=(1,))
def layer(x, width):
    scale = float(LIMIT) / math.sqrt(x.shape[-1]) * float(width)
    if x.ndim > 1 and len(x) > 2:
        x = x * int(np.prod(x.shape))
    return x * scale + np.asarray(TABLE)[: x.shape[-1]] + np.sum(x)
""",
        ),
        Good(
            "arrays of JAX all the way",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(x):
    x = jnp.where((x > 0).all(), x * 2, x)
    print(f"layer {x}")
    return x / jnp.sqrt(x.sum())
""",
        ),
        Good(
            "a test of the type comes first",
            """
import math
import jax
import jax.numpy as jnp

def root(value):
    if isinstance(value, float):
        return math.sqrt(value)
    return jnp.sqrt(value)

@jax.checkpoint
def layer(x):
    return x * root(x.sum())
""",
        ),
        Good(
            "an option that the body does not give to its helper",
            """
import jax
import jax.numpy as jnp

def scaled(x, *, limit=None):
    if limit is not None and limit > 0:
        x = x * float(jnp.ceil(limit))
    return x

@jax.checkpoint
def layer(x):
    return jnp.sin(scaled(x))
""",
        ),
        Good(
            "a host function gets values",
            """
import jax
import jax.numpy as jnp

def show(value):
    print(f"{float(value):.3f}")

@jax.checkpoint
def layer(x):
    jax.debug.callback(show, x.mean())
    return jnp.sin(x)
""",
        ),
        Miss(
            "the value comes from a function that is not known",
            """
import jax
from layers import attend

@jax.checkpoint
def layer(x):
    return x * float(attend(x))
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each use of a value in the functions that the site's trace runs."""
        for body in bodies(subject, project, Effect.CONVERTS):
            if body.root.through not in ("", "class"):
                continue
            found = list(Concretizations(body, project))
            if found and expected_at_calls(subject, project, *_ERRORS):
                yield Silent("a test expects the error")
                continue
            origins = Origins(body, project) if found else None
            for use in found:
                reason = _why_silent(use, body, origins) if origins is not None else ""
                yield Silent(reason) if reason else _report(use, body, project, self.severity)


def _report(use: Concretization, body: Body, project: Analysis, severity: Severity) -> Report:
    module = use.visit.scope.module
    function = f"`{body.name}`" if body.root.function.scope.name else "the lambda"
    frame = use.visit.scope.frame
    message = (
        f"{use.text}{inside(body, frame)} needs a value, and in the trace of {function}{when(project.place(body.site))} it "
        f"gets a tracer: this raises {use.error}, also without `jit`; compute it with jax.numpy, or outside of {function}"
    )
    if use.visit.arms:
        severity = Severity.WARNING
    return Report(Place(module, use.node.at), message, severity, way(body, frame))


def _why_silent(use: Concretization, body: Body, origins: Origins) -> str:
    """Return why a use may never meet a tracer, or is told by another rule."""
    frame = use.visit.scope.frame
    guards = (*use.visit.guards, *(guard for call in body.calls_to(frame) for guard in call.guards))
    if any(isinstance(guard, n.Try) for guard in guards):
        return "what stands in a `try` may be meant to fail"
    if use.error == TRUTH and origins.of(use.operand, use.visit.moment):
        return "a test of a parameter is a matter of another rule"
    around = (frame, *(call.frame for call in body.calls_to(frame)))
    if any(_asks_for_type(function.node) for function in around):
        return "the function asks what kind of value it has"
    calls = body.calls_to(frame)
    conditional = use.visit.arms or any(call.arms for call in calls)
    if conditional and not body.root.function.scope.encloses(frame):
        return "a helper does this under a condition only"
    return ""


def _asks_for_type(node: n.Node | None) -> bool:
    """Whether a function tells values of Python from arrays and tracers."""
    for part in walk(node.body) if isinstance(node, n.Function) else ():
        name = part.attr if isinstance(part, n.Attribute) else part.id if isinstance(part, n.Name) else ""
        if name in _ASKING:
            return True
    return False
