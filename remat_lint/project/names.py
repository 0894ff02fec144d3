"""Where `checkpoint_name` gives a value its name."""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.wrappers import CHECKPOINT_NAME
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event
from remat_lint.project.values import Data, External, Moment


@dataclass(frozen=True, slots=True, eq=False)
class NameUse:
    """One call of `checkpoint_name`.

    Attributes:
        module: where it stands.
        event: when it happens.
        call: the call.
        value: the argument that is named, None if it is not seen.
        name: the argument that is the name, None if it is not seen.
        names: what the name can be, nothing where a string stands in the place of the value; None if it can be
            something that the text does not tell.
    """

    module: Module
    event: Event
    call: n.Call
    value: n.Expression | None
    name: n.Expression | None
    names: frozenset[str] | None


def name_uses(module: Module, project: Analysis) -> tuple[NameUse, ...]:
    """Return the calls of `checkpoint_name` in a module."""
    return tuple(_uses(module, project))


def _uses(module: Module, project: Analysis) -> Iterator[NameUse]:
    for event in module.calls():
        if not isinstance(event.node, n.Call) or not module.leading.may_lead(event.node.func, event.scope):
            continue
        call, moment = event.node, Moment(event.scope, event)
        callees = project.evaluate(call.func, moment)
        if len(callees) == 1 and isinstance(callees[0], External) and callees[0].dotted in CHECKPOINT_NAME:
            value, name = _argument(call, 0, "x"), _argument(call, 1, "name")
            names = None if name is None else texts(name, moment, project)
            if names is None and value is not None and texts(value, moment, project):
                names = frozenset()
            yield NameUse(module, event, call, value, name, names)


def _argument(call: n.Call, index: int, keyword: str) -> n.Expression | None:
    """Return an argument by position or keyword."""
    for position, argument in enumerate(call.args):
        if argument.star:
            return None
        if argument.keyword == keyword or (argument.keyword is None and position == index):
            return argument.value
    return None


def texts(node: n.Expression, moment: Moment, project: Analysis) -> frozenset[str] | None:
    """Return the strings that an expression can be; None if it can be anything else."""
    found = set()
    for value in project.evaluate(node, moment):
        text = text_of(value.node) if isinstance(value, Data) else None
        if text is None:
            return None
        found.add(text)
    return frozenset(found)


def text_of(node: n.Expression | None) -> str | None:
    """Return the string that a literal is; None for everything else."""
    plain = isinstance(node, n.Constant) and isinstance(node.value, str) and not node.kind
    return node.value if plain and isinstance(node, n.Constant) and isinstance(node.value, str) else None


_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__", "venv"})
_MOST_FILES = 20_000
_makers: weakref.WeakKeyDictionary[Analysis, tuple[dict[Path, str], bool]] = weakref.WeakKeyDictionary()


def may_be_made_elsewhere(name: str, module: Module, project: Analysis) -> bool:
    """Whether another file of the project has both `checkpoint_name` and the string `name`, or cannot be looked at."""
    if project not in _makers:
        _makers[project] = _naming_files(module)
    texts_by_path, complete = _makers[project]
    quoted = (f'"{name}"', f"'{name}'")
    found = any(
        quote in text for path, text in texts_by_path.items() if path != module.path for quote in quoted
    )
    return found or not complete


def _naming_files(module: Module) -> tuple[dict[Path, str], bool]:
    """Return the text of every file below the root that spells `checkpoint_name`, and whether all were looked at."""
    project = module.project
    found: dict[Path, str] = {}
    count = 0
    for folder, folders, files in os.walk(project.root):
        folders[:] = [name for name in folders if name not in _SKIPPED and not name.startswith(".")]
        for name in files:
            if not name.endswith(".py"):
                continue
            count += 1
            if count > _MOST_FILES:
                return found, False
            path = Path(folder, name)
            try:
                text = project.overlays.get(path) or path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            if "checkpoint_name" in text:
                found[path] = text
    return found, True
