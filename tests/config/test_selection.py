"""Selectors: what runs, what is shown, and what a misspelt one says."""

from typing import NamedTuple

import pytest

from remat_lint.config import Settings, check_selectors
from remat_lint.errors import UsageError
from remat_lint.findings import Severity


class Rule(NamedTuple):
    code: str
    name: str
    category: str


CAPTURE = Rule("RML101", "stale-capture", "correctness")
BINDING = Rule("RML102", "late-binding-capture", "correctness")
PRINT = Rule("RML107", "trace-time-output", "suspicious")
FRESH = Rule("RML701", "jit-of-fresh-wrapper", "cost")
SYNTAX = Rule("RML001", "syntax-error", "tool")
CRASH = Rule("RML900", "internal-error", "tool")
RULES = (SYNTAX, CAPTURE, BINDING, PRINT, FRESH, CRASH)


def selected(*, select=(), ignore=()):
    settings = Settings(select=tuple(select), ignore=tuple(ignore))
    return {rule.code for rule in RULES if settings.is_selected(*rule)} - {"RML001", "RML900"}


def test_without_selectors_every_rule_runs():
    assert selected() == {"RML101", "RML102", "RML107", "RML701"}


@pytest.mark.parametrize(
    ("selector", "codes"),
    [
        ("RML101", {"RML101"}),
        ("stale-capture", {"RML101"}),
        ("RML1", {"RML101", "RML102", "RML107"}),
        ("RML", {"RML101", "RML102", "RML107", "RML701"}),
        ("correctness", {"RML101", "RML102"}),
        ("cost", {"RML701"}),
        ("memory", set()),
        ("ALL", {"RML101", "RML102", "RML107", "RML701"}),
    ],
)
def test_a_rule_is_selected_by_code_prefix_name_category_or_all(selector, codes):
    assert selected(select=[selector]) == codes


def test_ignore_wins_over_an_equally_specific_select():
    assert selected(select=["RML1"], ignore=["RML1"]) == set()
    assert selected(ignore=["correctness"]) == {"RML107", "RML701"}


def test_the_more_specific_selector_wins():
    assert selected(select=["RML101"], ignore=["RML1"]) == {"RML101"}
    assert selected(select=["RML1"], ignore=["stale-capture"]) == {"RML102", "RML107"}
    assert selected(select=["ALL"], ignore=["correctness"]) == {"RML107", "RML701"}


def test_a_syntax_error_and_a_crash_cannot_be_deselected():
    settings = Settings(select=("RML101",), ignore=("tool", "RML001", "RML900"))

    assert settings.is_selected(*SYNTAX)
    assert settings.is_selected(*CRASH)


def test_extend_select_adds_to_a_selection_or_to_every_rule():
    narrow = Settings(select=("RML7",), extend_select=("stale-capture",))
    wide = Settings(extend_select=("RML107",), ignore=("RML1",))

    assert {rule.code for rule in RULES if narrow.is_selected(*rule)} == {
        "RML001",
        "RML101",
        "RML701",
        "RML900",
    }
    assert {rule.code for rule in RULES if wide.is_selected(*rule)} == {
        "RML001",
        "RML107",
        "RML701",
        "RML900",
    }
    assert wide.shows(Severity.INFO, *PRINT)
    assert not wide.shows(Severity.INFO, *FRESH)


@pytest.mark.parametrize(
    ("chosen", "level"),
    [
        ([], Severity.ERROR),
        ([("cost", Severity.INFO)], Severity.ERROR),
        ([("RML101", Severity.INFO), ("RML1", Severity.WARNING)], Severity.INFO),
        ([("RML1", Severity.WARNING), ("correctness", Severity.INFO)], Severity.WARNING),
        ([("stale-capture", Severity.INFO), ("RML101", Severity.WARNING)], Severity.WARNING),
    ],
)
def test_the_most_specific_severity_counts_and_the_last_of_equal_ones(chosen, level):
    assert Settings(severity=tuple(chosen)).severity_of(Severity.ERROR, *CAPTURE) is level


def test_nothing_changes_the_severity_of_a_syntax_error():
    assert Settings(severity=(("ALL", Severity.INFO),)).severity_of(Severity.ERROR, *SYNTAX) is Severity.ERROR


def test_notes_are_hidden_until_something_that_covers_them_is_selected():
    assert not Settings().shows(Severity.INFO, *PRINT)
    assert not Settings(select=("correctness",)).shows(Severity.INFO, *PRINT)
    for selector in ("ALL", "suspicious", "RML107", "RML1", "trace-time-output"):
        assert Settings(select=(selector,)).shows(Severity.INFO, *PRINT)


@pytest.mark.parametrize("severity", [Severity.ERROR, Severity.WARNING])
def test_errors_and_warnings_are_always_shown(severity):
    assert Settings().shows(severity, *PRINT)


@pytest.mark.parametrize("selector", ["ALL", "memory", "RML7", "RML", "fresh", ""])
def test_known_selectors_pass_and_others_do_not(selector):
    if selector in {"fresh", ""}:
        with pytest.raises(UsageError, match="unknown selector"):
            check_selectors([selector], "--select", RULES)
    else:
        check_selectors([selector], "--select", RULES)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("stale-captur", "stale-capture"),
        ("rml101", "RML101"),
        ("all", "ALL"),
        ("Correctness", "correctness"),
        ("stale_capture", "stale-capture"),
        ("RML1011", "RML101"),
    ],
)
def test_an_unknown_selector_names_the_nearest_known_one(typed, meant):
    with pytest.raises(UsageError, match=f"unknown selector '{typed}' in --ignore; did you mean '{meant}'"):
        check_selectors([typed], "--ignore", RULES)


def test_a_selector_like_nothing_points_to_the_list():
    with pytest.raises(UsageError, match="`remat-lint rule --all` lists"):
        check_selectors(["xyzzy-foo"], "--select", RULES)
