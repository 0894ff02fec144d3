"""Modules of a project: their text in chunks, their scopes, and where an import leads.

A module is parsed chunk by chunk and only as far as somebody asks: what can bear on a wrap site when its own findings
are wanted, the chunks that bind a name when another file imports that name.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.findings import Position, Span
from remat_lint.jaxapi.wrappers import WRAPPER_MODULES
from remat_lint.project.building import Builder
from remat_lint.project.scopes import Event, Scope
from remat_lint.source.chunks import Chunk, split
from remat_lint.source.text import SourceError, SourceText, read_source

if TYPE_CHECKING:
    import libcst as cst

CHUNK_BITS = 20
_WORD = re.compile(r"\w+")
_ERROR_AT = re.compile(r"error at (\d+):(\d+)")
_ONLY_SYNTAX = ast.PyCF_ONLY_AST
LARGE_CHUNK, HUGE_CHUNK = 256 * 1024, 1024 * 1024


@dataclass(frozen=True, slots=True)
class Fault:
    """A chunk that could not be read: `span` and `message` say where and why; `syntax` if Python would refuse it."""

    span: Span
    message: str
    syntax: bool


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
    faults: list[Fault] = field(default_factory=list)
    loaded: set[int] = field(default_factory=set)
    pending: dict[str, list[int]] = field(default_factory=dict)
    spans: dict[int, tuple[Span, ...]] = field(default_factory=dict)
    words: dict[int, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scope = Scope("module", None, None, self)
        self.builder = Builder(self.scope)
        self.pending = {}
        for index, chunk in enumerate(self.chunks):
            self.pending.setdefault(chunk.name, []).append(index)

    @property
    def path(self) -> Path:
        """The file's absolute path."""
        return self.source.path

    def load(self) -> None:
        """Parse what can bear on a wrap site: chunks that spell one, and those that mention what such chunks bind.

        Chunks that are no definition are always parsed. A definition is parsed if it contains a word of a wrapper,
        or a name bound by a chunk that is parsed for its words, or a variable of the module that such a chunk reads.
        So is one that Python itself does not compile: libcst then says whether, and where, it is broken. With
        `project.whole` everything is parsed: the oracle to which this must be equal.
        """
        chunks = self.chunks
        for index in self.pending.pop("", ()):
            self._load_chunk(index)
        todo = {index: self._words(index) for indices in self.pending.values() for index in indices}
        names = self._spelled()
        # A chunk that does not parse may make the whole file one chunk, which is loaded then.
        while todo and self.chunks is chunks:
            near = [
                i
                for i, words in todo.items()
                if self.project.whole or not words.isdisjoint(names) or self._spells(i)
            ]
            if not near:
                break
            for index in near:
                words = todo.pop(index)
                self._load_chunk(index)
                names |= {chunks[index].name} | (words & self._variables())
            names |= self._bound_from(names)
        for index in todo:
            if self.chunks is chunks and not _compiles(chunks[index].text):
                self._load_chunk(index)

    def _bound_from(self, names: set[str]) -> set[str]:
        """Return the variables of the module that a statement binds in which one of `names` occurs."""
        return {
            name
            for name, events in self.scope.bindings.items()
            for event in events
            if isinstance(event.node, n.Bind | n.Loop)
            and not names.isdisjoint(self._words(event.at >> CHUNK_BITS))
        }

    def _words(self, index: int) -> set[str]:
        if index not in self.words:
            self.words[index] = set(_WORD.findall(self.chunks[index].text))
        return self.words[index]

    def _spells(self, index: int) -> bool:
        return any(word in self.chunks[index].text for word in self.wanted)

    def _spelled(self) -> set[str]:
        """Return the names that stand for something of a wrapper: bound by a statement that spells one, or imported."""
        names = set()
        for name, events in self.scope.bindings.items():
            for event in events:
                if isinstance(event.node, n.Bind) and self._spells(event.at >> CHUNK_BITS):
                    names.add(name)
                imports = isinstance(event.value, n.Import) and isinstance(event.node, n.Alias)
                if imports and self._imports_wrapper(event.value, event.node):  # type: ignore[arg-type]  # just checked
                    names.add(name)
        return names

    def _imports_wrapper(self, node: n.Import, alias: n.Alias) -> bool:
        """Whether an import may bring a wrapper, or a function of the project that applies one."""
        if any(word in alias.name for word in self.wanted):
            return True
        dotted = alias.name if node.module is None else node.module
        if not WRAPPER_MODULES.isdisjoint((dotted, f"{dotted}.{alias.name}")):
            return False
        for name in (dotted, f"{dotted}.{alias.name}".lstrip(".")):
            path = self.project.find(self.path, name, node.level)
            module = None if path is None or path == self.path else self.project.module(path)
            if module is not None and module.matters:
                return True
        return False

    def _variables(self) -> set[str]:
        """Return the names that statements of the module bind, other than definitions and imports."""
        return {
            name
            for name, events in self.scope.bindings.items()
            if any(isinstance(e.node, n.Bind | n.Loop) for e in events)
        }

    def lookup(self, name: str) -> list[Event]:
        """Return the module-level bindings of `name`, parsing what may bind it."""
        for key in ("", name):
            for index in self.pending.pop(key, ()):
                self._load_chunk(index)
        return self.scope.bindings.get(name, [])

    @property
    def matters(self) -> bool:
        """Whether the text contains a word without which it cannot spell a wrapper."""
        return any(word in self.source.text for word in self.wanted)

    def span(self, at: int) -> Span:
        """Return the place of the node with number `at`; its chunk is parsed again the first time."""
        index = at >> CHUNK_BITS
        if index not in self.spans:
            from remat_lint.facts.positions import locate  # noqa: PLC0415 - only where a place is needed

            chunk = self.chunks[index]
            self.spans[index] = locate(self.project.parse(self, chunk, again=True), chunk.row)
        return self.spans[index][at & ((1 << CHUNK_BITS) - 1)]

    def text_at(self, at: int) -> str:
        """Return the source text of the node with number `at`."""
        return self.source.slice(self.span(at))

    def happened(self, at: int) -> Event | None:
        """Return the call or definition event of the node with number `at`."""
        return self.builder.happened.get(at)

    def _load_chunk(self, index: int) -> None:
        if index in self.loaded or index >= len(self.chunks):
            return
        self.loaded.add(index)
        chunk = self.chunks[index]
        if not chunk.text.strip():
            return
        refusal = self._refuse(chunk)
        if refusal:
            end = self.source.position(chunk.start + len(chunk.text))
            self.faults.append(Fault(Span(Position(chunk.row, 1), end), refusal, syntax=False))
            return
        import libcst as cst  # noqa: PLC0415 - 150 ms that a file without a candidate does not pay

        from remat_lint.facts.walker import Walker  # noqa: PLC0415 - the same

        try:
            tree = self.project.parse(self, chunk)
            body = Walker(index << CHUNK_BITS).module(tree)
        except cst.ParserSyntaxError as error:
            row, column = _place_of(error)
            self._fall_back(row + chunk.row - 1, column)
            return
        except RecursionError:
            self.faults.append(
                Fault(Span(Position(chunk.row, 1), Position(chunk.row, 1)), "nested too deeply", syntax=False)
            )
            return
        self.builder.order = index << CHUNK_BITS
        self.builder.build(body)
        self.scope.events.sort(key=_order)
        for events in self.scope.bindings.values():
            events.sort(key=_order)

    def _refuse(self, chunk: Chunk) -> str:
        size = len(chunk.text)
        if size > HUGE_CHUNK:
            return f"a statement of {size} characters is too large to be analysed (limit {HUGE_CHUNK})"
        if size > LARGE_CHUNK and not any(word in chunk.text for word in self.wanted):
            return f"a statement of {size} characters without a checkpoint in it was not analysed"
        return ""

    def _fall_back(self, row: int, column: int) -> None:
        """Parse the file as one chunk: a cut inside a bracket is the splitter's fault, not the author's."""
        import libcst as cst  # noqa: PLC0415 - loaded already

        comments = tuple(comment for chunk in self.chunks for comment in chunk.comments)
        whole = Chunk(start=0, text=self.source.text, row=1, kind="other", name="", comments=comments)
        if len(self.chunks) > 1 and len(whole.text) <= HUGE_CHUNK:
            try:
                self.project.parse(self, whole)
            except (cst.ParserSyntaxError, RecursionError):
                pass
            else:
                self._restart((whole,))
                return
        row = min(row, len(self.source.line_starts))
        if column == 0 and row > 1:
            row, column = row - 1, HUGE_CHUNK
        length = len(self.source.line(row).rstrip("\r\n"))
        start = Position(row, max(1, min(column, length + 1)))
        message = "this statement cannot be parsed; the rest of the file was analysed"
        self.faults.append(Fault(Span(start, Position(row, start.column + 1)), message, syntax=True))

    def _restart(self, chunks: tuple[Chunk, ...]) -> None:
        self.chunks, self.loaded, self.spans, self.words = chunks, set(), {}, {}
        self.faults.clear()
        self.__post_init__()
        self.load()


def _place_of(error: cst.ParserSyntaxError) -> tuple[int, int]:
    """Return row and column of a syntax error, column 0 for the end of the line before.

    libcst tells the place of a grammar error in its message only.
    """
    found = _ERROR_AT.search(error.message)
    return (int(found[1]), int(found[2])) if found else (error.raw_line, error.raw_column + 1)


def _compiles(text: str) -> bool:
    """Whether Python accepts a statement: a tenth of the price of a parse by libcst, which has the last word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<chunk>", "exec", flags=_ONLY_SYNTAX, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


def _order(event: Event) -> int:
    return event.order


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

    def parse(self, module: Module, chunk: Chunk, *, again: bool = False) -> cst.Module:
        """Give a chunk to libcst: the only place that does, so `parsed` tells what was parsed, and what again."""
        import libcst as cst  # noqa: PLC0415 - 150 ms that a file without a candidate does not pay

        self.parsed.append((module.path, chunk.start, len(chunk.text), again))
        return cst.parse_module(chunk.text)

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
        module = Module(self, source, dotted_name(source.path), split(source.text), self.wanted)
        self._modules[source.path] = module
        return module

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
