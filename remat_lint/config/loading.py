"""Reading settings: the table of a file and the words of a command line, checked and put together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remat_lint.config.files import OWN_FILE, TABLE, ConfigFile, absolute, find_config, find_root, parse
from remat_lint.config.kinds import Levels, PerFile, name_of
from remat_lint.config.options import OPTIONS
from remat_lint.config.selectors import RuleInfo, check_selectors, nearest
from remat_lint.config.settings import Choice, Settings
from remat_lint.errors import ConfigError, UsageError
from remat_lint.findings import Severity

_REPLACED_BY_SELECT = ("extend-select", "ignore")
_ADDED = ("extend-select", "ignore", "extend-exclude")


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line says about settings.

    Attributes:
        config: the configuration file to use instead of the nearest one.
        isolated: use no configuration file.
        options: values by key, as a file would hold them. `select` replaces the file's selection and `ignore`; lists
            and tables that add something are added to the file's; the others replace it.
    """

    config: Path | None = None
    isolated: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def load(paths: Sequence[Path], rules: Iterable[RuleInfo], overrides: Overrides = Overrides()) -> Settings:
    """Read the configuration that belongs to `paths` and merge it with the command line.

    Args:
        paths: files and folders to lint; the first one decides, none means the current folder.
        rules: every known rule, to check selectors against; not touched where there are none.
        overrides: what the command line says.

    Raises:
        ConfigError: the file cannot be read, or holds something unknown.
        UsageError: a value of the command line cannot be used.
    """
    places = [absolute(path) for path in paths] or [Path.cwd()]
    _check_overrides(overrides.options, rules)
    if overrides.config:
        path: Path | None = absolute(overrides.config)
    else:
        path = None if overrides.isolated else find_config(places[0])
    table = read(path, rules) if path else {}
    root = find_root(places)
    given = _from_here(overrides.options, root if path is None else path.parent)
    choices = {key: _choose(key, table, path, given) for key in OPTIONS}
    value = {key: choice.value for key, choice in choices.items()}
    return Settings(
        root=root,
        config_file=path,
        select=tuple(value["select"]),
        extend_select=tuple(value["extend-select"]),
        ignore=tuple(value["ignore"]),
        per_file_ignores=tuple((pattern, tuple(what)) for pattern, what in value["per-file-ignores"].items()),
        severity=tuple((what, Severity(level)) for what, level in value["severity"].items()),
        exclude=(*value["exclude"], *value["extend-exclude"]),
        respect_gitignore=value["respect-gitignore"],
        jax_version=value["jax-version"],
        choices=choices,
    )


def read(path: Path, rules: Iterable[RuleInfo] | None = None) -> dict[str, Any]:
    """Return the checked table of a configuration file; selectors are checked when `rules` are given.

    Raises:
        ConfigError: with the file, the line where it can be told, and what to write instead.
    """
    file = parse(path)
    table = file.table
    if table is None:
        raise ConfigError(
            f"there is no [{TABLE}] table in this file; add one or leave out --config", str(path)
        )
    if not isinstance(table, dict):
        raise ConfigError(f"{TABLE} is {name_of(table)}; write a table: [{TABLE}]", str(path), file.line_of())
    for key, value in table.items():
        _check_key(file, key, value)
    for key, value in table.items() if rules is not None else ():
        for inside, selector in OPTIONS[key].kind.selectors(value):
            try:
                check_selectors([selector], f'"{key}"', rules or ())
            except UsageError as error:
                raise ConfigError(str(error), str(path), _line(file, key, inside)) from error
    return table


def _check_key(file: ConfigFile, key: str, value: object) -> None:
    """Raise an error for a key that is unknown, or whose value cannot be used."""
    if key not in OPTIONS:
        where = f"[{TABLE}]" if file.is_shared else OWN_FILE
        hint = nearest(key, OPTIONS)
        known = f"did you mean {hint!r}?" if hint else f"the keys are {', '.join(OPTIONS)}"
        text = f"unknown key {key!r} in {where}; {known}"
        if key == "tool" and not file.is_shared:
            text = f"here the keys stand at the top level; leave out [{TABLE}]"
        raise ConfigError(text, str(file.path), file.line_of(key))
    problem = OPTIONS[key].kind.problem(value)
    if problem is not None:
        text = problem.text if problem.inside is not None else f"{key!r} {problem.text}"
        raise ConfigError(text, str(file.path), _line(file, key, problem.inside))


def _check_overrides(options: Mapping[str, Any], rules: Iterable[RuleInfo]) -> None:
    for key, value in options.items():
        option = OPTIONS[key]
        problem = option.kind.problem(value)
        if problem is not None:
            raise UsageError(f"{option.flag}{': ' if problem.inside is not None else ' '}{problem.text}")
        check_selectors([one for _, one in option.kind.selectors(value)], option.flag, rules)


def _choose(key: str, table: Mapping[str, Any], path: Path | None, given: Mapping[str, Any]) -> Choice:
    """Put together what the file and the command line say about one option."""
    option = OPTIONS[key]
    dropped = "select" in given and key in _REPLACED_BY_SELECT
    in_file = None if dropped else table.get(key)
    said = [] if in_file is None or path is None else [path.name]
    if key not in given:
        value = option.default if in_file is None else in_file
        return Choice(value, said[0] if said else "default")
    value = given[key]
    if in_file is not None and key in _ADDED:
        value = [*in_file, *value]
    elif in_file is not None and isinstance(option.kind, PerFile):
        value = {one: [*in_file.get(one, ()), *value.get(one, ())] for one in {**in_file, **value}}
    elif in_file is not None and isinstance(option.kind, Levels):
        kept = {what: level for what, level in in_file.items() if what not in value}
        value = {**kept, **value}
    else:
        said = []
    return Choice(value, " and ".join([*said, option.flag]))


def _from_here(options: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Return the options of a command line with their patterns, which start in the current folder, starting in `root`."""
    found = dict(options)
    for key in ("exclude", "extend-exclude"):
        if key in found:
            found[key] = [_rooted(pattern, root) for pattern in found[key]]
    if "per-file-ignores" in found:
        found["per-file-ignores"] = {
            pattern[:1] * pattern.startswith("!") + _rooted(pattern.removeprefix("!"), root): what
            for pattern, what in found["per-file-ignores"].items()
        }
    return found


def _rooted(pattern: str, root: Path) -> str:
    if "/" not in pattern.strip("/") and not pattern.startswith(("/", "./")):
        return pattern
    whole = os.path.abspath(pattern.lstrip("/") if not pattern.startswith(f"{root}{os.sep}") else pattern)  # noqa: PTH100 (text in, text out)
    return os.path.relpath(whole, root).replace(os.sep, "/") if Path(whole).is_relative_to(root) else pattern


def _line(file: ConfigFile, key: str, inside: str | None) -> int | None:
    return file.line_of(key) if inside is None else file.line_of(key, inside) or file.line_of(key)
