"""Settings: what a configuration file and the command line ask for, checked and merged into one frozen value.

The nearest `remat-lint.toml`, or `pyproject.toml` with a `[tool.remat-lint]` table, above the first path counts.
A misspelt key, a value of the wrong type and an unknown selector are errors: a setting that is silently ignored
is worse than a run that stops.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from remat_lint.errors import ConfigError, UsageError
from remat_lint.findings import Severity

ALL = "ALL"
CATEGORIES = ("correctness", "suspicious", "memory", "cost", "evidence", "tool")
ALWAYS_SELECTED = frozenset({"RML001", "RML900"})
"""A file that cannot be read and a crash of the linter are never kept quiet."""

OWN_FILE = "remat-lint.toml"
PYPROJECT = "pyproject.toml"
TABLE = "tool.remat-lint"

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

_EXACT = 1000  # above the length of every prefix
_STRINGS = 'a list of strings such as ["{}"]'
_KEYS = {
    "select": _STRINGS.format("RML101"),
    "ignore": _STRINGS.format("RML601"),
    "exclude": _STRINGS.format("third_party"),
    "extend-exclude": _STRINGS.format("third_party"),
    "respect-gitignore": "true or false",
}
_KINDS = {
    bool: "a boolean",
    str: "a string",
    int: "an integer",
    float: "a float",
    list: "a list",
    dict: "a table",
}


class RuleInfo(Protocol):
    """What selection needs to know of a rule."""

    @property
    def code(self) -> str:
        """The code, `RML101`."""

    @property
    def name(self) -> str:
        """The name, `stale-capture`."""

    @property
    def category(self) -> str:
        """One of `CATEGORIES`."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides which findings a run reports.

    Attributes:
        root: the project: the nearest folder with a project file or `.git` above the first path.
        config_file: the file the settings came from, if any.
        select: selectors (code, prefix, name, category or `ALL`); empty means every rule, notes hidden.
        ignore: selectors that are left out again.
        exclude: gitignore-style patterns, relative to `pattern_root`.
        respect_gitignore: whether ignored files are left out.
    """

    root: Path = field(default_factory=Path.cwd)
    config_file: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    respect_gitignore: bool = True

    @property
    def pattern_root(self) -> Path:
        """The folder that patterns of `exclude` start from."""
        return self.root if self.config_file is None else self.config_file.parent

    def is_selected(self, code: str, name: str, category: str) -> bool:
        """Whether a rule runs: the most specific selector decides, `ignore` wins a draw."""
        if code in ALWAYS_SELECTED:
            return True
        wanted = _best(self.select, code, name, category) if self.select else 1
        return wanted > _best(self.ignore, code, name, category)

    def shows(self, severity: Severity, code: str, name: str, category: str) -> bool:
        """Whether a finding of a selected rule is shown: notes only where they were asked for."""
        return severity is not Severity.INFO or _best(self.select, code, name, category) > 0


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says about settings.

    Attributes:
        config: the configuration file to use instead of the nearest one.
        isolated: use no configuration file.
        select: selectors; they replace the file's `select` and `ignore`.
        ignore: selectors; without `select` they are added to the file's.
    """

    config: Path | None = None
    isolated: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


def load(paths: Sequence[Path], rules: Iterable[RuleInfo], overrides: Overrides = Overrides()) -> Settings:
    """Read the configuration that belongs to `paths` and merge it with the command line.

    Args:
        paths: files and folders to lint; the first one decides, none means the current folder.
        rules: every known rule, to check selectors against; not touched where there are none.
        overrides: what the command line says.

    Raises:
        ConfigError: the file cannot be read, or holds something unknown.
        UsageError: a selector of the command line is unknown.
    """
    places = [_absolute(path) for path in paths] or [Path.cwd()]
    check_selectors(overrides.select, "--select", rules)
    check_selectors(overrides.ignore, "--ignore", rules)
    if overrides.config:
        file: Path | None = _absolute(overrides.config)
    else:
        file = None if overrides.isolated else find_config(places[0])
    table = read(file, rules) if file else {}
    added = () if overrides.select else table.get("ignore", ())
    return Settings(
        root=find_root(places),
        config_file=file,
        select=overrides.select or tuple(table.get("select", ())),
        ignore=(*added, *overrides.ignore),
        exclude=(*table.get("exclude", DEFAULT_EXCLUDE), *table.get("extend-exclude", ())),
        respect_gitignore=table.get("respect-gitignore", True),
    )


def find_root(paths: Sequence[Path]) -> Path:
    """The project of absolute `paths`: the nearest folder above the first with a project file or `.git`.

    Without one it is the common folder of the paths.
    """
    for folder in _folders_above(paths[0]):
        if any((folder / mark).exists() for mark in (PYPROJECT, OWN_FILE, ".git")):
            return folder
    return Path(os.path.commonpath([_folders_above(path)[0] for path in paths]))


def find_config(path: Path) -> Path | None:
    """The nearest configuration file above the absolute `path`; a pyproject without our table is passed over."""
    for folder in _folders_above(path):
        own, shared = folder / OWN_FILE, folder / PYPROJECT
        if own.is_file():
            return own
        if shared.is_file() and _our_table(_parse(shared)[0]) is not None:
            return shared
    return None


def read(file: Path, rules: Iterable[RuleInfo] | None = None) -> dict[str, Any]:
    """The checked table of a configuration file; selectors are checked when `rules` are given.

    Raises:
        ConfigError: with the file, the line where it can be told, and what to write instead.
    """
    document, text = _parse(file)
    shared = file.name == PYPROJECT
    table = _our_table(document) if shared else document
    if table is None:
        raise ConfigError(
            f"there is no [{TABLE}] table in this file; add one or leave out --config", str(file)
        )
    if not isinstance(table, dict):
        line = _line_of(text, "remat-lint", in_table=False) or _line_of(
            text, "tool.remat-lint", in_table=False
        )
        raise ConfigError(f"{TABLE} is {_kind(table)}; write a table: [{TABLE}]", str(file), line)
    for key, value in table.items():
        problem = _problem(key, value, shared=shared)
        if problem:
            raise ConfigError(problem, str(file), _line_of(text, key, in_table=shared))
    for key in ("select", "ignore") if rules is not None else ():
        try:
            check_selectors(table.get(key, ()), f'"{key}"', rules or ())
        except UsageError as error:
            raise ConfigError(str(error), str(file), _line_of(text, key, in_table=shared)) from error
    return table


def check_selectors(selectors: Iterable[str], origin: str, rules: Iterable[RuleInfo]) -> None:
    """Raise `UsageError` for a selector that names no rule, prefix or category, with the nearest that does."""
    selectors = tuple(selectors)
    if not selectors:
        return
    rules = tuple(rules)
    names = [ALL, *CATEGORIES, *(rule.code for rule in rules), *(rule.name for rule in rules)]
    for selector in selectors:
        if selector in names or any(_weight(selector, rule.code, "", "") for rule in rules):
            continue
        hint = nearest(selector, names)
        raise UsageError(
            f"unknown selector {selector!r} in {origin}"
            + (
                f"; did you mean {hint!r}?"
                if hint
                else "; `remat-lint rule --all` lists codes, names and categories"
            )
        )


def _best(selectors: Iterable[str], code: str, name: str, category: str) -> int:
    return max((_weight(selector, code, name, category) for selector in selectors), default=0)


def _weight(selector: str, code: str, name: str, category: str) -> int:
    """How specifically a selector names a rule; 0 if not at all."""
    if selector and selector in (code, name):
        return _EXACT
    if selector == ALL:
        return 1
    if selector and selector == category:
        return 2
    if re.fullmatch(r"RML\d*", selector) and code.startswith(selector):
        return len(selector)
    return 0


def _absolute(path: Path) -> Path:
    # Not `resolve`: a link inside the project belongs to the project it stands in.
    return Path(os.path.abspath(path))  # noqa: PTH100 (`Path.absolute` keeps `..`)


def _folders_above(path: Path) -> tuple[Path, ...]:
    return (path, *path.parents) if path.is_dir() else tuple(path.parents) or (path,)


def _our_table(document: Mapping[str, Any]) -> Any:
    tool = document.get("tool")
    return tool.get("remat-lint") if isinstance(tool, dict) else None


def _parse(file: Path) -> tuple[dict[str, Any], str]:
    import tomllib  # noqa: PLC0415 (start-up: most runs of an editor's child and `--version` read no TOML)

    try:
        text = file.read_text(encoding="utf-8-sig")
        return tomllib.loads(text), text
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", str(file)) from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text, which TOML requires", str(file)) from error
    except RecursionError as error:
        raise ConfigError("is nested too deeply", str(file)) from error
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" ?\(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        reason = str(error)[: place.start()] if place else str(error)
        raise ConfigError(f"is not valid TOML: {reason[:1].lower()}{reason[1:]}", str(file), line) from error


def _problem(key: str, value: object, *, shared: bool) -> str | None:
    """What is wrong with one key and what to write instead."""
    where = f"[{TABLE}]" if shared else OWN_FILE
    if key not in _KEYS:
        if key == "tool" and not shared:
            return f"here the keys stand at the top level; leave out [{TABLE}]"
        hint = nearest(key, _KEYS)
        known = f"did you mean {hint!r}?" if hint else f"the keys are {', '.join(_KEYS)}"
        return f"unknown key {key!r} in {where}; {known}"
    if key == "respect-gitignore":
        fits, found = isinstance(value, bool), _kind(value)
    else:
        items = value if isinstance(value, list) else [None]
        wrong = next((item for item in items if not isinstance(item, str)), None)
        fits = isinstance(value, list) and all(isinstance(item, str) for item in items)
        found = _kind(value) if not isinstance(value, list) else f"a list that holds {_kind(wrong)}"
    return None if fits else f"{key!r} must be {_KEYS[key]}, not {found}"


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "a date or time")


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, whatever its case and with `_` for `-`."""
    import difflib  # noqa: PLC0415 (start-up: needed for mistakes only)

    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold().replace("_", "-"), folded, n=1, cutoff=0.7)
    return folded[close[0]] if close else None


def _line_of(text: str, key: str, *, in_table: bool) -> int | None:
    """The line that sets `key`, as far as it can be told without a second TOML parser."""
    name = rf"""["']?{re.escape(key)}["']?"""
    ours = r"""\s*\[?\s*["']?tool["']?\s*\.\s*["']?remat-lint["']?\s*"""
    header = re.compile(ours + r"(\.|\])")
    dotted = re.compile(rf"""({ours}\.|\s*["']?remat-lint["']?\s*(\.|=.*[{{,]))\s*{name}\s*[=.\]]""")
    plain = re.compile(rf"\s*(\[\s*)?{name}\s*[=.\]]")
    inside = not in_table
    for number, line in enumerate(text.split("\n"), start=1):
        if (in_table and dotted.match(line)) or (inside and plain.match(line)):
            return number
        if in_table and line.lstrip().startswith("["):
            inside = bool(header.match(line))
    return None
