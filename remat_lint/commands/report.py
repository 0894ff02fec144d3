"""Printing what a check found, and the exit code that belongs to it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from remat_lint.commands.console import Console
from remat_lint.commands.fixing import Fixed
from remat_lint.findings import Severity
from remat_lint.output import FOR_PEOPLE, render
from remat_lint.output.diff import unified
from remat_lint.output.summary import count, statistics, summary
from remat_lint.output.view import View

CANNOT = 2


def report(
    fixed: Fixed,
    arguments: argparse.Namespace,
    console: Console,
    *,
    aside: bool = False,
    unreadable: bool = False,
) -> int:
    """Print the findings, or with `--diff` the changes; return the exit code.

    Args:
        fixed: the run.
        arguments: the options of `check`.
        console: where to print.
        aside: print to stderr, because stdout holds a fixed text.
        unreadable: whether a path that was named could not be read.
    """
    put = console.put_aside if aside else console.write
    if arguments.diff:
        code = _report_changes(fixed, arguments, console)
        return CANNOT if unreadable else code
    result = fixed.result
    found = any(finding.severity is not Severity.INFO for finding in result.findings)
    code = CANNOT if unreadable else _code(fixed, arguments, found=found)
    view = View(
        Path.cwd(),
        result.sources,
        color=console.color and not aside,
        unsafe_fixes=arguments.unsafe_fixes,
        problems=result.problems,
        exit_code=code,
    )
    if arguments.statistics:
        put(statistics(result.findings, view))
    else:
        put(render(arguments.output_format, result.findings, view))
    for_people = arguments.statistics or arguments.output_format in FOR_PEOPLE
    (put if for_people else console.put_aside)(_last_lines(fixed, view))
    return code


def _report_changes(fixed: Fixed, arguments: argparse.Namespace, console: Console) -> int:
    view = View(Path.cwd(), color=console.color)
    for outcome in fixed.outcomes:
        console.write(unified(outcome.before, outcome.after, view, exact=not console.is_terminal))
    fixes = sum(len(outcome.applied) for outcome in fixed.outcomes)
    said = (
        f"{count(fixes, 'finding')} in {count(len(fixed.outcomes), 'file')} would be {fixed.done}."
        if fixes
        else ""
    )
    console.put_aside([f"{said or f'Nothing would be {fixed.done}.'}\n"])
    return _code(fixed, arguments, found=bool(fixed.outcomes))


def _last_lines(fixed: Fixed, view: View) -> Iterator[str]:
    if fixed.outcomes:
        fixes = sum(len(outcome.applied) for outcome in fixed.outcomes)
        yield f"{fixed.done.capitalize()} {count(fixes, 'finding')} in {count(len(fixed.outcomes), 'file')}. "
    yield (
        summary(fixed.result.findings, files=fixed.result.files, hidden=fixed.result.hidden, view=view) + "\n"
    )


def _code(fixed: Fixed, arguments: argparse.Namespace, *, found: bool) -> int:
    if fixed.result.crashed or fixed.failed:
        return CANNOT
    return 1 if found and not arguments.exit_zero else 0
