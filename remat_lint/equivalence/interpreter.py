"""Which Python runs the tests: one that exists already, never one that a package manager would build."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from remat_lint.errors import UsageError

_ENVIRONMENT_FOLDERS = (".venv", "venv")
_PYTHONS = ("bin/python", "Scripts/python.exe")


@dataclass(frozen=True)
class Interpreter:
    """A Python executable, and what it is: why it was chosen."""

    path: str
    origin: str


def _python_in(folder: Path) -> str | None:
    return next((str(folder / place) for place in _PYTHONS if (folder / place).is_file()), None)


def choose_interpreter(asked: str | None, project: Path, environ: Mapping[str, str], own: str) -> Interpreter:
    """Chooses the interpreter: the one asked for, the active environment, the project's environment, then our own.

    Args:
        asked: value of `--python`: a path or a name on `PATH`.
        project: root of the project.
        environ: environment variables.
        own: the interpreter that runs remat-lint.

    Raises:
        UsageError: if the one asked for does not exist.
    """
    if asked is not None:
        found = shutil.which(asked, path=environ.get("PATH", os.defpath))
        if found is None:
            raise UsageError(
                f"there is no Python interpreter {asked!r}: give --python the path of one that has jax and pytest"
            )
        return Interpreter(found, "given by --python")
    active = environ.get("VIRTUAL_ENV")
    if active and (python := _python_in(Path(active))):
        return Interpreter(python, "the active environment")
    for name in _ENVIRONMENT_FOLDERS:
        if python := _python_in(project / name):
            return Interpreter(python, f"the project's {name}")
    return Interpreter(own, "the one that runs remat-lint")
