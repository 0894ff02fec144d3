"""The cuts between statements, one shape of text after the other."""

from __future__ import annotations

import ast
import sys

import pytest

from remat_lint.source.chunks import MERGE_LIMIT, split
from remat_lint.source.comments import find_comments


def cut(text):
    """The pieces of a text, which are the text when joined."""
    chunks = split(text, merge=False)
    assert "".join(chunk.text for chunk in chunks) == text
    return [chunk.text for chunk in chunks]


def kinds(text, *, merge=False):
    return [(chunk.kind, chunk.name) for chunk in split(text, merge=merge)]


def parses(text):
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def test_an_empty_text_has_no_chunks():
    assert split("") == ()


@pytest.mark.parametrize("text", ["\n", "# only\n", "  \n\t# x", "\f"])
def test_a_text_without_statements_is_one_chunk(text):
    assert cut(text) == [text]


def test_a_statement_takes_what_follows_it_and_the_head_of_the_file_stands_alone():
    assert cut("# licence\n\nx = 1\n# about y\n\ny = 2") == ["# licence\n\n", "x = 1\n# about y\n\n", "y = 2"]


def test_decorators_stay_with_what_they_decorate():
    text = "@a\n# why\n@b(\n1,\n)\n\nasync def f(): pass\n@c\nclass K: pass\n"
    assert kinds(text) == [("def", "f"), ("class", "K")]


def test_text_in_column_0_of_a_decorator_is_no_head():
    text = '@a("""\ndef wrong(): pass\n""", [\nb\n])\ndef right(): pass\n'
    assert kinds(text) == [("def", "right")]


def test_clauses_stay_with_their_statement():
    text = "try:\n  a\nexcept* E:\n  b\nelse:\n  c\n# x\nfinally:\n  d\nif x:\n  a\nelif y: b\nelse : c\nelse_ = 1\n"
    assert [piece.split()[0] for piece in cut(text)] == ["try:", "if", "else_"]


@pytest.mark.parametrize(
    "text",
    [
        "x = [\n1,\n2,\n]\n",
        "f(\na,\n# comment (\nb)\n",
        "x = {\n'(': '#',\n'a': [\n0]}\n",
        "def f(\na,\nb): pass\n",
        "x = '''\nimport a\n'''\n",
        'x = """\\"""\ny\n"""\n',
        "x = 'a\\\nb'\n",
        "x = 1 + \\\ny\n",
        "def \\\nf(): pass\n",
        "x = (yield_\nfrom_)\n",
        "x; y; z\n",
        "x = rb'\\'; y = r'\\\\'\n",
        "x = '(' # :(\n",
    ],
)
def test_column_0_inside_of_a_statement_does_not_begin_one(text):
    assert cut(text + "z = 0\n") == [text, "z = 0\n"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_kind_cut_and_stay(end):
    text = (
        f"import a{end}'''{end}b = 1{end}'''{end}c = \\{end}d{end}e = 'x\\{end}y'{end}def f():{end}  g{end}"
    )
    assert cut(text) == [
        f"import a{end}",
        f"'''{end}b = 1{end}'''{end}",
        f"c = \\{end}d{end}",
        f"e = 'x\\{end}y'{end}",
        f"def f():{end}  g{end}",
    ]
    assert [chunk.row for chunk in split(text, merge=False)] == [1, 2, 5, 7, 9]


def test_a_form_feed_resets_the_indentation():
    text = "x = 1\n\fy = 2\n \t\fdef f():\n  \x0c  a\n\f\n\f# no\n\felse_ = 1\n"
    assert kinds(text) == [("other", ""), ("other", ""), ("def", "f"), ("other", "")]


def test_a_backslash_in_column_0_adds_the_next_line():
    assert cut("x = 1\n\\\ny = 2\nif a:\n  b\n\\\n  c\n") == [
        "x = 1\n",
        "\\\ny = 2\n",
        "if a:\n  b\n\\\n  c\n",
    ]


def test_separators_of_unicode_begin_no_statement():
    assert len(cut("x = 'a\u2028b'\ny = 'c\x85d\x0be'\n")) == 2


def test_kinds_and_names_are_told():
    text = "import a\nfrom b import (\nc\n)\nimport d; e()\nclass \\\n K(B): pass\nasync  def g(): pass\nimports = 1\ndefine = 2\n"
    assert kinds(text) == [
        ("import", ""),
        ("import", ""),
        ("other", ""),
        ("class", "K"),
        ("def", "g"),
        ("other", ""),
        ("other", ""),
    ]


def test_names_may_be_any_identifier():
    assert kinds("def größe(): pass\nclass 類[T]: pass\n") == [("def", "größe"), ("class", "類")]


def test_small_neighbours_are_merged_and_definitions_never():
    text = "import a\nimport b\ndef f(): pass\nimport c\nx = 1\nclass K: pass\ny = 2\n"
    assert kinds(text, merge=True) == [
        ("import", ""),
        ("def", "f"),
        ("other", ""),
        ("class", "K"),
        ("other", ""),
    ]


def test_merged_chunks_stay_small():
    text = "x = 1  # some words\n" * 2000 + "y = [" + "0, " * MERGE_LIMIT + "]\n"
    sizes = [len(chunk.text) for chunk in split(text)]
    assert sum(sizes) == len(text)
    assert max(sizes[:-1]) <= MERGE_LIMIT < sizes[-1]
    assert min(sizes[:-2]) > MERGE_LIMIT - 30


def test_comments_go_to_their_chunks_and_equal_those_of_the_file():
    text = "#!x\nimport a  # one\n'# no'\ndef f(): # two\n  # three\n  return '''\n# no'''#four\n"
    chunks = split(text, merge=False)
    assert [[comment.text for comment in chunk.comments] for chunk in chunks] == [
        ["#!x"],
        ["# one"],
        [],
        ["# two", "# three", "#four"],
    ]
    together = find_comments(text)
    assert together == tuple(comment for chunk in chunks for comment in chunk.comments)
    assert [(comment.row, comment.alone) for comment in together] == [
        (1, True),
        (2, False),
        (4, False),
        (5, True),
        (7, False),
    ]
    assert all(text.startswith(comment.text, comment.offset) for comment in together)


def test_a_comment_ends_before_its_line_end():
    assert [comment.text for comment in find_comments("# a\r\n# b\r# c\u2028d\n#")] == [
        "# a",
        "# b",
        "# c\u2028d",
        "#",
    ]


def test_an_open_bracket_takes_only_its_own_statement():
    text = "def f(): pass\nx = g(\ndef h(): pass\ny = 1\n"
    assert cut(text) == ["def f(): pass\n", "x = g(\n", "def h(): pass\n", "y = 1\n"]


def test_an_open_bracket_without_an_end_leaves_the_lines_below_alone():
    assert cut("x = g(\na = 1\nb = [\n1]\nc = 3\n") == ["x = g(\n", "a = 1\n", "b = [\n", "1]\n", "c = 3\n"]


def test_an_open_string_ends_with_its_line():
    assert cut("x = 'a\ny = 1\n") == ["x = 'a\n", "y = 1\n"]
    assert cut('def f(x="): pass\ny = 1\n') == ['def f(x="): pass\n', "y = 1\n"]


def test_an_open_long_string_leaves_the_lines_below_readable():
    assert cut("x = '''a # no\ny = 1  # yes\n") == ["x = '''a # no\n", "y = 1  # yes\n"]
    assert [comment.text for comment in find_comments("x = '''a # no\ny = 1  # yes\n")] == ["# yes"]


def test_a_wrong_cut_leaves_a_chunk_that_does_not_parse():
    text = "x = (\na\n@b)\ny = 1\n"
    assert parses(text)
    pieces = cut(text)
    assert len(pieces) > 2, "this text is here because the splitter takes `@b` for a decorator"
    assert not all(map(parses, pieces))


SWAPPED = str.maketrans("'\"", "\"'")
NESTED = [
    "x = f'{d['#']:\">9}'  # c\n",
    "x = f'{d['#']}'  # c\n",
    "x = f'{f'{f'{1}'}'}'\n",
    "x = f'{\na + '(' # note\n}'\n",
    "x = f'''{d['''a''']:{w}>{'}'}}'''\n",
    "x = rf'\\{d['#']}\\'  '# c\n",
    "x = f'\\N{BULLET}{{{d['{']!r:>{w}}'\n",
    "x = F'{(lambda: {'#': '}'})()['#']:%H:%M}'\n",
]


@pytest.mark.parametrize("text", NESTED)
def test_fields_of_f_strings_may_hold_their_own_quotes(text):
    comments = [comment.text for comment in find_comments(text)]
    assert comments == (["# c"] if text.endswith("# c\n") else [])
    assert cut(text + "y = 1\n") == [text, "y = 1\n"]
    for piece in (text, text.translate(SWAPPED)):
        assert parses(piece) or sys.version_info < (3, 12)


def test_an_open_f_string_falls_back_to_its_line():
    assert cut("x = f'{a['b'\ny = 1\nz = {'k': 1}\n") == ["x = f'{a['b'\n", "y = 1\n", "z = {'k': 1}\n"]


def test_a_word_before_a_string_is_no_prefix():
    text = "x = 1 if'{'in y else'{'\ny = 'a'#'\n"
    assert parses(text)
    assert cut(text) == ["x = 1 if'{'in y else'{'\n", "y = 'a'#'\n"]
