"""Which findings a comment takes back, and which it does not."""

from pathlib import Path

import pytest

from remat_lint.findings import Finding, Position, Severity, Span
from remat_lint.source.comments import find_comments
from remat_lint.source.text import SourceText
from remat_lint.suppressions import Scope, Suppressions


def finding(first, last=None, code="RML101", name="stale-capture"):
    span = Span(Position(first, 1), Position(last or first, 2))
    return Finding(code, name, Severity.ERROR, "message", "/p/a.py", span)


def read(text, *scopes):
    return Suppressions.from_comments(find_comments(text), SourceText(Path("/p/a.py"), text), scopes)


def is_suppressed(text, *args, scopes=(), **keywords):
    return not read(text, *scopes).split([finding(*args, **keywords)]).kept


@pytest.mark.parametrize(
    "comment",
    [
        "# remat-lint: ignore[stale-capture]",
        "# remat-lint: ignore[RML101]",
        "#remat-lint:ignore[RML101]",
        "# remat-lint: ignore [RML101]",
        "# remat-lint: ignore[RML102, RML101]",
        "# remat-lint: ignore[late-binding-capture,stale-capture,]",
        "# remat-lint: ignore[RML101] -- the table never changes",
        "# remat-lint: ignore[RML102] -- one # remat-lint: ignore[RML101]",
        "# type: ignore # remat-lint: ignore[RML101]",
        "# noqa: RML101",
        "# noqa:RML101",
        "# NOQA: rml101",
        "# noqa: E501, RML101",
        "# noqa: RML101 E501 the reason",
        "# ws changes # noqa: E501,RML101",
    ],
)
def test_a_comment_that_names_the_rule_covers_its_line(comment):
    text = f"a = 1\nb = 2  {comment}\nc = 3\n"

    assert is_suppressed(text, 2)
    assert not is_suppressed(text, 1)
    assert not is_suppressed(text, 3)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# noqa: E501",
        "# remat-lint: ignore",
        "# remat-lint: ignore[]",
        "# remat-lint: ignore[RML1]",
        "# remat-lint: ignore[correctness]",
        "# remat-lint: ignore[ALL]",
        "# remat-lint: ignore[RML102]",
        "# remat-lint: ignore[RML101",
        "# remat-lint: disable[RML101]",
        "# type: ignore[RML101]",
        "# noqa:",
        "# noqa: XRML101",
    ],
)
def test_a_comment_that_names_no_rule_or_another_covers_nothing(comment):
    assert not is_suppressed(f"b = 2  {comment}\n", 1)


def test_a_comment_inside_of_a_string_is_none():
    assert not is_suppressed('b = "# remat-lint: ignore[RML101]"\n', 1)


def test_a_finding_of_several_lines_is_covered_from_each_of_them():
    text = "f(\n    a,\n    b,  # remat-lint: ignore[RML101]\n)\ng()\n"

    assert is_suppressed(text, 1, 4)
    assert is_suppressed(text, 3, 3)
    assert not is_suppressed(text, 1, 2)
    assert not is_suppressed(text, 4, 5)


def test_a_comment_alone_in_its_line_covers_the_next_line_of_code():
    text = "# remat-lint: ignore[RML101] -- known\n# more words\n\nb = f(\n    c)\n"

    assert is_suppressed(text, 4)
    assert not is_suppressed(text, 5)


def test_a_comment_behind_code_does_not_cover_the_next_line():
    assert not is_suppressed("a = 1  # remat-lint: ignore[RML101]\nb = 2\n", 2)


def test_a_lonely_comment_at_the_end_of_a_file_covers_nothing():
    assert not is_suppressed("a = 1\n# remat-lint: ignore[RML101]\n", 1)


FUNCTION = "@decorator{0}\ndef f(x):{1}\n    y = x\n    return y\n\nf(1)\n"
SCOPE = Scope(frozenset({1, 2}), 1, 4)


@pytest.mark.parametrize("place", [0, 1])
def test_a_comment_on_a_decorator_or_a_header_covers_the_whole_definition(place):
    comments = ["", ""]
    comments[place] = "  # remat-lint: ignore[stale-capture]"
    text = FUNCTION.format(*comments)

    assert is_suppressed(text, 4, scopes=[SCOPE])
    assert not is_suppressed(text, 6, scopes=[SCOPE])


def test_a_comment_above_a_definition_covers_it_too():
    text = "# remat-lint: ignore[stale-capture]\n" + FUNCTION.format("", "")

    assert is_suppressed(text, 5, scopes=[Scope(frozenset({2, 3}), 2, 5)])


def test_a_comment_in_the_body_covers_its_line_only():
    text = "def f(x):\n    y = x  # remat-lint: ignore[RML101]\n    return y\n"

    assert not is_suppressed(text, 3, scopes=[Scope(frozenset({1}), 1, 3)])


def test_a_file_comment_covers_every_line_wherever_it_stands():
    text = "a = 1\nb = 2\n# remat-lint: ignore-file[RML101] -- generated\n"

    assert is_suppressed(text, 1)
    assert not is_suppressed(text, 1, code="RML102", name="late-binding-capture")


@pytest.mark.parametrize("code", ["RML001", "RML900"])
def test_a_syntax_error_and_a_crash_cannot_be_suppressed(code):
    text = f"a = 1  # remat-lint: ignore[{code}] # noqa: {code}\n"

    assert not is_suppressed(text, 1, code=code, name="x")


def test_the_split_says_which_suppression_was_used_and_by_which_name():
    text = "a = 1  # remat-lint: ignore[RML102, stale-capture] -- see #12\n"
    suppressions = read(text)
    split = suppressions.split([finding(1), finding(1, code="RML103", name="leaked-value")])

    assert [one.code for one in split.kept] == ["RML103"]
    assert [one.code for one in split.suppressed] == ["RML101"]
    assert split.used == {(suppressions.entries[0], "stale-capture")}
    assert suppressions.entries[0].reason == "see #12"


def test_scopes_are_not_asked_for_in_a_file_without_suppressions():
    def scopes():
        pytest.fail("asked")
        yield

    text = "a = 1  # an ordinary comment, noqa\n"
    assert read(text).entries == ()
    assert (
        Suppressions.from_comments(find_comments(text), SourceText(Path("a.py"), text), scopes()).entries
        == ()
    )


def test_a_hostile_comment_is_read_in_linear_time():
    text = "#" + " #noqa:" * 200_000 + "# remat-lint: ignore[" * 100_000 + "\n"

    assert read(text).entries == ()
