"""The format for people, frame by frame."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from remat_lint.findings import Applicability, Severity
from remat_lint.output import render


def full(make, *findings, **changes):
    return "".join(render("full", findings, replace(make.view, **changes)))


def test_a_finding_has_a_header_a_place_an_excerpt_its_story_and_its_fix(make):
    one = make()
    finding = one.finding(
        "w",
        nth=0,
        related=(one.related("w in weights", "`w` changes here"),),
        fix=one.fix(one.edit("x):", "x, w):"), one.edit("layer)(x", "layer)(x, w")),
    )

    assert full(one, finding) == (
        "RML101 [*] `layer` reads `w`\n"
        " --> a.py:4:16\n"
        "  |\n"
        "3 | def layer(x):\n"
        "4 |     return x * w\n"
        "  |                ^\n"
        "5 |\n"
        "6 | for w in weights:\n"
        "note: `w` changes here\n"
        " --> a.py:6:5\n"
        "  |\n"
        "6 | for w in weights:\n"
        "  |     ------------\n"
        "help: Pass `w` as an argument\n"
        "  |\n"
        "2 |\n"
        "  | - def layer(x):\n"
        "3 | + def layer(x, w):\n"
        "4 |       return x * w\n"
        "  |\n"
        "6 |   for w in weights:\n"
        "  | -     total = total + jax.checkpoint(layer)(x)\n"
        "7 | +     total = total + jax.checkpoint(layer)(x, w)\n"
        "\n"
    )


def test_a_span_of_several_lines_is_tied_together(make, place):
    one = make("a = 1\nb = f(\n    c,\n)\nd = 2\n")

    assert full(one, one.finding(span=place(2, 5, 4, 2))) == (
        "RML101 `layer` reads `w`\n"
        " --> a.py:2:5\n"
        "  |\n"
        "1 |   a = 1\n"
        "2 |   b = f(\n"
        "  |  _____^\n"
        "3 | |     c,\n"
        "4 | | )\n"
        "  | |_^\n"
        "5 |   d = 2\n"
        "\n"
    )


def test_a_tall_span_that_begins_its_line_is_cut_in_the_middle(make, place):
    text = "".join(f"line{number}\n" for number in range(1, 31))

    assert full(make(text), make(text).finding(span=place(8, 1, 27, 6))).splitlines()[2:] == [
        "   |",
        " 6 |   line6",
        " 7 |   line7",
        " 8 | / line8",
        " 9 | | line9",
        "10 | | line10",
        "11 | | line11",
        "...",
        "26 | | line26",
        "27 | | line27",
        "   | |_____^",
        "28 |   line28",
        "29 |   line29",
        "",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x = '日本語' * w", "w"),
        ("日本 = 語", "語"),
        ("x = '😀' + w", "w"),
        ("x = 'e\u0301' + w", "w"),
        ("\tif x:\tw = 1", "w"),
        ("'日本'\t\tw", "w"),
        ("x = '\u202e\x1b[31m' + w", "w"),
    ],
)
def test_carets_stand_below_the_span_whatever_the_line_holds(make, line, words):
    one = make(line + "\n")
    _, _, _, shown, carets, *_ = full(one, one.finding(words)).split("\n")

    assert cell_len(shown[: shown.index(words)]) == carets.index("^")
    assert carets.count("^") == cell_len(words)


def test_an_empty_span_still_gets_a_caret(make, place):
    one = make("f(\n")

    assert "  |   ^\n" in full(one, one.finding(span=place(1, 3, 1, 3)))


def test_a_huge_line_is_cut_around_the_span(make):
    one = make("x = [" + "1, " * 1_000_000 + "bad, " + "2, " * 1_000_000 + "]\n")
    text = full(one, one.finding("bad", fix=one.fix(one.edit("bad", "good"))))
    rows = text.split("\n")

    assert len(text) < 2_000
    assert rows[4].index("^") == rows[3].index("bad")
    assert rows[3].startswith("1 | ...")
    assert rows[3].endswith("...")
    assert any("good" in row for row in rows)


def test_a_file_without_its_text_is_shown_by_its_place_alone(make):
    one = make()

    assert (
        full(one, one.finding(path="/elsewhere/b.py"))
        == "RML101 `layer` reads `w`\n --> /elsewhere/b.py:4:16\n\n"
    )


def test_an_unsafe_fix_and_a_placeholder_say_how_to_get_them(make):
    one = make()
    unsafe = one.finding(fix=one.fix(one.edit("w", "v"), grade=Applicability.UNSAFE))
    hole = one.finding(fix=one.fix(one.edit("w", "v"), grade=Applicability.PLACEHOLDER))

    assert "RML101 `layer`" in full(one, unsafe)
    assert "note: this fix may change what the program does; `--fix --unsafe-fixes` applies it" in full(
        one, unsafe
    )
    assert full(one, unsafe, unsafe_fixes=True).startswith("RML101 [*] ")
    assert "note: this fix may" not in full(one, unsafe, unsafe_fixes=True)
    assert "note: this fix has a gap to fill in" in full(one, hole, unsafe_fixes=True)


def test_a_place_in_a_notebook_names_the_cell(make):
    one = make()

    assert " --> a.py:cell 3:4:16\n" in full(one, one.finding(cell=3))


@pytest.mark.parametrize("severity", list(Severity))
def test_colour_changes_nothing_but_colours(make, severity):
    import re

    one = make()
    finding = one.finding(
        severity=severity, fix=one.fix(one.edit("w", "v")), related=(one.related("jax", "here"),)
    )
    colored = full(one, finding, color=True)

    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == full(one, finding)


def test_markup_of_the_terminal_library_is_ordinary_text(make):
    one = make("total = ws[i] + ws[red]\n")
    text = full(one, one.finding("ws[i]", message="`[bold]ws[i][/bold]` is read"))

    assert "`[bold]ws[i][/bold]` is read" in text
    assert "1 | total = ws[i] + ws[red]\n" in text


def test_tabs_reach_to_the_next_multiple_of_four(make):
    one = make("ab\tc\td\n")

    assert "1 | ab  c   d\n  |         ^\n" in full(one, one.finding("d"))


def test_a_diff_numbers_lines_as_in_the_fixed_text(make):
    one = make("import jax\n" + "\n" * 8 + "y = w\n")
    new_import = one.edit("import jax\n", "import functools\nimport jax\n")
    rows = full(one, one.finding(fix=one.fix(new_import, one.edit("w", "v")))).splitlines()

    assert " 1 | + import functools" in rows
    assert "   | - y = w" in rows
    assert "11 | + y = v" in rows
