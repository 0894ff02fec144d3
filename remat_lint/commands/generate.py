"""`remat-lint generate`: write a test that a checkpointed function computes the same. It runs nothing."""

from __future__ import annotations

import argparse
from pathlib import Path

from remat_lint.commands.console import Console
from remat_lint.equivalence.generator import GeneratedTest, generate
from remat_lint.errors import UsageError
from remat_lint.output.terminal import visible
from remat_lint.output.view import View


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Write the test of the function that PATH::NAME names, and say where it is."""
    file, separator, name = arguments.target.rpartition("::")
    if not (file and separator and name):
        raise UsageError(f"generate needs PATH::NAME, such as src/model.py::loss, not {arguments.target!r}")
    if not Path(file).exists():
        raise UsageError(f"{file!r} does not exist")
    test = generate(Path(file), name, Path(arguments.output) if arguments.output else None)
    if arguments.output is None:
        _check_folder(Path(file), test)
    written = _write(test)
    if test.missing:
        console.warn(test.missing)
    shown = visible(View(Path.cwd()).path(str(test.path)))
    console.write([f"{shown}\n"])
    console.put_aside(
        [f"{'Written' if written else 'It was there already'}; `remat-lint run {shown}` runs it.\n"]
    )
    return 0


def _check_folder(file: Path, test: GeneratedTest) -> None:
    """Refuse a default folder that is a link to some other place than beside or below the project's files."""
    folder = test.path.parent
    if not folder.resolve().is_relative_to(folder.parent.resolve()):
        raise UsageError(f"{folder} is a link out of the project of {file}; name a folder with --output")


def _write(test: GeneratedTest) -> bool:
    """Create the file; False if it stands there with the same text. Another text may hold someone's work.

    The test that was written while no inputs were known is replaced.
    """
    try:
        test.path.parent.mkdir(parents=True, exist_ok=True)
        with test.path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(test.text)
    except FileExistsError as error:
        there = test.path.read_text(encoding="utf-8", errors="replace") if test.path.is_file() else None
        if there == test.text:
            return False
        if there == test.blank and not test.path.is_symlink():
            test.path.write_text(test.text, encoding="utf-8", newline="\n")
            return True
        raise UsageError(
            f"{test.path} is there already with another text; remove it or name a folder with --output"
        ) from error
    except OSError as error:
        raise UsageError(f"{test.path} cannot be written: {error.strerror or error}") from error
    return True
