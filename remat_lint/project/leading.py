"""Which chunks and which expressions of a module can be about a wrapper: read off its text, so that few are parsed.

An expression leads to a wrapper if it mentions one, a policy, `checkpoint_name`, or a name or an attribute that was
given such an expression or a function that hands on what it is given (`handing`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.project.handing import WRAPPERS, everything, hands_on
from remat_lint.project.scopes import CHUNK_BITS, Event, Scope
from remat_lint.project.spelling import IMPORTED, KEPT, SPELLED, Spelling

if TYPE_CHECKING:
    from remat_lint.project.modules import Module

BY_CLASS = frozenset({"setup"})
"""Methods that nobody calls by their name: whoever uses the class runs them, as all those with two underscores."""
_FEW = 24
_IMPORT = re.compile(r"^[ \t]*+(?:from|import)\b", re.MULTILINE)


class Leading:
    """Answers for one module; `names` and `attributes` are those that lead to a wrapper."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.spelling = Spelling(module)
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self._complete = False
        self._local: dict[Scope, frozenset[str]] = {}

    def chunks(self) -> Iterator[int]:
        """Yield the chunks that can hold a wrap site; each must be parsed before the next one is asked for."""
        loader, spelling = self.module.loader, self.spelling
        spelling.read()
        self.names |= spelling.names
        self.attributes |= spelling.taken | spelling.methods
        todo = {index for index, chunk in enumerate(loader.chunks) if chunk.text.strip()}
        found = {index for index in todo if spelling.spells(index) or self._mentions(index)}
        found |= spelling.chained
        heading = list(self._heading())
        if found or any(not spelling.words(index).isdisjoint(IMPORTED) for index in heading):
            yield from heading
        done = set[int]()
        while found:
            todo -= found
            yield from sorted(found)
            done |= found
            self._learn_from(found, done)
            found = {index for index in todo if self._mentions(index)}
        self._complete = True

    def may_lead(self, node: n.Node, scope: Scope) -> bool:
        """Whether an expression in a scope can be a wrapper, or something that makes one of it."""
        if self.module.project.whole or not self._complete:
            return True
        local = frozenset[str]().union(*(self._locals(step) for step in scope.ancestors() if step.parent))
        return self._leads(node, local)

    def _locals(self, scope: Scope) -> frozenset[str]:
        """Return the names of a scope that lead to a wrapper."""
        if scope not in self._local:
            self._local[scope] = frozenset()
            outer = frozenset[str]().union(
                *(self._locals(step) for step in scope.ancestors() if step is not scope and step.parent)
            )
            found: frozenset[str] | None = None
            while found != (found := self._local[scope]):
                self._local[scope] = found | {
                    name
                    for name, events in scope.bindings.items()
                    if name not in found and any(self._binds(event, found | outer) for event in events)
                }
        return self._local[scope]

    def _heading(self) -> Iterator[int]:
        """Yield the chunks with imports, and the first one: what edits at the top of the file must know."""
        chunks = self.module.chunks
        first = next((index for index, chunk in enumerate(chunks) if chunk.text.strip()), 0)
        for index, chunk in enumerate(chunks):
            if index == first or (not chunk.name and not chunk.indent and _IMPORT.search(chunk.text)):
                yield index

    def _mentions(self, index: int) -> bool:
        return mentions(self.spelling, index, self.names, self.attributes)

    def _learn_from(self, found: set[int], done: set[int]) -> None:
        """Take in what the chunks just parsed bind; what is new in that can make more of those parsed before."""
        while found:
            before = self.names | self.attributes
            self._learn(found)
            new = (self.names | self.attributes) - before
            found = {index for index in done if not self.spelling.words(index).isdisjoint(new)}

    def _learn(self, found: set[int]) -> None:
        """Take in what some chunks bind that leads to a wrapper."""
        loader = self.module.loader
        for index in found & loader.heads.keys():
            if loader.chunks[index].name and loader.chunks[index].kind == "other":
                self.attributes.add(loader.chunks[index].name)
        self.attributes |= stored_in(self.module, found, self._leads)
        words = frozenset((self.names | self.attributes | WRAPPERS) - self.spelling.naming)
        for scope in list(self.module.builder.scopes.values()):
            if (
                isinstance(scope.node, n.Function)
                and scope.node.at >> CHUNK_BITS in found
                and is_outer(scope)
            ):
                owner = scope.owner_class
                if hands_on(scope.node, words, KEPT, is_method=owner is not None):
                    if owner is None:
                        self.names.add(scope.name)
                    elif scope.name.startswith("__") or scope.name in BY_CLASS:
                        self.names.add(owner.name)
                    else:
                        self.attributes.add(scope.name)
        self.names |= bound_in(self.module, self.names, self._leads)

    def _binds(self, event: Event, local: frozenset[str]) -> bool:
        match event.value:
            case n.Parameter() as parameter:
                return any(
                    self._leads(part, local)
                    for part in (parameter.annotation, parameter.default)
                    if part is not None
                )
            case n.Import() | None:
                return False
        return self._leads(event.value, local)

    def _leads(self, value: n.Node, local: Iterable[str]) -> bool:
        for part in everything(value):
            if isinstance(part, n.Name):
                if part.id in self.names or part.id in local:
                    return True
            elif isinstance(part, n.Attribute) and (part.attr in SPELLED or part.attr in self.attributes):
                return True
        return False


def mentions(spelling: Spelling, index: int, names: set[str], attributes: set[str]) -> bool:
    """Whether a chunk mentions one of `names`, or takes one of `attributes` of something."""
    text = spelling.module.chunks[index].text
    # To look for a few words is quicker than to take all words of a text.
    if len(names) + len(attributes) <= _FEW and not any(word in text for word in (*names, *attributes)):
        return False
    words = spelling.words(index)
    if not words.isdisjoint(names):
        return True
    return any(re.search(rf"\.\s*{name}\b", text) for name in words & attributes)


Leads = Callable[[n.Node, Iterable[str]], bool]
"""Whether an expression leads to something, given local names that do."""


def stored_in(module: Module, chunks: set[int], leads: Leads) -> set[str]:
    """Return the attributes to which methods in some chunks give something that leads there."""
    found: set[str] = set()
    for scope in list(module.builder.scopes.values()):
        if scope.owner_class is None or scope.node is None or scope.node.at >> CHUNK_BITS not in chunks:
            continue
        if is_outer(scope):
            local: set[str] = set()
            for event in scope.events:
                if event.kind in ("bind", "store") and _gives(event, local, leads):
                    if event.kind == "bind":
                        local.add(event.name)
                    elif isinstance(event.target, n.Attribute):
                        found.add(event.target.attr)
    return found


def _gives(event: Event, local: set[str], leads: Leads) -> bool:
    return event.value is not None and leads(event.value, local)


def bound_in(module: Module, known: set[str], leads: Leads) -> set[str]:
    """Return the variables of a module, besides the known ones, that get something that leads there."""
    return {
        name
        for name, events in module.scope.bindings.items()
        if name not in known
        and any(
            isinstance(event.node, n.Bind | n.Loop | n.With) and _gives(event, set(), leads)
            for event in events
        )
    }


def is_outer(scope: Scope) -> bool:
    """Whether a function stands in the module itself, or in a class of the module."""
    parent = scope.parent
    if parent is not None and parent.kind == "class":
        parent = parent.parent
    return scope.kind == "function" and parent is not None and parent.kind == "module"
