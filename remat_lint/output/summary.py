"""What stands below the findings: the counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from remat_lint.findings import Applicability, Finding, Severity
from remat_lint.output.terminal import Style, paint, visible
from remat_lint.output.view import View


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def summary(findings: Sequence[Finding], *, files: int, hidden: int, view: View) -> str:
    """One line: what was found, what `--fix` can do about it, and how many notes are hidden.

    Args:
        findings: the findings shown.
        files: the number of files looked at.
        hidden: the number of notes left out.
        view: how findings are seen.
    """
    numbers = [(severity, sum(finding.severity is severity for finding in findings)) for severity in Severity]
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    found = ", ".join(count(number, names[severity]) for severity, number in numbers if number)
    if found:
        fixes = _fixes(findings, view)
        text = f"Found {found}{f' ({fixes})' if fixes else ''}."
    else:
        text = f"Checked {count(files, 'file')}: nothing found."
    if hidden:
        text += f" {count(hidden, 'note')} hidden (--select ALL shows {'it' if hidden == 1 else 'them'})."
    return text


def statistics(findings: Sequence[Finding], view: View) -> Iterator[str]:
    """One line a rule, the most frequent first: count, code, name, and `[*]` if every one can be fixed."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.code, []).append(finding)
    digits = max((len(str(len(group))) for group in groups.values()), default=0)
    for code, group in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        mark = " [*]" if all(view.is_applicable(finding) for finding in group) else ""
        shown = paint(visible(code), Style.BOLD, color=view.color)
        yield f"{len(group):>{digits}}  {shown}  {visible(group[0].name)}{mark}\n"


def _fixes(findings: Sequence[Finding], view: View) -> str:
    ready = sum(view.is_applicable(finding) for finding in findings)
    grades = [finding.fix.applicability for finding in findings if finding.fix]
    unsafe = 0 if view.unsafe_fixes else grades.count(Applicability.UNSAFE)
    flags = "--fix --unsafe-fixes" if view.unsafe_fixes else "--fix"
    parts = [f"{ready} fixable with {flags}"] if ready else []
    if unsafe:
        parts.append(f"{unsafe} {'more ' if ready else 'fixable '}with --fix --unsafe-fixes")
    return ", ".join(parts)
