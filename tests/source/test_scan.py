"""The cost of the scan: no character is read more than a few times, whatever the text."""

from __future__ import annotations

import re
import re._constants as codes
import re._parser as parser

import pytest

from remat_lint.source import chunks, classes, fstrings, scan

HOSTILE = {
    "open long string": lambda n: '"""' + "x" * n,
    "open long string of escapes": lambda n: "'''" + "\\'" * (n // 2),
    "escaped openers": lambda n: '\\"""' * (n // 4),
    "escaped openers and a last backslash": lambda n: "\\'''" * (n // 4) + "\\",
    "open short string of escapes": lambda n: '"' + '\\"' * (n // 2),
    "open short strings in lines": lambda n: "x = '\\'\n" * (n // 9),
    "both long quotes": lambda n: "'''\"\"\"\n" * (n // 7) + "'",
    "open fields": lambda n: "f'{" * (n // 3),
    "open fields with strings": lambda n: "f'{\"" * (n // 4),
    "open fields in lines": lambda n: "f'{x['\n" * (n // 8),
    "open fields in long strings": lambda n: "f'''{'\n" * (n // 7),
    "nested fields": lambda n: "f'{x:" + "{" * n,
    "brackets in a field": lambda n: "f'{x['" + "(" * n,
    "specifications": lambda n: "f'{x:{y:" * (n // 8),
    "closed strings with braces": lambda n: "f'{x['a']}'\n" * (n // 12),
    "spaces": lambda n: "\n" + " " * n,
    "form feeds": lambda n: "\n \f" * (n // 3),
    "joined lines": lambda n: "\\\n" * (n // 2),
    "joined lines of an f-string": lambda n: "f'{x['" + "\\\n" * (n // 2),
    "carriage returns": lambda n: "\r" * n,
    "open brackets": lambda n: "(" * n,
}
MANY_LINES = {
    "open brackets in lines": lambda n: "x(\n" * (n // 3),
    "open brackets and firm words": lambda n: "x(\npass\n" * (n // 8),
    "decorators": lambda n: "@a\n" * (n // 3),
    "decorators with open brackets": lambda n: "@a(\n" * (n // 4),
    "comments": lambda n: "#\n" * (n // 2),
    "clauses": lambda n: "else\n" * (n // 5),
    "brackets that close late": lambda n: "(\n" * (n // 4) + "x)\n" * (n // 4),
}


class Counter:
    """Stands for a compiled expression and sums up what its matches consume."""

    def __init__(self, pattern):
        self.pattern, self.consumed = pattern, 0

    def finditer(self, text, start):
        before = start
        for match in self.pattern.finditer(text, start):
            assert match.start() >= before
            self.consumed += match.end() - before
            before = match.end()
            yield match


def count(text, monkeypatch):
    """How many characters the scan, the f-string rules and the bracket count went over."""
    events = Counter(scan._events(""))
    deep = brackets = 0

    def measure(text, at):
        nonlocal deep
        stop, closed = fstrings.measure_fstring(text, at)
        assert stop > at
        deep += stop - at
        return stop, closed

    def count_open(text, found, start, end):
        nonlocal brackets
        brackets += end - start
        return original(text, found, start, end)

    original = chunks._count_open
    with monkeypatch.context() as patched:
        patched.setattr(scan, "_events", lambda indent: events)
        patched.setattr(scan, "measure_fstring", measure)
        patched.setattr(chunks, "_count_open", count_open)
        assert "".join(chunk.text for chunk in chunks.split(text)) == text
    return events.consumed, deep, brackets


@pytest.mark.parametrize("name", [*HOSTILE, *MANY_LINES])
def test_hostile_text_is_gone_over_a_few_times_at_most(name, monkeypatch):
    text = (HOSTILE | MANY_LINES)[name](20_000)
    consumed, deep, brackets = count(text, monkeypatch)
    assert consumed <= 3 * len(text)
    assert deep <= 3 * len(text)
    assert brackets <= 2 * len(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_much_hostile_text_is_cut(name):
    # Work that grew with the square of the text would take minutes to hours here.
    text = HOSTILE[name](2_000_000 if name.startswith("open long") else 300_000)
    assert "".join(chunk.text for chunk in chunks.split(text)) == text


def patterns():
    yield pytest.param(scan._events("    "), id="remat_lint.source.scan._events")
    for module in (scan, fstrings, chunks, classes):
        for name, value in vars(module).items():
            for each in value.values() if isinstance(value, dict) else [value]:
                if isinstance(each, re.Pattern):
                    yield pytest.param(each, id=f"{module.__name__}.{name}")


def repeats(tree):
    """The operations of every unbounded repeat in a parsed expression."""
    for operation, argument in tree:
        if operation in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}:
            _, most, _ = argument
            if most == codes.MAXREPEAT:
                yield operation
        pending = [argument]
        while pending:
            each = pending.pop()
            if isinstance(each, parser.SubPattern):
                yield from repeats(each)
            elif isinstance(each, tuple | list):
                pending.extend(each)


@pytest.mark.parametrize("pattern", list(patterns()))
def test_no_repeat_of_the_splitter_gives_back_what_it_consumed(pattern):
    found = list(repeats(parser.parse(pattern.pattern, pattern.flags)))
    assert set(found) <= {codes.POSSESSIVE_REPEAT}


def test_the_check_of_repeats_sees_one_that_gives_back():
    assert list(repeats(parser.parse(r"(?=(?:x|(a+)b))c*+"))) == [codes.MAX_REPEAT, codes.POSSESSIVE_REPEAT]
