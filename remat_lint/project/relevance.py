"""Which chunks of a module can bear on a wrap site of it: read off the text, so that the others need no parse.

A chunk is near a wrapper if it spells one, if it mentions a name or an attribute that leads to one, or if it writes a
variable that a near chunk reads. What is bound by a near chunk leads to a wrapper in turn. A name that another file of
the project exports leads to one if it does so there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import MUTATING_METHODS
from remat_lint.project.scopes import CHUNK_BITS, Event, Scope
from remat_lint.project.spelling import SPELLED, WORD, Spelling
from remat_lint.project.traversal import walk

if TYPE_CHECKING:
    from remat_lint.project.modules import Module

_STORED = re.compile(
    # Where the chain of a store begins a line, or where a method changes what stands before it.
    r"^[ \t]*+\(?(?:[^\n=#(\[:]|\[[^\n\]]*+\])*+(?::[^\n=]*+)?=(?!=)"
    rf"|(?<![\w.\]\[\"'])[\w.\]\[\"']+\.(?:{'|'.join(sorted(MUTATING_METHODS))})\("
    r"|^[ \t]*+(?:del|for|with)\b[^\n]*|\bsetattr\([^)\n]*",
    re.MULTILINE,
)
_CHAIN = re.compile(r"(\w+)((?:\.\w+|\[[^\]\n]*\])+)")
_DECLARED = re.compile(r"^[ \t]*+(?:global|nonlocal)\b([^\n]*)", re.MULTILINE)
_ANNOTATION = re.compile(r":[^\n=]+=?$")
_CLAUSE = re.compile(r"[ \t]*+(?:if|elif|else|while|try|except|finally|match|case)\b")
_IMPORT = re.compile(r"^[ \t]*+(?:from|import)\b", re.MULTILINE)
_BY_CLASS = frozenset({"setup"})
"""Methods that nobody calls by their name: whoever uses the class runs them, as all those with two underscores."""


class Relevance:
    """The near chunks of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.spelling = Spelling(module)
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.read: set[str] = set()
        self.classes: set[int] = set()
        self._written: dict[int, frozenset[str]] = {}

    def near(self) -> Iterator[int]:
        """Yield the chunks to parse; each must be parsed before the next one is asked for."""
        loader, spelling = self.module.loader, self.spelling
        spelling.read()
        yield from self._heading()
        self.names |= spelling.names
        todo = {index for index, chunk in enumerate(loader.chunks) if chunk.text.strip()}
        found = {index for index in todo if spelling.spells(index) or self._is_near(index)} | spelling.chained
        while found:
            todo -= found
            yield from sorted(found)
            self._learn(found)
            found = {index for index in todo if self._is_near(index)}

    def _heading(self) -> Iterator[int]:
        """Yield the chunks with imports, and the first one: what edits at the top of the file must know."""
        chunks = self.module.chunks
        first = next((index for index, chunk in enumerate(chunks) if chunk.text.strip()), 0)
        for index, chunk in enumerate(chunks):
            if index == first or (not chunk.name and not chunk.indent and _IMPORT.search(chunk.text)):
                yield index

    def _is_near(self, index: int) -> bool:
        words = self.spelling.words(index)
        if not words.isdisjoint(self.names):
            return True
        text = self.module.loader.chunks[index].text
        # What runs inside of a wrapper may be a function that is not near: whatever changes its object counts.
        if self.module.loader.heads.get(index) in self.classes and "self" in self.writes(index):
            return True
        if "global" in words and _DECLARED.search(text):
            return True
        for name in words & self.attributes:
            if re.search(rf"\.\s*{name}\b", text):
                return True
        return not words.isdisjoint(self.read) and not self.writes(index).isdisjoint(self.read)

    def writes(self, index: int) -> frozenset[str]:
        """Return the variables and attributes that a chunk changes inside of functions and classes."""
        if index not in self._written:
            self._written[index] = frozenset(written(self.module.loader.chunks[index].text))
        return self._written[index]

    # What parsed chunks add

    def _learn(self, found: Iterable[int]) -> None:
        """Take in what the chunks just parsed bind, and what they read."""
        loader = self.module.loader
        variables = self._variables()
        for index in found:
            chunk = loader.chunks[index]
            words = self.spelling.words(index)
            self.read |= words & variables
            if index in loader.heads or chunk.kind == "head":
                self.classes.add(loader.heads.get(index, index))
            if index in loader.heads:
                head = loader.chunks[loader.heads[index]]
                own = chunk.name and not chunk.name.startswith("__") and chunk.name not in _BY_CLASS
                (self.attributes if own else self.names).add(chunk.name if own else head.name)
                self._learn_class(index)
            elif chunk.kind == "head":
                self.names.add(chunk.name)
            elif chunk.name:
                self.names.add(chunk.name)
                self._learn_class(index)
        self.names |= self._bound()

    def _learn_class(self, index: int) -> None:
        """Take in the attributes that a method, or a whole class, gives something that leads to a wrapper."""
        for scope in list(self.module.builder.scopes.values()):
            node = scope.node
            if (
                node is not None
                and node.at >> CHUNK_BITS == index
                and scope.kind == "function"
                and scope.owner_class
            ):
                owner = scope.owner_class
                if owner.parent is not None and owner.parent.kind == "module":
                    self.attributes |= self._stored(scope)

    def _stored(self, scope: Scope) -> set[str]:
        local: set[str] = set()
        found: set[str] = set()
        for event in scope.events:
            if event.kind in ("bind", "store") and self._leads(event.value, local):
                if event.kind == "bind":
                    local.add(event.name)
                elif isinstance(event.target, n.Attribute):
                    found.add(event.target.attr)
        return found

    def _bound(self) -> set[str]:
        """Return the variables of the module that get something that leads to a wrapper."""
        return {
            name
            for name, events in self.module.scope.bindings.items()
            if name not in self.names and any(self._binds(event) for event in events)
        }

    def _binds(self, event: Event) -> bool:
        return isinstance(event.node, n.Bind | n.Loop | n.With) and self._leads(event.value, set())

    def _leads(self, value: Any, local: set[str]) -> bool:
        return any(
            (isinstance(part, n.Name) and (part.id in self.names or part.id in local))
            or (
                isinstance(part, n.Attribute)
                and (part.attr in SPELLED or part.attr in self.attributes or part.attr in self.spelling.taken)
            )
            for part in walk(value)
        )

    def _variables(self) -> set[str]:
        """Return the names that statements of the module bind, other than definitions and imports."""
        return {
            name
            for name, events in self.module.scope.bindings.items()
            if any(isinstance(event.node, n.Bind | n.Loop) for event in events)
        }


def written(text: str) -> Iterator[str]:
    """Yield the global variables, and the attributes, that a text changes; more than it does, where that is cheap."""
    for names in _DECLARED.findall(text):
        yield from WORD.findall(names)
    for found in _STORED.finditer(text):
        # What follows a colon is an annotation, or the one statement of a clause.
        target = found[0] if _CLAUSE.match(found[0]) else _ANNOTATION.sub("", found[0])
        for root, steps in _CHAIN.findall(target):
            yield root
            yield from WORD.findall(steps)
        if "setattr" in target:
            yield from WORD.findall(target)
