"""The command line: arguments in, exit code out. Each command is a module of `remat_lint.commands`.

Exit codes: 0 nothing found, 1 something found, 2 the command line, a configuration file, a path or a rule is
broken, 130 interrupted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NoReturn

from remat_lint import __version__
from remat_lint.commands.console import Console
from remat_lint.errors import RematLintError
from remat_lint.output import FORMATS
from remat_lint.output.terminal import visible

INTERRUPTED = 130
USAGE = 2


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"remat-lint: error: {visible(message)}; see `{self.prog} --help`\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    Args:
        argv: the arguments, `sys.argv[1:]` by default.
    """
    console = Console("auto")
    try:
        arguments = parse(sys.argv[1:] if argv is None else argv)
        console = Console(arguments.color)
        command = import_module(f"remat_lint.commands.{arguments.command}")
        code: int = command.run(arguments, console)
        return console.finish(code)
    except RematLintError as error:
        console.error(str(error))
        return console.finish(USAGE)
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as leave:  # argparse: help, version, wrong arguments
        return console.finish(leave.code if isinstance(leave.code, int) else USAGE)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of one command; leaves with a sentence on stderr where they cannot be understood."""
    # A word behind the bare option is a path: only `=` gives it a reason.
    words = ["--add-ignore=" if word == "--add-ignore" else word for word in _with_command(list(argv))]
    parsers = make_parsers(words[0])
    _refuse_misspelt(argv, parsers)
    arguments, rest = parsers[""].parse_known_args(words)
    command = parsers[arguments.command]
    # argparse gives back paths that stand behind an option that stands behind a path.
    more = [word for word in rest if not word.startswith("-") or word == "-"] if "paths" in arguments else []
    unknown = [word for word in rest if word not in more]
    if unknown:
        from remat_lint.config import nearest  # noqa: PLC0415 (start-up: needed for mistakes only)

        option = unknown[0].partition("=")[0]
        hint = nearest(option, command._option_string_actions)  # noqa: SLF001 (there is no other list of options)
        command.error(f"unknown argument {option!r}" + (f"; did you mean {hint!r}?" if hint else ""))
    if more:
        arguments.paths = [*arguments.paths, *more]
    if "" in getattr(arguments, "paths", ()):
        # `Path("")` is the current folder: with an unset variable of a script, `--fix` would rewrite all of it.
        command.error("a path is empty")
    return arguments


def _refuse_misspelt(argv: Sequence[str], parsers: dict[str, argparse.ArgumentParser]) -> None:
    """Leave with a hint where the first word is neither a command nor a path, but much like a command."""
    if not argv or argv[0].startswith("-") or argv[0] in parsers or os.path.lexists(argv[0]):
        return
    from remat_lint.config import nearest  # noqa: PLC0415 (start-up: needed for mistakes only)

    hint = nearest(argv[0], [name for name in parsers if name])
    if hint:
        parsers[""].error(f"there is no command and no path {argv[0]!r}; did you mean {hint!r}?")


def make_parsers(wanted: str) -> dict[str, argparse.ArgumentParser]:
    """The parser of each command by its name, and of the whole command line under the empty name.

    Only the command that is wanted has its arguments: those of `check` bring the settings, which others can spare.
    """
    parser = _Parser(
        prog="remat-lint",
        description="Finds misuse of jax.checkpoint / jax.remat, and proves that checkpointed code computes the same.",
        epilog="Without a command, `check` is run: `remat-lint src` is `remat-lint check src`.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"remat-lint {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (text, fill) in _commands().items():
        command = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False
        )
        if name == wanted:
            _fill(command, fill)
    return {"": parser, **commands.choices}


def _fill(command: _Parser, fill: Callable[[_Parser], None]) -> None:
    """Give a command its arguments, and those that every command has."""
    fill(command)
    command.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colours (default: on a terminal)",
    )
    command.add_argument("-v", "--verbose", action="store_true", help="say what is done, on stderr")


def _with_command(argv: list[str]) -> list[str]:
    """Put `check` in front where no command is named."""
    if argv and argv[0] in {*_commands(), "-h", "--help", "--version"}:
        return argv
    return ["check", *argv]


def _add_paths(command: _Parser) -> None:
    command.add_argument(
        "paths", metavar="PATH", nargs="*", default=["."], help="files and folders (default: .)"
    )
    command.add_argument(
        "--config", metavar="FILE", help="configuration file to use instead of the nearest one"
    )
    command.add_argument("--isolated", action="store_true", help="use no configuration file")


def _add_settings(command: _Parser, name: str) -> None:
    """Give a command the options that configuration files have too."""
    from remat_lint.config.kinds import Switch  # noqa: PLC0415 (start-up)
    from remat_lint.config.options import options_of  # noqa: PLC0415 (start-up)

    add = command.add_argument_group(
        "settings",
        "Each has the same name in a configuration file; `remat-lint config` explains them.",
    ).add_argument
    for option in options_of(name):
        text = option.summary.replace("%", "%%")
        if isinstance(option.kind, Switch):
            add(option.flag, action="append_const", const="true", dest=option.attribute, help=text)
            negative, shown = f"--no-{option.key}", argparse.SUPPRESS
            add(negative, action="append_const", const="false", dest=option.attribute, help=shown)
        else:
            add(option.flag, metavar=option.kind.metavar, action="append", help=text)


def _fill_check(command: _Parser) -> None:
    _add_paths(command)
    add = command.add_argument
    add("--fix", action="store_true", help="apply safe fixes")
    add(
        "--add-ignore",
        metavar="REASON",
        help="take every finding back by a comment, with the reason if one is given: --add-ignore=REASON",
    )
    add("--unsafe-fixes", action="store_true", help="count fixes that may change the program as fixes too")
    add(
        "--diff",
        action="store_true",
        help="print what fixing would change, write nothing; exit 1 if anything would",
    )
    add("--stdin-filename", metavar="NAME", help="the name of the text on stdin, when PATH is `-`")
    add("--output-format", choices=FORMATS, default="full", help="how findings are printed (default: full)")
    add("--statistics", action="store_true", help="print how often each rule speaks instead of the findings")
    add("--exit-zero", action="store_true", help="exit 0 whatever is found")
    add("--show-files", action="store_true", help="print the files that would be linted, and lint nothing")
    add(
        "--show-settings",
        action="store_true",
        help="print the settings and where each comes from, and lint nothing",
    )
    _add_settings(command, "check")


def _fill_rule(command: _Parser) -> None:
    command.add_argument(
        "rule", metavar="CODE|NAME", nargs="?", help="the rule, such as RML101 or stale-capture"
    )
    command.add_argument("--all", action="store_true", help="every rule")
    command.add_argument(
        "--output-format", choices=("text", "json", "markdown"), default="text", help="default: text"
    )


def _fill_config(command: _Parser) -> None:
    command.add_argument("key", metavar="KEY", nargs="?", help="the setting, such as per-file-ignores")
    command.add_argument(
        "--output-format",
        choices=("text", "json", "json-schema", "markdown"),
        default="text",
        help="default: text; json-schema describes configuration files to editors",
    )


def _fill_sites(command: _Parser) -> None:
    _add_paths(command)
    command.add_argument(
        "--why", metavar="PATH:LINE", help="say for one site what each rule found, or why nothing"
    )
    command.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    _add_settings(command, "sites")


def _fill_generate(command: _Parser) -> None:
    command.add_argument(
        "target", metavar="PATH::NAME", help="the function, such as src/model.py::Model.loss"
    )
    command.add_argument(
        "-o", "--output", metavar="DIR", help="folder for the test file (default: the tests of the project)"
    )


def _fill_run(command: _Parser) -> None:
    add = command.add_argument
    add("paths", metavar="PATH", nargs="+", help="test files and folders; the code in them is run")
    add(
        "--python",
        metavar="P",
        help="the interpreter with JAX and your packages (default: the project's own)",
    )
    add("--timeout", metavar="S", type=_seconds, default=120.0, help="seconds for one test (default: 120)")
    add("--output-format", choices=("text", "json"), default="text", help="default: text")


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def _commands() -> Mapping[str, tuple[str, Callable[[_Parser], None]]]:
    """What each command does, and what gives it its arguments."""
    return {
        "check": ("lint files and folders", _fill_check),
        "rule": ("explain one rule, or list all of them", _fill_rule),
        "config": ("explain the settings of configuration files", _fill_config),
        "sites": ("list the places where a function is checkpointed", _fill_sites),
        "generate": ("write a test that a checkpointed function computes the same", _fill_generate),
        "run": ("run equivalence tests of checkpointed functions in your Python", _fill_run),
    }
