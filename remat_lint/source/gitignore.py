"""What git ignores: `.gitignore` files at every level, and `.git/info/exclude`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

_GROUP = re.compile(r"\(\?P<\w+>")
_LARGEST = 2**20  # a larger .gitignore is no list of patterns that somebody wrote


@dataclass(frozen=True, slots=True)
class Layer:
    """The patterns of one file, which hold for what lies below `base`.

    Args:
        base: an absolute path with a separator at the end.
        spec: the patterns.
        any_pattern: matches wherever one of them does.
    """

    base: str
    spec: GitIgnoreSpec
    any_pattern: re.Pattern[str]

    def decide(self, path: str, *, folder: bool) -> bool | None:
        """Whether the last pattern that fits `path` ignores it, or None if none fits."""
        relative = path[len(self.base) :].replace(os.sep, "/") + ("/" if folder else "")
        # Most files fit no pattern; one joined expression finds that out in a third of the time.
        if not self.any_pattern.match(relative):
            return None
        return self.spec.check_file(relative).include


Layers = tuple[Layer, ...]


def is_ignored(layers: Layers, path: str, *, folder: bool) -> bool:
    """Whether git ignores `path`, given that it ignores none of the folders above; the nearest file decides."""
    for layer in reversed(layers):
        decision = layer.decide(path, folder=folder)
        if decision is not None:
            return decision
    return False


def read_layers_above(folder: str, root: str) -> Layers:
    """The layers that hold for the entries of `folder` from the folders above it, without its own `.gitignore`.

    They begin at the top of the git repository, or at `root` if `folder` is in none. If git ignores `folder` itself,
    there are none: whoever names an ignored folder wants to see what is in it.
    """
    chain = list(_find_chain(folder, root))
    layers: Layers = ()
    for above, below in pairwise(chain):
        layers = (*layers, *read_layers(above))
        if is_ignored(layers, below, folder=True):
            return ()
    return layers


def read_layers(folder: str) -> Layers:
    """The layers that `folder` itself adds: `.git/info/exclude` at the top of a repository, then `.gitignore`."""
    names = (os.path.join(".git", "info", "exclude"), ".gitignore")  # noqa: PTH118  # paths stay text while walking
    base = folder if folder.endswith(os.sep) else folder + os.sep
    specs = (_read_spec(base + name) for name in names)
    return tuple(Layer(base, spec, _join(spec)) for spec in specs if spec is not None)


def _join(spec: GitIgnoreSpec) -> re.Pattern[str]:
    """One expression for all patterns; group names go, since every pattern uses the same ones."""
    sources = [str(pattern.regex.pattern) for pattern in spec.patterns if pattern.regex is not None]
    return re.compile(
        "|".join(f"(?:{_GROUP.sub('(?:', source)})" for source in sources) or r"(?!)", re.DOTALL
    )


def _find_chain(folder: str, root: str) -> Iterator[str]:
    """The folders from the top of the repository (or the root) down to `folder`."""
    path = Path(folder)
    above = [path, *path.parents]
    tops = (index for index, each in enumerate(above) if os.path.lexists(each / ".git"))
    roots = (index for index, each in enumerate(above) if str(each) == root)
    last = next(tops, next(roots, 0))
    return map(str, reversed(above[: last + 1]))


def _read_spec(path: str) -> GitIgnoreSpec | None:
    """Read one file of patterns; links are not followed (neither does git), unusable lines are skipped."""
    file = Path(path)
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST:
            return None
        lines = os.fsdecode(file.read_bytes()).splitlines()
    except OSError:
        return None
    return _parse(lines)


def _parse(lines: list[str]) -> GitIgnoreSpec | None:
    """Parse patterns; pathspec is imported here, so that it costs nothing where no patterns are."""
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  # see above

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        usable = [line for line in lines if _is_usable(line)]
    return GitIgnoreSpec.from_lines(usable) if usable else None


def _is_usable(line: str) -> bool:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  # as above

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
