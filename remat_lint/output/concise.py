"""One line a finding: `path:row:column: CODE severity message`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remat_lint.findings import Finding
from remat_lint.output.terminal import Style, paint, visible
from remat_lint.output.view import View


def render(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """Findings as lines."""
    for finding in findings:
        place = visible(view.place(finding.path, finding.span.start, finding.cell))
        code = paint(visible(finding.code), Style.ERROR, color=view.color)
        yield f"{paint(place, Style.BOLD, color=view.color)}: {code} {finding.severity.value} {visible(finding.message)}\n"
