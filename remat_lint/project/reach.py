"""Which files lead by their imports to a name that may wrap what it is given, told from their text alone.

A file without a word of a wrapper can still call a wrapper factory of its project. Whether it may is asked here of
every such file, without cutting or parsing anything: imports are followed from name to name until a statement applies
a wrapper. What is found this way is looked at by the resolver, which has the last word.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from remat_lint.jaxapi.public import is_public
from remat_lint.jaxapi.wrappers import CANONICAL, SPELLING_WORDS
from remat_lint.project.handing import WRAPPERS
from remat_lint.project.modules import Project, dotted_name, package_root
from remat_lint.source.prefilter import mentions

Node = tuple[Path, str]

DEEPEST = 3
_WORD = re.compile(r"\w+")
_LAST = "|".join(sorted(WRAPPERS))
_APPLIED = re.compile(
    # Called, used as a decorator, or handed on as a value: prose and names of files do none of these.
    rf"\b(?:{_LAST})\s*\(|@[\w.]*\b(?:{_LAST})\b|[\w)]\.(?:{_LAST})\s*[,)\]\n#:]|[(,=\[]\s*(?:{_LAST})\s*[,)\]\n#]"
)
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|(?:[^\n\\#]|\\\r?\n)*)|import[ \t]+((?:[^\n\\#;]|\\\r?\n)+))",
    re.MULTILINE,
)
_NOISE = re.compile(r"#[^\n]*|[()\\]")
_ALIAS = re.compile(r"([\w.]+|\*)(?:\s+as\s+(\w+))?\s*$")
_BASES = re.compile(r"class\s+\w+\s*\(([^)]*)\)")
_DOTTED = re.compile(r"\b([A-Za-z_]\w*)(?=\.(\w+))")
_BINDING = re.compile(
    r"^(?:(?:(?:async[ \t]+)?def|class)[ \t]+(\w+)|([A-Za-z_]\w*)[ \t]*(?::[^\n=]*)?=(?!=))", re.MULTILINE
)
_NEXT = re.compile(r"^[^\s#)\]}]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Imported:
    """One name that a file imports: `attr` of the module `dotted`, or the module itself if `attr` is None."""

    bound: str
    dotted: str
    level: int
    attr: str | None


def imported(text: str) -> Iterator[Imported]:
    """Yield what the import statements of a text bind, wherever they stand."""
    for match in _IMPORT.finditer(text):
        source, names, modules = match.groups()
        for part in _NOISE.sub(" ", names if source else modules).split(","):
            alias = _ALIAS.match(part.strip())
            if alias is None:
                continue
            name, renamed = alias.groups()
            if source:
                dotted = source.lstrip(".")
                yield Imported(renamed or name, dotted, len(source) - len(dotted), name)
            else:
                yield Imported(renamed or name, name, 0, None)


class Reach:
    """Answers for one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self._texts: dict[Path, str] = {}
        self._tables: dict[Path, dict[str, list[Imported]]] = {}
        self._places: dict[Path, frozenset[str]] = {}
        self._listed: dict[Path, frozenset[str]] = {}
        self._outlines: dict[Path, _Outline] = {}
        self._taken: dict[Path, dict[str, set[str]]] = {}
        self._names_of: dict[Path, str] = {}
        self._wrapping: dict[tuple[Path, int], frozenset[str]] = {}
        self._nodes: dict[tuple[Path, str], tuple[Node, ...]] = {}
        self._answers: dict[tuple[Node, int], bool] = {}
        self._pending: dict[tuple[Node, int], int] = {}
        self._lowest = 0

    def leads(self, path: Path) -> tuple[Node, ...]:
        """Return the imported names of a file that may stand for a wrapper or a function that applies one."""
        nodes = [node for name in self._table(path) for node in self._imports(path, name)]
        for one in self._table(path).get("*", ()):
            source = self._found(path, one.dotted, one.level)
            if source is not None and source != path:
                known = self._table(source).keys() | self._outline(source).names
                nodes += [(source, word) for word in sorted(known & set(_WORD.findall(self._text(path))))]
        return tuple(node for node in dict.fromkeys(nodes) if self._applies(node, 0))

    def applies(self, path: Path, name: str) -> bool:
        """Whether a name of a file may stand for a wrapper, or for a function that applies one."""
        return self._applies((path, name), 0)

    def table(self, path: Path) -> dict[str, list[Imported]]:
        """Return the imports of a file by the name they bind; `import a.b` stands under `a.b`."""
        return self._table(path)

    def imports(self, path: Path, bound: str) -> tuple[Node, ...]:
        """Return what an imported name stands for; of a module, the attributes that the file takes of it."""
        return self._imports(path, bound)

    def has(self, path: Path, one: Imported) -> bool:
        """Whether the project has the module from which a file imports something."""
        return self._found(path, one.dotted, one.level) is not None

    def starred(self, path: Path, words: frozenset[str]) -> set[str]:
        """Return which of `words` a file gets by `from … import *` and may stand for a wrapper."""
        found: set[str] = set()
        todo, done = [path], {path}
        while todo:
            reader = todo.pop()
            for one in self._table(reader).get("*", ()):
                source = self._found(reader, one.dotted, one.level)
                if source is not None and source not in done:
                    done.add(source)
                    todo.append(source)
                    table, outline = self._table(source), self._outline(source)
                    listed = (word for word in words if word in table or word in outline)
                    found.update(word for word in listed if self._applies((source, word), 0))
        return found

    def any_leads(self, path: Path, words: set[str]) -> bool:
        """Whether one of the words of a file may be a wrapper or apply one."""
        outline, table = self._outline(path), self._table(path)
        for word in words:
            if word in table and any(self._applies(node, 0) for node in self._imports(path, word)):
                return True
            if word in outline and self._applies((path, word), 0):
                return True
        return bool(self.starred(path, frozenset(words)))

    def has_other(self, path: Path, text: str) -> bool:
        """Whether answers were given by another text of a file."""
        return self._texts.get(path, text) != text

    def _applies(self, node: Node, depth: int) -> bool:
        """Whether the statement that binds a name applies a wrapper, itself or through functions it mentions.

        A class counts by itself and by its bases; which classes a function makes does not matter.
        """
        key = (node, depth)
        if key in self._answers:
            return self._answers[key]
        if key in self._pending:
            # Packages that import each other in a ring: the answer is that of the name with which the ring began.
            self._lowest = min(self._lowest, self._pending[key])
            return False
        place, around, self._lowest = len(self._pending), self._lowest, len(self._pending)
        self._pending[key] = place
        found = self._find(node, depth)
        if found:
            self._answers[key] = True
        elif self._lowest == place:
            self._answers |= dict.fromkeys(list(self._pending)[place:], False)
        if found or self._lowest == place:
            for late in list(self._pending)[place:]:
                del self._pending[late]
        else:
            self._pending[key] = self._lowest
        self._lowest = min(around, self._lowest)
        return found

    def _find(self, node: Node, depth: int) -> bool:
        path, name = node
        public = f"{self._dotted(path)}.{name}"
        if is_public(public):
            return public in CANONICAL
        table, outline = self._table(path), self._outline(path)
        if name in table:
            known = any(not one.level and f"{one.dotted}.{one.attr}" in CANONICAL for one in table[name])
            return known or any(self._applies(after, depth) for after in self._imports(path, name))
        if any(self._hands_on(path, name, start, block, depth) for start, block in outline.blocks(name)):
            return True
        return any(
            self._applies((source, name), depth)
            for one in table.get("*", ())
            if (source := self._found(path, one.dotted, one.level)) is not None and source != path
        )

    def _hands_on(self, path: Path, name: str, start: int, block: str, depth: int) -> bool:
        """Whether one statement that binds a name applies a wrapper to what it is given."""
        if block.startswith("class"):
            if depth:
                return False
            bases = self._bases(path, name, block)
            return bool(self._methods(path, name, start, block)) or any(
                self._applies(base, 0) for base in bases
            )
        further = depth + block.startswith(("def", "async"))
        leading = self._leading_words(path, name, block, further)
        return bool(leading) and bool(self.project.hands_on(path, name, start, leading))

    def _leading_words(self, path: Path, name: str, block: str, depth: int) -> frozenset[str]:
        """Return the words of a statement that may be wrappers, or apply one."""
        leading: set[str] = set()
        if mentions(block, SPELLING_WORDS) and _APPLIED.search(block):
            leading.update(WRAPPERS)
        if depth <= DEEPEST:
            for word, after in self._mentioned(path, name, set(_WORD.findall(block))):
                if word not in leading and self._applies(after, depth):
                    leading |= {word, after[1]}
        return frozenset(leading)

    def _methods(self, path: Path, name: str, start: int, block: str) -> frozenset[str]:
        """Return the methods of a class that wrap what they are given."""
        key = (path, start)
        if key not in self._wrapping:
            self._wrapping[key] = frozenset()
            leading = self._leading_words(path, name, block, 1)
            if leading:
                self._wrapping[key] = self.project.hands_on(path, name, start, leading)
        return self._wrapping[key]

    def _bases(self, path: Path, name: str, block: str) -> Iterator[Node]:
        bases = _BASES.match(block)
        words = set(_WORD.findall(bases[1])) if bases else set[str]()
        return (node for _, node in self._mentioned(path, name, words))

    def members(self, path: Path, name: str) -> frozenset[str]:
        """Return the methods of a class, if the name is one, that wrap what they are given; of its bases too."""
        found: set[str] = set()
        todo, done = [(path, name)], set[Node]()
        while todo:
            node = todo.pop()
            if node in done:
                continue
            done.add(node)
            source, word = node
            todo += self._imports(source, word)
            for start, block in self._outline(source).blocks(word):
                if block.startswith("class"):
                    found |= self._methods(source, word, start, block)
                    todo += self._bases(source, word, block)
        return frozenset(found)

    def _mentioned(self, path: Path, name: str, words: set[str]) -> Iterator[tuple[str, Node]]:
        """Yield what the words of a statement stand for: what the file imports, what it defines itself."""
        table, outline = self._table(path), self._outline(path)
        for word in words:
            if word in table:
                for node in self._imports(path, word):
                    yield word, node
            elif word != name and word in outline:
                yield word, (path, word)

    def _dotted(self, path: Path) -> str:
        if path not in self._names_of:
            self._names_of[path] = dotted_name(path)
        return self._names_of[path]

    def _imports(self, path: Path, bound: str) -> tuple[Node, ...]:
        """Return what an imported name stands for; of a module, the attributes that the file takes of it."""
        key = (path, bound)
        if key not in self._nodes:
            self._nodes[key] = tuple(self._follow(path, bound))
        return self._nodes[key]

    def _follow(self, path: Path, bound: str) -> Iterator[Node]:
        for one in self._table(path).get(bound, ()):
            base = self._found(path, one.dotted, one.level)
            module = base if one.attr is None else None
            if one.attr is not None:
                if base is not None and base != path:
                    yield base, one.attr
                if base is None or base.name == "__init__.py":
                    module = self._found(path, f"{one.dotted}.{one.attr}".lstrip("."), one.level)
            if module is not None and module != path:
                for attr in self._attributes(path).get(bound.rpartition(".")[2], ()):
                    yield module, attr

    def _found(self, path: Path, dotted: str, level: int) -> Path | None:
        """Return the file of a module; most imports name no folder or file of the project and end at once."""
        if not level:
            first = dotted.partition(".")[0]
            places = self._places.get(path.parent)
            if places is None:
                root = self.project.root
                folders = dict.fromkeys((path.parent, package_root(path), root / "src", root))
                places = self._places[path.parent] = frozenset().union(*map(self._names_in, folders))
            if first not in places:
                return None
        return self.project.find(path, dotted, level)

    def _names_in(self, folder: Path) -> frozenset[str]:
        """Return the names that can be imported from a folder."""
        if folder not in self._listed:
            try:
                entries = os.listdir(folder)  # noqa: PTH208 - names, without an object for each
            except OSError:
                entries = []
            unsaved = [path.name for path in self.project.overlays if path.parent == folder]
            self._listed[folder] = frozenset(entry.removesuffix(".py") for entry in (*entries, *unsaved))
        return self._listed[folder]

    def _table(self, path: Path) -> dict[str, list[Imported]]:
        """Return the imports of a file by the name they bind; `import a.b` stands under `a.b`."""
        if path not in self._tables:
            table: dict[str, list[Imported]] = {}
            for one in imported(self._text(path)):
                table.setdefault(one.bound, []).append(one)
            self._tables[path] = table
        return self._tables[path]

    def _outline(self, path: Path) -> _Outline:
        if path not in self._outlines:
            self._outlines[path] = _Outline(self._text(path))
        return self._outlines[path]

    def _attributes(self, path: Path) -> dict[str, set[str]]:
        """Return the attributes that a text takes of each name."""
        if path not in self._taken:
            taken: dict[str, set[str]] = {}
            self._taken[path] = taken
            for name, attr in _DOTTED.findall(self._text(path)):
                taken.setdefault(name, set()).add(attr)
        return self._taken[path]

    def _text(self, path: Path) -> str:
        if path not in self._texts:
            known = self.project.known(path)
            if known is not None:
                self._texts[path] = known.source.text
            elif path in self.project.overlays:
                self._texts[path] = self.project.overlays[path]
            else:
                try:
                    self._texts[path] = path.read_text("utf-8", "replace")
                except OSError:
                    self._texts[path] = ""
        return self._texts[path]


class _Outline:
    """The statements at the left margin of a text that bind a name."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts: dict[str, list[int]] = {}
        self._margins = [match.start() for match in _NEXT.finditer(text)]
        for match in _BINDING.finditer(text):
            self._starts.setdefault(match[1] or match[2], []).append(match.start())

    @property
    def names(self) -> frozenset[str]:
        """The names that are bound."""
        return frozenset(self._starts)

    def __contains__(self, name: str) -> bool:
        return name in self._starts

    def blocks(self, name: str) -> Iterator[tuple[int, str]]:
        """Yield the statements that bind a name, and where they start, without decorators in front."""
        for start in self._starts.get(name, ()):
            place = bisect_right(self._margins, start)
            end = self._margins[place] if place < len(self._margins) else len(self._text)
            yield start, self._text[start:end]
