"""Parses the chunks of a module as they are asked for, and falls back to larger pieces where one does not parse."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.findings import Position, Span
from remat_lint.project.scopes import CHUNK_BITS, Event, Scope
from remat_lint.source.chunks import Chunk
from remat_lint.source.classes import piece_text
from remat_lint.source.nesting import describe_depth

if TYPE_CHECKING:
    import libcst as cst

    from remat_lint.project.modules import Module

LARGE_CHUNK, HUGE_CHUNK = 256 * 1024, 1024 * 1024
_ERROR_AT = re.compile(r"error at (\d+):(\d+)")


@dataclass(frozen=True, slots=True)
class Fault:
    """A chunk that could not be read: `span` and `message` say where and why; `syntax` if Python would refuse it."""

    span: Span
    message: str
    syntax: bool


class _Members(dict[str, list[Event]]):
    """The bindings of a class; asking for a name parses the statements of the class that bind it."""

    def __init__(self, known: dict[str, list[Event]], loader: Loader, head: int) -> None:
        super().__init__(known)
        self._loader, self._head = loader, head

    def __contains__(self, name: object) -> bool:
        self._loader.load_member(self._head, name)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> list[Event]:
        self._loader.load_member(self._head, name)
        return super().__getitem__(name)

    def get(self, name: str, default: Sequence[Event] | None = None) -> Sequence[Event] | None:  # type: ignore[override]  # a mapping of lists
        """Return the bindings of a name."""
        self._loader.load_member(self._head, name)
        return super().get(name, default)


class Loader:
    """Knows which chunks of a module are parsed, and what the others bind.

    Args:
        module: the module.
        chunks: its chunks; those of a class follow its head.
    """

    def __init__(self, module: Module, chunks: tuple[Chunk, ...]) -> None:
        self.module, self.chunks = module, chunks
        self.loaded: set[int] = set()
        self.heads: dict[int, int] = {}
        self.ends: dict[int, int] = {}
        self.classes: dict[int, Scope] = {}
        self.pending: dict[str, list[int]] = {}
        self.statements: list[int] = []
        self.members: dict[int, dict[str, list[int]]] = {}
        self.is_whole = False
        self.found: set[str] = set()
        head = 0
        for index, chunk in enumerate(chunks):
            if chunk.indent and chunk.kind != "head":
                self.heads[index], self.ends[head] = head, index
                self.members[head].setdefault(chunk.name, []).append(index)
                continue
            if chunk.kind == "head":
                head = index
                self.members[head] = {}
            if chunk.name:
                self.pending.setdefault(chunk.name, []).append(index)
            else:
                self.statements.append(index)

    def find(self, name: str) -> None:
        """Parse what may bind a name of the module."""
        if name in self.found:
            return
        self.found.add(name)
        self._find_statements(name)
        for index in self.pending.pop(name, ()):
            self.load(index)

    def binds(self, name: str) -> bool:
        """Whether a name of the module is bound; definitions need no parse for the answer."""
        if name not in self.found and name not in self.pending:
            self._find_statements(name)
        return name in self.pending or bool(self.module.scope.bindings.get(name))

    def _find_statements(self, name: str) -> None:
        for index in [
            i for i in self.statements if (name if name != "*" else "import") in self.chunks[i].text
        ]:
            self.load(index)

    def load_member(self, head: int, name: object) -> None:
        """Parse what binds a name in the body of a class."""
        members = self.members[head]
        if name and name in members and self.chunks[head].indent:
            for index in members.pop(name):
                self.load(index)

    def pieces(self, cls: n.Class) -> range:
        """Return the indices of the statements of a class that are chunks of their own."""
        head = cls.at >> CHUNK_BITS
        own = head in self.classes and self.classes[head].node is cls
        return range(head + 1, self.ends[head] + 1) if own else range(0)

    def rest(self) -> Iterator[int]:
        """Yield the chunks that are not parsed."""
        return (index for index in range(len(self.chunks)) if index not in self.loaded)

    def load(self, index: int) -> None:
        """Parse one chunk, the head of its class before it."""
        if index in self.heads:
            self.load(self.heads[index])
        if index in self.loaded or index >= len(self.chunks):
            return
        self.loaded.add(index)
        chunk = self.chunks[index]
        if not chunk.name and index in self.statements:
            self.statements.remove(index)
        if chunk.text.strip() and not self._refuse(chunk):
            try:
                body = self._parse(index, chunk)
                if body is not None:
                    self._build(index, chunk, body)
            except RecursionError:
                self._leave_out(chunk, "a statement is nested too deeply to be analysed")

    def _build(self, index: int, chunk: Chunk, body: tuple[n.Statement, ...]) -> None:
        builder = self.module.builder
        builder.order = index << CHUNK_BITS
        if index in self.heads:
            scope = self.classes.get(self.heads[index])
            if scope is not None and isinstance(body[0], n.Class):
                builder.extend(scope, body[0].body)
            return
        if chunk.kind != "head" or not isinstance(body[-1], n.Class):
            builder.build(body)
            return
        cls = replace(body[-1], body=body[-1].body[:-1])  # without the `pass` that made it complete
        builder.build((*body[:-1], cls))
        scope = builder.scopes[cls.at]
        self.classes[index] = scope
        scope.bindings = _Members(scope.bindings, self, index)
        for statement in self.members[index].pop("", ()):
            self.load(statement)

    def _parse(self, index: int, chunk: Chunk) -> tuple[n.Statement, ...] | None:
        import libcst as cst  # noqa: PLC0415 - 150 ms that a file without a candidate does not pay

        from remat_lint.facts.walker import Walker  # noqa: PLC0415 - the same

        try:
            return Walker(index << CHUNK_BITS).module(self.module.project.parse(self.module, chunk))
        except cst.ParserSyntaxError as error:
            row, column = _place_of(error)
            self._fall_back(index, row + chunk.row - 1 - piece_text(chunk)[1], column)
        return None

    def _refuse(self, chunk: Chunk) -> bool:
        """Whether a chunk is not given to libcst; then the module says so."""
        size = len(chunk.text)
        depth = describe_depth(chunk.text)
        if depth:
            self._leave_out(chunk, f"a statement with {depth} was not analysed")
        elif size > HUGE_CHUNK:
            self._leave_out(
                chunk, f"a statement of {size} characters is too large to be analysed (limit {HUGE_CHUNK})"
            )
        elif size > LARGE_CHUNK and not any(word in chunk.text for word in self.module.wanted):
            self._leave_out(
                chunk, f"a statement of {size} characters without a checkpoint in it was not analysed"
            )
        else:
            return False
        return True

    def _leave_out(self, chunk: Chunk, message: str) -> None:
        end = self.module.source.position(chunk.start + len(chunk.text))
        self.module.faults.append(Fault(Span(Position(chunk.row, 1), end), message, syntax=False))

    def _fall_back(self, index: int, row: int, column: int) -> None:
        """Parse the class, or else the file, in one piece: a wrong cut is the splitter's fault, not the author's."""
        module = self.module
        if index in self.heads or index in self.ends:
            head = self.heads.get(index, index)
            last = self.ends[head]
            if self._is_fit(_join(self.chunks[head : last + 1], "class", self.chunks[head].name)):
                whole = _join(self.chunks[head : last + 1], "class", self.chunks[head].name)
                module.restart((*self.chunks[:head], whole, *self.chunks[last + 1 :]))
                return
        if len(self.chunks) > 1 and not self.is_whole:
            self.is_whole = True  # it is tried once
            whole = _join(self.chunks, "other", "")
            if self._is_fit(whole):
                module.restart((whole,))
                return
        row = min(max(row, 1), len(module.source.line_starts))
        if column == 0 and row > 1:
            row, column = row - 1, HUGE_CHUNK
        length = len(module.source.line(row).rstrip("\r\n"))
        start = Position(row, max(1, min(column, length + 1)))
        message = "this statement cannot be parsed; the rest of the file was analysed"
        module.faults.append(Fault(Span(start, Position(row, start.column + 1)), message, syntax=True))

    def _is_fit(self, chunk: Chunk) -> bool:
        """Whether a larger piece parses as a whole."""
        import libcst as cst  # noqa: PLC0415 - loaded already

        if len(chunk.text) > HUGE_CHUNK or describe_depth(chunk.text):
            return False
        try:
            self.module.project.parse(self.module, chunk)
        except (cst.ParserSyntaxError, RecursionError):
            return False
        return True

    def load_broken(self) -> None:
        """Parse what is not parsed yet and what Python does not compile: libcst says whether, and where, it is broken."""
        rest = [index for index in self.rest() if self.chunks[index].text.strip()]
        if not rest or compiles(self.module.source.text):
            return
        for index in rest:
            if self.module.loader is self and not compiles(piece_text(self.chunks[index])[0]):
                self.load(index)


def _join(chunks: Sequence[Chunk], kind: str, name: str) -> Chunk:
    comments = tuple(comment for chunk in chunks for comment in chunk.comments)
    text = "".join(chunk.text for chunk in chunks)
    return Chunk(chunks[0].start, text, chunks[0].row, kind, name, comments)  # type: ignore[arg-type]  # one of its kinds


def _place_of(error: cst.ParserSyntaxError) -> tuple[int, int]:
    """Return row and column of a syntax error, column 0 for the end of the line before.

    libcst tells the place of a grammar error in its message only.
    """
    found = _ERROR_AT.search(error.message)
    return (int(found[1]), int(found[2])) if found else (error.raw_line, error.raw_column + 1)


def compiles(text: str) -> bool:
    """Whether Python accepts a text: a tenth of the price of a parse by libcst, which has the last word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(text, "<chunk>", "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
