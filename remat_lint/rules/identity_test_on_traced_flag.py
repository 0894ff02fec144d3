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

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.flagtests import FlagTest
from remat_lint.project.invocations import signatures
from remat_lint.project.statics import static_option, static_positions
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.options import add_option
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, unsafe
from remat_lint.rules.traced_flags import Evidence, TracedFlag, find_evidence, traced_tests


class IdentityTestOnTracedFlag(Rule):
    """`identity-test-on-traced-flag`: a test that a traced array answers wrongly."""

    code = "RML302"
    name = "identity-test-on-traced-flag"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the body tests the identity or type of no traced flag"
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
        Bad(
            "the caller's own flag is handed on",
            """
import jax

@jax.checkpoint
def layer(x, train):
    return x if train is not True else -x
#               ^^^^^^^^^^^^^^^^^

def loss(x, train=False):
    return layer(x, train)
""",
            severity=Severity.WARNING,
            fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    return x if train is not True else -x

def loss(x, train=False):
    return layer(x, train)
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
            "the function knows whether its flag is static, and is wrapped both ways",
            """
import jax

def layer(x, train, static):
    return -x if static and train is True else x

def loss(x):
    plain = jax.checkpoint(layer, static_argnums=(2,))(x, True, False)
    return plain + jax.checkpoint(layer, static_argnums=(1, 2))(x, True, True)
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
        """Report each test of a traced parameter that gets a Python scalar, once for all sites of the function."""
        if subject.wrapper.framework in ("equinox", "haliax"):
            yield Silent(f"{subject.wrapper.qualname} keeps what is no array static")
        for traced, test in traced_tests(subject, project):
            evidence = find_evidence(traced, test, project)
            if evidence is None:
                yield Silent(f"no call is seen that passes a Python bool or number as `{traced.name}`")
            elif _is_static_elsewhere(traced, project):
                yield Silent(
                    f"another place wraps the function with `{traced.name}` static: it may handle both"
                )
            elif _is_told(subject, test, evidence, project):
                yield Silent("this test is reported for another place that wraps the function")
            else:
                yield self._report(traced, test, evidence)

    def _report(self, traced: TracedFlag, test: FlagTest, evidence: Evidence) -> Report:
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
        facts: TracedFlag = report.facts
        if facts.number is None or facts.position is None or static_option(facts.site, project) is not None:
            return None
        if not facts.calls or any(not c.complete or len(c.positional) <= facts.position for c in facts.calls):
            return None
        if facts.site.scope.module is not report.place.module:
            return None
        edits = add_option(facts.site, f"static_argnums=({facts.number},)", project)
        return unsafe("Make the argument static", *edits) if edits else None


def _is_told(site: WrapSite, test: FlagTest, evidence: Evidence, project: Analysis) -> bool:
    """Whether an earlier site of the same function reports a test with no less certainty."""
    for other in project.wrap_sites(project.place(site).module):
        if other is site:
            return False
        for traced, same in traced_tests(other, project) if _share(other, site) else ():
            known = find_evidence(traced, same, project) if same.at == test.at else None
            if known is not None and known.certain >= evidence.certain:
                return True
    return False


def _is_static_elsewhere(traced: TracedFlag, project: Analysis) -> bool:
    """Whether the file also wraps the same function with the parameter static, so that its tests may be for that."""
    site, scope = traced.site, traced.signature.function.scope
    for other in project.wrap_sites(project.place(site).module):
        if other is not site and traced.position is not None and _share(other, site):
            for signature in signatures(other, project):
                static = static_positions(other, signature, project)
                if signature.function.scope is scope and traced.position in (static or ()):
                    return True
    return False


def _share(one: WrapSite, other: WrapSite) -> bool:
    """Whether two sites may wrap the same function."""
    scopes = {id(getattr(body, "scope", None)) for body in one.bodies}
    return any(id(getattr(body, "scope", None)) in scopes for body in other.bodies)
