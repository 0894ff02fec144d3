"""One JSON object a line, for programs that read while the linter runs; the objects are those of `json`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from remat_lint.findings import Finding
from remat_lint.output.json import describe
from remat_lint.output.view import View


def render(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """Findings as lines."""
    for finding in findings:
        yield json.dumps(describe(finding, view)) + "\n"
