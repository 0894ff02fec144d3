"""Brackets that are nested too deeply for any parser."""

import pytest

from remat_lint.source.nesting import LIMIT, is_too_deep
from remat_lint.source.text import SourceError, read_source


@pytest.mark.parametrize("pair", ["()", "[]", "{}", "([])"])
def test_the_limit_is_that_of_python(pair):
    half = len(pair) // 2
    for depth in (LIMIT, LIMIT + half):
        text = f"x = {pair[:half] * (depth // half)}{pair[half:] * (depth // half)}\n"
        try:
            compile(text, "x", "exec")
            refused = False
        except SyntaxError as error:
            refused = "too many nested parentheses" in str(error)
        assert is_too_deep(text) == refused == (depth > LIMIT)


@pytest.mark.parametrize(
    "text",
    [
        '"' + "(" * 1000 + '"\n',
        "# " + "(" * 1000 + "\n",
        "f(" * 150 + "'" + "[" * 150 + "'" + ")" * 150 + "\n",
        "x = f(1)[0]\n" * 1000,
    ],
)
def test_brackets_in_strings_and_comments_and_one_after_another_do_not_count(text):
    assert not is_too_deep(text)


@pytest.mark.parametrize(
    "text",
    [
        '("))))", ' * 1000,
        '")))" + ' * 1000 + "(" * 1000,
        'f"' + "{(" * 600 + '"',
        "(" * 300_000,
    ],
)
def test_closing_brackets_elsewhere_do_not_hide_the_depth(text):
    assert is_too_deep(text)


def test_a_file_nested_too_deeply_is_refused(tmp_path):
    file = tmp_path / "deep.py"
    file.write_text("x = " + "(" * 5000 + ")" * 5000 + "\n")
    with pytest.raises(SourceError, match="brackets nested more than 200 deep"):
        read_source(file)
