"""Finds `jax.jit(jax.checkpoint(f))` that is built again for every call.

## What it does
Reports a `jit` of a new checkpoint wrapper that is made in a loop, or in a function that is visibly called more than
once and does not run under `jit` itself.

## Why it is a problem
`jax.jit` finds compiled code by the function object it is given. `jax.checkpoint(f)` returns a new object each time,
so XLA compiles each time: five rounds, five compilations. (`jax.jit(f)` of the same `f` compiles once, and a
checkpoint wrapper alone costs nothing in a loop: only the two together do.)

## When to ignore it
When the function runs a handful of times and the compilation does not matter, or when every call has other shapes.
A wrapper that is returned, stored or cached is not reported.

## Fix safety
The fix builds the function once before the loop. It is unsafe: a compiled function keeps what it read from outside
at its first call. It is offered only if the function reads nothing that changes in sight.

## References
<https://docs.jax.dev/en/latest/jit-compilation.html>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Activation, Analysis
from remat_lint.project.compilation import Compiled, common_loops, compiled, unconditional
from remat_lint.project.scopes import Event, LoopNode, Scope
from remat_lint.project.values import Data, External, FunctionRef, Given, Moment, Partial, WrapSite
from remat_lint.project.writes import varies, walk
from remat_lint.rules.hoisting import hoist
from remat_lint.rules.rule import Bad, Good, Note, Place, Report, Rule, Silent, unsafe

_ONCE = frozenset({"__init__", "__new__", "__post_init__", "setup", "setUp", "setUpClass", "main"})


@dataclass(frozen=True, slots=True)
class _Fresh:
    """What is compiled anew in each round of a loop."""

    compiled: Compiled
    loop: LoopNode


class JitOfFreshWrapper(Rule):
    """`jit-of-fresh-wrapper`: a compilation for each call."""

    code = "RML701"
    name = "jit-of-fresh-wrapper"
    category = "cost"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "jit does not compile it, or compiles it once"
    examples = (
        Bad(
            "built in the loop",
            """
import jax
import jax.numpy as jnp

def train(xs):
    def sq(x):
        return jnp.sin(x) ** 2  # σ²

    total = 0.0
    for x in xs:
        total += jax.jit(jax.checkpoint(sq))(x)
#                ^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return total
""",
            fixed="""
import jax
import jax.numpy as jnp

def train(xs):
    def sq(x):
        return jnp.sin(x) ** 2  # σ²

    total = 0.0
    sq_jit = jax.jit(jax.checkpoint(sq))
    for x in xs:
        total += sq_jit(x)
    return total
""",
        ),
        Bad(
            "a decorated function inside a step that a loop calls",
            """
import jax as J
import jax.numpy as jnp

def train_step(x):
    @J.jit
#    ^^^^^
    @J.checkpoint
    def layer(x):
        return jnp.sin(x) * 2

    return layer(x)

def train(x):
    for _ in range(3):
        x = train_step(x)
    return x
""",
        ),
        Bad(
            "a method that builds it for each call",
            """
from functools import partial
import jax
from jax import remat

def layer(scale, x):
    return x * scale

class Trainer:
    def step(self, x):
        block = remat(partial(layer, 2.0))
        run = jax.jit(block)
#             ^^^^^^^^^^^^^^
        return run(x)

    def fit(self, xs):
        return [self.step(x) for x in xs]
""",
        ),
        Good(
            "built once",
            """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.sin(x)

fast = jax.jit(jax.checkpoint(layer))

def main(x):
    run = jax.jit(jax.checkpoint(layer))
    for _ in range(3):
        x = run(x) + fast(x)
    return x
""",
        ),
        Good(
            "each round compiles something else",
            """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.sin(x)

def compare(x):
    out = {}
    for name in ("dots_saveable", "nothing_saveable"):
        policy = getattr(jax.checkpoint_policies, name)
        run = jax.jit(jax.checkpoint(layer, policy=policy))
        out[name] = run(x)
    return out
""",
        ),
        Good(
            "the step itself is compiled, so that this is part of it",
            """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.sin(x)

@jax.jit
def step(x):
    for _ in range(3):
        x = jax.jit(jax.checkpoint(layer))(x)
    return x
""",
        ),
        Good(
            "a factory whose result is kept",
            """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.sin(x)

def build():
    return jax.jit(jax.checkpoint(layer))

runs = [build() for _ in range(2)]
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each `jit` of the site's result that is visibly built more than once for the same function."""
        for one in compiled(subject, project):
            frame = one.event.frame
            if project.compilation.is_jitted(frame):
                yield Silent("it runs under jit, where an inner jit is part of the outer one")
                continue
            loop = _repeating_loop(one, project)
            if loop is not None:
                yield self._in_loop(one, loop)
                continue
            calls = _repeating_calls(one, frame, project)
            if calls:
                yield self._in_function(one, frame, calls)
            else:
                yield Silent("it is not seen to be built more than once for the same function")

    def _in_loop(self, one: Compiled, loop: LoopNode) -> Report:
        message = (
            "`jit` finds compiled code by the function object, and each round of the loop makes a new checkpoint "
            "wrapper: XLA compiles it again in every round; build it once before the loop"
        )
        notes = (_site_note(one), Note(Place(one.event.module, loop.at), "this loop repeats it"))
        shown = notes[:1] if isinstance(loop, n.Loop) and loop.target is None else notes
        return Report(Place(one.event.module, one.at), message, self.severity, shown, facts=_Fresh(one, loop))

    def _in_function(self, one: Compiled, frame: Scope, calls: tuple[Activation, ...]) -> Report:
        message = (
            f"`jit` finds compiled code by the function object, and each call of `{frame.name}` makes a new checkpoint "
            f"wrapper: XLA compiles it again in every call; build it once outside `{frame.name}`"
        )
        again = "called in a loop" if calls[0].event.loops else "called"
        notes = [Note(Place(c.event.module, c.event.at), f"`{frame.name}` is {again} here") for c in calls]
        return Report(Place(one.event.module, one.at), message, self.severity, (_site_note(one), *notes))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Build the function before the loop."""
        fresh = report.facts
        if not isinstance(fresh, _Fresh) or not isinstance(fresh.compiled.event.node, n.Call):
            return None
        target = fresh.compiled.site.target
        call = fresh.compiled.event.node
        if fresh.compiled.name or not isinstance(target, n.Name):
            return None
        edits = hoist(call, fresh.compiled.event, fresh.loop, f"{target.id}_jit", project)
        return unsafe("Build the compiled function once, before the loop", *edits) if edits else None


def _site_note(one: Compiled) -> Note:
    return Note(Place(one.site.event.module, one.site.at), "the new wrapper is made here")


def _repeating_loop(one: Compiled, project: Analysis) -> LoopNode | None:
    """Return the innermost loop whose rounds build the same thing again."""
    frame = one.event.frame
    if one.event.leaves and one.name:
        return None
    for loop in common_loops(one.event, one.site.event):
        options = [*one.options, *(argument.value for argument in one.site.options.values())]
        if any(varies(option, loop, frame, project) for option in options):
            continue
        if not _target_varies(one.site, loop, frame, project) and not _tries_settings(
            one.site, loop, project
        ):
            return loop
    return None


def _tries_settings(site: WrapSite, loop: LoopNode, project: Analysis) -> bool:
    """Whether the function reads a variable of a loop over listed constants, so that each round is another program."""
    iterated = loop.iter if isinstance(loop, n.Loop) else loop.clauses[0].iter
    if not isinstance(iterated, n.Collection) or not all(
        isinstance(item, n.Constant) for item in iterated.items
    ):
        return False
    names = {read.access.name for body in site.functions for read in project.captures.reads(body)}
    bound = (event for event in site.event.frame.events if event.kind == "bind" and event.part == "iteration")
    return any(event.name in names and event.value is iterated for event in bound)


def _target_varies(site: WrapSite, loop: LoopNode, frame: Scope, project: Analysis) -> bool:
    """Whether each round wraps another function, so that each needs its own compilation."""
    target = site.target
    if target is None or isinstance(target, n.Function):
        return False
    if not all(isinstance(body, FunctionRef | Partial) for body in site.bodies):
        return True
    if isinstance(target, n.Name):
        bound = [e for e in frame.events if e.kind == "bind" and e.name == target.id and loop in e.loops]
        return any(
            not isinstance(e.value, n.Function) and (e.part != "" or varies(e.value, loop, frame, project))
            for e in bound
        )
    return varies(target, loop, frame, project)


def _repeating_calls(one: Compiled, frame: Scope, project: Analysis) -> tuple[Activation, ...]:
    """Return calls of the function around that show that the same thing is built more than once."""
    steady = unconditional(one.event) and unconditional(one.site.event)
    if frame.kind != "function" or not frame.name or frame.name in _ONCE or not steady:
        return ()
    options = [*one.options, *(argument.value for argument in one.site.options.values())]
    if any(_depends(option, frame) for option in options) or not _same_target(one.site, frame, project):
        return ()
    calls = project.compilation.repeats(frame)
    captured = {
        read.access.name
        for body in one.site.functions
        for read in project.captures.reads(body)
        if read.access.scope is frame and frame.parameter(read.access.name) is not None
    }
    if captured and not _only_arrays(captured, frame, calls, project):
        return ()
    return calls


def _depends(node: n.Expression, frame: Scope) -> bool:
    return any(isinstance(part, n.Name) and frame.find(part.id) is frame for part in walk(node))


def _same_target(site: WrapSite, frame: Scope, project: Analysis) -> bool:
    """Whether each call of the frame wraps the same function, or one defined in it."""
    if not site.bodies or not all(isinstance(body, FunctionRef | Partial) for body in site.bodies):
        return False
    for body in site.bodies:
        arguments = body.call.args if isinstance(body, Partial) else ()
        if any(
            _depends(argument.value, frame) and not _is_local_def(argument.value, frame)
            for argument in arguments
        ):
            return False
        inner = body
        while isinstance(inner, Partial):
            inner = inner.target
        if not isinstance(inner, FunctionRef):
            return False
    target = site.target
    if isinstance(target, n.Name):
        values = project.evaluate(target, Moment(site.scope, site.event))
        return not any(isinstance(value, Given) for value in values)
    return True


def _is_local_def(node: n.Expression, frame: Scope) -> bool:
    events = frame.bindings.get(node.id, ()) if isinstance(node, n.Name) else ()
    return bool(events) and all(isinstance(event.value, n.Function) for event in events)


def _only_arrays(names: set[str], frame: Scope, calls: tuple[Activation, ...], project: Analysis) -> bool:
    """Whether captured parameters may well be arrays, which could be arguments of one compiled function."""
    if len(calls) != 1:
        return False
    call = calls[0].event.node
    if not isinstance(call, n.Call):
        return False
    own = frame.parameters()
    offset = 1 if calls[0].function.receiver is not None else 0
    for position, argument in enumerate(call.args):
        index = position + offset
        name = argument.keyword or (own[index].name if index < len(own) else "")
        if argument.star or (name in names and _is_setting(argument.value, calls[0].event, project)):
            return False
    return True


def _is_setting(node: n.Expression, event: Event, project: Analysis) -> bool:
    """Whether an argument is a Python constant, or runs over a few that are listed."""
    if isinstance(node, n.Constant):
        return True
    if not isinstance(node, n.Name):
        return False
    bound = [
        e for e in event.frame.events if e.kind == "bind" and e.name == node.id and e.part == "iteration"
    ]
    return any(isinstance(e.value, n.Expression) and _is_listing(e.value, e, project) for e in bound)


def _is_listing(node: n.Expression, event: Event, project: Analysis) -> bool:
    """Whether a loop runs over a display, a range, or the entries of a dict."""
    if isinstance(node, n.Call):
        if isinstance(node.func, n.Attribute) and node.func.attr in ("items", "keys", "values"):
            return True
        values = project.evaluate(node.func, Moment(event.scope, event))
        return any(
            isinstance(v, External) and v.dotted in ("builtins.range", "itertools.product") for v in values
        )
    values = project.evaluate(node, Moment(event.scope, event))
    return any(isinstance(value, Data) and isinstance(value.node, n.Collection) for value in values)
