"""Printing what a check found, and the exit code that belongs to it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from remat_lint.commands.console import Console
from remat_lint.commands.fixing import Fixed
from remat_lint.findings import Severity
from remat_lint.output import render
from remat_lint.output.diff import unified
from remat_lint.output.summary import count, statistics, summary
from remat_lint.output.view import View

CRASHED = 2


def report(fixed: Fixed, arguments: argparse.Namespace, console: Console, *, aside: bool = False) -> int:
    """Print the findings, or with `--diff` the changes.

    Args:
        fixed: the run.
        arguments: the options of `check`.
        console: where to print.
        aside: print to stderr, because stdout holds a fixed text.
    """
    put = console.put_aside if aside else console.write
    if arguments.diff:
        return _report_changes(fixed, arguments, console)
    result = fixed.result
    view = View(
        Path.cwd(), result.sources, color=console.color and not aside, unsafe_fixes=arguments.unsafe_fixes
    )
    if arguments.statistics:
        put(statistics(result.findings, view))
    else:
        put(render(arguments.output_format, result.findings, view))
    for_people = arguments.statistics or arguments.output_format in {"full", "concise"}
    (put if for_people else console.put_aside)(_last_lines(fixed, view))
    found = any(finding.severity is not Severity.INFO for finding in result.findings)
    return _code(fixed, arguments, found=found)


def _report_changes(fixed: Fixed, arguments: argparse.Namespace, console: Console) -> int:
    view = View(Path.cwd(), color=console.color)
    for outcome in fixed.outcomes:
        console.write(unified(outcome.before, outcome.after, view, exact=not console.is_terminal))
    fixes = sum(len(outcome.applied) for outcome in fixed.outcomes)
    said = (
        f"{count(fixes, 'finding')} in {count(len(fixed.outcomes), 'file')} would be fixed." if fixes else ""
    )
    console.put_aside([f"{said or 'Nothing would be fixed.'}\n"])
    return _code(fixed, arguments, found=bool(fixed.outcomes))


def _last_lines(fixed: Fixed, view: View) -> Iterator[str]:
    if fixed.outcomes:
        fixes = sum(len(outcome.applied) for outcome in fixed.outcomes)
        yield f"Fixed {count(fixes, 'finding')} in {count(len(fixed.outcomes), 'file')}. "
    yield (
        summary(fixed.result.findings, files=fixed.result.files, hidden=fixed.result.hidden, view=view) + "\n"
    )


def _code(fixed: Fixed, arguments: argparse.Namespace, *, found: bool) -> int:
    if fixed.result.crashed or fixed.failed:
        return CRASHED
    return 1 if found and not arguments.exit_zero else 0
