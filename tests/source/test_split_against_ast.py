"""The cuts compared with the statements that Python's own parser sees, on generated programs and on real files."""

from __future__ import annotations

import ast
import re
import sys
import sysconfig
import warnings
from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from remat_lint.source.chunks import split
from remat_lint.source.comments import find_comments
from remat_lint.source.text import SourceError, find_line_starts, read_source

LEAD = re.compile(r"(?:[ \t\f]|\\(?:\r\n?|\n))*")


def parse(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def parses(text):
    try:
        parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def wanted(tree):
    """The rows on which top-level statements begin, first ones of their line only, and what they bind."""
    rows, names, last = [], [], 0
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        row = min([node.lineno, *(each.lineno for each in decorators)])
        if row > last:
            rows.append(row)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append(node.name)
        last = node.end_lineno
    return rows, names


def found(text):
    """The same by the splitter; a chunk of comments alone does not count."""
    chunks = split(text, merge=False)
    assert "".join(chunk.text for chunk in chunks) == text
    starts = find_line_starts(text)
    rows = []
    for chunk in chunks:
        assert chunk.row == bisect_right(starts, chunk.start)
        if chunk is chunks[0] and not parse(chunk.text).body:
            continue
        rows.append(bisect_right(starts, LEAD.match(text, chunk.start).end()))
    return rows, [chunk.name for chunk in chunks if chunk.name]


def comments_of(text):
    """The comments that Python's tokenizer sees."""
    import io
    import tokenize

    lines = io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n")).readline
    return [token.string for token in tokenize.generate_tokens(lines) if token.type == tokenize.COMMENT]


NAMES = st.sampled_from(
    ["a", "b_1", "größe", "elsewhere", "finally_", "except1", "ifx", "f", "rb", "match", "type"]
)
PREFIXES = st.sampled_from(["", "r", "u", "b", "f", "R", "U", "B", "F", "rb", "bR", "Rb", "fr", "rF", "Fr"])
BODY = st.lists(
    st.sampled_from(
        ["x", "#", "(", "]", "{{", "}}", "\\\\", "\\'", '\\"', "\\\n", " ", "\t", "@", "def f(): pass"]
    ),
    max_size=5,
).map("".join)
LONG = st.lists(
    st.one_of(BODY, st.sampled_from(["\n", "\nimport x\n", "\n@y\n", "\nelse:\n", "\n#no\n", "\n)\n"])),
    max_size=4,
).map("".join)
COMMENTS = st.sampled_from(["", "", "  # c", "#'", '# """', "  # (", "#\\", "# [\t'''"])
BLANKS = st.sampled_from(
    ["\n", "\n", "", "# note\n", "  # deep\n", "\t\n", "\f\n", "\n\n", "#'\n", "  \f# x\n"]
)


@st.composite
def strings(draw):
    prefix, quote = draw(PREFIXES), draw(st.sampled_from(["'", '"', "'''", '"""']))
    body = draw(LONG if len(quote) == 3 else BODY)
    if "f" in prefix.lower():
        # Backslashes and quotes keep away from fields: that is what Python 3.11 can read.
        body = (
            draw(st.sampled_from(["", "{{"])) + "{a!r:>{b_1}}" + body + draw(st.sampled_from(["", "{f:%d}"]))
        )
    elif "b" in prefix.lower():
        body = body.replace("\f", "")
    return f"{prefix}{quote}{body}{quote}"


def brackets(inner):
    gap = st.sampled_from(["", " ", "\n", "\n\n", " # c (\n", "\n# '\n", "\n\f", "\\\n"])
    item = st.tuples(gap, inner, gap).map("".join)
    many = st.lists(item, min_size=1, max_size=3)
    return st.one_of(
        many.map(lambda items: "(" + ",".join(items) + ",)"),
        many.map(lambda items: "[" + ",\n".join(items) + "]"),
        many.map(lambda items: "{" + ",".join(f"{each}:\n{each}" for each in items) + "\n}"),
        many.map(lambda items: "f(\n" + ",".join(items) + "\n)"),
    )


EXPRESSIONS = st.recursive(st.one_of(NAMES, strings(), st.just("0x1f")), brackets, max_leaves=5)


@st.composite
def simple(draw):
    value = draw(EXPRESSIONS)
    form = draw(
        st.sampled_from(
            [
                "{n} = {v}",
                "{v}",
                "{n} = \\\n{v}",
                "assert {v}; {n}",
                "import {n}",
                "from {n} import (\n{n},\n)",
            ]
        )
    )
    return form.format(n=draw(NAMES), v=value) + draw(COMMENTS) + "\n"


@st.composite
def blocks(draw):
    by = draw(st.sampled_from(["  ", "    ", "\t"]))
    lines = []
    for statement in draw(st.lists(simple(), min_size=1, max_size=2)):
        lines.append(by + statement)
        lines.append(draw(BLANKS))
    return "".join(lines)


@st.composite
def compound(draw):
    kind = draw(
        st.sampled_from(["def", "async def", "class", "if", "try", "for", "while", "with", "match", "one"])
    )
    block = lambda: draw(blocks())  # noqa: E731  # a statement for each draw
    name, value = draw(NAMES), draw(EXPRESSIONS)
    gap = draw(st.sampled_from([" ", "  ", " \\\n", "\t"]))
    if kind in {"def", "async def", "class"}:
        decorators = "".join(
            f"@{value}{draw(COMMENTS)}\n{draw(BLANKS)}" for value in draw(st.lists(EXPRESSIONS, max_size=2))
        )
        return f"{decorators}{kind}{gap}{name}({'' if kind == 'class' else 'x' + gap}):\n{block()}"
    return {
        "if": lambda: f"if{gap}{value}:\n{block()}elif{gap}a:\n{block()}else :\n{block()}",
        "try": lambda: f"try:\n{block()}except a:\n{block()}else:\n{block()}finally:\n{block()}",
        "for": lambda: f"for x in{gap}{value}:\n{block()}else:\n{block()}",
        "while": lambda: f"while {value}:\n{block()}",
        "with": lambda: f"with (\na as x,\n):\n{block()}",
        "match": lambda: f"match {value}:\n  case _:\n    pass\n",
        "one": lambda: f"if {value}: a; f\n",
    }[kind]()


@st.composite
def programs(draw):
    parts = draw(st.lists(st.one_of(simple(), compound(), BLANKS), max_size=4))
    parts = [
        draw(st.sampled_from(["", "", "", "\f", " \f"])) + part if part.strip() else part for part in parts
    ]
    text = "".join(parts)
    if draw(st.booleans()):
        text = text.removesuffix("\n")
    return text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))


@settings(max_examples=200, deadline=None)
@given(programs())
def test_generated_programs_are_cut_where_python_begins_statements(text):
    if not parses(text):  # a bytes literal with a letter outside ASCII, a name before a string, and the like
        return
    assert found(text) == wanted(parse(text))


@settings(max_examples=80, deadline=None)
@given(programs())
def test_comments_are_those_of_the_tokenizer(text):
    if parses(text):
        assert [comment.text for comment in find_comments(text)] == comments_of(text)


def test_most_generated_programs_are_accepted_by_python():
    seen = []

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(programs())
    def collect(text):
        seen.append((parses(text), len(split(text, merge=False))))

    collect()
    assert sum(fits for fits, _ in seen) > 0.6 * len(seen)
    assert sum(count > 2 for fits, count in seen if fits) > 10


@settings(max_examples=250, deadline=None)
@given(programs(), st.data())
def test_a_wrong_cut_never_goes_unnoticed(text, data):
    """Of a text that Python accepts either every cut is right, or a chunk alone does not parse."""
    at = data.draw(st.integers(0, len(text)))
    gone = data.draw(st.integers(0, 3))
    new = data.draw(
        st.sampled_from(
            ["", "\n", "'", '"""', "(", ")", "\\\n", "\n@", "#", "f'{", "}", ":", "\f", "x\n", " "]
        )
    )
    text = text[:at] + new + text[at + gone :]
    # `ast` tells the row of what is decorated with, which is not that of the `@` then.
    assume(not re.search(r"@[ \t\f]*\\", text))
    pieces = [chunk.text for chunk in split(text, merge=False)]
    assert "".join(pieces) == text
    if parses(text) and all(map(parses, pieces)):
        rows, names = found(text)
        right, bound = wanted(parse(text))
        assert set(rows) <= set(right)
        assert names == bound or set(rows) < set(right)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="\n\r \t\f\\\"'#()[]{}:;=@frx1\u2028", max_size=60))
def test_any_text_is_the_sum_of_its_chunks(text):
    for merge in (False, True):
        chunks = split(text, merge=merge)
        assert "".join(chunk.text for chunk in chunks) == text
        assert [chunk.start for chunk in chunks] == sorted({chunk.start for chunk in chunks})
    comments = [comment for chunk in chunks for comment in chunk.comments]
    assert tuple(comments) == find_comments(text)


def sample(folder, limit):
    files = sorted(Path(folder).rglob("*.py"))
    files = [each for each in files if "site-packages" not in each.parts]
    return files[:: max(len(files) // limit, 1)]


def test_the_standard_library_is_cut_where_python_begins_statements():
    """No exception is known: every file of the sample that parses must agree."""
    compared, differing = 0, []
    for path in sample(sysconfig.get_path("stdlib"), 300):
        try:
            text = read_source(path).text
            tree = parse(text)
        except (SourceError, SyntaxError, ValueError):
            continue
        compared += 1
        if found(text) != wanted(tree):
            differing.append(path)
    assert compared > 100
    assert differing == []


def test_comments_of_the_standard_library_are_those_of_the_tokenizer():
    compared = 0
    for path in sample(sysconfig.get_path("stdlib"), 60):
        try:
            text = read_source(path).text
            parse(text)
        except (SourceError, SyntaxError, ValueError):
            continue
        compared += 1
        assert [comment.text for comment in find_comments(text)] == comments_of(text), path
    assert compared > 20


@st.composite
def nested(draw, inner):
    quote = draw(st.sampled_from(["'", '"', "'''", '"""']))
    left, right = (
        draw(st.sampled_from(["", "{{", "\\\\", "#"])),
        draw(st.sampled_from(["", "}}", "\\\\", "# ("])),
    )
    spec = draw(st.sampled_from(["", "!r", ":>{a}", "!s:{a}{a}", ":#", ":{'}'}"]))
    return f"f{quote}{left}{{ {draw(inner)} {spec}}}{right}{quote}"


FIELDS = st.sampled_from(["a", "'#'", '"("', "d['}']", "({'x': 1}['x'])", "\n1\n", "a  # '(\n"])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="nested quotes in f-strings came with Python 3.12")
@settings(max_examples=200, deadline=None)
@given(st.recursive(FIELDS, nested, max_leaves=4))
def test_nested_f_strings_are_read_as_python_does(value):
    text = f"x = (\n{value}\n)  # c\ny = 1\n"
    if parses(text):
        assert found(text) == wanted(parse(text))
        assert find_comments(text)[-1].text == "# c"
