"""Finds `flag is True` and `isinstance(flag, bool)` on an argument that `jax.checkpoint` replaces by a tracer.

## What it does
Reports `p is True`, `p is not False`, `case True:`, `type(p) is bool` and `isinstance(p, (bool, int, float))` on a parameter `p` of a
checkpointed function that is not static, where a visible call passes a Python bool or number there or the annotation
says that one comes.

## Why it is a problem
Every argument that is not static becomes a traced array inside. A traced array is never the object `True` and is no
`bool`, `int` or `float`, so the test silently gives the other answer than without the checkpoint: the program goes
down the wrong branch and computes something else. (`if p:` would at least raise.)

## When to ignore it
When the parameter always receives arrays, for which the test answers the same with and without the checkpoint.

## Fix safety
The fix makes the parameter static with `static_argnums` and writes the argument by position at every call; it is
offered only where every visible call can be written so. It is unsafe: the function is traced again for each new
value, and calls elsewhere may pass it by keyword.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.flagtests import FlagTest
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.identity_examples import EXAMPLES
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent
from remat_lint.rules.static_edits import make_static
from remat_lint.rules.traced_flags import (
    Evidence,
    TracedFlag,
    find_evidence,
    is_static_elsewhere,
    is_told_apart,
    share,
    traced_tests,
)


class IdentityTestOnTracedFlag(Rule):
    """`identity-test-on-traced-flag`: a test that a traced array answers wrongly."""

    code = "RML302"
    name = "identity-test-on-traced-flag"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the body tests the identity or type of no traced flag"
    examples = EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each test of a traced parameter that gets a Python scalar, once for all sites of the function."""
        if subject.wrapper.framework in ("equinox", "haliax"):
            yield Silent(f"{subject.wrapper.qualname} keeps what is no array static")
        for traced, test in traced_tests(subject, project):
            evidence = find_evidence(traced, test, project)
            if evidence is None:
                yield Silent(f"no call is seen that passes a Python bool or number as `{traced.name}`")
            elif is_static_elsewhere(traced, project) and is_told_apart(traced, test.at):
                yield Silent(
                    f"another place wraps the function with `{traced.name}` static: it may handle both"
                )
            elif _is_told(subject, test, evidence, project):
                yield Silent("this test is reported for another place that wraps the function")
            else:
                yield self._report(traced, test, evidence, project)

    def _report(self, traced: TracedFlag, test: FlagTest, evidence: Evidence, project: Analysis) -> Report:
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
        home = project.place(site).module
        if place.module is not home:
            notes.append(Note(place, f"`{name}` is tested here"))
            given = None if evidence.call is None else traced.given(evidence.call)
            place = Place(home, project.place(site).at if given is None else given.at)
        return Report(place, message, severity, tuple(notes), traced)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Make the argument static where every visible call can pass it by position."""
        return make_static((report.facts,), project)


def _is_told(site: WrapSite, test: FlagTest, evidence: Evidence, project: Analysis) -> bool:
    """Whether another site of the same function reports a test with more certainty, or an earlier one with no less."""
    later = False
    for other in project.wrap_sites(project.place(site).module):
        if other is site:
            later = True
            continue
        for traced, same in traced_tests(other, project) if share(other, site) else ():
            known = find_evidence(traced, same, project) if same.at == test.at else None
            more = known is not None and known.certain > evidence.certain
            if more or (known is not None and not later and known.certain == evidence.certain):
                return True
    return False
