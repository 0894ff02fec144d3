"""One pass over a text that finds every comment, every string and every line that may begin a statement."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache

from remat_lint.source.fstrings import is_formatted, measure_fstring

# Every repeat is possessive and every string may lack its end, so a character is consumed once and never given
# back: with an optional closing quote left out, one unterminated string would make the pass quadratic.
# Branches begin with a literal each, which lets `re` skip from one candidate character to the next.
# A line begins a statement if it has no indentation. A form feed resets the indentation; a backslash at the start
# of a line adds the next line to it; neither is seen in ordinary files.
_NEWLINE_AHEAD = (
    r"(?=[^\s#)\]}\\]|(?:[ \t]*+\f|\\(?:\r\n?|\n))++[^\s#)\]}\\])"
    r"(?!(?:[ \t]*+\f|\\(?:\r\n?|\n))*+(?:else|elif|except|finally)\b)"
)
_REST = (
    r"|#([^\r\n]*+)"  # 3: a comment
    r'|"(?:""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|())'  # 4: an unterminated long string
    r'|(?:[^"\\\r\n]++|\\\r\n|\\.)*+"?+)'
    r"|'(?:''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|())"  # 5: the same
    r"|(?:[^'\\\r\n]++|\\\r\n|\\.)*+'?+)"
    r"|\\(\r\n?|\n)"  # 6: a joined line
)


@lru_cache(maxsize=32)
def _events(indent: str) -> re.Pattern[str]:
    """What a pass looks for when statements begin behind `indent`."""
    ahead = f"{indent}{_NEWLINE_AHEAD}"
    # 1: a line that may begin a statement; 2: the same after a lone carriage return
    return re.compile(rf"\n{ahead}()|\r(?!\n){ahead}()" + _REST, re.DOTALL)


_FIRST = re.compile(_NEWLINE_AHEAD)
_BRACKET = re.compile(r"[()\[\]{}]")
_LINE_END = re.compile(r"[\r\n]|\Z")
_LINE, _LINE_CR, _COMMENT, _OPEN_DOUBLE, _OPEN_SINGLE, _JOINED = range(1, 7)


@dataclass(frozen=True, slots=True)
class Scan:
    """What one pass over a text found; all are offsets, ascending.

    Args:
        lines: where a line begins that may begin a top-level statement: it has text in column 0 that is neither a
            comment, nor a closing bracket, nor a clause of a statement above, nor the inside of a string.
        comments: start and end of each comment.
        skip_starts: where those strings and comments start that hold a bracket.
        skip_ends: where they end.
    """

    lines: tuple[int, ...]
    comments: tuple[tuple[int, int], ...]
    skip_starts: tuple[int, ...]
    skip_ends: tuple[int, ...]

    def skipped(self, start: int, end: int) -> zip[tuple[int, int]]:
        """Start and end of the strings and comments with brackets between two lines that may begin statements."""
        first, last = bisect_left(self.skip_starts, start), bisect_right(self.skip_ends, end)
        return zip(self.skip_starts[first:last], self.skip_ends[first:last], strict=True)


class _Scanner:
    """The state of one pass.

    The pass goes back in three cases only, each of them bounded: an f-string whose fields hold its own quote (read
    again by the rules for f-strings; if these fail, no other one is read so before the place where they failed), and
    once for either kind of long string that is never closed.
    """

    def __init__(self, text: str, indent: str) -> None:
        self.text, self.indent = text, indent
        self.lines: list[int] = []
        self.comments: list[tuple[int, int]] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.plain_until = 0
        self.given_up: set[int] = set()

    def run(self) -> Scan:
        """Read the whole text."""
        if not self.indent and _FIRST.match(self.text):
            self.lines.append(0)
        at: int | None = 0
        while at is not None:
            at = self.advance(at)
        held = [
            pair for pair in zip(self.starts, self.ends, strict=True) if _BRACKET.search(self.text, *pair)
        ]
        starts, ends = zip(*held, strict=True) if held else ((), ())
        return Scan(tuple(self.lines), tuple(self.comments), starts, ends)

    def advance(self, start: int) -> int | None:
        """Read on from `start` to the end, or to a place from which to go on by other rules."""
        lines, comments, starts, ends = self.lines, self.comments, self.starts, self.ends
        for match in _events(self.indent).finditer(self.text, start):
            kind = match.lastindex
            at, end = match.span()
            if kind is None:
                jump = self.follow(at, end)
                starts.append(at)
                ends.append(end if jump is None else jump)
                if jump is not None:
                    return jump
            elif kind <= _LINE_CR:
                lines.append(end - len(self.indent))
            elif kind == _COMMENT:
                comments.append((at, end))
                starts.append(at)
                ends.append(end)
            elif kind != _JOINED:
                starts.append(at)
                if kind in self.given_up:
                    ends.append(end)
                    continue
                self.given_up.add(kind)
                jump = self.end_of_line(at)
                ends.append(jump)
                return jump
        return None

    def follow(self, at: int, end: int) -> int | None:
        """The true end of a string that ends at `end` by the rules for plain strings, if it is another one."""
        text = self.text
        brace = text.find("{", at, end)
        if brace < 0 or at < self.plain_until or not is_formatted(text, at):
            return None
        quotes = text.count('"', brace, end - 1) or text.count("'", brace, end - 1)
        if not quotes and text.count("{", at, end) == text.count("}", at, end):
            return None
        stop, closed = measure_fstring(text, at)
        if closed:
            return stop if stop > end else None
        self.plain_until = stop
        return None

    def end_of_line(self, at: int) -> int:
        found = _LINE_END.search(self.text, at)
        return found.start() if found else len(self.text)


def scan(text: str, indent: str = "") -> Scan:
    """Find comments, strings and the beginnings of statements in one pass whose cost is linear in the text.

    With an `indent`, lines count that begin with exactly this, and the first line never does.

    An unterminated short string ends with its line. An unterminated long string does so too, once for either quote
    (somebody is typing it, and the lines below are still worth reading); a further one ends with the text.
    """
    return _Scanner(text, indent).run()
