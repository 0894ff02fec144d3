"""The report that GitLab shows in merge requests.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from remat_lint.findings import Finding, Position, Severity
from remat_lint.output.fingerprints import fingerprints
from remat_lint.output.terminal import visible
from remat_lint.output.view import View

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """Findings as one JSON array."""
    marks = fingerprints(findings, view)
    issues = [_issue(finding, mark, view) for finding, mark in zip(findings, marks, strict=True)]
    yield json.dumps(issues, indent=2) + "\n"


def _issue(finding: Finding, mark: str, view: View) -> dict[str, Any]:
    path = view.path(finding.path)
    # Here a fingerprint has to be the only one in the whole report.
    unique = hashlib.sha256(f"{path}\0{mark}".encode("utf-8", "surrogatepass")).hexdigest()
    start, end = finding.span.start, finding.span.end
    return {
        "check_name": finding.code,
        "description": f"{finding.name}: {visible(finding.message)}",
        "fingerprint": unique,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": path, "positions": {"begin": _position(start), "end": _position(end)}},
    }


def _position(position: Position) -> dict[str, int]:
    return {"line": position.row, "column": position.column}
