"""Which releases of JAX a project runs on, as its own files tell.

The first of these that names a version counts, and what stands beside it on the same level is added: the dependencies
of the package; its optional ones and development groups; `requirements*.txt`; conda environments; lock files. A `jax`
without a version says nothing. Files are read, never run; one that cannot be read or understood says nothing either.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from remat_lint.config import OWN_FILE, PYPROJECT
from remat_lint.releases import RELEASES, JaxRange

_LIMIT = 8 * 1024 * 1024  # lock files of large projects take 3 MB
_PACKAGES = ("jax", "jaxlib")
"""Packages whose version is that of JAX; the second is asked only if the first is named nowhere on the level."""

_WORD = re.compile(r"\bjax(lib)?\b", re.IGNORECASE)
_PIP_OPTION = re.compile(r"\s+(-[a-zA-Z]|--[a-z][\w-]*)\b.*|\s+#.*|\s*\\$")
_INCLUDE = re.compile(r"(?:-r|-c|--requirement|--constraint)[\s=]*(\S+)")
_CONDA = re.compile(
    r"^\s*-\s*[\"']?(?:[\w.-]+::)?(jax|jaxlib)(?:\[[^\]]*\])?\s*([=<>!~][^\"'#\s][^\"'#]*)?[\"']?\s*(?:#.*)?$",
    re.MULTILINE,
)
_LOCKED = (
    # uv, poetry, pdm, pylock
    re.compile(r"^name = \"(jax|jaxlib)\"\r?\nversion = \"([^\"]+)\"", re.MULTILINE),
    # Pipfile.lock
    re.compile(r"^\s*\"(jax|jaxlib)\": \{[^{}]*\"version\": \"==([^\"]+)\"", re.MULTILINE),
    # pixi, conda-lock
    re.compile(r"^\s*(?:- )?name: (jax|jaxlib)\r?\n\s*version: [\"']?([\w.]+)", re.MULTILINE),
    re.compile(r"/(jax|jaxlib)-(\d[\w.]*)-[\w.]+\.(?:conda|tar\.bz2|whl)"),
)
_PIXI_TABLES = ("dependencies", "pypi-dependencies")
_LOCK_FILES = (
    "uv.lock",
    "pylock.toml",
    "poetry.lock",
    "pdm.lock",
    "pixi.lock",
    "Pipfile.lock",
    "conda-lock.yml",
)
_CONDA_FILES = ("environment*.yml", "environment*.yaml", "meta.yaml", "recipe/meta.yaml", "conda*/meta.yaml")
_REQUIREMENTS_FILES = ("requirements*.txt", "requirements/*.txt")
FILES: tuple[str, ...] = (
    *(PYPROJECT, "pixi.toml", "setup.cfg", "setup.py"),
    *_REQUIREMENTS_FILES,
    *_CONDA_FILES,
    *_LOCK_FILES,
)
"""Patterns of the files that are read; others are read where requirements files include them."""


def infer(root: Path) -> JaxRange:
    """Return the releases that the files of a project name, else every supported one.

    Files of the folders above the project count where it has none, up to the repository they stand in.

    Args:
        root: the folder of the project, absolute.
    """
    for folder in _folders(root):
        for read in (_declared, _optional, _required, _from_conda, _locked):
            found = _union(folder, read)
            if found is not None:
                return found
    return JaxRange()


def _folders(root: Path) -> list[Path]:
    """Return the folders to look into, nearest first."""
    above = [root, *root.parents]
    for number, folder in enumerate(above):
        if (folder / ".git").exists():
            return above[: number + 1]
    marked = (root / PYPROJECT).exists() or (root / OWN_FILE).exists()
    return above[:1] if marked else above


def _union(folder: Path, read: Callable[[Path], Iterator[tuple[str, str]]]) -> JaxRange | None:
    """Return what one level of files says; None if it names no version.

    Args:
        folder: the folder of the files.
        read: yields pairs of a file's name and a requirement such as `jax[cuda12]>=0.5`.
    """
    found: dict[str, list[JaxRange]] = {package: [] for package in _PACKAGES}
    for origin, text in read(folder):
        package, spec = _specifier(text)
        if package in found and spec:
            found[package].append(_range(spec, origin))
    for ranges in found.values():
        if ranges:
            return ranges[0].union(ranges[1:])
    return None


def _range(spec: str, origin: str) -> JaxRange:
    try:
        return JaxRange.from_specifier(spec, origin)
    except ValueError:
        # Older than every release that was looked at; the oldest of those is the most like it.
        return JaxRange(RELEASES[:1], is_open=False, origin=origin)


def _specifier(text: str) -> tuple[str, str]:
    """Return the package and the specifier of a requirement; both empty if it cannot be read."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (start-up)

    if not _WORD.search(text):
        return "", ""
    try:
        found = Requirement(_PIP_OPTION.sub("", text.strip()))
    except InvalidRequirement:
        return "", ""
    return found.name.lower(), str(found.specifier)


def _declared(folder: Path) -> Iterator[tuple[str, str]]:
    document = _toml(folder / PYPROJECT)
    for text in _strings(_at(document, "project", "dependencies")):
        yield PYPROJECT, text
    for text in _table(_at(document, "tool", "poetry", "dependencies"), conda=False):
        yield PYPROJECT, text
    for name in _PIXI_TABLES:
        for text in _table(_at(document, "tool", "pixi", name), conda=True):
            yield PYPROJECT, text
    own = _toml(folder / "pixi.toml")
    for name in _PIXI_TABLES:
        for text in _table(_at(own, name), conda=True):
            yield "pixi.toml", text
    yield from _setup(folder, "install_requires")


def _optional(folder: Path) -> Iterator[tuple[str, str]]:
    document = _toml(folder / PYPROJECT)
    groups = (
        _at(document, "project", "optional-dependencies"),
        _at(document, "dependency-groups"),
        _at(document, "tool", "pdm", "dev-dependencies"),
        {"dev": _at(document, "tool", "uv", "dev-dependencies")},
    )
    for group in groups:
        for listed in group.values() if isinstance(group, dict) else ():
            for text in _strings(listed):
                yield PYPROJECT, text
    poetry = _at(document, "tool", "poetry", "group")
    tables = [_at(group, "dependencies") for group in poetry.values()] if isinstance(poetry, dict) else []
    for table in (*tables, _at(document, "tool", "poetry", "dev-dependencies")):
        for text in _table(table, conda=False):
            yield PYPROJECT, text
    yield from _setup(folder, "extras_require")


def _required(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield from `requirements.txt`; where that names no version, from the files named like it."""
    main = list(_requirements(folder / "requirements.txt", folder, set()))
    if any(_specifier(text)[1] for _, text in main):
        yield from main
        return
    seen: set[Path] = set()
    for pattern in _REQUIREMENTS_FILES:
        for file in sorted(folder.glob(pattern)):
            yield from _requirements(file, folder, seen)


def _requirements(file: Path, folder: Path, seen: set[Path]) -> Iterator[tuple[str, str]]:
    """Yield the lines of a requirements file and of those it includes, each file once, none outside of the project."""
    path = file.resolve()
    if path in seen or not path.is_relative_to(folder.resolve()):
        return
    seen.add(path)
    for line in _read(file).splitlines():
        include = _INCLUDE.match(line.strip())
        if include:
            yield from _requirements(file.parent / include[1], folder, seen)
        else:
            yield file.name, line


def _from_conda(folder: Path) -> Iterator[tuple[str, str]]:
    for pattern in _CONDA_FILES:
        for file in sorted(folder.glob(pattern)):
            for package, spec in _CONDA.findall(_read(file)):
                yield file.name, package + _from_conda_specifier(spec)


def _locked(folder: Path) -> Iterator[tuple[str, str]]:
    for name in _LOCK_FILES:
        text = _read(folder / name)
        for pattern in _LOCKED if _WORD.search(text) else ():
            for package, version in pattern.findall(text):
                yield name, f"{package}=={version}"


def _setup(folder: Path, key: str) -> Iterator[tuple[str, str]]:
    """Yield what setup.cfg and the literals of setup.py say under `install_requires` or `extras_require`."""
    for text in _setup_cfg(_read(folder / "setup.cfg"), key):
        yield "setup.cfg", text
    source = _read(folder / "setup.py")
    try:
        tree = ast.parse(source) if _WORD.search(source) else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    bound = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        for value in (keyword.value for keyword in call.keywords if keyword.arg == key):
            for text in _literals(value, bound):
                yield "setup.py", text


def _literals(node: ast.expr | None, bound: Mapping[str, ast.expr]) -> Iterator[str]:
    """Yield the strings of a list, or of the lists in a dictionary; names stand for what the module binds them to."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _literals(part, bound)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _literals(left, bound)
            yield from _literals(right, bound)
        case ast.Name(id=name) if name in bound:
            others = {other: value for other, value in bound.items() if other != name}
            yield from _literals(bound[name], others)


def _setup_cfg(text: str, key: str) -> Iterator[str]:
    from configparser import ConfigParser, Error  # noqa: PLC0415 (start-up)

    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(text)
    except Error:
        return
    if key == "install_requires":
        yield from parser.get("options", key, fallback="").splitlines()
    elif parser.has_section(f"options.{key}"):
        for _, listed in parser.items(f"options.{key}"):
            yield from listed.splitlines()


def _table(table: Any, *, conda: bool) -> Iterator[str]:
    """Yield requirements of a table such as poetry's: `jax = "^0.5"`, or a table or list of tables with a version."""
    for package in _PACKAGES if isinstance(table, dict) else ():
        value = table.get(package)
        for one in value if isinstance(value, list) else [value]:
            version = one.get("version") if isinstance(one, dict) else one
            if isinstance(version, str):
                yield package + (_from_conda_specifier(version) if conda else _from_poetry(version))


def _from_conda_specifier(text: str) -> str:
    """Return a conda version as a pip specifier: `=0.4.30` and `0.4.30.*` mean the series, a build string is dropped."""
    parts = [part.strip() for part in text.split(",")]
    written = []
    for part in (part for part in parts if part not in {"", "*"}):
        match = re.match(r"(==|=|>=|<=|<|>|!=|~=)?\s*([\w.*]+)", part)
        if match is None:
            return ""
        operator, version = match[1] or "==", match[2]
        series = operator == "=" and not version.endswith("*")
        written.append(f"{'==' if operator == '=' else operator}{version}{'.*' if series else ''}")
    return ",".join(written)


def _from_poetry(text: str) -> str:
    """Return a version of poetry as a pip specifier: `^0.4.30` and `~0.4.30` are ranges, a bare one is exact."""
    written = []
    for part in (part.strip() for part in text.split(",")):
        match = re.fullmatch(r"([\^~])\s*(\d+(?:\.\d+)*)", part)
        if match is None:
            bare = part[:1].isdigit()
            written.append(f"=={part}" if bare else "" if part == "*" else part)
            continue
        numbers = [int(number) for number in match[2].split(".")]
        fixed = next((at for at, number in enumerate(numbers) if number), len(numbers) - 1)
        kept = fixed if match[1] == "^" else min(1, len(numbers) - 1)
        upper = [*numbers[:kept], numbers[kept] + 1]
        written.append(f">={match[2]},<{'.'.join(map(str, upper))}")
    return ",".join(filter(None, written))


def _strings(value: Any) -> Iterable[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else ()


def _at(document: Any, *keys: str) -> Any:
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _toml(file: Path) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415 (start-up)

    text = _read(file)
    try:
        return tomllib.loads(text) if _WORD.search(text) else {}
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig") if file.is_file() and file.stat().st_size < _LIMIT else ""
    except (OSError, UnicodeDecodeError):
        return ""
