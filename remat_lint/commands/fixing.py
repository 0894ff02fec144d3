"""Fixing the files of a run and putting what is left of the findings together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from remat_lint.commands.console import Console
from remat_lint.engine import Engine, Result
from remat_lint.findings import Finding
from remat_lint.source.text import SourceError, SourceText

if TYPE_CHECKING:
    from remat_lint.fixes import Outcome


@dataclass(frozen=True, slots=True)
class Fixed:
    """A run after fixing.

    Attributes:
        result: what is left to report.
        outcomes: the files that changed, or would.
        failed: whether a file could not be written.
        done: what was done with the findings that are gone.
    """

    result: Result
    outcomes: tuple[Outcome, ...] = ()
    failed: bool = False
    done: str = "fixed"


Lint = Callable[[str], Sequence[Finding]]
Change = Callable[[SourceText, Sequence[Finding], Lint], "Outcome"]
"""Changes one file, given its text, its findings and what lints a changed text."""


def fix_all(
    engine: Engine, result: Result, console: Console, *, unsafe: bool, save: Callable[[Outcome], None] | None
) -> Fixed:
    """Fix every file of a result; each is linted in memory and then given to `save`.

    A file that cannot be saved keeps its findings, and a sentence says why.
    """
    from remat_lint.fixes import fix_text  # noqa: PLC0415 (start-up: most runs fix nothing)

    def change(source: SourceText, findings: Sequence[Finding], lint: Lint) -> Outcome:
        return fix_text(source, findings, lint, unsafe=unsafe)

    return each_file(engine, result, console, change, save=save)


def each_file(
    engine: Engine,
    result: Result,
    console: Console,
    change: Change,
    *,
    save: Callable[[Outcome], None] | None,
) -> Fixed:
    """Change every file of a result that has a finding, and put together what is left."""
    from remat_lint.fixes import FixError, Outcome  # noqa: PLC0415 (start-up: most runs fix nothing)

    sources = dict(result.sources)
    outcomes: list[Outcome] = []
    failed = False
    remaining: list[Finding] = []
    for path, findings in _by_file(result.findings).items():
        source = sources[path]
        outcome = change(source, findings, _linter(engine, source))
        _report_dropped(outcome, console)
        try:
            if outcome.changed and save:
                save(outcome)
        except (FixError, SourceError) as error:
            console.error(f"{path}: {error.reason}")
            failed = True
            outcome = Outcome(source, source, findings=tuple(findings))
        if outcome.changed:
            outcomes.append(outcome)
            sources[path] = outcome.after
        remaining += outcome.findings
    left = tuple(sorted(remaining, key=Finding.sort_key))
    return Fixed(replace(result, findings=left, sources=sources), tuple(outcomes), failed)


def saver(root: Path) -> Callable[[Outcome], None]:
    """What puts fixed files on disk, for the project `root`."""
    from remat_lint.fixes import write  # noqa: PLC0415 (start-up: most runs fix nothing)

    def save(outcome: Outcome) -> None:
        path = outcome.before.path
        # A file that was named and lies elsewhere is a project of its own: its folder.
        write(outcome, root if path.is_relative_to(root) else path.parent)

    return save


def _linter(engine: Engine, source: SourceText) -> Lint:
    def lint(text: str) -> Sequence[Finding]:
        found = engine.check_text(text, source.path).findings
        return [finding for finding in found if finding.path == str(source.path)]

    return lint


def _by_file(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.path, []).append(finding)
    return groups


def _report_dropped(outcome: Outcome, console: Console) -> None:
    for one in outcome.dropped:
        start = one.finding.span.start
        console.warn(
            f"{one.finding.path}:{start.row}:{start.column}: "
            f"the fix for {one.finding.code} was left out: {one.reason}"
        )
