"""Findings file by file: the name of the file, then one line a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from remat_lint.findings import Finding
from remat_lint.output.terminal import Style, paint, visible
from remat_lint.output.view import View


def render(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """Findings as groups of lines, each followed by an empty line."""
    for path, group in groupby(findings, key=lambda finding: finding.path):
        yield f"{paint(visible(view.path(path)), Style.BOLD, color=view.color)}:\n"
        listed = list(group)
        places = [_place(finding) for finding in listed]
        width = max(map(len, places))
        for finding, place in zip(listed, places, strict=True):
            code = paint(visible(finding.code), Style.ERROR, color=view.color)
            mark = f" [{paint('*', Style.CYAN, color=view.color)}]" if view.is_applicable(finding) else ""
            yield f"  {place:<{width}}  {code} {finding.severity.value}{mark} {visible(finding.message)}\n"
        yield "\n"


def _place(finding: Finding) -> str:
    start = finding.span.start
    cell = "" if finding.cell is None else f"cell {finding.cell}:"
    return f"{cell}{start.row}:{start.column}"
