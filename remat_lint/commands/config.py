"""`remat-lint config`: the settings of configuration files, as pages, a table, JSON, or a JSON schema."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from remat_lint.commands.console import Console
from remat_lint.commands.toml import to_toml
from remat_lint.config import nearest
from remat_lint.config.kinds import Switch
from remat_lint.config.options import OPTIONS, Option
from remat_lint.errors import UsageError
from remat_lint.output.terminal import Style, paint

_LONG = 60  # characters of a default that are shown in one line


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Print one option, or all of them."""
    options = [find_option(arguments.key)] if arguments.key else list(OPTIONS.values())
    match arguments.output_format:
        case "json":
            found = [describe(option) for option in options]
            console.write([json.dumps(found[0] if arguments.key else found, indent=2), "\n"])
        case "json-schema":
            console.write([json.dumps(schema(options), indent=2), "\n"])
        case "markdown":
            console.write(table(options))
        case _ if arguments.key:
            console.write(_page(options[0], color=console.color))
        case _:
            console.write(_list(options, color=console.color))
    return 0


def find_option(key: str) -> Option:
    """Return the option with a key.

    Raises:
        UsageError: there is none; with the nearest one that there is.
    """
    if key in OPTIONS:
        return OPTIONS[key]
    hint = nearest(key, OPTIONS)
    raise UsageError(
        f"there is no setting {key!r}; "
        + (f"did you mean {hint!r}?" if hint else f"the settings are {', '.join(OPTIONS)}")
    )


def describe(option: Option) -> dict[str, Any]:
    """Return an option as JSON."""
    return {
        "key": option.key,
        "summary": option.summary,
        "explanation": option.explanation,
        "default": option.default,
        "example": f"{option.key} = {option.example}",
        "schema": option.kind.schema,
        "flag": usage(option),
        "commands": list(option.commands),
    }


def schema(options: Sequence[Option]) -> dict[str, Any]:
    """Return the JSON schema of `remat-lint.toml`, and of the table in `pyproject.toml`."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Settings of remat-lint",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            option.key: {
                "description": f"{_sentence(option.summary)} {option.explanation}",
                "default": option.default,
                **option.kind.schema,
            }
            for option in options
        },
    }


def table(options: Sequence[Option]) -> Iterator[str]:
    """Return the rows of a Markdown table of options."""
    yield "| setting | what it does | example |\n| --- | --- | --- |\n"
    for option in options:
        yield f"| `{option.key}` | {_sentence(option.summary)} {option.explanation} | `{option.example}` |\n"


def usage(option: Option) -> str:
    """Return how an option is written on the command line."""
    if isinstance(option.kind, Switch):
        return f"{option.flag}, --no-{option.key}"
    return f"{option.flag} {option.kind.metavar}"


def _list(options: Sequence[Option], *, color: bool) -> Iterator[str]:
    width = max(len(option.key) for option in options)
    for option in options:
        name = paint(option.key, Style.BOLD, color=color)
        yield f"{name}{' ' * (width - len(option.key))}  {_sentence(option.summary)}\n"
    yield "\n`remat-lint config KEY` explains one, `remat-lint --show-settings` tells what they are set to.\n"


def _page(option: Option, *, color: bool) -> Iterator[str]:
    default = to_toml(option.default)
    if len(default) > _LONG:
        default = "[\n" + "".join(f"  {to_toml(one)},\n" for one in option.default) + "]"
    yield f"{paint(option.key, Style.BOLD, color=color)}\n\n{_sentence(option.summary)} {option.explanation}\n\n"
    yield f"example: {option.key} = {option.example}\n"
    yield f"on the command line: {usage(option)} ({', '.join(option.commands)})\n"
    yield f"default: {default}\n"


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."
