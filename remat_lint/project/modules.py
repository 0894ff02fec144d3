"""Modules of a project: their text in chunks, their scopes, and where an import leads.

A module is parsed chunk by chunk and only as far as somebody asks: what can bear on a wrap site when its own findings
are wanted, the chunks that bind a name when another file imports that name.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.findings import Span
from remat_lint.project.building import Builder
from remat_lint.project.leading import Leading
from remat_lint.project.loading import Fault, Loader
from remat_lint.project.relevance import Relevance
from remat_lint.project.scopes import CHUNK_BITS, Event, Scope
from remat_lint.source.chunks import Chunk, split
from remat_lint.source.classes import piece_text, split_class
from remat_lint.source.text import SourceError, SourceText, read_source

if TYPE_CHECKING:
    import libcst as cst

    from remat_lint.project.reach import Reach


@dataclass(eq=False, repr=False, slots=True)
class Module:
    """One file of the project.

    Numbers of nodes are unique in the module: the upper bits are the chunk's index.
    """

    project: Project
    source: SourceText
    dotted: str
    chunks: tuple[Chunk, ...]
    wanted: tuple[str, ...]
    scope: Scope = field(init=False)
    builder: Builder = field(init=False)
    loader: Loader = field(init=False)
    leading: Leading = field(init=False)
    relevance: Relevance = field(init=False)
    faults: list[Fault] = field(default_factory=list)
    spans: dict[int, tuple[Span, ...]] = field(default_factory=dict)
    is_loaded: bool = False
    _matters: bool | None = None
    _has_stars: bool | None = None

    def __post_init__(self) -> None:
        self.scope = Scope("module", None, None, self)
        self.builder = Builder(self.scope)
        self.loader = Loader(self, self.chunks)
        self.leading = Leading(self)
        self.relevance = Relevance(self)

    @property
    def path(self) -> Path:
        """The file's absolute path."""
        return self.source.path

    def load(self) -> None:
        """Parse what can hold a wrap site (`Leading`), and what Python does not compile.

        With `project.whole` everything is parsed: the oracle to which this must be equal.
        """
        self.is_loaded = True
        loader = self.loader
        self._load(loader.rest() if self.project.whole else self.leading.chunks())
        # A file in which nothing leads to a wrapper may be as broken as it likes.
        if self.loader is loader and loader.loaded:
            loader.load_broken()

    def load_around(self, ats: Iterable[int]) -> None:
        """Parse what can bear on the statements in which the nodes with numbers `ats` stand (`Relevance`)."""
        if not self.project.whole:
            self._load(self.relevance.around({at >> CHUNK_BITS for at in ats}))

    def _load(self, indices: Iterator[int]) -> None:
        loader = self.loader
        for index in indices:
            loader.load(index)
            # A chunk that does not parse may make the whole file one chunk, which is loaded then.
            if self.loader is not loader:
                return

    def lookup(self, name: str) -> list[Event]:
        """Return the module-level bindings of `name`, parsing what may bind it."""
        self.loader.find(name)
        return self.scope.bindings.get(name, [])

    def binds(self, name: str) -> bool:
        """Whether the module binds `name`; no definition is parsed for the answer."""
        return self.loader.binds(name)

    def load_stores(self, cls: Scope, attr: str) -> None:
        """Parse the statements of a class of this module that may store into an attribute `attr`."""
        if isinstance(cls.node, n.Class):
            for index in self.loader.pieces(cls.node):
                if attr in self.relevance.writes(index):
                    self.loader.load(index)

    def load_member(self, cls: Scope, word: str) -> None:
        """Parse the statements of a class of this module in which `word` occurs."""
        if isinstance(cls.node, n.Class):
            for index in self.loader.pieces(cls.node):
                if word in self.loader.chunks[index].text:
                    self.loader.load(index)

    def load_at(self, start: int, name: str, words: frozenset[str]) -> list[Event]:
        """Return the bindings of `name` by the statement at `start`; of a class, parse what spells one of `words`."""
        starts = [chunk.start for chunk in self.chunks]
        self.loader.load(bisect_right(starts, start) - 1)
        events = list(self.scope.bindings.get(name, ()))
        for event in events:
            if event.inner is not None and event.inner.kind == "class":
                for word in words:
                    self.load_member(event.inner, word)
        return events

    def load_mentions(self, word: str, beside: tuple[str, ...] = ("",)) -> None:
        """Parse the statements of this module in which `word` occurs, and one of `beside`."""
        loader = self.loader
        for index in list(loader.rest()):
            text = loader.chunks[index].text
            if word in text and any(other in text for other in beside) and self.loader is loader:
                loader.load(index)

    @property
    def matters(self) -> bool:
        """Whether the text contains a word without which it cannot spell a wrapper, or imports one by another name."""
        if self._matters is None:
            self._matters = any(word in self.source.text for word in self.wanted)
            self._matters = self._matters or self.project.reaches(self)
        return self._matters

    @property
    def has_stars(self) -> bool:
        """Whether the text has an `import *` somewhere."""
        if self._has_stars is None:
            self._has_stars = "import *" in self.source.text
        return self._has_stars

    def span(self, at: int) -> Span:
        """Return the place of the node with number `at`; its chunk is parsed again the first time."""
        index = at >> CHUNK_BITS
        span = self._spans(index)[at & ((1 << CHUNK_BITS) - 1)]
        cls = self.loader.classes.get(index)
        if cls is None or cls.node is None or cls.node.at != at:
            return span
        import libcst as cst  # noqa: PLC0415 - loaded already

        try:
            # The end of a class is the end of its last statement.
            return Span(span.start, self._spans(self.loader.ends[index])[0].end)
        except cst.ParserSyntaxError:
            return span

    def _spans(self, index: int) -> tuple[Span, ...]:
        if index not in self.spans:
            from remat_lint.facts.positions import locate  # noqa: PLC0415 - only where a place is needed

            chunk = self.chunks[index]
            tree = self.project.parse(self, chunk, again=True)
            self.spans[index] = locate(tree, chunk.row - piece_text(chunk)[1])
        return self.spans[index]

    def text_at(self, at: int) -> str:
        """Return the source text of the node with number `at`."""
        return self.source.slice(self.span(at))

    def happened(self, at: int) -> Event | None:
        """Return the call or definition event of the node with number `at`."""
        return self.builder.happened.get(at)

    def calls(self) -> Iterator[Event]:
        """Yield the calls parsed so far, in no particular order: any of them may change what a wrapper froze."""
        for event in list(self.builder.happened.values()):
            if event.kind == "call":
                yield event

    def restart(self, chunks: tuple[Chunk, ...]) -> None:
        """Begin anew with other chunks."""
        self.chunks, self.spans = chunks, {}
        self.faults.clear()
        tried = self.loader.is_whole
        self.__post_init__()
        self.loader.is_whole = tried
        if self.is_loaded:
            self.load()


class Project:
    """The tree under `root`: modules by path, and imports between them.

    Args:
        root: folder of the project.
        wanted: words without which a large chunk is not worth parsing.
        overlays: text of unsaved files by absolute path.
        whole: parse every chunk of a module that is loaded.
    """

    def __init__(
        self,
        root: Path,
        wanted: tuple[str, ...] = (),
        overlays: Mapping[Path, str] | None = None,
        *,
        whole: bool = False,
    ) -> None:
        self.root, self.wanted, self.whole = root, wanted, whole
        self.overlays = dict(overlays or {})
        self.parsed: list[tuple[Path, int, int, bool]] = []
        self._modules: dict[Path, Module | None] = {}
        self._found: dict[tuple[Path, str], Path | None] = {}
        self.reaches: Callable[[Module], bool] = lambda _module: False
        """Whether a module reaches a wrapper by names of the project alone; the resolver knows."""

    @functools.cached_property
    def reach(self) -> Reach:
        """Where imports lead."""
        from remat_lint.project.reach import Reach  # noqa: PLC0415 - it asks this class in turn

        return Reach(self)

    def parse(self, module: Module, chunk: Chunk, *, again: bool = False) -> cst.Module:
        """Give a chunk to libcst: the only place that does, so `parsed` tells what was parsed, and what again."""
        import libcst as cst  # noqa: PLC0415 - 150 ms that a file without a candidate does not pay

        self.parsed.append((module.path, chunk.start, len(chunk.text), again))
        return cst.parse_module(piece_text(chunk)[0])

    def module(self, path: Path) -> Module | None:
        """Return the module in the file `path`, or None if it cannot be read."""
        if path not in self._modules:
            try:
                source = self._read(path)
            except (SourceError, OSError):
                self._modules[path] = None
            else:
                self.add(source)
        return self._modules[path]

    def known(self, path: Path) -> Module | None:
        """Return the module in the file `path` if it was made already."""
        return self._modules.get(path)

    def add(self, source: SourceText) -> Module:
        """Make the module of a text that was read already."""
        pieces = (split_class(chunk) if chunk.kind == "class" else (chunk,) for chunk in split(source.text))
        chunks = tuple(piece for parts in pieces for piece in parts)
        module = Module(self, source, dotted_name(source.path), chunks, self.wanted)
        self._modules[source.path] = module
        return module

    def hands_on(self, path: Path, name: str, start: int, words: frozenset[str]) -> frozenset[str]:
        """Return what the statement at `start` binds that may wrap what it is given: `name`, or methods of a class.

        See `handing`; `words` are what wrappers are called there.
        """
        from remat_lint.project.handing import hands_on, methods_that_hand_on  # noqa: PLC0415 - only for what applies a wrapper

        module = self.module(path)
        found: frozenset[str] = frozenset()
        for event in () if module is None else module.load_at(start, name, words):
            if event.inner is not None and event.inner.kind == "class":
                methods = [child.node for child in event.inner.children if isinstance(child.node, n.Function)]
                found |= methods_that_hand_on(methods, words)
            elif event.value is None or hands_on(event.value, words):
                found |= {name}
        return found

    def _read(self, path: Path) -> SourceText:
        if path in self.overlays:
            return SourceText(path, self.overlays[path])
        return read_source(path)

    def find(self, origin: Path, dotted: str, level: int) -> Path | None:
        """Return the file that `dotted` means in the file `origin`; None if it lies outside or is unclear."""
        parts = tuple(part for part in dotted.split(".") if part)
        if level:
            base = origin.parent
            for _ in range(level - 1):
                base = base.parent
            return self._file(base, parts) if base.is_relative_to(self.root) else None
        key = (origin.parent, dotted)
        if key not in self._found:
            self._found[key] = self._search(origin, parts)
        return self._found[key]

    def _search(self, origin: Path, parts: tuple[str, ...]) -> Path | None:
        if not parts:
            return None
        places = [] if self._exists(origin.parent / "__init__.py") else [origin.parent]
        places += [package_root(origin), self.root / "src", self.root]
        for place in places:
            if place.is_relative_to(self.root):
                found = self._file(place, parts)
                if found is not None:
                    return found
        return None

    def _file(self, base: Path, parts: tuple[str, ...]) -> Path | None:
        folder = base.joinpath(*parts)
        hits = [
            path
            for path in (folder / "__init__.py", folder.with_suffix(".py") if parts else folder)
            if self._exists(path)
        ]
        return hits[0] if len(hits) == 1 else None

    def _exists(self, path: Path) -> bool:
        return path in self.overlays or path.is_file()


def package_root(path: Path) -> Path:
    """Return the folder from which the packages around `path` are imported."""
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def dotted_name(path: Path) -> str:
    """Return the dotted import name of a file, by the packages around it."""
    relative = path.relative_to(package_root(path)).with_suffix("")
    parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
    return ".".join(parts)
