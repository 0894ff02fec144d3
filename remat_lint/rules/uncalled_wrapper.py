"""Finds wrappers whose result is never called: used as a value, or thrown away.

## What it does
Reports the function that a wrapper returns where an array is due: in arithmetic, as an argument of `jnp.sum` and its
like, unpacked, indexed, or asked for `.shape`. It also reports, as a warning, a wrapper call that is a statement of its
own: `jax.checkpoint(layer)` changes nothing about `layer`.

## Why it is a problem
`jax.checkpoint(f)` runs nothing; it returns a function. Used as an array that raises `TypeError` or `AttributeError`.
Thrown away, it leaves the plain function in use: the program is right and saves no memory, without a word.

## When to ignore it
A statement in a test that only shows that wrapping raises nothing is not reported.

## Fix safety
There is no fix: what the function should be called with is not known.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.modules import Module
from remat_lint.project.results import takes_functions
from remat_lint.project.values import WrapSite
from remat_lint.project.valueuses import ValueUse, value_uses
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected, in_test_file, is_tried
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent
from remat_lint.rules.uncalled_examples import EXAMPLES
from remat_lint.rules.wrapped_result import wraps_value


class UncalledWrapper(Rule):
    """`uncalled-wrapper`: a wrapper's result that nobody calls."""

    code = "RML204"
    name = "uncalled-wrapper"
    category = "correctness"
    severity = Severity.ERROR
    subject = Module
    silence = "every wrapper's result is called, kept or handed on"
    examples = EXAMPLES

    def check(self, subject: Module, project: Analysis) -> Iterator[Report | Silent]:
        """Report what is thrown away, and what is used as a value."""
        for site in project.wrap_sites(subject):
            if site.event.module is subject and _is_thrown_away(site, project):
                yield self._thrown_away(site)
        for use in value_uses(subject, project):
            if wraps_value(use.site, project) or _is_expected(use, project):
                yield Silent("the wrapped value is wrong in itself, or a test expects the error")
            else:
                yield self._used(use)

    def _thrown_away(self, site: WrapSite) -> Report:
        what = "the wrapped function" if site.target is None else f"`{_short(site)}`"
        func = render(site.event.node.func) if isinstance(site.event.node, n.Call) else site.wrapper.qualname
        message = (
            f"`{func}` changes nothing about {what}, it returns another function, and that is thrown away here"
            f"{when(site.event)}: nothing is checkpointed"
        )
        return Report(Place(site.event.module, site.at), message, Severity.WARNING)

    def _used(self, use: ValueUse) -> Report:
        site, module = use.site, use.scope.module
        func = site.wrapper.qualname
        text = Place(module, use.node.at).text
        called = f"`{text}(…)`" if len(text) <= 40 and "\n" not in text else "the function"  # noqa: PLR2004 - what fits
        message = f"{use.how} the function that `{func}` returns, not its result: this raises {use.error}; call it: {called}"
        notes: tuple[Note, ...] = ()
        if site.event.module is module and site.at != use.node.at:
            notes = (Note(Place(module, site.at), "the function is made here"),)
        return Report(Place(module, use.node.at), message, self.severity, notes)


def _is_thrown_away(site: WrapSite, project: Analysis) -> bool:
    event = site.event
    if site.via or site.form not in ("call", "partial-call") or not event.bare or site.extra or site.spread:
        return False
    if event.node.at != site.at or in_test_file(event) or takes_functions(site):
        return False
    errors = ("TypeError", "ValueError", "NotImplementedError", "Exception")
    return not expected(event, project, *errors) and not is_tried(event, *errors)


def _is_expected(use: ValueUse, project: Analysis) -> bool:
    above = [use.node, *use.scope.module.builder.parents.chain(use.node.at)]
    event = next((e for node in above if (e := use.scope.module.happened(node.at)) is not None), None)
    return event is not None and expected(event, project, use.error)


def _short(site: WrapSite) -> str:
    assert site.target is not None
    text = Place(site.scope.module, site.target.at).text
    return text if len(text) <= 40 and "\n" not in text else render(site.target)  # noqa: PLR2004 - what fits a message
