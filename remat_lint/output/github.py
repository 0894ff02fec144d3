"""Workflow commands that GitHub Actions shows as annotations of the changed lines.

https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remat_lint.findings import Finding, Severity
from remat_lint.output.terminal import visible
from remat_lint.output.view import View

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """Findings as workflow commands, one a line."""
    for finding in findings:
        start, end = finding.span.start, finding.span.end
        properties = {
            "title": f"{finding.code} ({finding.name})",
            "file": view.path(finding.path),
            "line": str(start.row),
            "col": str(start.column),
            "endLine": str(end.row),
            "endColumn": str(end.column),
        }
        written = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
        yield f"::{_COMMANDS[finding.severity]} {written}::{_data(finding.message)}\n"


def _data(text: str) -> str:
    """Escape as the runner unescapes: `%` first, then line ends; other controls are written out."""
    parts = text.replace("%", "%25").replace("\r", "%0D").split("\n")
    return "%0A".join(visible(part) for part in parts)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
