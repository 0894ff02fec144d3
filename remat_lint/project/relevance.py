"""Which chunks of a module can bear on its wrap sites: read off the text, so that the others need no parse.

A chunk is near if a site stands in it, if it mentions what a near chunk binds, or if it writes a variable that a near
chunk reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import MUTATING_METHODS
from remat_lint.project.handing import everything
from remat_lint.project.leading import BY_CLASS, bound_in, mentions, stored_in
from remat_lint.project.scopes import CHUNK_BITS
from remat_lint.project.spelling import WORD

if TYPE_CHECKING:
    from remat_lint.project.modules import Module

_STORED = re.compile(
    # Where the chain of a store begins a line, or where a method changes what stands before it.
    r"^[ \t]*+\(?(?:[^\n=#(\[:]|\[[^\n\]]*+\])*+(?::[^\n=]*+)?=(?!=)"
    rf"|(?<![\w.\]\[\"'])[\w.\]\[\"']+\.(?:{'|'.join(sorted(MUTATING_METHODS))})\("
    r"|^[ \t]*+(?:del|for|with)\b[^\n]*|\bsetattr\([^)\n]*",
    re.MULTILINE,
)
_BOUND = re.compile(
    r"^[ \t]*+(?:for[ \t]++)?([\w \t,()]+?)[ \t]*+(?::[^\n=]*+)?(?:=(?!=)|\bin\b)", re.MULTILINE
)
_MAKING = frozenset({"__init__", "__post_init__", "__new__", *BY_CLASS})
"""Methods that run while an object is made."""
_CHAIN = re.compile(r"(\w+)((?:\.\w+|\[[^\]\n]*\])+)")
_DECLARED = re.compile(r"^[ \t]*+(?:global|nonlocal)\b([^\n]*)", re.MULTILINE)
_ANNOTATION = re.compile(r":[^\n=]+=?$")
_CLAUSE = re.compile(r"[ \t]*+(?:if|elif|else|while|try|except|finally|match|case)\b")
_INNER_CLASS = re.compile(
    # A class in a function, up to the line that stands as far left as its header.
    r"^([ \t]++)class\b[^\n]*+(?:\n(?:[ \t]*+$|\1[ \t]++[^\n]*+|[)\]}][^\n]*+))*+",
    re.MULTILINE,
)


class Relevance:
    """The near chunks of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.read: set[str] = set()
        self.classes: set[int] = set()
        self.used: set[int] = set()
        self._defined: dict[str, set[int]] = {}
        self._bound: dict[str, set[int]] = {}
        for index, chunk in enumerate(module.loader.chunks):
            if chunk.name:
                self._defined.setdefault(chunk.name, set()).add(index)
            elif chunk.kind == "other" and not chunk.indent:
                for names in _BOUND.findall(chunk.text):
                    for name in WORD.findall(names):
                        self._bound.setdefault(name, set()).add(index)
        self._written: dict[int, frozenset[str]] = {}

    def around(self, found: set[int]) -> Iterator[int]:
        """Yield the chunks that can bear on what happens in some chunks; each must be parsed before the next one."""
        todo = {index for index, chunk in enumerate(self.module.loader.chunks) if chunk.text.strip()}
        done = set[int]()
        while found:
            todo -= found
            yield from sorted(found)
            done |= found
            self._learn_from(found, done)
            found = {index for index in todo if self._is_near(index)}

    def _is_near(self, index: int) -> bool:
        spelling = self.module.leading.spelling
        if mentions(spelling, index, self.names, self.attributes):
            return True
        words = spelling.words(index)
        # What runs inside of a wrapper may be a function that is not near: whatever changes its object counts.
        if self.module.loader.heads.get(index) in self.classes and self._changes_object(index):
            return True
        if self.module.loader.heads.get(index) in self.used and self._changes_later(index):
            return True
        if "global" in words and _DECLARED.search(self.module.loader.chunks[index].text):
            return True
        return not words.isdisjoint(self.read) and not self.writes(index).isdisjoint(self.read)

    def writes(self, index: int) -> frozenset[str]:
        """Return the variables and attributes that a chunk changes inside of functions and classes."""
        if index not in self._written:
            self._written[index] = frozenset(written(self.module.loader.chunks[index].text))
        return self._written[index]

    def _changes_later(self, index: int) -> bool:
        """Whether a method can change an object, or its class, after the object is made."""
        name = self.module.loader.chunks[index].name
        return name not in _MAKING and not self.writes(index).isdisjoint({"self", "cls"})

    def _changes_object(self, index: int) -> bool:
        """Whether a method changes its object; classes made in it have objects of their own."""
        if "self" not in self.writes(index):
            return False
        text = self.module.loader.chunks[index].text
        inner = "class" in self.module.leading.spelling.words(index)
        return not inner or "self" in written(_INNER_CLASS.sub("", text))

    # What parsed chunks add

    def _learn_from(self, found: set[int], done: set[int]) -> None:
        """Take in what the chunks just parsed bind; what is new in that can make more of those parsed before."""
        words = self.module.leading.spelling.words
        while found:
            before = self.names | self.attributes
            self._learn(found)
            new = (self.names | self.attributes) - before
            found = {index for index in done if not words(index).isdisjoint(new)}

    def _learn(self, found: set[int]) -> None:
        """Take in what some chunks bind, and what they read."""
        loader = self.module.loader
        self._use(found)
        for index in found:
            chunk = loader.chunks[index]
            if index in loader.heads or chunk.kind == "head":
                self.classes.add(loader.heads.get(index, index))
            if index in loader.heads:
                head = loader.chunks[loader.heads[index]]
                own = chunk.name and not chunk.name.startswith("__") and chunk.name not in BY_CLASS
                (self.attributes if own else self.names).add(chunk.name if own else head.name)
            elif chunk.name:
                self.names.add(chunk.name)
        self.attributes |= stored_in(self.module, found, self._leads)
        self.names |= bound_in(self.module, self.names, self._leads)

    def _use(self, found: set[int]) -> None:
        """Take in what some chunks read, and what the functions, variables and classes that they mention read."""
        variables = self._variables()
        todo = set(found) - self.used
        while todo:
            self.used |= todo
            words = frozenset[str]().union(*map(self.module.leading.spelling.words, todo))
            self.read |= words & variables.keys()
            after = (self._defined[word] for word in words & self._defined.keys())
            todo = set[int]().union(*after, *(variables[word] for word in words & variables.keys()))
            todo -= self.used

    def _leads(self, value: n.Node, local: Iterable[str]) -> bool:
        return any(
            (isinstance(part, n.Name) and (part.id in self.names or part.id in local))
            or (isinstance(part, n.Attribute) and part.attr in self.attributes)
            for part in everything(value)
        )

    def _variables(self) -> dict[str, set[int]]:
        """Return the names that statements of the module bind, other than definitions and imports, and where.

        Statements that are not parsed are asked by their text.
        """
        parsed = {
            name: {event.node.at >> CHUNK_BITS for event in events if event.node is not None}
            for name, events in self.module.scope.bindings.items()
            if any(isinstance(event.node, n.Bind | n.Loop) for event in events)
        }
        return {**self._bound, **parsed}


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
