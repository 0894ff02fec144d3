"""Comments that take findings back.

`# remat-lint: ignore[stale-capture]` or `ignore[RML101, RML102]`, with an optional reason after `--`, covers

* the findings whose span touches its line,
* the whole function, class or call, if it stands on the header of one (`def`, `class`, a decorator, a wrap),
* the next line of code, as if it stood there, if it stands alone in its line.

`# remat-lint: ignore-file[...]` covers the file. `# noqa: RML101` works like the first form; a bare `# noqa`,
and `ignore` without brackets, cover nothing: what is hidden must be named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from remat_lint.config import ALWAYS_SELECTED
from remat_lint.findings import Finding
from remat_lint.source.comments import Comment
from remat_lint.source.ignores import Ignore, Listed, find_ignores
from remat_lint.source.text import SourceText


@dataclass(frozen=True, slots=True)
class Scope:
    """A function, class or call that a suppression on one of its header lines covers as a whole.

    Attributes:
        header: the lines of the decorators and of the header up to its colon, or of the wrap.
        first: the first line.
        last: the last line.
    """

    header: frozenset[int]
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Suppression:
    """One suppression comment.

    Attributes:
        row: the line of the comment.
        selectors: the codes and names it lists, in order.
        reason: what stands after `--`.
        kind: `ignore`, `ignore-file` or `noqa`.
        rows: the lines it counts as standing on.
        ranges: first and last lines of the scopes it covers.
    """

    row: int
    selectors: tuple[str, ...]
    reason: str
    kind: str
    rows: tuple[int, ...] = ()
    ranges: tuple[tuple[int, int], ...] = ()

    def reaches(self, finding: Finding) -> bool:
        """Whether the finding lies where this comment counts, whatever rules it names."""
        first, last = finding.span.start.row, finding.span.end.row
        return (
            self.kind == "ignore-file"
            or any(first <= row <= last for row in self.rows)
            or any(low <= first <= high for low, high in self.ranges)
        )


@dataclass(frozen=True, slots=True)
class Filtered:
    """Findings with the suppressed ones apart.

    Attributes:
        kept: findings to report.
        suppressed: findings that a comment takes back.
        used: suppressions that did so, each with the selector that matched.
    """

    kept: tuple[Finding, ...]
    suppressed: tuple[Finding, ...] = ()
    used: frozenset[tuple[Suppression, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Suppressions:
    """The suppression comments of one file."""

    entries: tuple[Suppression, ...] = ()

    @classmethod
    def from_comments(
        cls, comments: Sequence[Comment], source: SourceText, scopes: Iterable[Scope] = ()
    ) -> Suppressions:
        """Read the comments of a file.

        Args:
            comments: every comment of the file.
            source: the text they stand in.
            scopes: what comments on header lines cover; asked for only if there is a suppression.
        """
        found = [(comment, entry) for comment in comments for entry in parse(comment)]
        if not found:
            return cls()
        known = tuple(scopes)
        alone = {comment.row for comment in comments if comment.alone}
        return cls(tuple(_place(comment, entry, source, alone, known) for comment, entry in found))

    def split(self, findings: Iterable[Finding]) -> Filtered:
        """Part findings into kept and suppressed ones; a syntax error and a crash are always kept."""
        kept: list[Finding] = []
        suppressed: list[Finding] = []
        used: set[tuple[Suppression, str]] = set()
        for finding in findings:
            matches = self._matches(finding) if self.entries else ()
            (suppressed if matches else kept).append(finding)
            used.update(matches)
        return Filtered(tuple(kept), tuple(suppressed), frozenset(used))

    def _matches(self, finding: Finding) -> tuple[tuple[Suppression, str], ...]:
        if finding.code in ALWAYS_SELECTED:
            return ()
        return tuple(
            (entry, selector)
            for entry in self.entries
            if entry.reaches(finding)
            for selector in entry.selectors
            if selector in (finding.code, finding.name)
        )


def unused(
    comments: Sequence[Comment], suppressions: Suppressions, used: frozenset[tuple[Suppression, str]]
) -> Iterator[tuple[Comment, Ignore, tuple[Listed, ...]]]:
    """Yield the comments of a file with the names in them that took nothing back.

    Args:
        comments: every comment of the file, as they were given to `Suppressions.from_comments`.
        suppressions: what was made of them.
        used: the suppressions that took something back, each with the name by which it did.
    """
    found = ((comment, ignore) for comment in comments for ignore in find_ignores(comment))
    for entry, (comment, ignore) in zip(suppressions.entries, found, strict=True):
        idle = tuple(one for one in ignore.listed if (entry, one.name) not in used)
        if idle:
            yield comment, ignore, idle


def parse(comment: Comment) -> tuple[Suppression, ...]:
    """The suppressions that one comment holds, not yet placed; several may stand behind one another."""
    return tuple(
        Suppression(comment.row, tuple(one.name for one in found.listed), found.reason, found.kind)
        for found in find_ignores(comment)
    )


def _place(
    comment: Comment, entry: Suppression, source: SourceText, alone: set[int], scopes: Sequence[Scope]
) -> Suppression:
    """Work out which lines an entry covers."""
    if entry.kind == "ignore-file":
        return entry
    rows = [comment.row]
    if comment.alone:
        row, last = comment.row + 1, len(source.line_starts)
        while row <= last and (row in alone or not source.line(row).strip()):
            row += 1
        if row <= last:
            rows.append(row)
    ranges = tuple((scope.first, scope.last) for scope in scopes if scope.header.intersection(rows))
    return Suppression(entry.row, entry.selectors, entry.reason, entry.kind, tuple(rows), ranges)
