"""Which chunks of a module spell a wrapper, or something of the project that leads to one: read off the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from remat_lint.jaxapi.policies import NAMESPACES
from remat_lint.jaxapi.public import is_public
from remat_lint.jaxapi.signatures import NOT_MODULES
from remat_lint.jaxapi.wrappers import CANONICAL, CHECKPOINT_NAME, RETIRED

if TYPE_CHECKING:
    from remat_lint.project.modules import Module
    from remat_lint.project.reach import Imported, Reach

WORD = re.compile(r"[^\W\d]\w*+")
KNOWN = frozenset({*CANONICAL, *RETIRED, *NAMESPACES, *CHECKPOINT_NAME})
"""Dotted names that a wrap site, or what is given to one, begins with."""

SPELLED = frozenset(dotted.rpartition(".")[2] for dotted in KNOWN)
"""What code that reaches one of `KNOWN` through its module must spell."""

IMPORTED = SPELLED | {dotted.rpartition(".")[2] for dotted in NOT_MODULES}
"""What an import must spell to be of interest by itself."""

NAMING = frozenset(dotted.rpartition(".")[2] for dotted in CHECKPOINT_NAME)
KEPT = frozenset(dotted.rpartition(".")[2] for dotted in NAMESPACES)
"""Namespaces of policies: what is taken from them, or returned by their functions, is given to a wrapper."""

_SPELLED = re.compile(rf"\.\s*+({'|'.join(sorted(SPELLED))})\b")
_BEFORE = re.compile(r"([\w.]*)\Z")
_IMPORTING = re.compile(r"^[ \t]*+(?:from|import)\b[^\n]*\Z", re.MULTILINE)
_LONGEST = 200


class Spelling:
    """What the text of one module tells about its chunks."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.names: set[str] = set()
        self.taken: set[str] = set()
        self.methods: set[str] = set()
        self.naming: set[str] = set()
        self.chained: set[int] = set()
        self._words: dict[int, frozenset[str]] = {}
        self._roots: dict[str, list[Imported]] = {}

    def words(self, index: int) -> frozenset[str]:
        """Return the words of a chunk."""
        if index not in self._words:
            self._words[index] = frozenset(WORD.findall(self.module.chunks[index].text))
        return self._words[index]

    def read(self) -> None:
        """Find the imports that lead to a wrapper: `names` they bind, chunks with attributes `taken` of modules.

        `naming` are names of `checkpoint_name`, which wraps nothing, `methods` those of imported classes that wrap what they are given.
        """
        reach, path = self.module.project.reach, self.module.path
        for bound, imports in reach.table(path).items():
            self._roots.setdefault(bound.partition(".")[0], []).extend(imports)
            for one in imports:
                if self._is_known(one, reach):
                    self.names.add(one.bound)
                    if one.attr in NAMING:
                        self.naming.add(one.bound)
            for source, name in reach.imports(path, bound):
                named = any(name == one.attr for one in imports)
                full = (f"{one.dotted}.{name}" if named else f"{_dotted(one)}.{name}" for one in imports)
                # A public name is no factory, whatever this version of the library makes of it.
                if not any(map(is_public, full)) and reach.applies(source, name):
                    self.methods |= reach.members(source, name)
                    if named:
                        self.names.add(bound)
                    else:
                        self._take(bound, name)
        if "*" in reach.table(path):
            self.names |= reach.starred(path, frozenset(WORD.findall(self.module.source.text)))

    def _is_known(self, one: Imported, reach: Reach) -> bool:
        if one.attr is None or one.attr == "*":
            return False
        if not one.level and (f"{one.dotted}.{one.attr}" in KNOWN or one.dotted in NAMESPACES):
            return True
        return one.attr in SPELLED and reach.has(self.module.path, one)

    def _take(self, bound: str, attr: str) -> None:
        """Note the chunks that take `attr` of an imported module."""
        self.taken.add(attr)
        starts = [chunk.start for chunk in self.module.chunks]
        for found in re.finditer(rf"\b{bound.rpartition('.')[2]}\.{attr}\b", self.module.source.text):
            self.chained.add(bisect_right(starts, found.start()) - 1)

    def spells(self, index: int) -> bool:
        """Whether a chunk takes something from a module, or from an object, that is called as a wrapper is."""
        text = self.module.chunks[index].text
        reach = self.module.project.reach
        for found in _SPELLED.finditer(text):
            if _IMPORTING.search(text, max(found.start() - _LONGEST, 0), found.start()):
                continue
            before = _BEFORE.search(text, max(found.start() - _LONGEST, 0), found.start())
            root, _, rest = (before[1] if before else "").partition(".")
            imports = self._roots.get(root)
            if imports is None:
                return True
            for one in imports:
                first = one.dotted.partition(".")[0] if root == one.dotted.partition(".")[0] else one.dotted
                base = f"{one.dotted}.{one.attr}" if one.attr is not None else first
                if ".".join(filter(None, (base, rest, found[1]))) in KNOWN or reach.has(
                    self.module.path, one
                ):
                    return True
        return False


def _dotted(one: Imported) -> str:
    return one.dotted if one.attr is None else f"{one.dotted}.{one.attr}"
