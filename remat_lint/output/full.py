"""The format for people: message, excerpt, related places, and the fix as a diff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remat_lint.findings import Applicability, Finding, Related, Severity
from remat_lint.output.changes import changes
from remat_lint.output.excerpts import Mark, excerpt, frame_for
from remat_lint.output.terminal import Style, paint, visible
from remat_lint.output.view import View

_CONTEXT = 2
_STYLES = {Severity.ERROR: Style.ERROR, Severity.WARNING: Style.WARNING, Severity.INFO: Style.INFO}
_GRADES = {
    Applicability.UNSAFE: "this fix may change what the program does; `--fix --unsafe-fixes` applies it",
    Applicability.PLACEHOLDER: "this fix has a gap to fill in; apply it in an editor",
}


def render(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """Findings as blocks, each followed by an empty line."""
    for finding in findings:
        for row in _block(finding, view):
            yield f"{row}\n"
        yield "\n"


def _block(finding: Finding, view: View) -> Iterator[str]:
    style = _STYLES[finding.severity]
    mark = f" [{paint('*', Style.CYAN, color=view.color)}]" if view.is_applicable(finding) else ""
    yield f"{paint(visible(finding.code), style, color=view.color)}{mark} {visible(finding.message)}"
    source = view.sources.get(finding.path)
    frame = frame_for(source, finding.span.end.row, context=_CONTEXT, color=view.color)
    yield frame.arrow(visible(view.place(finding.path, finding.span.start, finding.cell)))
    if source is not None:
        yield from excerpt(source, finding.span, frame, Mark("^", style), context=_CONTEXT)
    for related in finding.related:
        yield from _note(related, view, finding.cell)
    if finding.fix is not None:
        yield paint("help", Style.CYAN, color=view.color) + f": {visible(finding.fix.message)}"
        if source is not None and finding.fix.edits:
            last = max(edit.span.end.row + edit.content.count("\n") for edit in finding.fix.edits)
            yield from changes(
                source, finding.fix.edits, frame_for(source, last, context=1, color=view.color)
            )
        if finding.fix.applicability in _GRADES and not view.is_applicable(finding):
            yield paint("note", Style.BOLD, color=view.color) + f": {_GRADES[finding.fix.applicability]}"


def _note(related: Related, view: View, cell: int | None) -> Iterator[str]:
    yield paint("note", Style.BOLD, color=view.color) + f": {visible(related.message)}"
    source = view.sources.get(related.path)
    frame = frame_for(source, related.span.end.row, context=0, color=view.color)
    yield frame.arrow(visible(view.place(related.path, related.span.start, cell)))
    if source is not None:
        yield from excerpt(source, related.span, frame, Mark("-", Style.BLUE), context=0)
