"""Finds `flag is True` and `isinstance(flag, bool)` on an argument that `jax.checkpoint` replaces by a tracer.

## What it does
Reports `p is True`, `p is not False`, `case True:` and `isinstance(p, (bool, int, float))` on a parameter `p` of a
checkpointed function that is not static, where a visible call passes a Python bool or number there or the annotation
says that one comes.

## Why it is a problem
Every argument that is not static becomes a traced array inside. A traced array is never the object `True` and is no
`bool`, `int` or `float`, so the test silently gives the other answer than without the checkpoint: the program goes
down the wrong branch and computes something else. (`if p:` would at least raise.)

## When to ignore it
When the parameter always receives arrays, for which the test answers the same with and without the checkpoint.

## Fix safety
The fix makes the parameter static with `static_argnums`, which is offered only when every visible call passes it by
position. It is unsafe: the function is traced again for each new value, and calls elsewhere may pass it by keyword.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.flagtests import FlagTest, flag_tests
from remat_lint.project.invocations import Invocation, Signature, invocations, signatures
from remat_lint.project.scalars import annotated, is_array, scalar
from remat_lint.project.statics import shift, static_option, static_positions
from remat_lint.project.values import Moment, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.options import add_option
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, unsafe


@dataclass(frozen=True, slots=True, eq=False)
class _Evidence:
    """Why a Python scalar is expected: the call that passes it, and whether its value makes the answers differ."""

    call: Invocation | None
    certain: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Traced:
    """A traced parameter: `position` counts in the signature (None: keyword-only), `number` as the wrapper does."""

    site: WrapSite
    signature: Signature
    name: str
    position: int | None
    number: int | None
    calls: tuple[Invocation, ...]

    def given(self, call: Invocation) -> n.Argument | None:
        """Return what a call passes as the parameter."""
        return (
            call.keywords.get(self.name)
            if self.position is None
            else call.given(self.signature, self.position)
        )


class IdentityTestOnTracedFlag(Rule):
    """`identity-test-on-traced-flag`: a test that a traced array answers wrongly."""

    code = "RML302"
    name = "identity-test-on-traced-flag"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    examples = (
        Bad(
            "an identity test, the flag passed by position",
            """
import jax

@jax.checkpoint
def layer(x, train):
    if train is True:
#      ^^^^^^^^^^^^^
        return x * 0.5
    return x

def owner(x):
    return layer(x, True)
""",
            fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    if train is True:
        return x * 0.5
    return x

def owner(x):
    return layer(x, True)
""",
            message=(
                "`train is True` is always false inside jax.checkpoint, whatever is passed: `train` arrives as a "
                "traced array, never as the object True, and JAX does not complain; make `train` static "
                "(`static_argnums=(1,)`)"
            ),
            runs=True,
        ),
        Bad(
            "isinstance, through an alias; the number comes from a constant of the module",
            """
from jax import remat as rm

SCALE = 2.0  # échelle

def rescale(x, s):
    return x * s if isinstance(s, (int, float)) else x
#                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^

def owner(x):
    return rm(rescale, prevent_cse=False)(x, SCALE)
""",
            fixed="""
from jax import remat as rm

SCALE = 2.0  # échelle

def rescale(x, s):
    return x * s if isinstance(s, (int, float)) else x

def owner(x):
    return rm(rescale, prevent_cse=False, static_argnums=(1,))(x, SCALE)
""",
            message=(
                "`isinstance(s, …)` is always false inside jax.remat, whatever is passed: `s` arrives as a traced "
                "array, never as a float or int, and JAX does not complain; make `s` static "
                "(`static_argnums=(1,)`)"
            ),
            runs=True,
        ),
        Bad(
            "a match on a method's flag, options in a partial",
            """
from functools import partial
import jax

class Net:
    def forward(self, x, mode: bool):
        match mode:
            case True:
#                ^^^^
                return x * 2
        return x

    def __call__(self, x):
        run = jax.checkpoint(self.forward)
        return run(x, True)

def owner(x):
    return Net()(x)
""",
            fixed="""
from functools import partial
import jax

class Net:
    def forward(self, x, mode: bool):
        match mode:
            case True:
                return x * 2
        return x

    def __call__(self, x):
        run = jax.checkpoint(self.forward, static_argnums=(1,))
        return run(x, True)

def owner(x):
    return Net()(x)
""",
            message=(
                "`case True` never matches inside jax.checkpoint, whatever is passed: `mode` arrives as a traced "
                "array, never as the object True, and JAX does not complain; make `mode` static "
                "(`static_argnums=(1,)`)"
            ),
            runs=True,
        ),
        Bad(
            "a flag by keyword stays without a fix",
            """
import jax

def owner(x, use_remat=True):
    def body(h, scaled=False):
        return h if scaled is False else h * 3
#                   ^^^^^^^^^^^^^^^

    if use_remat:
        body = jax.checkpoint(body)
    return body(x, scaled=False)
""",
            message=(
                "`scaled is False` is always false inside jax.checkpoint, whatever is passed when `use_remat`: "
                "`scaled` arrives as a traced array, never as the object False, and JAX does not complain; make "
                "`scaled` static (`static_argnums=(1,)`)"
            ),
            runs=True,
        ),
        Good(
            "a default that no call passes stays a Python value",
            """
import jax

@jax.checkpoint
def layer(x, train=True):
    return x * 0.5 if train is True else x

def loss(x):
    return layer(x)
""",
        ),
        Good(
            "the flag is static, or bound by partial",
            """
from functools import partial
import jax

@partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    return x * 0.5 if train is True else x

def block(x, train):
    return x * 0.5 if train is True else x

def loss(x):
    return layer(x, True) + jax.checkpoint(partial(block, train=False))(x)
""",
        ),
        Good(
            "filter_checkpoint keeps what is no array static",
            """
import equinox as eqx

@eqx.filter_checkpoint
def layer(x, train):
    return x * 0.5 if train is True else x

def loss(x):
    return layer(x, True)
""",
        ),
        Good(
            "tests for None and for containers see the tree, which is not traced",
            """
import jax

@jax.checkpoint
def layer(x, mask):
    if mask is None or isinstance(mask, dict):
        return x
    return x * mask

def loss(x):
    return layer(x, None)
""",
        ),
        Good(
            "a number is made an array first",
            """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(x, s):
    if isinstance(s, (int, float)):
        s = jnp.float32(s)
    return x * s

def loss(x):
    return layer(x, 2.0)
""",
        ),
        Miss(
            "the flag goes through another function",
            """
import jax

def scaled(x, train):
    return x * 0.5 if train is True else x

@jax.checkpoint
def layer(x, train):
    return scaled(x, train)

def loss(x):
    return layer(x, True)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each test of a traced parameter that gets a Python scalar."""
        if not subject.wrapper.has_static:
            if subject.wrapper.framework in ("equinox", "haliax"):
                yield Silent(f"{subject.wrapper.qualname} keeps what is no array static")
            return
        calls = invocations(subject, project)
        home = project.place(subject).module
        for signature in signatures(subject, project):
            static = static_positions(subject, signature, project)
            if static is None:
                yield Silent("which arguments are static is not known")
                continue
            if signature.function.scope.module is not home:
                continue
            for traced in _traced(subject, signature, static, calls):
                for test in flag_tests(signature.function.scope, traced.name, project):
                    evidence = _evidence(traced, test, project)
                    if evidence is None:
                        yield Silent(
                            f"no call is seen that passes a Python bool or number as `{traced.name}`"
                        )
                    else:
                        yield self._report(traced, test, evidence)

    def _report(self, traced: _Traced, test: FlagTest, evidence: _Evidence) -> Report:
        site, name = traced.site, traced.name
        new = traced.number is not None and "static_argnums" not in site.options
        static = f" (`static_argnums=({traced.number},)`)" if new else ""
        message = (
            f"`{test.text}` {test.outcome} inside {site.wrapper.qualname}, whatever is passed{when(site.event)}: `{name}` "
            f"arrives as a traced array, never as {test.wanted}, and JAX does not complain; make `{name}` static{static}"
        )
        notes = []
        if evidence.call is not None:
            passed = Place(evidence.call.event.module, evidence.call.call.at)
            notes.append(Note(passed, f"this call passes a Python value as `{name}`"))
        notes.append(Note(Place(site.event.module, site.at), "the function is checkpointed here"))
        severity = self.severity if evidence.certain else Severity.WARNING
        place = Place(traced.signature.function.scope.module, test.at)
        return Report(place, message, severity, tuple(notes), traced)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Add `static_argnums` where every visible call passes the flag by position."""
        facts: _Traced = report.facts
        if facts.number is None or facts.position is None or static_option(facts.site, project) is not None:
            return None
        if not facts.calls or any(not c.complete or len(c.positional) <= facts.position for c in facts.calls):
            return None
        if facts.site.scope.module is not report.place.module:
            return None
        edits = add_option(facts.site, f"static_argnums=({facts.number},)", project)
        return unsafe("Make the argument static", *edits) if edits else None


def _traced(
    site: WrapSite, signature: Signature, static: frozenset[int], calls: tuple[Invocation, ...]
) -> Iterator[_Traced]:
    """Yield the parameters that are traced."""
    first = 1 if signature.is_method or site.wrapper.framework in ("linen", "flaxformer") else 0
    offset = shift(site)
    for position, parameter in enumerate(signature.positional):
        if position >= first and position not in static and parameter.name not in signature.bound:
            number = None if offset is None else position - offset
            yield _Traced(site, signature, parameter.name, position, number, calls)
    for parameter in signature.function.scope.parameters():
        if parameter.kind == "keyword-only" and parameter.name not in signature.bound:
            yield _Traced(site, signature, parameter.name, None, None, calls)


def _evidence(traced: _Traced, test: FlagTest, project: Analysis) -> _Evidence | None:
    """Return why the parameter is expected to get a Python scalar for which the test can hold."""
    parameter = traced.signature.function.scope.parameter(traced.name)
    assert parameter is not None
    fits = test.admits(annotated(parameter.annotation))
    weak: _Evidence | None = None
    for call in traced.calls:
        given = traced.given(call)
        if given is None:
            continue
        moment = Moment(call.event.scope, call.event)
        known = scalar(given.value, moment, project)
        if known is not None and test.admits(known.types):
            if known.certain and (known.value is None or test.differs(known.value)):
                return _Evidence(call, certain=True)
            weak = weak or _Evidence(call, certain=False)
        elif fits and known is None and not is_array(given.value, moment, project):
            weak = weak or _Evidence(call, certain=False)
    if weak is None and not traced.calls and fits and parameter.default is None:
        return _Evidence(None, certain=False)
    return weak
