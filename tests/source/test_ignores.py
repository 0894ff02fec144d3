import pytest

from remat_lint.source.comments import find_comments
from remat_lint.source.ignores import find_ignores


def read(text):
    return [ignore for comment in find_comments(text) for ignore in find_ignores(comment)]


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("x = 1  # remat-lint: ignore[RML101, stale-capture]\n", "ignore", ["RML101", "stale-capture"]),
        ("# remat-lint: ignore-file[ a ,b,, ] -- why\n", "ignore-file", ["a", "b"]),
        ("ä = 1  # noqa: E501, rml101 RML102\n", "noqa", ["RML101", "RML102"]),
    ],
)
def test_each_name_is_found_where_it_stands(text, kind, names):
    (ignore,) = read(text)
    assert ignore.kind == kind
    assert [one.name for one in ignore.listed] == names
    assert [text[one.offset :][: len(one.name)].upper() for one in ignore.listed] == [
        n.upper() for n in names
    ]


def test_two_comments_in_one_line_are_two():
    first, second = read("# remat-lint: ignore[a] -- because # remat-lint: ignore[b]\n")
    assert [one.name for one in (*first.listed, *second.listed)] == ["a", "b"]
    assert first.reason == "because"


@pytest.mark.parametrize(
    "text", ["# noqa\n", "# noqa: E501\n", "# remat-lint: ignore\n", "s = '# noqa: RML101'\n"]
)
def test_what_names_no_rule_of_this_tool_takes_nothing_back(text):
    assert read(text) == []
