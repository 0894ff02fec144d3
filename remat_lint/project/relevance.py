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
from remat_lint.project.handing import hands_on
from remat_lint.project.scopes import CHUNK_BITS, Event, Scope
from remat_lint.project.spelling import KEPT, SPELLED, WORD, Spelling
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
_INNER_CLASS = re.compile(
    # A class in a function, up to the line that stands as far left as its header.
    r"^([ \t]++)class\b[^\n]*+(?:\n(?:[ \t]*+$|\1[ \t]++[^\n]*+|[)\]}][^\n]*+))*+",
    re.MULTILINE,
)
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

    def leading(self) -> Iterator[int]:
        """Yield the chunks that can hold a wrap site; each must be parsed before the next one is asked for.

        These spell a wrapper, a policy or `checkpoint_name`, or mention what leads to one.
        """
        loader, spelling = self.module.loader, self.spelling
        spelling.read()
        yield from self._heading()
        self.names |= spelling.names
        todo = {index for index, chunk in enumerate(loader.chunks) if chunk.text.strip()}
        found = {
            index for index in todo if spelling.spells(index) or self._mentions(index)
        } | spelling.chained
        while found:
            todo -= found
            yield from sorted(found)
            self._learn_leading(found)
            found = {index for index in todo if self._mentions(index)}

    def around(self, found: set[int]) -> Iterator[int]:
        """Yield the chunks that can bear on what happens in some chunks; each must be parsed before the next one."""
        todo = {index for index, chunk in enumerate(self.module.loader.chunks) if chunk.text.strip()}
        self.names, self.attributes = set(), set()
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

    def _mentions(self, index: int) -> bool:
        """Whether a chunk mentions one of `names`, or takes one of `attributes` of something."""
        words = self.spelling.words(index)
        if not words.isdisjoint(self.names):
            return True
        text = self.module.loader.chunks[index].text
        return any(re.search(rf"\.\s*{name}\b", text) for name in words & self.attributes)

    def _is_near(self, index: int) -> bool:
        if self._mentions(index):
            return True
        words = self.spelling.words(index)
        # What runs inside of a wrapper may be a function that is not near: whatever changes its object counts.
        if self.module.loader.heads.get(index) in self.classes and self._changes_object(index):
            return True
        if "global" in words and _DECLARED.search(self.module.loader.chunks[index].text):
            return True
        return not words.isdisjoint(self.read) and not self.writes(index).isdisjoint(self.read)

    def writes(self, index: int) -> frozenset[str]:
        """Return the variables and attributes that a chunk changes inside of functions and classes."""
        if index not in self._written:
            self._written[index] = frozenset(written(self.module.loader.chunks[index].text))
        return self._written[index]

    def _changes_object(self, index: int) -> bool:
        """Whether a method changes its object; classes made in it have objects of their own."""
        if "self" not in self.writes(index):
            return False
        text = self.module.loader.chunks[index].text
        return "class" not in self.spelling.words(index) or "self" in written(_INNER_CLASS.sub("", text))

    # What parsed chunks add

    def _learn_leading(self, found: set[int]) -> None:
        """Take in what the chunks just parsed bind that may wrap what it is given, or is a wrapper or a policy."""
        loader = self.module.loader
        for index in found:
            self._learn_class(index)
        words = frozenset(self.names | self.attributes | self.spelling.taken | SPELLED)
        for scope in list(self.module.builder.scopes.values()):
            node, parent = scope.node, scope.parent
            if not isinstance(node, n.Function) or parent is None or node.at >> CHUNK_BITS not in found:
                continue
            owner = scope.owner_class
            if parent.kind != "module" and (
                owner is None or owner.parent is None or owner.parent.kind != "module"
            ):
                continue
            if hands_on(node, words, KEPT, is_method=owner is not None):
                by_class = owner is not None and (node.name.startswith("__") or node.name in _BY_CLASS)
                (self.attributes if owner is not None and not by_class else self.names).add(
                    owner.name if by_class and owner is not None else node.name
                )
        for index in found & loader.heads.keys():
            if loader.chunks[index].name and loader.chunks[index].kind == "other":
                self.attributes.add(loader.chunks[index].name)
        self.names |= self._bound()

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
