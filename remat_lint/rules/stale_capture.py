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
offered only when every call of the function is seen and can be rewritten.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.staleness import Stale
from remat_lint.project.values import WrapSite
from remat_lint.rules.arguments import ArgumentEdit
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent, unsafe


class StaleCapture(Rule):
    """`stale-capture`: a value that is frozen by the first call."""

    code = "RML101"
    name = "stale-capture"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite

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
        notes.append(Note(Place(frame.module, stale.second.event.at), f"this call replays the trace of {function}"))
        if stale.second.lifted:
            notes.append(Note(Place(stale.call.event.module, stale.call.event.at), f"where {function} is called"))
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
        edits = ArgumentEdit(function, sites, stale.read.access, project).edits()
        return unsafe(f"Pass `{stale.read.access}` as an argument", *edits) if edits else None
