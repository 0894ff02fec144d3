"""One JSON array of findings, for programs; its shape is stable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from remat_lint.findings import Edit, Finding, Fix, Position, Related, Span
from remat_lint.output.view import View


def render(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """The array, one finding at a time.

    Everything outside ASCII is escaped: file names with undecodable bytes survive as lone surrogates, and the
    text is the same in every locale.
    """
    if not findings:
        yield "[]\n"
    for index, finding in enumerate(findings):
        text = json.dumps(describe(finding, view), indent=2).replace("\n", "\n  ")
        yield ("[\n  " if index == 0 else ",\n  ") + text
    if findings:
        yield "\n]\n"


def describe(finding: Finding, view: View) -> dict[str, Any]:
    """Return a finding as JSON."""
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "filename": view.path(finding.path),
        **_span(finding.span),
        "fix": None if finding.fix is None else _fix(finding.fix),
        "related": [_related(related, view) for related in finding.related],
        "cell": finding.cell,
        "url": finding.url,
    }


def _position(position: Position) -> dict[str, int]:
    return {"row": position.row, "column": position.column}


def _span(span: Span) -> dict[str, dict[str, int]]:
    return {"location": _position(span.start), "end_location": _position(span.end)}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "message": fix.message,
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {"content": edit.content, **_span(edit.span)}


def _related(related: Related, view: View) -> dict[str, Any]:
    return {"filename": view.path(related.path), **_span(related.span), "message": related.message}
