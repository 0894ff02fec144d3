"""Finds a checkpointed function that is made in a loop, reads the loop's variable, and is called after the round.

## What it does
Reports a lambda or nested function that is wrapped in a loop or comprehension, reads a variable that each round
binds anew, and is collected: appended to a list, stored in a container, made an element of a comprehension.

## Why it is a problem
Python looks up the variable when the function is called, and by then it has the value of the last round. Each
collected function computes with that last value. With `jax.checkpoint` the mistake is harder to see, because the
first call freezes the value: neither the loss nor the gradient tells.

## When to ignore it
When every collected function is meant to see the last value.

## Fix safety
The fix binds the value as the default of a keyword-only parameter, which is safe: a default that is not passed does
not cross the checkpoint, and nobody can have meant the last value for all of them. It is not offered when the body
assigns the name, or when the function takes `**kwargs`.

## References
<https://docs.python.org/3/faq/programming.html#why-do-lambdas-defined-in-a-loop-with-different-values-all-return-the-same-result>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.captures import Read
from remat_lint.project.escapes import Escape
from remat_lint.project.scopes import Event, LoopNode, Scope
from remat_lint.project.values import FunctionRef, WrapSite
from remat_lint.project.writes import varies
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, safe


@dataclass(frozen=True, slots=True)
class _Late:
    """The function, the variables that it reads too late, and whether it reads them itself."""

    function: FunctionRef
    names: tuple[str, ...]
    own: bool


class LateBindingCapture(Rule):
    """`late-binding-capture`: every collected function sees the last value."""

    code = "RML102"
    name = "late-binding-capture"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the wrapped function is not made in a loop whose variables it reads"
    examples = (
        Bad(
            "lambdas collected in a list",
            """
import jax
import jax.numpy as jnp

def owner(x):
    blocks = []
    for s in (1.0, 2.0, 3.0):
        blocks.append(jax.checkpoint(lambda h: jnp.sin(h) * s))
        #             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    for block in blocks:
        x = block(x)
    return x
""",
            fixed="""
import jax
import jax.numpy as jnp

def owner(x):
    blocks = []
    for s in (1.0, 2.0, 3.0):
        blocks.append(jax.checkpoint(lambda h, *, s=s: jnp.sin(h) * s))
    for block in blocks:
        x = block(x)
    return x
""",
            message=(
                "this lambda leaves the round of the loop that makes it and reads `s` when it is called: every collected "
                "function computes with the last value; bind it now, as a default: `*, s=s`"
            ),
        ),
        Bad(
            "functions without parameters",
            """
import jax
import jax.numpy as jnp

def collect(ws):
    fns = []
    for w in ws:
        def block():
            return jnp.sin(w)
        fns.append(jax.checkpoint(block))
        #          ^^^^^^^^^^^^^^^^^^^^^
        fns.append(jax.checkpoint(lambda: jnp.cos(w)))
        #          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return fns
""",
            fixed="""
import jax
import jax.numpy as jnp

def collect(ws):
    fns = []
    for w in ws:
        def block(*, w=w):
            return jnp.sin(w)
        fns.append(jax.checkpoint(block))
        fns.append(jax.checkpoint(lambda *, w=w: jnp.cos(w)))
    return fns
""",
        ),
        Bad(
            "elements of a comprehension, under another name of the wrapper",
            """
from jax import remat as wiederholen
import jax.numpy as jnp

def scalers(table):
    return {k: wiederholen(lambda x: jnp.sin(x) * w) for k, w in table.items()}  # für jeden Wert
    #          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
from jax import remat as wiederholen
import jax.numpy as jnp

def scalers(table):
    return {k: wiederholen(lambda x, *, w=w: jnp.sin(x) * w) for k, w in table.items()}  # für jeden Wert
""",
        ),
        Bad(
            "a decorated nested function, kept on the instance",
            """
import functools
import jax
import jax.numpy as jnp

class Stack:
    def __init__(self, widths):
        self.fns = []
        for width in widths:
            @functools.partial(jax.checkpoint, prevent_cse=False)
            def run(x):
                return jnp.sin(x) * width

            self.fns.append(run)
            #               ^^^
""",
            fixed="""
import functools
import jax
import jax.numpy as jnp

class Stack:
    def __init__(self, widths):
        self.fns = []
        for width in widths:
            @functools.partial(jax.checkpoint, prevent_cse=False)
            def run(x, *, width=width):
                return jnp.sin(x) * width

            self.fns.append(run)
""",
        ),
        Bad(
            "the variable is read by a helper: a default of the function would not help",
            """
import jax
import jax.numpy as jnp

def owner(x):
    def scale():
        return w

    blocks = []
    for w in (1.0, 2.0, 3.0):
        blocks.append(jax.checkpoint(lambda h: jnp.sin(h) * scale()))
        #             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return [block(x) for block in blocks]
""",
            message=(
                "this lambda leaves the round of the loop that makes it and reads `w` when it is called: every collected "
                "function computes with the last value; pass `w` as an argument to what reads it"
            ),
        ),
        Good(
            "called out of its container in the same round",
            """
import jax

def run(x, ws):
    blocks = []
    for w in ws:
        blocks.append(jax.checkpoint(lambda h: h * w))
        x = blocks[-1](x)
    return x
""",
        ),
        Good(
            "each round binds the name to the same value",
            """
import jax

def build(ws, width):
    blocks = []
    for _ in ws:
        scale = 1.0 / width
        blocks.append(jax.checkpoint(lambda h: h * scale))
    return blocks
""",
        ),
        Bad(
            "a list that grows by `+=`",
            """
import jax

def build(ws):
    fns = []
    for w in ws:
        fns += [jax.checkpoint(lambda x: x * w)]
        #       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return fns
""",
            fixed="""
import jax

def build(ws):
    fns = []
    for w in ws:
        fns += [jax.checkpoint(lambda x, *, w=w: x * w)]
    return fns
""",
        ),
        Good(
            "called in the same round",
            """
import jax

def run(x, ws):
    for w in ws:
        @jax.checkpoint
        def block(h):
            return h * w

        x = block(x)
    return x
""",
        ),
        Good(
            "the value is bound by a default",
            """
import jax

def build(ws):
    return [jax.checkpoint(lambda x, w=w: x * w) for w in ws]
""",
        ),
        Good(
            "consumed before the next round",
            """
import functools
import jax

def loss(groups, x):
    for scale, ws in groups:
        x = functools.reduce(lambda c, w: jax.checkpoint(lambda a, b: a * b * scale)(c, w), ws, x)
    return x
""",
        ),
        Miss(
            "a generator whose results somebody else collects",
            """
import jax

def blocks(ws):
    for w in ws:
        yield jax.checkpoint(lambda x: x * w)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a site in a loop whose function leaves the round with the loop's variable unbound."""
        for function in subject.functions:
            if function.made is None or not function.made.loops or function.receiver is not None:
                continue
            frame = function.made.frame
            for loop in reversed(function.made.loops):
                late = [
                    read
                    for read in project.captures.reads(function)
                    if _is_bound_by(read, loop, frame, project)
                ]
                if not late:
                    continue
                leaving = _leaving(project.place(subject), subject, Escape(project, frame, loop))
                if leaving is None:
                    yield Silent("the function is used up in the round of the loop that makes it")
                    continue
                yield self._report(subject, function, late, leaving, loop)
                break

    def _report(
        self, site: WrapSite, function: FunctionRef, late: list[Read], leaving: n.Expression, loop: LoopNode
    ) -> Report:
        module = function.scope.module
        names = tuple(dict.fromkeys(read.access.name for read in late))
        listed = " and ".join(f"`{name}`" for name in names)
        what = f"`{function.scope.name}`" if function.scope.name else "this lambda"
        own = all(_lies_in(read, function) for read in late)
        advice = f"pass {listed} as an argument to what reads it"
        if own:
            advice = f"bind it now, as a default: `*, {names[0]}={names[0]}`"
        message = (
            f"{what} leaves the round of the loop that makes it and reads {listed} when it is called: every collected "
            f"function computes with the last value; {advice}"
        )
        notes = [
            Note(Place(module, read.at), f"`{read.access.name}` is looked up here at the call")
            for read in late[:1]
        ]
        target = loop.target if isinstance(loop, n.Loop) else loop.clauses[0].target
        if target is not None:
            notes.append(Note(Place(module, target.at), "each round binds it anew"))
        if leaving.at != site.at:
            notes.append(Note(Place(module, site.at), f"where {what} is wrapped"))
        return Report(
            Place(module, leaving.at), message, self.severity, tuple(notes), facts=_Late(function, names, own)
        )

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Bind the variables as keyword-only defaults."""
        del project
        late: _Late = report.facts
        scope = late.function.scope
        kinds = {parameter.kind for parameter in scope.parameters()}
        taken = set(scope.bindings) | set(scope.declared)
        if (
            not late.own
            or "double-star" in kinds
            or taken & set(late.names)
            or not isinstance(scope.node, n.Function)
        ):
            return None
        defaults = ", ".join(f"{name}={name}" for name in late.names)
        text = defaults if kinds & {"star", "keyword-only"} else f"*, {defaults}"
        listed = " and ".join(f"`{name}`" for name in late.names)
        return safe(
            f"Bind {listed} as a keyword-only default",
            _append_parameter(report.place, scope, scope.node, text),
        )


def _is_bound_by(read: Read, loop: LoopNode, frame: Scope, project: Analysis) -> bool:
    """Whether a read is of a variable that a round of `loop` binds to something of its own."""
    root, name = read.access.scope, read.access.name
    if root.kind == "class" or root.frame is not frame:
        return False
    bound = [event for event in root.bindings.get(name, ()) if loop in event.loops]
    if isinstance(loop, n.Comprehension) or any(event.part not in ("", "element") for event in bound):
        return bool(bound)
    return bool(bound) and varies(n.Name(-1, name), loop, frame, project)


def _lies_in(read: Read, function: FunctionRef) -> bool:
    """Whether a read stands in the text of a function, not in a helper that it calls."""
    node, module = function.scope.node, function.scope.module
    return read.module is module and any(above is node for above in module.builder.parents.chain(read.at))


def _leaving(place: Event, site: WrapSite, escape: Escape) -> n.Expression | None:
    """Return the expression by which the wrapped function leaves its round."""
    if site.definition is not None:
        return escape.of_name(
            site.definition.name, site.definition.node.at if site.definition.node else site.at
        )
    return escape.of(place.node) if isinstance(place.node, n.Call) else None


def _append_parameter(place: Place, scope: Scope, node: n.Function, text: str) -> Edit:
    """Return the edit that adds parameters at the end of a signature."""
    module = place.module
    parameters = scope.parameters()
    if parameters:
        return Place(module, parameters[-1].at).insert_after(f", {text}")
    start = module.span(node.name_at).start if node.is_lambda else module.span(node.name_at).end
    offset = module.source.offset(start)
    after = offset + len("lambda") if node.is_lambda else module.source.text.index("(", offset) + 1
    position = module.source.position(after)
    return Edit(Span(position, position), f" {text}" if node.is_lambda else text)
