"""Finds a broad `except` that turns the error of a tracer into another result.

## What it does
Reports `except:`, `except Exception:` and `except TypeError:` in a checkpointed function where the `try` asks for the
value of a traced array (`float(x)`, `x.item()`, `if x.sum() > 0:`, `np.asarray(x)`, `if flag:` for a flag that is not
static) and the handler does not raise again.

## Why it is a problem
What the function gets is traced, also outside `jit`: asking for a value raises `ConcretizationTypeError` or one of its
kind, which is a `TypeError`. The handler swallows it, and every call silently gives the fallback, where the function
without the checkpoint gives the result.

## When to ignore it
When the fallback is meant for tracers: name the exception (`except jax.errors.ConcretizationTypeError:`), which is not
reported.

## Fix safety
There is no automatic edit: `jnp.where` or `lax.cond` on the value, or a static argument.

## References
<https://docs.jax.dev/en/latest/errors.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body, bodies
from remat_lint.project.concretization import Concretization, Concretizations
from remat_lint.project.modules import Module
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, Moment, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent
from remat_lint.rules.traced_flags import find_use_evidence, traced_uses_in_tries

_BROAD = frozenset({"builtins.Exception", "builtins.BaseException", "builtins.TypeError"})


class SwallowedConcretization(Rule):
    """`swallowed-concretization`: the fallback is taken at every call."""

    code = "RML110"
    name = "swallowed-concretization"
    category = "correctness"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "no broad `except` in the body catches what a tracer raises"
    examples = (
        Bad(
            "a conversion to a number",
            """
import jax

@jax.checkpoint
def layer(x):
    try:
        s = float(x.sum())
    except Exception:
#   ^^^^^^^^^^^^^^^^
        return x
    return x * s

def owner(x):
    return layer(x)
""",
            message=(
                "`float(x.sum())` needs a concrete value and fails on a tracer (ConcretizationTypeError), which this "
                "`except` swallows: under jax.checkpoint `layer` takes this path instead, and JAX does not complain; "
                "compute the choice with jnp.where or lax.cond"
            ),
            runs=True,
        ),
        Bad(
            "a branch on a value in a method, with a bare except",
            """
from functools import partial
from jax import remat as rm
import jax.numpy as jnp

class Gate:
    def apply(self, x):
        offen = False  # schließt später
        try:
            if x.sum() > 0:
                offen = True
        except:
#       ^^^^^^
            pass
        return jnp.tanh(x) if offen else jnp.zeros_like(x)

    def __call__(self, x):
        return partial(rm, prevent_cse=False)(self.apply)(x)

def owner(x):
    return Gate()(x)
""",
            runs=True,
        ),
        Bad(
            "numpy in a nested function that is checkpointed on demand",
            """
import jax
import numpy as np

def owner(x, use_remat=True):
    def block(h):
        try:
            scale = np.linalg.norm(h)
        except (TypeError, ValueError):
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            scale = 1.0
        return h * scale

    block = jax.checkpoint(block) if use_remat else block
    return block(x)
""",
            runs=True,
        ),
        Bad(
            "a flag that is not static",
            """
import jax

@jax.checkpoint
def layer(x, double):
    try:
        return x * 2 if double else x
    except Exception:
#   ^^^^^^^^^^^^^^^^
        return x

def owner(x):
    return layer(x, True)
""",
            runs=True,
        ),
        Good(
            "what can fail does not depend on traced values",
            """
import jax
import jax.numpy as jnp

SCALES = {"a": 2.0}

@jax.checkpoint
def layer(x):
    try:
        scale = float(SCALES["b"])
    except Exception:
        scale = 1.0
    try:
        rows, cols = x.shape
    except ValueError:
        rows = int(x.shape[0])
    return jnp.sin(x) * scale / rows
""",
        ),
        Good(
            "the handler raises, or names the error of a tracer",
            """
import jax

@jax.checkpoint
def layer(x):
    try:
        s = float(x.sum())
    except Exception as error:
        raise RuntimeError("not here") from error
    return x * s

@jax.checkpoint
def other(x):
    try:
        return x * x.item()
    except jax.errors.ConcretizationTypeError:
        return x
""",
        ),
        Good(
            "the static argument is a Python value",
            """
from functools import partial
import jax

@partial(jax.checkpoint, static_argnums=(1,))
def layer(x, scale):
    try:
        return x * float(scale)
    except Exception:
        return x

def loss(x):
    return layer(x, "2.5")
""",
        ),
        Bad(
            "a helper asks for the value",
            """
import jax

def measure(x):
    return float(x.sum())

@jax.checkpoint
def layer(x):
    try:
        return x * measure(x)
    except Exception:
#   ^^^^^^^^^^^^^^^^
        return x

def owner(x):
    return layer(x)
""",
            runs=True,
        ),
        Miss(
            "a method of an object that is not known",
            """
import jax
from metrics import Meter

@jax.checkpoint
def layer(x, meter=Meter()):
    try:
        return x * meter.value(x)
    except Exception:
        return x
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each handler that swallows the error of a tracer, once for all sites of the function."""
        told: set[int] = set()
        for body in bodies(subject, project):
            if body.root.through not in ("", "class"):
                continue
            if _earlier(body, project):
                yield Silent("the same function is reported at the first place that wraps it")
                continue
            for use in _uses(body, project):
                for guard in reversed(_guards(use, body)):
                    handler = _swallowing(guard, use, project) if isinstance(guard, n.Try) else None
                    if isinstance(handler, n.Handler) and handler.at not in told:
                        told.add(handler.at)
                        yield self._report(handler, use, body, project)
                    if handler is not None:
                        break

    def _report(self, handler: n.Handler, use: Concretization, body: Body, project: Analysis) -> Report:
        site, module = body.site, use.visit.scope.module
        function = f"`{body.root.function.scope.name}`" if body.root.function.scope.name else "the lambda"
        message = (
            f"{use.text} needs a concrete value and fails on a tracer ({use.error}), which this `except` swallows: "
            f"under {site.wrapper.qualname}{when(project.place(site))} {function} takes this path instead, and "
            "JAX does not complain; compute the choice with jnp.where or lax.cond"
        )
        notes = (
            Note(Place(module, use.node.at), "this fails on a tracer"),
            Note(Place(site.event.module, site.at), f"{function} is traced by {site.wrapper.qualname}"),
        )
        return Report(Place(module, handler.at), message, self.severity, notes, span=_head(handler, module))


def _guards(use: Concretization, body: Body) -> tuple[n.With | n.Try, ...]:
    """Return what stands around a use, and around the one call of the helper in which it stands."""
    entries = body.entries.get(use.visit.scope.frame, [])
    around = entries[0].event.guards if len(entries) == 1 and entries[0].event is not None else ()
    return (*around, *use.visit.guards)


def _uses(body: Body, project: Analysis) -> Iterator[Concretization]:
    """Yield what the body does that a tracer does not allow."""
    yield from Concretizations(body, project)
    for flags, use, visit in traced_uses_in_tries(body, project):
        evidence = [find_use_evidence(traced, use, project) for traced in flags]
        if all(one is not None and one.certain for one in evidence):
            yield Concretization(
                use.node, visit, f"{use.reason} (`{flags[0].name}`)", use.error or "TypeError", use.node
            )


def _swallowing(guard: n.Try, use: Concretization, project: Analysis) -> n.Handler | bool | None:
    """Return the handler that swallows the error; True if one catches it and raises, or is meant for tracers."""
    moment = Moment(use.visit.scope, use.visit.moment.event)
    for handler in guard.handlers:
        kinds = handler.type.items if isinstance(handler.type, n.Collection) else (handler.type,)
        names = [_dotted(kind, moment, project) for kind in kinds if kind is not None]
        if any("jax" in name or "Tracer" in name or "Concretization" in name for name in names):
            return True
        if handler.type is None or not _BROAD.isdisjoint(names):
            raises = any(isinstance(part, n.Return) and part.how == "raise" for part in walk(handler.body))
            return True if raises else handler
    return None


def _dotted(kind: n.Expression, moment: Moment, project: Analysis) -> str:
    values = project.evaluate(kind, moment)
    return values[0].dotted if len(values) == 1 and isinstance(values[0], External) else ""


def _head(handler: n.Handler, module: Module) -> Span:
    """Return the span of the line of a handler, up to the colon."""
    start = module.span(handler.at).start
    source = module.source
    offset = source.offset(start)
    end = (
        source.text.index(":", offset)
        if handler.type is None
        else source.offset(module.span(handler.type.at).end)
    )
    while handler.type is not None and source.text[end] != ":" and source.text[end] in " )":
        end += 1
    if handler.name is not None:
        end = source.offset(module.span(handler.name.at).end)
    return source.span(offset, end)


def _earlier(body: Body, project: Analysis) -> bool:
    """Whether an earlier site of the file wraps the same function."""
    scope = body.root.function.scope
    for site in project.wrap_sites(project.place(body.site).module):
        if site is body.site:
            return False
        if any(function.scope is scope for function in site.functions):
            return True
    return False
