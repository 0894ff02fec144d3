"""Merging edits, settling fixes, and putting the result on disk."""

import re
from pathlib import Path

import pytest

from remat_lint.findings import Applicability, Edit, Finding, Fix, Position, Severity, Span
from remat_lint.fixes import FixError, apply_edits, compatible, fix_text, write
from remat_lint.source.text import SourceError, SourceText, read_source

SAFE, UNSAFE, PLACEHOLDER = Applicability.SAFE, Applicability.UNSAFE, Applicability.PLACEHOLDER


def edit(row, column, end, content, *, end_row=None):
    return Edit(Span(Position(row, column), Position(end_row or row, end)), content)


def finding(*edits, code="RML101", message="message", grade=SAFE, severity=Severity.ERROR):
    span = edits[0].span if edits else Span(Position(1, 1), Position(1, 2))
    return Finding(
        code, "name", severity, message, "/p/a.py", span, Fix(grade, "Fix it", edits) if edits else None
    )


def source(text, path="/p/a.py"):
    return SourceText(Path(path), text)


def words(text, *, bad="bad", good="good", grade=SAFE, extra=()):
    """A linter that reports every word `bad`, which its fix replaces, and whatever `extra` reports."""
    whole = source(text)
    found = [
        finding(Edit(whole.span(*match.span()), good), message=f"at {match.start()}", grade=grade)
        for match in re.finditer(rf"\b{bad}\b", text)
    ]
    return found + [
        finding(code=code, severity=severity) for code, severity in (extra(text) if extra else ())
    ]


def test_edits_of_one_text_are_merged_in_order():
    text = apply_edits(
        source("abc\ndef\n"), [edit(2, 1, 2, "D"), edit(1, 3, 3, "-"), edit(1, 4, 1, "", end_row=2)]
    )

    assert text == "ab-cDef\n"


def test_equal_edits_are_applied_once():
    new_import = edit(1, 1, 1, "import functools\n")

    assert apply_edits(source("x\n"), [new_import, edit(1, 1, 2, "y"), new_import]) == "import functools\ny\n"


def test_overlapping_edits_are_refused():
    with pytest.raises(ValueError, match="edits overlap at 1:2"):
        apply_edits(source("abcd\n"), [edit(1, 1, 3, ""), edit(1, 2, 4, "")])


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_new_lines_get_the_line_end_of_the_file(line_end):
    text = f"a{line_end}b{line_end}"

    assert apply_edits(source(text), [edit(2, 1, 1, "x\ny\r\n")]) == line_end.join(["a", "x", "y", "b", ""])


def test_columns_count_code_points():
    assert apply_edits(source("x = '😀é'; bad\n"), [edit(1, 11, 14, "ok")]) == "x = '😀é'; ok\n"


def test_of_two_colliding_fixes_the_first_is_taken():
    first, second, third = (
        finding(edit(1, 1, 3, "x")),
        finding(edit(1, 2, 4, "y")),
        finding(edit(1, 4, 5, "z")),
    )

    assert compatible([first, second, third]) == [first, third]


def test_two_insertions_at_one_place_collide_unless_they_are_equal():
    one, same, other = (
        finding(edit(1, 1, 1, content), edit(row, 1, 2, "x"))
        for row, content in [(2, "a"), (3, "a"), (4, "b")]
    )

    assert compatible([one, same, other]) == [one, same]


def test_fixes_that_collide_are_applied_in_later_rounds():
    def lint(text):
        # Both findings replace the same first character; the second one only becomes possible afterwards.
        match = re.match("[ab]", text)
        return [finding(edit(1, 1, 2, {"a": "b", "b": "c"}[match[0]]))] if match else []

    outcome = fix_text(source("a\n"), lint("a\n"), lint)

    assert outcome.after.text == "c\n"
    assert len(outcome.applied) == 2
    assert outcome.findings == ()


def test_fixes_that_never_settle_stop():
    def lint(text):
        return [finding(edit(1, 1, 2, {"a": "b", "b": "a"}[text[0]]))]

    outcome = fix_text(source("a\n"), lint("a\n"), lint)

    assert len(outcome.applied) == 10
    assert outcome.findings


def test_unsafe_fixes_need_to_be_asked_for_and_placeholders_are_never_applied():
    def lint(text):
        return [
            *words(text, bad="one"),
            *words(text, bad="two", grade=UNSAFE),
            *words(text, bad="three", grade=PLACEHOLDER),
        ]

    text = "one two three\n"
    assert fix_text(source(text), lint(text), lint).after.text == "good two three\n"
    assert fix_text(source(text), lint(text), lint, unsafe=True).after.text == "good good three\n"


def test_a_fix_that_adds_an_alarm_is_dropped_and_the_others_are_applied():
    def lint(text):
        return words(text, extra=lambda text: [("RML303", Severity.WARNING)] if "good good" in text else [])

    def lint_rows(text):
        return words(text, extra=lambda text: [("RML303", Severity.WARNING)] if "\ngood" in text else [])

    text = "bad one\nbad two\n"
    outcome = fix_text(source(text), lint_rows(text), lint_rows)

    assert outcome.after.text == "good one\nbad two\n"
    assert [(one.finding.span.start.row, one.reason) for one in outcome.dropped] == [
        (2, "it would add RML303")
    ]
    assert len(outcome.findings) == 1

    together = fix_text(source("bad bad\n"), lint("bad bad\n"), lint)
    assert together.after.text in {"good bad\n", "bad good\n"}


def test_a_note_that_comes_up_does_no_harm():
    def lint(text):
        return words(text, extra=lambda text: [("RML605", Severity.INFO)] if "good" in text else [])

    assert fix_text(source("bad\n"), lint("bad\n"), lint).after.text == "good\n"


def test_a_fix_after_which_the_text_cannot_be_parsed_is_dropped():
    def lint(text):
        return words(
            text, good="goo(d", extra=lambda text: [("RML001", Severity.ERROR)] if "(" in text else []
        )

    outcome = fix_text(source("bad\n"), lint("bad\n"), lint)

    assert not outcome.changed
    assert outcome.dropped[0].reason == "the result could not be parsed"


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        ([edit(1, 1, 3, "x"), edit(1, 2, 4, "y")], "its edits overlap at 1:2"),
        ([edit(1, 1, 2, "x"), edit(9, 1, 1, "x")], "no place 9:1 in the text"),
        ([edit(1, 1, 2, "b")], "it changes nothing"),
    ],
)
def test_a_fix_that_makes_no_sense_is_dropped(edits, reason):
    broken = finding(*edits)
    outcome = fix_text(source("bcde\n"), [broken], lambda _: [broken])

    assert not outcome.changed
    assert [one.reason for one in outcome.dropped] == [reason]


def fixed(path):
    before = read_source(path)
    return fix_text(before, words(before.text), words)


def test_a_fixed_file_keeps_its_mode_mark_encoding_and_line_ends(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"\xef\xbb\xbf# caf\xc3\xa9\r\nbad\r\n")
    path.chmod(0o754)
    latin = tmp_path / "b.py"
    latin.write_bytes(b"# coding: latin-1\n# caf\xe9\nbad\n")

    write(fixed(path), tmp_path)
    write(fixed(latin), tmp_path)

    assert path.read_bytes() == b"\xef\xbb\xbf# caf\xc3\xa9\r\ngood\r\n"
    assert path.stat().st_mode & 0o777 == 0o754
    assert latin.read_bytes() == b"# coding: latin-1\n# caf\xe9\ngood\n"
    assert sorted(tmp_path.iterdir()) == [path, latin]


def test_a_file_that_changed_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("bad\n")
    outcome = fixed(path)
    path.write_text("bad  # edited\n")

    with pytest.raises(FixError, match="it changed on disk meanwhile"):
        write(outcome, tmp_path)
    assert path.read_text() == "bad  # edited\n"


def test_nothing_is_written_through_a_link_out_of_the_project(tmp_path):
    outside, project = tmp_path / "outside.py", tmp_path / "project"
    outside.write_text("bad\n")
    project.mkdir()
    link = project / "a.py"
    link.symlink_to(outside)

    with pytest.raises(FixError, match=r"it is a link to .*outside\.py, outside of the project"):
        write(fixed(link), project)
    assert outside.read_text() == "bad\n"


def test_a_link_inside_of_the_project_stays_a_link(tmp_path):
    target, link = tmp_path / "a.py", tmp_path / "b.py"
    target.write_text("bad\n")
    link.symlink_to(target)

    write(fixed(link), tmp_path)

    assert link.is_symlink()
    assert target.read_text() == "good\n"


def test_a_character_that_the_encoding_lacks_leaves_the_file_alone(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\nbad\n")
    before = read_source(path)
    outcome = fix_text(before, words(before.text, good="日"), lambda text: words(text, good="日"))

    with pytest.raises(SourceError, match=r"has no character U\+65E5"):
        write(outcome, tmp_path)
    assert path.read_bytes() == b"# coding: latin-1\nbad\n"


def test_a_file_that_is_gone_is_an_error_of_one_sentence(tmp_path):
    path = tmp_path / "a.py"
    path.write_text("bad\n")
    outcome = fixed(path)
    path.unlink()

    with pytest.raises(FixError, match="was not fixed: No such file or directory"):
        write(outcome, tmp_path)
    assert not list(tmp_path.iterdir())
