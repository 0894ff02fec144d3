"""The options: one table that checks configuration files, makes the arguments of commands, and is their documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from remat_lint.config.kinds import Kind, Levels, PerFile, Specifier, Strings, Switch
from remat_lint.config.settings import DEFAULT_EXCLUDE

SELECTOR_FORMS = "codes (RML101), prefixes (RML1), names (stale-capture), categories (memory) and ALL"


@dataclass(frozen=True, slots=True)
class Option:
    """One setting.

    Attributes:
        key: its name in a configuration file, and with `--` in front that of its argument.
        kind: what values it takes.
        default: the value without any setting.
        summary: one clause, for `--help`.
        explanation: the sentences that follow it elsewhere.
        example: a value, as TOML.
        commands: the commands that take it as an argument.
    """

    key: str
    kind: Kind
    default: Any
    summary: str
    explanation: str
    example: str
    commands: tuple[str, ...] = ("check",)

    @property
    def flag(self) -> str:
        """The argument of the command line."""
        return f"--{self.key}"

    @property
    def attribute(self) -> str:
        """Its name where Python is written."""
        return self.key.replace("-", "_")


_ALL_COMMANDS = ("check", "sites")

_OPTIONS = (
    Option(
        "select",
        Strings("RML101", is_selectors=True),
        [],
        "run these rules only",
        f"Selectors are {SELECTOR_FORMS}; the most specific one decides. Without a selection every rule runs and notes "
        "are hidden; with one, notes of what it names are shown too. On the command line it replaces `select`, "
        "`extend-select` and `ignore` of the file.",
        '["correctness", "RML7"]',
    ),
    Option(
        "extend-select",
        Strings("RML702", is_selectors=True),
        [],
        "run these rules too, and show their notes",
        "Added to `select`, or to every rule if that is not set.",
        '["fresh-closure-wrapper"]',
    ),
    Option(
        "ignore",
        Strings("RML601", is_selectors=True),
        [],
        "leave these rules out",
        "A more specific `select` wins. On the command line it is added to that of the file. RML001 and RML900 cannot be "
        "left out.",
        '["frozen-randomness"]',
    ),
    Option(
        "per-file-ignores",
        PerFile(),
        {},
        "leave rules out in the files that a pattern fits",
        "Patterns are those of `exclude`; with `!` in front, a pattern stands for every other file. On the command line "
        "written `PATTERN:WHAT,WHAT`, and added to those of the file.",
        '{ "tests/**" = ["RML7"], "!src/**" = ["cost"] }',
    ),
    Option(
        "severity",
        Levels(),
        {},
        "report these rules as error, warning or info",
        "The level holds for every finding of a rule, and notes that become warnings are shown. The most specific selector "
        "decides. On the command line written `WHAT=LEVEL`, and stronger than that of the file. RML001 and RML900 stay "
        "errors.",
        '{ stale-capture = "error", memory = "info" }',
    ),
    Option(
        "jax-version",
        Specifier(),
        "",
        "the JAX releases that findings speak about",
        "A version (`0.10.2`; `0.10` is every 0.10 release) or a specifier (`>=0.6,<0.11`). Without it the releases are "
        "taken from the project: its dependencies, its optional ones and groups, requirements files, conda environments and "
        "lock files, the first that names a version; else every supported release counts. What is true of a part of the "
        "releases only is a warning at most, and names them.",
        '">=0.6,<0.11"',
        _ALL_COMMANDS,
    ),
    Option(
        "exclude",
        Strings("third_party"),
        list(DEFAULT_EXCLUDE),
        "leave files and folders out that fit these patterns, in place of the default ones",
        "A pattern without a slash fits a name anywhere; one with a slash fits a path from the folder of the configuration "
        "file, on the command line from the current folder. It holds for paths that are named, too.",
        '["build", "docs/examples"]',
        _ALL_COMMANDS,
    ),
    Option(
        "extend-exclude",
        Strings("third_party"),
        [],
        "leave these files and folders out as well",
        "Added to `exclude`, or to its default.",
        '["third_party"]',
        _ALL_COMMANDS,
    ),
    Option(
        "respect-gitignore",
        Switch(),
        True,  # noqa: FBT003 (a value of the table)
        "leave out what git ignores",
        "Files that are named are linted even if git ignores them.",
        "false",
        _ALL_COMMANDS,
    ),
)

OPTIONS: Mapping[str, Option] = MappingProxyType({option.key: option for option in _OPTIONS})
"""Every option by its key, in the order of the documentation."""


def options_of(command: str) -> Sequence[Option]:
    """Return the options that a command takes as arguments."""
    return [option for option in OPTIONS.values() if command in option.commands]
