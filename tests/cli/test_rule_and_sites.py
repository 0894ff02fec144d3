"""`remat-lint rule` and `remat-lint sites`."""

import json

import pytest

from remat_lint.rules import registry


def test_every_rule_is_listed_with_its_summary(lint):
    done = lint("rule")

    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == list(registry())
    assert done.stdout == lint("rule", "--all").stdout


def test_the_list_for_programs_has_the_promised_keys(lint):
    found = json.loads(lint("rule", "--all", "--output-format", "json").stdout)

    assert [rule["code"] for rule in found] == list(registry())
    assert set(found[0]) == {
        "code",
        "name",
        "category",
        "severity",
        "versions",
        "summary",
        "fix",
        "explanation",
    }
    assert all(
        isinstance(rule["fix"], bool) and rule["explanation"].startswith(rule["summary"]) for rule in found
    )


@pytest.mark.parametrize("selector", ["RML201", "keyword-only-decorator", "rml201"])
def test_a_rule_is_explained_by_code_or_name(lint, selector):
    text = lint("rule", selector).stdout

    assert text.startswith("# keyword-only-decorator (RML201)\n\ncorrectness, error, ")
    for heading in ("## What it does", "## Why it is a problem", "## Fix safety", "## Examples"):
        assert heading in text


def test_one_rule_for_programs_is_one_object(lint):
    assert json.loads(lint("rule", "RML101", "--output-format", "json").stdout)["name"] == "stale-capture"


def test_the_markdown_of_all_rules_is_their_pages(lint):
    text = lint("rule", "--all", "--output-format", "markdown").stdout

    assert all(f"# {rule.name} ({rule.code})\n" in text for rule in registry().values())
    assert "\x1b" not in text


def test_sites_are_listed_with_what_they_wrap(project, lint):
    done = lint("sites")

    assert done.returncode == 0
    assert "stale.py:7:13: jax.checkpoint of layer\n" in done.stdout
    assert "argparse.py:3:2: jax.checkpoint of layer policy=None\n" in done.stdout


def test_sites_for_programs_have_places_functions_and_options(project, lint):
    found = json.loads(lint("sites", "argparse.py", "--output-format", "json").stdout)

    assert found == [
        {
            "filename": "argparse.py",
            "location": {"row": 3, "column": 2},
            "end_location": {"row": 3, "column": 29},
            "wrapper": "jax.checkpoint",
            "form": "keyword-only",
            "functions": ["layer"],
            "targets": ["layer"],
            "scope": "",
            "through": [],
            "options": {"policy": "None"},
        }
    ]


def test_why_tells_what_each_rule_says_of_a_site(project, lint):
    text = lint("sites", "--why", "stale.py:7").stdout

    assert text.startswith("stale.py:7:13: jax.checkpoint of layer\n")
    assert "  RML101 stale-capture: reported: " in text
    assert "  RML201 keyword-only-decorator: silent: " in text


def test_why_finds_the_site_from_a_line_of_the_wrapped_function(project, lint):
    assert lint("sites", "--why", "stale.py:4").stdout == lint("sites", "--why", "stale.py:7").stdout


def test_why_for_programs(project, lint):
    (site,) = json.loads(lint("sites", "--why", "stale.py:7", "--output-format", "json").stdout)
    reported = {verdict["code"] for verdict in site["verdicts"] if verdict["reported"]}

    assert reported == {"RML101"}
    assert all(verdict["reason"] for verdict in site["verdicts"])


def test_a_file_that_cannot_be_read_does_not_hide_the_sites_of_the_others(project, lint):
    (project / "binary.py").write_bytes(b"\x00 jax.checkpoint")
    done = lint("sites")

    assert "stale.py:7:13" in done.stdout
    assert "binary.py: is a binary file" in done.stderr
