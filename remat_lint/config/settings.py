"""The value that every other part of the program is given: which findings a run reports, and as what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remat_lint.config.selectors import ALWAYS_SELECTED, best, weigh
from remat_lint.findings import Severity

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


@dataclass(frozen=True, slots=True)
class Choice:
    """What one option is set to, as it would stand in a configuration file, and by whom.

    Attributes:
        value: the value.
        origin: `default`, `pyproject.toml:12`, `--select`, or several of them.
    """

    value: Any
    origin: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides which findings a run reports.

    Attributes:
        root: the project: the nearest folder with a project file or `.git` above the first path.
        config_file: the file the settings came from, if any.
        select: selectors (code, prefix, name, category or `ALL`); empty means every rule, notes hidden.
        extend_select: selectors that are added to `select`, or to the default.
        ignore: selectors that are left out again.
        per_file_ignores: patterns of files, relative to `pattern_root`, each with selectors that are left out in them.
        severity: selectors with the severity that findings of the rules they name have, whatever the rules say.
        exclude: gitignore-style patterns, relative to `pattern_root`.
        respect_gitignore: whether ignored files are left out.
        jax_version: a specifier or version of the JAX releases that findings speak about; empty means those that the
            project's own files name.
        choices: what each option is set to and where, by its key; empty if nobody read a file or a command line.
    """

    root: Path = field(default_factory=Path.cwd)
    config_file: Path | None = None
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    respect_gitignore: bool = True
    jax_version: str = ""
    choices: Mapping[str, Choice] = field(default_factory=dict, compare=False, repr=False)

    @property
    def pattern_root(self) -> Path:
        """The folder that patterns of `exclude` and `per_file_ignores` start from."""
        return self.root if self.config_file is None else self.config_file.parent

    def is_selected(self, code: str, name: str, category: str) -> bool:
        """Whether a rule runs: the most specific selector decides, `ignore` wins a draw."""
        if code in ALWAYS_SELECTED:
            return True
        wanted = best(self.select, code, name, category) if self.select else 1
        wanted = max(wanted, best(self.extend_select, code, name, category))
        return wanted > best(self.ignore, code, name, category)

    def shows(self, severity: Severity, code: str, name: str, category: str) -> bool:
        """Whether a finding of a selected rule is shown: notes only where they were asked for."""
        asked = (*self.select, *self.extend_select)
        return severity is not Severity.INFO or best(asked, code, name, category) > 0

    def severity_of(self, reported: Severity, code: str, name: str, category: str) -> Severity:
        """Return what a finding counts as: the most specific selector decides, the last one wins a draw.

        Args:
            reported: what the rule says.
            code: the rule's code.
            name: its name.
            category: its category.
        """
        chosen, weight = reported, 0
        for selector, severity in self.severity if code not in ALWAYS_SELECTED else ():
            found = weigh(selector, code, name, category)
            if found and found >= weight:
                chosen, weight = severity, found
        return chosen
