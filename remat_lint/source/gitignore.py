"""What git ignores: `.gitignore` files at every level, and `.git/info/exclude`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

_FOLDER = "ps_d"  # the group by which the expressions of pathspec mark the end of a folder
_PLAIN = re.compile(r"(!?)(/?)((?:[\w.+~@-]|\*(?!\*))++(?:/(?:[\w.+~@-]|\*(?!\*))++)*+)(/?)[ ]*+")
_LARGEST = 2**20  # a larger .gitignore is no list of patterns that somebody wrote


@dataclass(frozen=True, slots=True)
class Layer:
    """The patterns of one file, which hold for what lies below `base`.

    Args:
        base: an absolute path with a separator at the end.
        patterns: what each pattern decides (whether it ignores) and its expression, the last one first.
        any_pattern: matches wherever one of them does.
    """

    base: str
    patterns: Patterns
    any_pattern: re.Pattern[str]

    def decide(self, path: str, *, folder: bool) -> bool | None:
        """Whether the last pattern that fits `path` ignores it, or None if none fits.

        The specifications of pathspec let a pattern that fits a folder speak for everything in it. Git does not: it
        leaves out ignored folders as a whole, and a folder that is taken in again says nothing about its files. So
        the expressions are asked one by one, and matches of a folder above do not count.
        """
        relative = path[len(self.base) :].replace(os.sep, "/") + ("/" if folder else "")
        # Most files fit no pattern; one joined expression finds that out in a third of the time.
        if not self.any_pattern.match(relative):
            return None
        for ignores, regex in self.patterns:
            found = regex.match(relative)
            if found and (_FOLDER not in regex.groupindex or found.end(_FOLDER) in {-1, len(relative)}):
                return ignores
        return None


Patterns = tuple[tuple[bool, re.Pattern[str]], ...]
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
    parsed = (_read_patterns(base + name) for name in names)
    return tuple(Layer(base, patterns, _join(patterns)) for patterns in parsed if patterns)


def _join(patterns: Patterns) -> re.Pattern[str]:
    """One expression for all patterns; group names go, since every pattern uses the same one."""
    sources = (regex.pattern.replace(f"(?P<{_FOLDER}>", "(?:") for _, regex in patterns)
    return re.compile("|".join(f"(?:{source})" for source in sources))


def _find_chain(folder: str, root: str) -> Iterator[str]:
    """The folders from the top of the repository (or the root) down to `folder`."""
    path = Path(folder)
    above = [path, *path.parents]
    tops = (index for index, each in enumerate(above) if os.path.lexists(each / ".git"))
    roots = (index for index, each in enumerate(above) if str(each) == root)
    last = next(tops, next(roots, 0))
    return map(str, reversed(above[: last + 1]))


def _read_patterns(path: str) -> Patterns:
    """Read one file of patterns; links are not followed (neither does git)."""
    file = Path(path)
    try:
        if file.is_symlink() or not file.is_file() or file.stat().st_size > _LARGEST:
            return ()
        lines = os.fsdecode(file.read_bytes()).splitlines()
    except OSError:
        return ()
    return tuple(pattern for line in reversed(lines) for pattern in _parse(line))


def _parse(line: str) -> Iterator[tuple[bool, re.Pattern[str]]]:
    """Parse one line; nothing comes from comments, blank lines and lines that are no pattern."""
    plain = _PLAIN.fullmatch(line)
    if plain:
        yield not plain[1], _translate(*plain.groups())
        return
    if not line.strip() or line.startswith("#"):
        return
    # Imported here: pathspec costs as much as the rest of a run that finds nothing, and most files need it for nothing.
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  # see above

    try:
        spec = GitIgnoreSpec.from_lines([line])
    except ValueError:
        return
    for pattern in spec.patterns:
        if pattern.include is not None and pattern.regex is not None:
            yield pattern.include, pattern.regex


def _translate(_: str, top: str, body: str, folder: str) -> re.Pattern[str]:
    """The expression of a pattern of names, slashes and single stars; one with a slash inside counts from its file."""
    anywhere = "" if top or "/" in body else "(?:.+/)?"
    names = (re.escape(name).replace(r"\*", "[^/]*") if name != "*" else "[^/]+" for name in body.split("/"))
    return re.compile(rf"{anywhere}{'/'.join(names)}{'/' if folder else '/?'}\Z", re.DOTALL)
