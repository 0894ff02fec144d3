"""Which files a run is about: the paths that were named, walked, without what is excluded or ignored."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from remat_lint.config import DEFAULT_EXCLUDE
from remat_lint.errors import UsageError
from remat_lint.source.gitignore import Layers, is_ignored, read_layers, read_layers_above
from remat_lint.source.patterns import Patterns

SUFFIXES = (".py", ".pyi")
"""The endings of files that are read."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A place that could not be looked at, and a clause that says why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class DiscoveredFiles:
    """What a run is about.

    Args:
        files: absolute paths in order of their text. Every file stands here once, even if links give it several
            names: then under the name without links, if there is one.
        problems: folders that cannot be read, links to nothing, pipes and sockets; the run goes on without them.
        excluded: paths that were named but that a pattern excludes, each with the pattern.
    """

    files: tuple[Path, ...]
    problems: tuple[Problem, ...] = ()
    excluded: tuple[tuple[Path, str], ...] = ()


def discover(
    paths: Iterable[Path],
    *,
    root: Path,
    exclude: Sequence[str] = DEFAULT_EXCLUDE,
    extend_exclude: Sequence[str] = (),
    respect_gitignore: bool = True,
) -> DiscoveredFiles:
    """Find the Python files below `paths`.

    Excludes hold for paths that are named too, as pre-commit names every changed file; `.gitignore` does not hold
    for them. Links to files are followed, links to folders only where they are named. No file is opened but
    `.gitignore` files.

    Args:
        paths: files and folders; relative ones are taken from the current folder.
        root: the root of the project, from which patterns with a slash count.
        exclude: patterns in place of the default ones, see `Patterns`.
        extend_exclude: patterns to be added.
        respect_gitignore: leave out what git ignores.

    Raises:
        UsageError: a path does not exist.
    """
    top = os.path.abspath(root)  # noqa: PTH100  # takes `..` away and keeps links as named
    patterns = Patterns((*exclude, *extend_exclude))
    walker = _Walker(top, patterns, respect_gitignore=respect_gitignore)
    for path in paths:
        walker.add(os.path.abspath(path), str(path))  # noqa: PTH100  # the same
    files = sorted(walker.names.values())
    return DiscoveredFiles(
        tuple(map(Path, files)), tuple(sorted(set(walker.problems))), tuple(dict.fromkeys(walker.excluded))
    )


class _Walker:
    """Collects files; `names` maps the real path of each to the name it is reported under."""

    def __init__(self, root: str, patterns: Patterns, *, respect_gitignore: bool) -> None:
        self.root = root
        self.patterns = patterns
        self.respect_gitignore = respect_gitignore
        self.names: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.excluded: list[tuple[Path, str]] = []
        self._prefix = root if root.endswith(os.sep) else root + os.sep

    def add(self, path: str, named: str) -> None:
        """Take in one path of the command line."""
        try:
            mode = os.stat(path).st_mode  # noqa: PTH116  # paths stay text while walking
        except (FileNotFoundError, NotADirectoryError):
            if not os.path.islink(path):  # noqa: PTH114  # the same
                raise UsageError(f"{named!r} does not exist") from None
            self._report(path, "is a link to nothing")
            return
        except (OSError, ValueError) as error:
            self._report(path, _explain(error))
            return
        inside = path.startswith(self._prefix)
        name = path.rpartition(os.sep)[2]
        parts = path[len(self._prefix) :].replace(os.sep, "/").split("/") if inside else [name]
        above_root = self._prefix.startswith(path.rstrip(os.sep) + os.sep)
        if not above_root and (pattern := self.patterns.find_above(parts)):
            self.excluded.append((Path(path), pattern))
        elif stat.S_ISDIR(mode):
            self._walk(path)
        elif not stat.S_ISREG(mode):
            self._report(path, "is not a regular file")
        elif path.endswith(SUFFIXES) or "." not in name:
            self._keep(path, os.path.realpath(path))
        else:
            self._report(path, "is not a Python file (.py, .pyi)")

    def _walk(self, top: str) -> None:
        """Take in the files below a folder; links to folders are not followed, so the walk ends."""
        layers = read_layers_above(top, self.root) if self.respect_gitignore else ()
        pending = [(top, os.path.realpath(top), layers)]
        while pending:
            folder, real, layers = pending.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = list(listing)
            except OSError as error:
                self._report(folder, _explain(error))
                continue
            layers = self._extend(folder, entries, layers)
            for entry in entries:
                real_path = os.path.join(real, entry.name)  # noqa: PTH118  # paths stay text while walking
                try:
                    if self._visit(entry, real_path, layers):
                        pending.append((entry.path, real_path, layers))
                except OSError as error:
                    self._report(entry.path, _explain(error))

    def _visit(self, entry: os.DirEntry[str], real_path: str, layers: Layers) -> bool:
        """Take in an entry if it is a file for us; whether it is a folder to be walked."""
        is_folder = entry.is_dir(follow_symlinks=False)
        if not (is_folder or entry.name.endswith(SUFFIXES)) or self._is_left_out(
            entry, layers, is_folder=is_folder
        ):
            return False
        if not is_folder:
            self._take(entry, real_path)
        return is_folder

    def _extend(self, folder: str, entries: Sequence[os.DirEntry[str]], layers: Layers) -> Layers:
        """Add the patterns of a folder; a repository inside of another one begins anew, as for git."""
        if not self.respect_gitignore:
            return ()
        names = {entry.name for entry in entries}
        if ".git" in names:
            return read_layers(folder)
        return (*layers, *read_layers(folder)) if ".gitignore" in names else layers

    def _is_left_out(self, entry: os.DirEntry[str], layers: Layers, *, is_folder: bool) -> bool:
        inside = entry.path.startswith(self._prefix)
        relative = entry.path[len(self._prefix) :].replace(os.sep, "/") if inside else entry.name
        if self.patterns.find(entry.name, relative):
            return True
        return bool(layers) and is_ignored(layers, entry.path, folder=is_folder)

    def _take(self, entry: os.DirEntry[str], real_path: str) -> None:
        """Take in one entry of a folder that has the name of a Python file."""
        if entry.is_symlink():
            real_path = os.path.realpath(real_path)
            if entry.is_dir():
                return
            if not os.path.lexists(real_path):
                # Emacs marks a file that is being edited by a link to nothing of this name.
                if not entry.name.startswith(".#"):
                    self._report(entry.path, "is a link to nothing")
                return
        if entry.is_file():
            self._keep(entry.path, real_path)
        else:
            self._report(entry.path, "is not a regular file")

    def _keep(self, path: str, real_path: str) -> None:
        """Note a file; of several names the one without links is kept, else the first in order."""
        known = self.names.get(real_path)
        if known is None or path == real_path or (known != real_path and path < known):
            self.names[real_path] = path

    def _report(self, path: str, reason: str) -> None:
        self.problems.append(Problem(Path(path), reason))


def _explain(error: Exception) -> str:
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"
