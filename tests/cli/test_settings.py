"""Settings in files and on the command line, and the commands that tell of them."""

import json
import re
import tomllib

import jsonschema
import pytest

from remat_lint.config.options import OPTIONS

ALL_SETTINGS = """\
[project]
dependencies = ["jax>=0.6"]

[tool.remat-lint]
# what matters
select = [
  "correctness",
  "RML7",
]
extend-select = ["RML601"]
ignore = ["RML701"]
exclude = ["gen"]
extend-exclude = ["third_party"]
respect-gitignore = false
jax-version = ">=0.8"
severity = { stale-capture = "warning" }

[tool.remat-lint.per-file-ignores]
"tests/**" = ["RML101"]
"""


def findings(done):
    return re.findall(r"^(\S+?):\d+:\d+: (RML\d+) (\w+)", done.stdout, re.MULTILINE)


def concise(lint, *arguments, **options):
    return lint(*arguments, "--output-format", "concise", **options)


def configure(project, text):
    (project / "pyproject.toml").write_text(text, encoding="utf-8")


def test_severities_of_the_file_change_findings_and_exit_code(project, lint):
    configure(project, '[tool.remat-lint.severity]\nRML101 = "warning"\ncorrectness = "info"\n')
    done = concise(lint)

    assert findings(done) == [("stale.py", "RML101", "warning")]
    assert done.stdout.splitlines()[-1].endswith("1 note hidden (--select ALL shows it).")
    assert done.returncode == 1
    assert concise(lint, "argparse.py").returncode == 0


def test_severities_of_the_command_line_are_stronger(project, lint):
    configure(project, '[tool.remat-lint.severity]\nRML101 = "info"\nRML201 = "info"\n')
    done = concise(
        lint, "--severity", "RML101=error,keyword-only-decorator=warning", "--severity", "memory=info"
    )

    assert findings(done) == [("argparse.py", "RML201", "warning"), ("stale.py", "RML101", "error")]


def test_statistics_fixes_and_suppressions_follow_severities(project, lint):
    configure(project, '[tool.remat-lint.severity]\nRML201 = "warning"\nRML101 = "info"\n')

    assert lint("--statistics").stdout.startswith(
        "1  RML201  keyword-only-decorator [*]\nFound 1 warning (1 fixable"
    )
    diff = lint("--diff")
    assert (diff.returncode, diff.stderr) == (1, "1 finding in 1 file would be fixed.\n")
    assert "+@functools.partial(jax.checkpoint, policy=None)" in diff.stdout
    assert lint("--fix").returncode == 0
    assert "functools" in (project / "argparse.py").read_text()
    text = (project / "stale.py").read_text()
    (project / "stale.py").write_text(text.replace("x * w", "x * w  # remat-lint: ignore[RML101]"))
    assert findings(concise(lint, "--select", "ALL")) == []


def test_rules_are_left_out_in_files_that_fit(project, lint):
    (project / "tests").mkdir()
    (project / "tests/stale.py").write_text((project / "stale.py").read_text())
    configure(project, '[tool.remat-lint.per-file-ignores]\n"tests/**" = ["stale-capture"]\n')

    assert findings(concise(lint)) == [("argparse.py", "RML201", "error"), ("stale.py", "RML101", "error")]
    more = concise(lint, "--per-file-ignores", "*.py:RML201,stale.py:RML1,RML2")
    assert findings(more) == []
    assert more.returncode == 0


def test_patterns_of_the_command_line_start_in_the_current_folder(project, lint):
    (project / "sub/src").mkdir(parents=True)
    (project / "sub/src/stale.py").write_text((project / "stale.py").read_text())
    inside = project / "sub"

    assert findings(concise(lint, cwd=inside)) == [("src/stale.py", "RML101", "error")]
    assert findings(concise(lint, "--per-file-ignores", "src/**:RML101", cwd=inside)) == []
    assert findings(concise(lint, "--exclude", "./src", cwd=inside)) == []
    assert findings(concise(lint, "--exclude", str(inside / "src"), cwd=inside)) == []
    assert findings(concise(lint, "--extend-exclude", "sub/src", cwd=inside)) == [
        ("src/stale.py", "RML101", "error")
    ]


def test_extend_select_adds_to_the_selection_of_the_file(project, lint):
    configure(project, '[tool.remat-lint]\nselect = ["RML2"]\n')

    assert [code for _, code, _ in findings(concise(lint, "--extend-select", "stale-capture"))] == [
        "RML201",
        "RML101",
    ]
    assert [
        code for _, code, _ in findings(concise(lint, "--select", "RML1", "--extend-select", "RML3"))
    ] == ["RML101"]


def test_ignored_files_are_linted_where_that_is_wanted(project, lint):
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("stale.py\n")

    assert lint("--show-files").stdout == "argparse.py\nclean.py\n"
    assert lint("--show-files", "--no-respect-gitignore").stdout == "argparse.py\nclean.py\nstale.py\n"
    configure(project, "[tool.remat-lint]\nrespect-gitignore = false\n")
    assert lint("--show-files", "--respect-gitignore").stdout == "argparse.py\nclean.py\n"


def test_show_files_lists_what_would_be_linted(project, lint):
    (project / "venv").mkdir()
    (project / "venv/other.py").write_text("")
    (project / "b\x1b\n.py").write_text("")

    done = lint("--show-files")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "argparse.py\nb\\x1b\\n.py\nclean.py\nstale.py\n"
    assert json.loads(lint("--show-files", "--output-format", "json").stdout)[1] == "b\x1b\n.py"
    assert lint("--show-files", "missing").returncode == 2


def test_show_settings_tells_values_and_where_each_comes_from(project, lint):
    configure(project, ALL_SETTINGS)
    done = lint("--show-settings", "--ignore", "RML102", "--severity", "memory=info")

    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:2] == [f"# project: {project}", f"# configuration: {project / 'pyproject.toml'}"]
    assert lines[2].startswith("# rules: RML001 RML101 ")
    assert "# releases: JAX 0.8.0 and newer (jax-version)" in lines
    assert 'select = ["correctness", "RML7"]  # pyproject.toml:6' in lines
    assert 'ignore = ["RML701", "RML102"]  # pyproject.toml:11 and --ignore' in lines
    assert (
        'severity = { "stale-capture" = "warning", "memory" = "info" }  # pyproject.toml:16 and --severity'
        in lines
    )
    assert 'per-file-ignores = { "tests/**" = ["RML101"] }  # pyproject.toml:18' in lines


def test_shown_settings_are_a_configuration_file_that_means_the_same(project, lint):
    configure(project, ALL_SETTINGS)
    shown = lint("--show-settings").stdout
    (project / "same.toml").write_text(shown)

    assert set(tomllib.loads(shown)) == set(OPTIONS)
    again = lint("--show-settings", "--config", "same.toml").stdout
    assert tomllib.loads(again) == tomllib.loads(shown)


def test_show_settings_without_any_tells_the_defaults_and_the_releases_of_the_project(project, lint):
    assert (
        "# releases: JAX 0.4.30 and newer (no file of the project names any)\n"
        in lint("--show-settings").stdout
    )

    (project / "requirements.txt").write_text("jax==0.9.2\n")
    done = lint("--show-settings", "--output-format", "json")
    told = json.loads(done.stdout)

    assert told["jax"] == {"releases": ["0.9.2"], "and_newer": False, "origin": "requirements.txt"}
    assert {setting["origin"] for setting in told["settings"].values()} == {"default"}
    assert "RML101" in told["rules"]


@pytest.mark.parametrize("key", OPTIONS)
def test_every_setting_is_explained_and_its_example_is_one(project, lint, key):
    option = OPTIONS[key]
    done = lint("config", key)

    assert done.returncode == 0
    assert option.explanation in done.stdout
    example = next(line for line in done.stdout.splitlines() if line.startswith("example: "))
    (project / "example.toml").write_text(example.removeprefix("example: ") + "\n")
    assert lint("clean.py", "--config", "example.toml").returncode == 0


def test_every_setting_stands_in_the_help_of_check(lint):
    shown = " ".join(lint("check", "--help", COLUMNS="200").stdout.split())

    for option in OPTIONS.values():
        assert option.flag in shown
        assert option.summary in shown


def test_config_lists_all_settings_as_text_and_json(lint):
    text, told = lint("config").stdout, json.loads(lint("config", "--output-format", "json").stdout)

    assert [line.split()[0] for line in text.splitlines()[: len(OPTIONS)]] == list(OPTIONS)
    assert [setting["key"] for setting in told] == list(OPTIONS)
    assert json.loads(lint("config", "select", "--output-format", "json").stdout) == told[0]


def test_the_schema_accepts_what_the_linter_accepts_and_refuses_the_rest(lint):
    schema = json.loads(lint("config", "--output-format", "json-schema").stdout)
    validator = jsonschema.Draft7Validator(schema)
    validator.check_schema(schema)

    assert validator.is_valid(tomllib.loads(ALL_SETTINGS)["tool"]["remat-lint"])
    for wrong in (
        {"selct": []},
        {"select": "ALL"},
        {"severity": {"RML101": "warn"}},
        {"respect-gitignore": 1},
    ):
        assert not validator.is_valid(wrong)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--severity", "RML101"], "--severity needs WHAT=LEVEL, such as memory=info, not 'RML101'"),
        (
            ["--severity", "RML101=warn"],
            "--severity: unknown severity 'warn' of 'RML101'; did you mean 'warning'?",
        ),
        (["--severity", "RML101=off"], "to leave a rule out, name it under `ignore`"),
        (["--severity", "RML900=info"], "--severity: RML900 is an error always; leave it out"),
        (
            ["--severity", "stale-captur=info"],
            "unknown selector 'stale-captur' in --severity; did you mean 'stale-capture'?",
        ),
        (
            ["--per-file-ignores", "RML101"],
            "--per-file-ignores needs PATTERN:WHAT, such as 'tests/**:RML7', not 'RML101'",
        ),
        (["--per-file-ignores", "a.py:RML10x"], "unknown selector 'RML10x' in --per-file-ignores"),
        (["--extend-select", "RML10x"], "unknown selector 'RML10x' in --extend-select"),
        (["--exclude", ""], "--exclude names no file"),
        (["--jax-version", ""], "--jax-version cannot be used: '' is no version and no specifier"),
        (["--jax-version", "0.3.25"], "allows no supported release of JAX; those are 0.4.30 to "),
        (["--show-files", "--show-settings"], "--show-files cannot be combined with --show-settings"),
        (["--show-files", "-"], "--show-files cannot be combined with `-`"),
        (["--statistics", "--output-format", "sarif"], "--statistics is text and cannot be combined with"),
        (["config", "selekt"], "there is no setting 'selekt'; did you mean 'select'?"),
        (["config", "xyzzy"], "there is no setting 'xyzzy'; the settings are select, extend-select,"),
        (["--selct", "x"], "unknown argument '--selct'; did you mean '--select'?"),
    ],
)
def test_a_mistake_on_the_command_line_is_answered_with_one_sentence(project, lint, arguments, sentence):
    done = lint(*arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1


def test_sarif_holds_the_whole_run(project, lint):
    os_pipe = project / "pipe.py"
    os_pipe.symlink_to(project / "nowhere.py")
    done = lint("--output-format", "sarif", "--severity", "RML201=info", "--select", "ALL")
    (run,) = json.loads(done.stdout)["runs"]

    assert done.returncode == 1
    assert [(result["ruleId"], result["level"]) for result in run["results"]] == [
        ("RML201", "note"),
        ("RML101", "error"),
    ]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert "pipe.py" in note["message"]["text"]
    assert run["invocations"][0]["exitCode"] == 1
    assert done.stderr.endswith(
        "Found 1 error, 1 note (1 fixable with --fix, 1 more with --fix --unsafe-fixes).\n"
    )


def test_sarif_tells_of_a_named_path_that_cannot_be_read(project, lint):
    (project / "loop.py").symlink_to(project / "loop.py")
    done = lint("loop.py", "--output-format", "sarif")
    (run,) = json.loads(done.stdout)["runs"]

    assert done.returncode == run["invocations"][0]["exitCode"] == 2
    assert run["invocations"][0]["executionSuccessful"] is False


@pytest.mark.parametrize("name", ["grouped", "json-lines", "gitlab", "sarif", "github"])
def test_stdin_and_every_format_go_together(project, lint, name):
    done = lint(
        "-", "--stdin-filename", "new.py", "--output-format", name, text=(project / "stale.py").read_text()
    )

    assert done.returncode == 1
    assert "new.py" in done.stdout
    assert "RML101" in done.stdout
