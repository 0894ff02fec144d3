"""Which comments are said to take nothing back, and what becomes of them."""

from pathlib import Path

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine
from remat_lint.fixes import fix_text
from remat_lint.rules.trace_time_output import TraceTimeOutput
from remat_lint.source.text import SourceText

PATH = Path("/p/a.py")
STALE = "import jax\n\nlayer = jax.checkpoint(lambda x: x)  {comment}\n"
NOTE = "import jax\n\n@jax.checkpoint\ndef layer(x):\n    print(x)  {comment}\n    return x\n"


def lint(text, **settings):
    return Engine(Settings(root=Path("/p"), **settings)).check_text(text, PATH).findings


def codes(text, **settings):
    return [finding.code for finding in lint(text, **settings)]


def fixed(text):
    return fix_text(SourceText(PATH, text), lint(text), lint).after.text


@pytest.mark.parametrize(
    ("selected", "said"),
    [((), True), (("RML002", "RML101"), True), (("RML002",), False), (("RML101",), False)],
)
def test_only_rules_that_ran_are_asked_after(selected, said):
    settings = {"select": selected} if selected else {}
    assert ("RML002" in codes(STALE.format(comment="# remat-lint: ignore[RML101]"), **settings)) is said


def test_rule_left_out_for_the_file_is_not_asked_after():
    text = STALE.format(comment="# remat-lint: ignore[RML101]")
    assert codes(text, per_file_ignores=(("*.py", ("RML101",)),)) == []


def test_note_that_is_not_shown_is_taken_back_all_the_same():
    assert codes(NOTE.format(comment="# remat-lint: ignore[RML107]")) == []
    assert codes(NOTE.format(comment="# remat-lint: ignore[RML108]")) == ["RML002"]


def test_file_with_a_syntax_error_is_left_alone():
    text = STALE.format(comment="# remat-lint: ignore[RML101]") + "\ndef broken(:\n    pass\n"
    assert "RML002" not in codes(text)


def test_rule_that_failed_leaves_the_comments_alone(monkeypatch):
    def fail(*_):
        raise ValueError

    monkeypatch.setattr(TraceTimeOutput, "check", fail)
    assert codes(NOTE.format(comment="# remat-lint: ignore[RML101]")) == ["RML900"]


def test_finding_about_a_comment_can_be_taken_back_itself():
    assert codes(STALE.format(comment="# remat-lint: ignore[RML101, RML002]")) == []
    assert codes(STALE.format(comment="# remat-lint: ignore[RML002]")) == []


def test_each_unused_name_is_reported_where_it_stands():
    text = STALE.format(comment="# remat-lint: ignore[RML101, RML102]")
    assert [finding.span.start.column for finding in lint(text)] == [59, 67]


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# remat-lint: ignore[RML101] -- why", ""),
        ("# remat-lint: ignore[RML101, RML102]", ""),
        ("# type: ignore # remat-lint: ignore[RML101] -- why", "  # type: ignore"),
        ("# remat-lint: ignore[RML101] -- why # noqa: E731", "  # noqa: E731"),
        ("# noqa: E731, rml101 -- why", "  # noqa: E731 -- why"),
        ("# noqa: RML101", ""),
    ],
)
def test_fix_takes_out_what_is_not_used_and_no_more(comment, left):
    text = STALE.format(comment=comment)
    assert fixed(text) == text.replace(f"  {comment}", left)


def test_fix_takes_a_line_of_its_own_out():
    text = "import jax\n\n    \n# remat-lint: ignore[RML101]\r\nlayer = jax.checkpoint(lambda x: x)\r\n"
    assert fixed(text) == "import jax\n\n    \nlayer = jax.checkpoint(lambda x: x)\r\n"


def test_fix_that_leaves_a_comment_without_a_finding_is_kept_and_the_comment_goes_too():
    text = """import jax

@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)  # remat-lint: ignore[RML101]
def layer(x):
    return x
"""
    assert "ignore" not in fixed(text)
    assert "partial" in fixed(text)
