"""The formats for programs and for one line a finding."""

import json
from dataclasses import replace

import pytest

from remat_lint.findings import Applicability, Severity
from remat_lint.output import FORMATS, render
from remat_lint.output.diff import unified
from remat_lint.output.fingerprints import fingerprints
from remat_lint.output.summary import statistics, summary


def text_of(name, make, *findings, **changes):
    return "".join(render(name, findings, replace(make.view, **changes)))


def test_concise_is_one_line_a_finding(make):
    one = make()

    assert text_of("concise", one, one.finding(), one.finding(severity=Severity.WARNING, cell=2)) == (
        "a.py:4:16: RML101 error `layer` reads `w`\na.py:cell 2:4:16: RML101 warning `layer` reads `w`\n"
    )


def test_grouped_names_each_file_once_and_lines_up_what_follows(make):
    one, other = make(), make(path="/p/sub/b\x1b.py")
    found = [
        one.finding(fix=one.fix(one.edit("w", "v"))),
        one.finding("jax", severity=Severity.WARNING),
        other.finding(cell=2),
    ]

    assert text_of("grouped", one, *found) == (
        "a.py:\n"
        "  4:16  RML101 error [*] `layer` reads `w`\n"
        "  1:8   RML101 warning `layer` reads `w`\n"
        "\n"
        "sub/b\\x1b.py:\n"
        "  cell 2:4:16  RML101 error `layer` reads `w`\n"
        "\n"
    )
    assert text_of("grouped", one) == ""


def test_json_lines_hold_the_objects_of_json(make):
    one = make()
    found = [one.finding(related=(one.related("jax", "a\nb"),)), one.finding(cell=3)]
    lines = text_of("json-lines", one, *found).splitlines()

    assert [json.loads(line) for line in lines] == json.loads(text_of("json", one, *found))


def test_gitlab_gets_the_fields_of_its_report(make):
    one = make()
    report = json.loads(text_of("gitlab", one, *[one.finding(severity=severity) for severity in Severity]))

    assert [issue["severity"] for issue in report] == ["critical", "major", "info"]
    assert report[0] == {
        "check_name": "RML101",
        "description": "stale-capture: `layer` reads `w`",
        "fingerprint": report[0]["fingerprint"],
        "severity": "critical",
        "location": {
            "path": "a.py",
            "positions": {"begin": {"line": 4, "column": 16}, "end": {"line": 4, "column": 17}},
        },
    }
    assert len({issue["fingerprint"] for issue in report}) == 3
    elsewhere = make(path="/p/b.py")
    moved = json.loads(text_of("gitlab", elsewhere, elsewhere.finding()))
    assert moved[0]["fingerprint"] != report[0]["fingerprint"]


def test_fingerprints_survive_lines_above_indentation_and_a_new_name_of_the_file(make):
    text = "def layer(x):\n    return x * w\n"
    below = make(f"import jax\n\nif True:\n    {text.replace(chr(10), chr(10) + '    ')}", path="/p/other.py")
    before = make(text)

    assert fingerprints([before.finding()], before.view) == fingerprints([below.finding()], below.view)


def test_fingerprints_tell_apart_rules_lines_and_equal_lines(make):
    one = make("w = 1\nw = 1\nw = 2\n")
    found = [one.finding(nth=0), one.finding(nth=1), one.finding(nth=2), one.finding(nth=0, code="RML102")]

    assert len(set(fingerprints(found, one.view))) == 4


def test_fingerprints_need_no_source(make):
    one = make()
    bare = replace(one.view, sources={})

    assert len(set(fingerprints([one.finding(), one.finding(message="other")], bare))) == 2


def test_json_has_exactly_the_promised_keys(make):
    one = make()
    finding = one.finding(
        fix=one.fix(one.edit("w", "v")), related=(one.related("jax", "imported here"),), cell=1
    )

    assert json.loads(text_of("json", one, finding, one.finding())) == [
        {
            "code": "RML101",
            "name": "stale-capture",
            "severity": "error",
            "message": "`layer` reads `w`",
            "filename": "a.py",
            "location": {"row": 4, "column": 16},
            "end_location": {"row": 4, "column": 17},
            "fix": {
                "applicability": "safe",
                "message": "Pass `w` as an argument",
                "edits": [
                    {
                        "location": {"row": 4, "column": 16},
                        "end_location": {"row": 4, "column": 17},
                        "content": "v",
                    }
                ],
            },
            "related": [
                {
                    "filename": "a.py",
                    "location": {"row": 1, "column": 8},
                    "end_location": {"row": 1, "column": 11},
                    "message": "imported here",
                }
            ],
            "cell": 1,
            "url": None,
        },
        {
            "code": "RML101",
            "name": "stale-capture",
            "severity": "error",
            "message": "`layer` reads `w`",
            "filename": "a.py",
            "location": {"row": 4, "column": 16},
            "end_location": {"row": 4, "column": 17},
            "fix": None,
            "related": [],
            "cell": None,
            "url": None,
        },
    ]


def test_json_without_findings_is_an_empty_array(make):
    assert text_of("json", make()) == "[]\n"


def test_json_is_ascii_and_gives_undecodable_names_back(make):
    path = "/p/caf\udce9 \u65e5.py"
    text = text_of("json", make(), make(path=path).finding())

    assert text.isascii()
    assert json.loads(text)[0]["filename"] == "caf\udce9 \u65e5.py"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/p/a.py", "a.py"),
        ("/p/sub/a.py", "sub/a.py"),
        ("/q/a.py", "/q/a.py"),
        ("/project/a.py", "/project/a.py"),
    ],
)
def test_paths_are_relative_below_the_working_directory_only(make, path, shown):
    one = make(path=path)

    assert json.loads(text_of("json", one, one.finding()))[0]["filename"] == shown


def test_github_lines_are_workflow_commands(make):
    one = make()
    findings = [one.finding(severity=severity) for severity in Severity]

    assert text_of("github", one, *findings).splitlines() == [
        f"::{command} title=RML101 (stale-capture),file=a.py,line=4,col=16,endLine=4,endColumn=17::`layer` reads `w`"
        for command in ("error", "warning", "notice")
    ]


def test_github_text_cannot_start_another_command(make):
    one = make(path="/p/a:b,c%d\n::error::x.py")
    line = text_of("github", one, one.finding(message="50%\r\n::warning::no"))

    assert line.count("\n") == 1
    assert "file=a%3Ab%2Cc%25d%0A%3A%3Aerror%3A%3Ax.py," in line
    assert line.endswith("::50%25%0D%0A::warning::no\n")


HOSTILE = "\x1b]0;owned\x07\x1b[2J\r\n\u202e\u2066\u200f\u2028\x9b31m\udcff\x00\x7f"


@pytest.mark.parametrize("name", FORMATS)
def test_no_name_line_or_message_can_control_a_terminal(make, name):
    text = f"w = 1 # {HOSTILE.replace(chr(13), '').replace(chr(10), '')}\n"
    one = make(text, path=f"/p/{HOSTILE}.py")
    finding = one.finding(
        code="RML101" + HOSTILE,
        message=HOSTILE,
        related=(one.related("w", HOSTILE),),
        fix=replace(one.fix(one.edit("w", HOSTILE)), message=HOSTILE),
    )
    shown = text_of(name, one, finding)
    shown += "".join(statistics([finding], one.view)) + "".join(
        unified(one.source, one.source, one.view, exact=False)
    )

    assert all(char.isprintable() or char == "\n" for char in shown)
    assert "\x1b" not in shown


def test_escapes_are_written_out_so_that_people_see_them(make):
    one = make(path="/p/a\x1b[31m\udcff.py")

    assert text_of("concise", one, one.finding(message="a\nb\u202ec")) == (
        "a\\x1b[31m\\udcff.py:4:16: RML101 error a\\nb\\u202ec\n"
    )


def test_the_summary_counts_findings_fixes_and_hidden_notes(make):
    one = make()
    safe = one.finding(fix=one.fix(one.edit("w", "v")))
    unsafe = one.finding(
        fix=one.fix(one.edit("w", "v"), grade=Applicability.UNSAFE), severity=Severity.WARNING
    )
    note = one.finding(severity=Severity.INFO)

    def line(*findings, hidden=0, **changes):
        return summary(findings, files=2, hidden=hidden, view=replace(one.view, **changes))

    assert line() == "Checked 2 files: nothing found."
    assert line(one.finding()) == "Found 1 error."
    assert line(safe, safe, note) == "Found 2 errors, 1 note (2 fixable with --fix)."
    assert (
        line(safe, unsafe)
        == "Found 1 error, 1 warning (1 fixable with --fix, 1 more with --fix --unsafe-fixes)."
    )
    assert line(unsafe) == "Found 1 warning (1 fixable with --fix --unsafe-fixes)."
    assert (
        line(safe, unsafe, unsafe_fixes=True)
        == "Found 1 error, 1 warning (2 fixable with --fix --unsafe-fixes)."
    )
    assert line(hidden=1) == "Checked 2 files: nothing found. 1 note hidden (--select ALL shows it)."
    assert line(safe, hidden=3).endswith("fixable with --fix). 3 notes hidden (--select ALL shows them).")


def test_statistics_list_rules_by_how_often_they_speak(make):
    one = make()
    rare = one.finding(code="RML102", fix=one.fix(one.edit("w", "v")))

    assert list(statistics([rare, *[one.finding()] * 10], one.view)) == [
        "10  RML101  stale-capture\n",
        " 1  RML102  stale-capture [*]\n",
    ]


def test_a_diff_can_be_given_to_patch(make):
    before, after = make("a\r\nb\x0cc\nend"), make("a\r\nB\x0cc\nend\n")

    assert "".join(unified(before.source, after.source, before.view, exact=True)) == (
        "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n a\r\n-b\x0cc\n-end\n\\ No newline at end of file\n+B\x0cc\n+end\n"
    )


def test_a_diff_for_a_terminal_shows_controls(make):
    before, after = make("a\x1b[31m\n"), make("b\t\u202e\n")

    assert "".join(unified(before.source, after.source, before.view, exact=False)) == (
        "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-a\\x1b[31m\n+b    \\u202e\n"
    )
