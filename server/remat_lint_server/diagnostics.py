"""Findings as the client's diagnostics."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from remat_lint.findings import Finding, Related, Severity
from remat_lint_server.analysis import State
from remat_lint_server.client import ClientProfile
from remat_lint_server.documents import line_range

SOURCE = "remat-lint"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


def to_diagnostics(state: State, client: ClientProfile) -> list[types.Diagnostic]:
    """Return the diagnostics of a document; `data` is the id under which the server keeps the finding."""
    return [to_diagnostic(state, name, client) for name in state.findings]


def to_diagnostic(state: State, name: str, client: ClientProfile) -> types.Diagnostic:
    """Return the diagnostic of the finding with the id `name`."""
    finding = state.findings[name]
    related = None
    message = finding.message
    if client.related_information:
        related = [_related(state, place) for place in finding.related]
    elif finding.related:
        message = "\n".join([message, *(_in_words(finding, place) for place in finding.related)])
    return types.Diagnostic(
        range=state.snapshot.range(finding.span),
        message=message,
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        source=SOURCE,
        related_information=related,
        data=name,
    )


def _related(state: State, place: Related) -> types.DiagnosticRelatedInformation:
    if place.path == str(state.snapshot.path):
        uri, where = state.snapshot.uri, state.snapshot.range(place.span)
    else:
        lines = {row: text for (path, row), text in state.checked.lines.items() if path == place.path}
        uri = from_fs_path(place.path) or state.snapshot.uri
        where = line_range(state.snapshot.codec, place.span, lines)
    return types.DiagnosticRelatedInformation(
        location=types.Location(uri=uri, range=where), message=place.message
    )


def _in_words(finding: Finding, place: Related) -> str:
    name = "" if place.path == finding.path else f"{Path(place.path).name}, "
    return f"{name}line {place.span.start.row}: {place.message}"
