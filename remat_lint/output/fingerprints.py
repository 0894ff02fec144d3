"""What identifies a finding when the lines above it move: the rule, the text that it is about, and its number."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from remat_lint.findings import Finding
from remat_lint.output.view import View

_DIGITS = 32


def fingerprints(findings: Sequence[Finding], view: View) -> list[str]:
    """Return one fingerprint a finding, in their order; no two findings of one file and rule share one.

    The lines of the span count with single spaces between their words, so that a change of indentation changes
    nothing. The path does not count: a file that is renamed keeps its fingerprints. Equal lines are numbered in the order of
    `findings`.
    """
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for finding in findings:
        text = _text(finding, view)
        key = (finding.path, finding.code, text)
        seen[key] += 1
        parts = (finding.code, text, str(seen[key]))
        digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass"))
        found.append(digest.hexdigest()[:_DIGITS])
    return found


def _text(finding: Finding, view: View) -> str:
    source = view.sources.get(finding.path)
    if source is None:
        return finding.message
    last = min(finding.span.end.row, len(source.line_starts))
    rows = range(finding.span.start.row, last + 1)
    return "\n".join(" ".join(source.line(row).split()) for row in rows)
