"""Where settings stand: the project, its configuration file, and the line of a key in it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remat_lint.errors import ConfigError

OWN_FILE = "remat-lint.toml"
PYPROJECT = "pyproject.toml"
TABLE = "tool.remat-lint"
_PATH = tuple(TABLE.split("."))


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file that was read.

    Attributes:
        path: its absolute path.
        text: its text.
        document: what TOML makes of it.
    """

    path: Path
    text: str
    document: Mapping[str, Any]

    @property
    def is_shared(self) -> bool:
        """Whether other tools have tables in it."""
        return self.path.name == PYPROJECT

    @property
    def table(self) -> Any:
        """What stands in our table; None if there is none."""
        return _at(self.document, _PATH) if self.is_shared else self.document

    def line_of(self, *keys: str) -> int | None:
        """Return the line in which a key below our table is set, the first one if that is done in several places.

        tomllib tells no places. But the beginning of a TOML text, cut at the end of a statement, is TOML too: the
        first statement after which the key is there is the one that sets it.
        """
        wanted = (*_PATH, *keys) if self.is_shared else keys
        if _at(self.document, wanted) is None:
            return None
        lines = [f"{line}\n" for line in self.text.split("\n")]
        low, high = 0, len(lines)
        while low < high:
            middle = (low + high) // 2
            if _at(_beginning(lines, middle)[1], wanted) is None:
                low = middle + 1
            else:
                high = middle
        # Its last line; what the statement before it leaves over begins with its first one.
        return _beginning(lines, low - 1)[0] + 1


def find_root(paths: Sequence[Path]) -> Path:
    """Return the project of absolute `paths`: the nearest folder above the first with a project file or `.git`.

    Without one it is the common folder of the paths.
    """
    for folder in _folders_above(paths[0]):
        if any((folder / mark).exists() for mark in (PYPROJECT, OWN_FILE, ".git")):
            return folder
    return Path(os.path.commonpath([_folders_above(path)[0] for path in paths]))


def find_config(path: Path) -> Path | None:
    """Return the nearest configuration file above the absolute `path`.

    A pyproject without our table is passed over.
    """
    for folder in _folders_above(path):
        own, shared = folder / OWN_FILE, folder / PYPROJECT
        if own.is_file():
            return own
        if shared.is_file() and parse(shared).table is not None:
            return shared
    return None


def absolute(path: Path) -> Path:
    """Return a path from the root of the file system, with its links as they are named."""
    # Not `resolve`: a link inside the project belongs to the project it stands in.
    return Path(os.path.abspath(path))  # noqa: PTH100 (`Path.absolute` keeps `..`)


def parse(path: Path) -> ConfigFile:
    """Read a TOML file.

    Raises:
        ConfigError: it cannot be read or is no TOML, with the line.
    """
    import tomllib  # noqa: PLC0415 (start-up: most runs of an editor's child and `--version` read no TOML)

    try:
        text = path.read_text(encoding="utf-8-sig")
        return ConfigFile(path, text, tomllib.loads(text))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", str(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigError("is not UTF-8 text, which TOML requires", str(path)) from error
    except RecursionError as error:
        raise ConfigError("is nested too deeply", str(path)) from error
    except tomllib.TOMLDecodeError as error:
        place = re.search(r" ?\(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        reason = str(error)[: place.start()] if place else str(error)
        raise ConfigError(f"is not valid TOML: {reason[:1].lower()}{reason[1:]}", str(path), line) from error


def _beginning(lines: list[str], count: int) -> tuple[int, Mapping[str, Any]]:
    """Return the largest number of lines, at most `count`, that are TOML by themselves, and what they say."""
    import tomllib  # noqa: PLC0415 (start-up)

    for number in range(count, 0, -1):
        try:
            return number, tomllib.loads("".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue
    return 0, {}


def _at(document: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _folders_above(path: Path) -> tuple[Path, ...]:
    return (path, *path.parents) if path.is_dir() else tuple(path.parents) or (path,)
