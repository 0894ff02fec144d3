"""`check --show-files` and `check --show-settings`: what a run would be about, without the run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from remat_lint.commands.console import Console
from remat_lint.commands.toml import to_toml
from remat_lint.config import Choice, Settings
from remat_lint.config.files import parse
from remat_lint.engine import Engine
from remat_lint.output.terminal import Style, paint, visible
from remat_lint.output.view import View


def show_files(files: Sequence[Path], arguments: argparse.Namespace, console: Console) -> None:
    """Print the files, a line each, or as one JSON array."""
    view = View(Path.cwd())
    names = [view.path(str(file)) for file in files]
    if arguments.output_format == "json":
        console.write([json.dumps(names, indent=2), "\n"])
    else:
        console.write(f"{visible(name)}\n" for name in names)


def show_settings(engine: Engine, arguments: argparse.Namespace, console: Console) -> None:
    """Print every setting with its value and where that comes from, and what follows from the settings."""
    settings = engine.settings
    origins = {key: _origin(settings, key, choice) for key, choice in settings.choices.items()}
    codes = [rule.code for rule in engine.inspector.selected]
    jax = engine.analysis.jax
    if arguments.output_format == "json":
        found = {
            "project": str(settings.root),
            "configuration": None if settings.config_file is None else str(settings.config_file),
            "rules": codes,
            "jax": {"releases": list(jax.releases), "and_newer": jax.is_open, "origin": jax.origin or None},
            "settings": {
                key: {"value": choice.value, "origin": origins[key]}
                for key, choice in settings.choices.items()
            },
        }
        console.write([json.dumps(found, indent=2), "\n"])
        return
    facts = {
        "project": str(settings.root),
        "configuration": str(settings.config_file or "none"),
        "rules": " ".join(codes),
        "releases": f"{jax.describe()} ({jax.origin or 'no file of the project names any'})",
    }
    console.write(_rows(facts, settings.choices, origins, color=console.color))


def _rows(
    facts: Mapping[str, str], choices: Mapping[str, Choice], origins: Mapping[str, str], *, color: bool
) -> Iterator[str]:
    """Yield the lines of a text that is TOML, so that it can be taken over into a file."""
    for name, text in facts.items():
        yield f"# {name}: {visible(text)}\n"
    for key, choice in choices.items():
        comment = paint(f"  # {visible(origins[key])}", Style.CYAN, color=color)
        yield f"{paint(key, Style.BOLD, color=color)} = {to_toml(_shown(choice.value))}{comment}\n"


def _shown(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _origin(settings: Settings, key: str, choice: Choice) -> str:
    """Return where a value comes from, with the line in the file."""
    file = settings.config_file
    if file is None or not choice.origin.startswith(file.name):
        return choice.origin
    line = parse(file).line_of(key)
    return choice.origin if line is None else choice.origin.replace(file.name, f"{file.name}:{line}", 1)
