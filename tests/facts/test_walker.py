import dataclasses
import json
import textwrap
from pathlib import Path

import libcst as cst
import pytest

import remat_lint
from remat_lint.facts import nodes as n
from remat_lint.facts.positions import locate
from remat_lint.facts.walker import Walker

EVERYTHING = '''
import a.b as c, d
from ..e import f as g, h
from k import *

@decorator(1, *args, key=value, **options)
async def outer(a, /, b: int = 1, *rest, kw=None, **more) -> str:
    """A text."""
    global counter
    x = y = (1, *b)
    z: int = 2
    z += 1
    del x[0], y.attr
    async for i, (j, k) in pairs(a):
        if i is not None and (n := len(j)) > 2:
            continue
        elif not k:
            break
        else:
            pass
    while x < y <= z:
        await b
    else:
        raise ValueError("a" "b") from error
    try:
        yield f"{x!r:>{width}} and {y:.2f}"
    except (A, B) as caught:
        return lambda p, q=2: p if q else -p
    finally:
        assert a, "message"
    with open(p) as handle, lock:
        data = {k: v for k, v in items if k for w in v}
        s = {*a, 1}, [i async for i in a], {**d, "k": b"bytes"}
    match command:
        case {"a": 1, **others} | [2, *tail] if guard:
            pass
        case Point(x=0, y=None) as point:
            pass
        case _:
            yield from other
    return a[1:2, ..., -3]

class C(Base, metaclass=Meta):
    field: int
'''


def walk(text):
    return Walker().module(cst.parse_module(text))


def every(value):
    if dataclasses.is_dataclass(value):
        yield value
        for field in dataclasses.fields(value):
            yield from every(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from every(item)


def test_every_kind_of_statement_and_expression_has_a_form():
    kinds = {type(node).__name__ for node in every(walk(EVERYTHING))}
    assert kinds == {
        name for name, kind in vars(n).items() if dataclasses.is_dataclass(kind) and isinstance(kind, type)
    }
    assert not [
        node
        for node in every(walk(EVERYTHING))
        if isinstance(node, n.Operation) and node.op in ("unknown", "")
    ]


def test_the_form_holds_nothing_but_plain_values_so_it_can_be_stored():
    text = json.dumps(dataclasses.asdict(walk(EVERYTHING)[3]), default=lambda value: value.decode())
    assert "libcst" not in text


@pytest.mark.parametrize("row", [1, 100])
def test_numbers_and_places_agree_for_every_node(row):
    spans = locate(cst.parse_module(EVERYTHING), row)
    lines = EVERYTHING.split("\n")

    def cut(span):
        first, last = span.start.row - row, span.end.row - row
        if first == last:
            return lines[first][span.start.column - 1 : span.end.column - 1]
        return "\n".join(
            [
                lines[first][span.start.column - 1 :],
                *lines[first + 1 : last],
                lines[last][: span.end.column - 1],
            ]
        )

    numbers = [node.at for node in every(walk(EVERYTHING))]
    assert max(numbers) < len(spans)
    for node in every(walk(EVERYTHING)):
        text = cut(spans[node.at])
        if isinstance(node, n.Name):
            assert text == node.id
        elif isinstance(node, n.Attribute):
            assert text.endswith(f".{node.attr}")
        elif isinstance(node, n.Function) and node.name:
            assert cut(spans[node.name_at]) == node.name
        elif isinstance(node, n.Call):
            assert text.endswith(")")


def test_numbers_start_where_they_are_told_to():
    first = Walker(1000).module(cst.parse_module("a = b\n"))[0]
    assert first.at == 1000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-1", -1),
        ("'a' 'b'", "ab"),
        ("1_000", 1000),
        ("0x1f", 31),
        ("True", True),
        ("'\\n'", "\n"),
        ("...", "..."),
        ("2.5j", 2.5j),
    ],
)
def test_literals_keep_their_values(text, value):
    (statement,) = walk(f"{text}\n")
    assert statement.value.value == value


def test_a_sum_of_many_terms_is_walked_without_deep_recursion():
    text = " + ".join(["a"] * 200) + "\n"
    (statement,) = walk(text)
    assert isinstance(statement.value, n.Operation)


def test_a_generator_is_told_by_a_yield_of_its_own():
    body = walk(
        textwrap.dedent(
            """
            def f():
                yield 1
            def g():
                def h():
                    yield 1
                return lambda: (yield)
            """
        )
    )
    assert [function.is_generator for function in body] == [True, False]


def test_metadata_and_matchers_of_libcst_are_used_in_one_module_only():
    package = Path(remat_lint.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if any(
            word in path.read_text(encoding="utf-8")
            for word in ("libcst.metadata", "libcst.matchers", ".children()", "MetadataWrapper")
        )
    }
    assert users == {"facts/positions.py"}
