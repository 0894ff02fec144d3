"""What settings make of findings: releases of JAX, severities, and files in which rules are left out."""

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine
from remat_lint.findings import Severity
from remat_lint.rules import registry
from remat_lint.rules.rule import Report

KEYWORD_ONLY = "import jax\n\n@jax.checkpoint(policy=None)\ndef layer(x):\n    return x\n"
STALE = "import jax\n\ndef layer(x):\n    return x * w\n\nfor w in [1.0, 2.0]:\n    y = jax.checkpoint(layer)(1.0)\n"
ERROR, WARNING, INFO = Severity.ERROR, Severity.WARNING, Severity.INFO


def check(folder, text=KEYWORD_ONLY, name="a.py", **settings):
    return Engine(Settings(root=folder, **settings)).check_text(text, folder / name)


def levels(folder, text=KEYWORD_ONLY, name="a.py", **settings):
    return [(finding.code, finding.severity) for finding in check(folder, text, name, **settings).findings]


@pytest.fixture
def limited(monkeypatch):
    """Make `keyword-only-decorator` a rule that holds in some releases only."""

    def limit(spec):
        monkeypatch.setattr(type(registry()["RML201"]), "versions", spec)

    return limit


def test_a_rule_that_holds_in_every_release_reports_as_it_is(tmp_path, limited):
    plain = check(tmp_path).findings
    limited(">=0.4.30")

    assert check(tmp_path).findings == plain
    assert plain[0].severity is ERROR


@pytest.mark.parametrize(
    ("jax_version", "severity", "ending"),
    [
        ("", WARNING, " (on JAX 0.10.0 and newer)"),
        (">=0.8,<0.11", WARNING, " (on JAX 0.10.0 to 0.10.2)"),
        ("0.10.2", ERROR, ""),
        (">=0.10", ERROR, ""),
    ],
)
def test_a_rule_that_holds_in_a_part_of_the_releases_warns_and_names_them(
    tmp_path, limited, jax_version, severity, ending
):
    plain = check(tmp_path).findings[0].message
    limited(">=0.10")
    (finding,) = check(tmp_path, jax_version=jax_version).findings

    assert (finding.severity, finding.message) == (severity, plain + ending)


def test_a_rule_that_holds_in_no_release_of_the_project_is_silent_and_says_why(tmp_path, limited):
    limited(">=0.10")
    engine = Engine(Settings(root=tmp_path, jax_version="<0.10"))

    assert engine.check_text(KEYWORD_ONLY, tmp_path / "a.py").findings == ()
    site = engine.sites_text(KEYWORD_ONLY, tmp_path / "a.py")[0]
    (reason,) = [verdict.reason for verdict in engine.verdicts(site) if verdict.rule.code == "RML201"]
    assert reason == "this holds in JAX >=0.10 only, and the project runs on JAX 0.4.30 to 0.9.2"


def test_the_releases_come_from_the_files_of_the_project(tmp_path, limited):
    limited(">=0.10")
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["jax==0.9.2"]\n')
    assert levels(tmp_path) == []

    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["jax==0.10.2"]\n')
    assert levels(tmp_path) == [("RML201", ERROR)]


def test_a_report_may_hold_in_fewer_releases_than_its_rule(tmp_path, limited, monkeypatch):
    limited(">=0.6")
    rule = registry()["RML201"]
    original = type(rule).check

    def narrower(self, subject, project):
        for answer in original(self, subject, project):
            if isinstance(answer, Report):
                message = f"it fails on {project.jax.part('>=0.11').describe()}"
                yield Report(answer.place, message, ERROR, versions=">=0.11", facts=answer.facts)

    monkeypatch.setattr(type(rule), "check", narrower)

    assert levels(tmp_path, jax_version="<0.11") == []
    (finding,) = check(tmp_path).findings
    assert (finding.severity, finding.message) == (WARNING, "it fails on JAX 0.11.0 and newer")


@pytest.mark.parametrize(
    ("severity", "level"),
    [
        ((), ERROR),
        ((("RML201", WARNING),), WARNING),
        ((("keyword-only-decorator", WARNING),), WARNING),
        ((("RML2", WARNING), ("correctness", INFO)), WARNING),
        ((("correctness", INFO), ("RML2", WARNING)), WARNING),
        ((("correctness", INFO), ("ALL", WARNING)), INFO),
        ((("RML201", INFO), ("keyword-only-decorator", WARNING)), WARNING),
        ((("memory", INFO),), ERROR),
    ],
)
def test_the_most_specific_severity_counts(tmp_path, severity, level):
    assert levels(tmp_path, severity=severity, select=("ALL",)) == [("RML201", level)]


def test_a_finding_that_becomes_a_note_is_hidden_like_other_notes(tmp_path):
    result = check(tmp_path, severity=(("RML201", INFO),))

    assert (result.findings, result.hidden) == ((), 1)
    assert levels(tmp_path, severity=(("RML201", INFO),), extend_select=("RML201",)) == [("RML201", INFO)]


def test_a_chosen_severity_is_stronger_than_a_part_of_the_releases(tmp_path, limited):
    limited(">=0.10")

    assert levels(tmp_path, severity=(("RML201", ERROR),)) == [("RML201", ERROR)]


def test_syntax_errors_and_crashes_stay_errors_and_stay(tmp_path):
    broken = "import jax\nlayer = jax.checkpoint(\n"
    settings = {"severity": (("ALL", INFO), ("tool", INFO)), "per_file_ignores": (("*.py", ("ALL",)),)}

    assert levels(tmp_path, broken, **settings) == [("RML001", ERROR)]


def test_a_crash_stays_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(type(registry()["RML201"]), "check", lambda *_: 1 / 0)

    assert ("RML900", ERROR) in levels(tmp_path, severity=(("ALL", INFO),))


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        ("tests/**", "tests/deep/a.py", False),
        ("tests", "tests/deep/a.py", False),
        ("a.py", "src/a.py", False),
        ("*_test.py", "src/a_test.py", False),
        ("tests/**", "src/tests/a.py", True),
        ("!src/**", "src/a.py", True),
        ("!src/**", "lib/a.py", False),
    ],
)
def test_rules_are_left_out_in_files_that_fit(tmp_path, pattern, name, found):
    ignores = ((pattern, ("RML2",)), ("other.py", ("ALL",)))

    assert bool(levels(tmp_path, name=name, per_file_ignores=ignores)) == found


def test_patterns_start_in_the_folder_of_the_configuration_file(tmp_path):
    inner = tmp_path / "inner"
    settings = {
        "per_file_ignores": (("src/*", ("keyword-only-decorator",)),),
        "config_file": inner / "pyproject.toml",
    }

    assert levels(tmp_path, name="inner/src/a.py", **settings) == []
    assert levels(tmp_path, name="src/a.py", **settings) == [("RML201", ERROR)]


def test_files_outside_of_the_project_fit_by_their_own_name_only(tmp_path):
    settings = {
        "per_file_ignores": (("tests/**", ("ALL",)), ("b.py", ("ALL",))),
        "config_file": tmp_path / "in/x.toml",
    }

    assert levels(tmp_path, name="tests/a.py", **settings) == [("RML201", ERROR)]
    assert levels(tmp_path, name="tests/b.py", **settings) == []


def test_suppressions_work_whatever_the_severity(tmp_path):
    text = STALE.replace("x * w", "x * w  # remat-lint: ignore[stale-capture]")

    assert levels(tmp_path, text, severity=(("RML101", WARNING),)) == []
