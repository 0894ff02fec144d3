"""Writing the comments that take findings back, and making sure that they do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from remat_lint.config import ALWAYS_SELECTED
from remat_lint.findings import Edit, Finding
from remat_lint.fixes import Dropped, Outcome, apply_edits
from remat_lint.source.comments import Comment, find_comments
from remat_lint.source.ignores import find_ignores
from remat_lint.source.text import SourceText

_KEPT = frozenset({*ALWAYS_SELECTED, "RML002"})
"""What no comment takes back, or what is about comments that are not needed."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Findings that one comment takes back, and the edit that writes it."""

    findings: tuple[Finding, ...]
    edit: Edit


def take_back(
    source: SourceText,
    findings: Sequence[Finding],
    lint: Callable[[str], Sequence[Finding]],
    reason: str = "",
) -> Outcome:
    """Add a comment for every finding of a text, and lint the result: a comment that does not help is left out.

    Args:
        source: the text that the findings speak of.
        findings: its findings.
        lint: lints a changed text.
        reason: what stands after `--` in the comments; may be empty.
    """
    wanted = [finding for finding in findings if finding.code not in _KEPT]
    groups = list(_groups(source, wanted, reason))
    text = apply_edits(source, [group.edit for group in groups])
    found = tuple(lint(text))
    if not _left(found, findings, groups):
        taken = tuple(finding for group in groups for finding in group.findings)
        return Outcome(source, SourceText(source.path, text), taken, (), found)
    return _one_by_one(source, groups, findings, lint)


def _one_by_one(
    source: SourceText,
    groups: Sequence[_Group],
    findings: Sequence[Finding],
    lint: Callable[[str], Sequence[Finding]],
) -> Outcome:
    chosen: list[_Group] = []
    dropped: list[Dropped] = []
    for group in groups:
        found = lint(apply_edits(source, [group.edit]))
        if _left(found, findings, [group]):
            why = "a comment has no place there"
            dropped += [Dropped(finding, why) for finding in group.findings]
        else:
            chosen.append(group)
    text = apply_edits(source, [group.edit for group in chosen])
    taken = tuple(finding for group in chosen for finding in group.findings)
    return Outcome(source, SourceText(source.path, text), taken, tuple(dropped), tuple(lint(text)))


def _left(after: Sequence[Finding], before: Sequence[Finding], groups: Sequence[_Group]) -> bool:
    """Whether more is left than what the comments are not for, or something new came up."""
    taken = sum(len(group.findings) for group in groups)
    return len(after) > len(before) - taken


def _groups(source: SourceText, findings: Sequence[Finding], reason: str) -> Iterator[_Group]:
    comments = find_comments(source.text)
    by_row: dict[int, list[Finding]] = {}
    for finding in sorted(findings, key=Finding.sort_key):
        by_row.setdefault(_row(source, finding), []).append(finding)
    for row, group in by_row.items():
        names = list(dict.fromkeys(finding.name for finding in group))
        yield _Group(tuple(group), _edit(source, row, names, reason, comments))


def _row(source: SourceText, finding: Finding) -> int:
    """Return the first line of a finding at whose end a comment is one; else its first line."""
    first, last = finding.span.start.row, finding.span.end.row
    return next((row for row in range(first, last + 1) if _takes_comment(source, row)), first)


def _takes_comment(source: SourceText, row: int) -> bool:
    line = source.line(row)
    if line.rstrip().endswith("\\"):
        return False
    end = source.line_starts[row - 1] + len(line)
    text = f"{source.text[:end]}  #{source.text[end:]}"
    return any(comment.row == row for comment in find_comments(text))


def _edit(
    source: SourceText, row: int, names: Sequence[str], reason: str, comments: Sequence[Comment]
) -> Edit:
    """Return the edit that names rules in the comment of a line, or that writes one behind the line or above it."""
    listed = ", ".join(names)
    for comment in comments:
        for ignore in find_ignores(comment) if comment.row == row and not comment.alone else ():
            if ignore.kind == "ignore":
                end = ignore.names[1]
                between = ", " if ignore.listed else ""
                return Edit(source.span(end, end), f"{between}{listed}")
    text = f"# remat-lint: ignore[{listed}]" + (f" -- {reason}" if reason else "")
    line, start = source.line(row), source.line_starts[row - 1]
    if not _takes_comment(source, row):
        indent = line[: len(line) - len(line.lstrip())]
        return Edit(source.span(start, start), f"{indent}{text}\n")
    end = len(line.rstrip())
    return Edit(source.span(start + end, start + len(line)), f"  {text}")
