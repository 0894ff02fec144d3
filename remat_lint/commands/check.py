"""`remat-lint check`: lint, fix, print."""

from __future__ import annotations

import argparse
import functools
import gc
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from remat_lint.commands.console import Console
from remat_lint.commands.fixing import Fixed, each_file, fix_all, saver
from remat_lint.commands.inquiry import show_files, show_settings
from remat_lint.commands.progress import Bar
from remat_lint.commands.report import report
from remat_lint.config import Overrides, Settings, load
from remat_lint.config.options import OPTIONS
from remat_lint.engine import Engine, Result
from remat_lint.errors import UsageError
from remat_lint.findings import Finding, Position, Severity, Span
from remat_lint.output import FOR_PEOPLE
from remat_lint.rules import EveryRule
from remat_lint.source.patterns import Patterns, names_below
from remat_lint.source.text import SourceError, SourceText, decode

if TYPE_CHECKING:
    from remat_lint.fixes import Outcome

STDIN = "-"
USAGE = 2


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Lint what the command line names; the exit code says what was found."""
    gc.disable()  # trees make the collector run often and give it nothing to collect; the process is short
    if arguments.verbose:
        import logging  # noqa: PLC0415 (start-up: a tenth of a run that finds nothing)

        logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s", stream=sys.stderr)
    piped = STDIN in arguments.paths
    _refuse_contradictions(arguments, piped=piped)
    named = [arguments.stdin_filename or STDIN] if piped else arguments.paths
    paths = [Path(name) for name in named]
    settings = load(paths, EveryRule(), overrides(arguments))
    if arguments.verbose:
        console.put_aside(
            [f"project: {settings.root}\n", f"configuration: {settings.config_file or 'none'}\n"]
        )
    if arguments.show_settings:
        show_settings(Engine(settings), arguments, console)
        return 0
    if piped:
        return _check_stdin(paths[0].absolute(), settings, arguments, console)
    return _check_paths(paths, settings, arguments, console)


def _refuse_contradictions(arguments: argparse.Namespace, *, piped: bool) -> None:
    """Raise `UsageError` for options that exclude one another."""
    if piped and len(arguments.paths) > 1:
        raise UsageError("`-` (stdin) cannot be combined with other paths")
    if arguments.stdin_filename and not piped:
        raise UsageError("--stdin-filename needs the path `-`")
    if arguments.statistics and arguments.output_format not in FOR_PEOPLE:
        raise UsageError(
            f"--statistics is text and cannot be combined with --output-format {arguments.output_format}"
        )
    if arguments.show_files and (piped or arguments.show_settings):
        raise UsageError(f"--show-files cannot be combined with {'`-`' if piped else '--show-settings'}")
    if arguments.add_ignore is not None:
        if arguments.fix:
            raise UsageError(
                "--add-ignore cannot be combined with --fix: fix first, then take back what is left"
            )
        if not arguments.add_ignore.isprintable() or "#" in arguments.add_ignore:
            raise UsageError("the reason of --add-ignore must be one line without `#`")


def overrides(arguments: argparse.Namespace) -> Overrides:
    """What the options say about settings."""
    options = {}
    for option in OPTIONS.values():
        words = getattr(arguments, option.attribute, None)
        if words:
            options[option.key] = option.kind.parse(words, option.flag)
    return Overrides(Path(arguments.config) if arguments.config else None, arguments.isolated, options)


def report_problems(problems: Sequence[str], paths: Sequence[Path], console: Console) -> bool:
    """Say what could not be looked at; True if the command line itself names such a place."""
    named = tuple(f"{path.absolute()}: " for path in paths)
    for problem in problems:
        (console.error if problem.startswith(named) else console.warn)(problem)
    return any(problem.startswith(named) for problem in problems)


def _check_paths(
    paths: Sequence[Path], settings: Settings, arguments: argparse.Namespace, console: Console
) -> int:
    engine = Engine(settings)
    if arguments.show_files:
        files = engine.discover(paths)
        show_files(files.files, arguments, console)
        problems = [f"{problem.path}: {problem.reason}" for problem in files.problems]
        return USAGE if report_problems(problems, paths, console) else 0
    with Bar(visible=console.shows_progress) as bar:
        result = engine.check_paths(paths, bar.advance)
    unreadable = report_problems(result.problems, paths, console)
    for remark in result.remarks if arguments.verbose else ():
        console.warn(remark)
    if not result.files and not unreadable:
        console.warn("no Python files found under the given paths")
    fixed = Fixed(result)
    if _changes(arguments):
        fixed = _change(engine, result, console, arguments, None if arguments.diff else saver(settings.root))
    return report(fixed, arguments, console, unreadable=unreadable)


def _check_stdin(path: Path, settings: Settings, arguments: argparse.Namespace, console: Console) -> int:
    """Lint the text on stdin as if it were the file `path`; with `--fix` the fixed text is the result."""
    if sys.stdin is None:
        raise UsageError("stdin is closed, so `-` cannot be read")
    data = sys.stdin.buffer.read()
    engine = Engine(settings)
    fixed = Fixed(Result(files=1))
    try:
        source = decode(data, path)
    except SourceError as error:
        fixed = Fixed(_unreadable(path, error.reason))
    else:
        if not _is_excluded(path, settings):
            fixed = Fixed(engine.check_text(source.text, path))
    if _changes(arguments):
        fixed = _change(engine, fixed.result, console, arguments, None)
    if arguments.diff or not _changes(arguments):
        return report(fixed, arguments, console)
    console.write_bytes(source.encode(fixed.outcomes[0].after.text) if fixed.outcomes else data)
    return report(fixed, arguments, console, aside=True)


def _changes(arguments: argparse.Namespace) -> bool:
    return arguments.fix or arguments.diff or arguments.add_ignore is not None


def _change(
    engine: Engine,
    result: Result,
    console: Console,
    arguments: argparse.Namespace,
    save: Callable[[Outcome], None] | None,
) -> Fixed:
    """Fix the findings, or with `--add-ignore` take them back."""
    if arguments.add_ignore is None:
        return fix_all(engine, result, console, unsafe=arguments.unsafe_fixes, save=save)
    from remat_lint.takeback import take_back  # noqa: PLC0415 (start-up: most runs change nothing)

    change = functools.partial(take_back, reason=arguments.add_ignore.strip())
    return replace(each_file(engine, result, console, change, save=save), done="ignored")


def _is_excluded(path: Path, settings: Settings) -> bool:
    return Patterns(settings.exclude).find_above(names_below(path, settings.pattern_root)) is not None


def _unreadable(path: Path, reason: str) -> Result:
    start = Position(1, 1)
    finding = Finding("RML001", "syntax-error", Severity.ERROR, reason, str(path), Span(start, start))
    return Result((finding,), files=1, sources={str(path): SourceText(path, "")})
