"""SARIF 2.1.0, which code scanning services and editors read.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/sarif-v2.1.0-errata01-os-complete.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from remat_lint import __version__
from remat_lint.findings import Applicability, Edit, Finding, Fix, Related, Severity, Span
from remat_lint.output.fingerprints import fingerprints
from remat_lint.output.pages import page
from remat_lint.output.terminal import visible
from remat_lint.output.view import View
from remat_lint.rules import registry
from remat_lint.rules.rule import Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
ROOT = "%SRCROOT%"
"""The name under which services know the folder that paths are relative to."""

CRASH = "RML900"
UNREADABLE = "unreadable-path"

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """Findings as one log with one run; a crash of a rule is a notification of the run, not a result."""
    results = [finding for finding in findings if finding.code != CRASH]
    crashes = [finding for finding in findings if finding.code == CRASH]
    codes = sorted({finding.code for finding in results})
    kinds = [kind for kind, some in ((CRASH, crashes), (UNREADABLE, view.problems)) if some]
    run = {
        "tool": {"driver": _driver(codes, kinds)},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {ROOT: {"uri": _folder(view.base)}},
        "invocations": [_invocation(crashes, view)],
        "results": [
            _result(finding, mark, codes.index(finding.code), view)
            for finding, mark in zip(results, fingerprints(results, view), strict=True)
        ],
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _driver(codes: Sequence[str], notifications: Sequence[str]) -> dict[str, Any]:
    rules = registry()
    return {
        "name": "remat-lint",
        "version": __version__,
        "rules": [_rule(rules[code]) if code in rules else {"id": visible(code)} for code in codes],
        "notifications": [{"id": name} for name in notifications],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    problem = "recommendation" if rule.severity is Severity.INFO else rule.severity.value
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.explanation, "markdown": page(rule)},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"category": rule.category, "tags": [rule.category], "problem.severity": problem},
    }


def _invocation(crashes: Sequence[Finding], view: View) -> dict[str, Any]:
    notes: list[dict[str, Any]] = [
        {
            "descriptor": {"id": CRASH},
            "level": "error",
            "message": _message(crash.message),
            "locations": [_location(crash.path, crash.span, view)],
        }
        for crash in crashes
    ]
    notes += [
        {"descriptor": {"id": UNREADABLE}, "level": "error", "message": _message(problem)}
        for problem in view.problems
    ]
    invocation: dict[str, Any] = {"executionSuccessful": not notes, "toolExecutionNotifications": notes}
    return invocation if view.exit_code is None else {**invocation, "exitCode": view.exit_code}


def _result(finding: Finding, mark: str, rule_index: int, view: View) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": visible(finding.code),
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": _message(finding.message),
        "locations": [_location(finding.path, finding.span, view, cell=finding.cell)],
        "partialFingerprints": {"rematLint/v1": mark},
    }
    if finding.related:
        result["relatedLocations"] = [
            _related(number, related, view) for number, related in enumerate(finding.related, start=1)
        ]
    fix = finding.fix
    # An edit with a gap is no fix for a program that applies it.
    if fix is not None and fix.edits and fix.applicability is not Applicability.PLACEHOLDER:
        result["fixes"] = [_fix(fix, finding, view)]
    return result


def _related(number: int, related: Related, view: View) -> dict[str, Any]:
    location = _location(related.path, related.span, view)
    return {"id": number, **location, "message": _message(related.message)}


def _location(path: str, span: Span, view: View, *, cell: int | None = None) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": _artifact(path, view), "region": _region(span)}
    }
    if cell is not None:
        place["logicalLocations"] = [{"name": f"cell {cell}", "kind": "cell"}]
    return place


def _fix(fix: Fix, finding: Finding, view: View) -> dict[str, Any]:
    source = view.sources.get(finding.path)
    line_end = "\r\n" if source is not None and "\r\n" in source.text[: source.text.find("\n") + 1] else "\n"
    return {
        "description": _message(fix.message),
        "artifactChanges": [
            {
                "artifactLocation": _artifact(finding.path, view),
                "replacements": [_replacement(edit, line_end) for edit in sorted(fix.edits)],
            }
        ],
        "properties": {"applicability": fix.applicability.value},
    }


def _replacement(edit: Edit, line_end: str) -> dict[str, Any]:
    content = edit.content.replace("\r\n", "\n").replace("\n", line_end)
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": content}}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.start.row,
        "startColumn": span.start.column,
        "endLine": span.end.row,
        "endColumn": span.end.column,
    }


def _artifact(path: str, view: View) -> Mapping[str, str]:
    """Return where a file is: below the base relative to it, so that the log is the same on every machine."""
    relative = view.path(path)
    if relative == Path(path).as_posix():
        return {"uri": Path(path).as_uri()} if Path(path).is_absolute() else {"uri": _encode(relative)}
    return {"uri": _encode(relative), "uriBaseId": ROOT}


def _encode(path: str) -> str:
    # Bytes of a name that are no text stay these bytes; a colon would make the first folder a scheme.
    return quote(os.fsencode(path), safe="/")


def _folder(base: Path) -> str:
    return f"{base.as_uri().rstrip('/')}/"


def _message(text: str) -> dict[str, str]:
    """Return a text that nothing is taken for a placeholder or a link in.

    Braces are doubled, as section 3.11.5 has it. `[i](x)`, which code may well contain, would be a link to `x`.
    """
    lines = [visible(line) for line in text.split("\n")]
    shown = "\n".join(lines).replace("{", "{{").replace("}", "}}").replace("](", "] (")
    return {"text": shown or "(no text)"}
