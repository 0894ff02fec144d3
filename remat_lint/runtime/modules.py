"""Loading the module under test anew, together with the modules of its project that it imports.

Each side of a comparison gets module objects of its own, so that no global, class attribute or trace cache of one
side reaches the other.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_PROJECT_MARKERS = ("pyproject.toml", "remat-lint.toml", "setup.py", "setup.cfg", ".git")
_OWN_PACKAGE = __name__.partition(".")[0]
# Never loaded a second time, even where the project under test is one of them.
_SHARED = frozenset({_OWN_PACKAGE, "__main__", "jax", "jaxlib", "numpy", "pytest", "_pytest", "pluggy"})


@dataclass(frozen=True)
class Target:
    """A function to run, found but not loaded.

    Attributes:
        file: the file that defines it.
        module: name under which the file is imported.
        owner: dotted name of the function in it.
        roots: folders in which imports of the project are looked up, nearest first.
        project: folder whose modules are loaded anew.
    """

    file: Path
    module: str
    owner: str
    roots: tuple[Path, ...]
    project: Path


def _parents(folder: Path) -> list[Path]:
    return [folder, *folder.parents]


def _package_root(file: Path) -> Path:
    """The folder that holds the outermost package around a file."""
    return next(folder for folder in _parents(file.parent) if not (folder / "__init__.py").exists())


def _project_of(root: Path) -> Path:
    for folder in _parents(root):
        if any((folder / marker).exists() for marker in _PROJECT_MARKERS):
            return folder
    return root


def _from_file(file: Path, owner: str) -> Target:
    file = file.resolve()
    root = _package_root(file)
    parts = list(file.relative_to(root).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    project = _project_of(root)
    roots = tuple(dict.fromkeys([root, project / "src", project]))
    return Target(file, ".".join(parts), owner, roots, project)


def _module_file(root: Path, module: str) -> Path | None:
    path = root.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def find_target(text: str, start: Path) -> Target:
    """Finds what a test names, without running anything.

    Args:
        text: `path/to/file.py:owner`, the path relative to `start` or to any folder above it, or `pkg.mod:owner`.
        start: the folder of the test.

    Raises:
        LookupError: if there is no such file or module, or the text has another form.
    """
    place, colon, owner = text.rpartition(":")
    if not colon or not place or not owner:
        raise LookupError(
            f"{text!r} names no function: write 'path/to/file.py:function' or 'package.module:function'"
        )
    if place.endswith(".py"):
        for folder in _parents(start.resolve()):
            if (folder / place).is_file():
                return _from_file(folder / place, owner)
        raise LookupError(f"there is no file {place!r} in {start} or in a folder above it")
    roots = [root for folder in _parents(start.resolve()) for root in (folder, folder / "src")]
    for root in [*roots, *(Path(entry) for entry in sys.path if entry)]:
        file = _module_file(root, place)
        if file is not None:
            return _from_file(file, owner)
    top = importlib.util.find_spec(place.partition(".")[0])
    for folder_text in (top.submodule_search_locations or ()) if top is not None else ():
        file = _module_file(Path(folder_text).parent, place)
        if file is not None:
            return _from_file(file, owner)
    raise LookupError(f"there is no module {place!r} in {start}, in a folder above it, or on the import path")


class _ProjectFinder:
    """Finds top-level modules in the project's folders, which never take the place of the standard library."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = [str(root) for root in roots]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a top-level module in one of the folders."""
        if path is not None or "." in name or name in sys.stdlib_module_names or name == _OWN_PACKAGE:
            return None
        return importlib.machinery.PathFinder.find_spec(name, self._roots, target)


def _belongs(module: ModuleType, target: Target) -> bool:
    name = getattr(module, "__name__", "")
    if not isinstance(name, str) or name.partition(".")[0] in _SHARED:
        return False
    if name.partition(".")[0] == target.module.partition(".")[0] and target.module.count("."):
        return True
    origin = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
    if not isinstance(origin, str):
        return False
    path = Path(origin)
    if "site-packages" in path.parts or "dist-packages" in path.parts:
        return False
    # An environment inside the project is not part of it; a project inside the prefix (/usr) still is one.
    installed = (Path(prefix) for prefix in {sys.prefix, sys.base_prefix})
    inside = any(
        prefix.is_relative_to(target.project) and path.is_relative_to(prefix) for prefix in installed
    )
    return path.is_relative_to(target.project) and not inside


def _import(target: Target) -> ModuleType:
    top = target.module.partition(".")[0]
    if "." in target.module or (top not in sys.stdlib_module_names and top not in sys.modules):
        return importlib.import_module(target.module)
    # A lone file named like a module that is loaded already: it must not take that module's place.
    name = f"_remat_lint_{target.module}"
    spec = importlib.util.spec_from_file_location(name, target.file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{target.file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@contextmanager
def load_fresh(target: Target) -> Iterator[tuple[ModuleType, Callable[..., Any]]]:
    """Loads the target's module and its project's modules anew; inside the context they are the ones in use.

    Yields:
        The module and the function.

    Raises:
        AttributeError: if the module has no such function.
        Exception: whatever running the module raises.
    """
    importlib.invalidate_caches()
    hidden = {name: module for name, module in sys.modules.items() if _belongs(module, target)}
    for name in hidden:
        del sys.modules[name]
    finder = _ProjectFinder(target.roots)
    sys.meta_path.insert(0, finder)
    try:
        module = _import(target)
        function: Any = module
        for part in target.owner.split("."):
            function = getattr(function, part)
        yield module, function
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if _belongs(module, target)]:
            del sys.modules[name]
        sys.modules.update(hidden)
