"""`remat-lint check`, end to end."""

import json
import os
import re
import subprocess

import pytest


def codes(done):
    return re.findall(r"^\S+?:\d+:\d+: (RML\d+)", done.stdout, re.MULTILINE)


def concise(lint, *arguments, **options):
    return lint(*arguments, "--output-format", "concise", **options)


def test_findings_make_the_exit_code_one(project, lint):
    done = concise(lint)

    assert done.returncode == 1
    assert codes(done) == ["RML201", "RML101"]
    assert done.stdout.splitlines()[-1].startswith("Found 2 errors (1 fixable with --fix")
    assert done.stderr == ""


def test_a_clean_file_makes_it_zero(project, lint):
    done = lint("clean.py")

    assert (done.returncode, done.stdout) == (0, "Checked 1 file: nothing found.\n")


@pytest.mark.parametrize("arguments", [["."], ["check"], ["check", "."], ["stale.py", "argparse.py"], []])
def test_the_command_and_the_path_may_be_left_out(project, lint, arguments):
    assert concise(lint, *arguments).stdout == concise(lint).stdout


def test_options_may_stand_between_paths(project, lint):
    done = lint("stale.py", "--output-format", "concise", "clean.py", "--color=never", "argparse.py")

    assert codes(done) == ["RML201", "RML101"]


def test_a_path_in_another_folder_gives_the_same_findings_under_absolute_names(project, lint):
    (project / "elsewhere").mkdir()
    done = concise(lint, project / "stale.py", cwd=project / "elsewhere")

    assert done.stdout.startswith(f"{project / 'stale.py'}:4:16: RML101 error ")


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--select", "RML101"], ["RML101"]),
        (["--select", "stale-capture"], ["RML101"]),
        (["--select", "RML2,RML1"], ["RML201", "RML101"]),
        (["--select", "RML2", "--select", "correctness"], ["RML201", "RML101"]),
        (["--ignore", "keyword-only-decorator"], ["RML101"]),
        (["--select", "ALL", "--ignore", "RML1,RML2"], []),
        (["--select", "memory"], []),
    ],
)
def test_rules_are_chosen_on_the_command_line(project, lint, arguments, found):
    done = concise(lint, *arguments)

    assert codes(done) == found
    assert done.returncode == (1 if found else 0)


def test_the_configuration_chooses_rules_and_excludes(project, lint):
    (project / "pyproject.toml").write_text(
        '[tool.remat-lint]\nignore = ["RML201"]\nextend-exclude = ["sub"]\n'
    )
    (project / "sub").mkdir()
    (project / "sub/stale.py").write_text((project / "stale.py").read_text())

    assert codes(concise(lint)) == ["RML101"]
    assert codes(concise(lint, "--isolated")) == ["RML201", "RML101", "RML101"]
    assert codes(concise(lint, "sub/stale.py")) == []


def test_another_configuration_file_can_be_named(project, lint):
    (project / "strict.toml").write_text('select = ["RML2"]\n')

    assert codes(concise(lint, "--config", "strict.toml")) == ["RML201"]


def test_exit_zero_reports_and_exits_zero(project, lint):
    done = concise(lint, "--exit-zero")

    assert (done.returncode, codes(done)) == (0, ["RML201", "RML101"])


def test_statistics_replace_the_findings(project, lint):
    done = lint("--statistics")

    assert done.returncode == 1
    assert done.stdout.startswith(
        "1  RML101  stale-capture\n1  RML201  keyword-only-decorator [*]\nFound 2 errors"
    )


def test_json_is_the_only_thing_on_stdout(project, lint):
    done = lint("--output-format", "json")
    findings = json.loads(done.stdout)

    assert [finding["filename"] for finding in findings] == ["argparse.py", "stale.py"]
    assert set(findings[0]) == {
        "code", "name", "severity", "message", "filename", "location", "end_location", "fix", "related", "cell", "url",
    }  # fmt: skip
    assert done.stderr.startswith("Found 2 errors")


def test_json_of_a_clean_tree_is_an_empty_array(project, lint):
    assert json.loads(lint("clean.py", "--output-format", "json").stdout) == []


def test_github_lines_name_the_places(project, lint):
    assert "file=stale.py,line=4,col=16,endLine=4,endColumn=17::" in lint("--output-format", "github").stdout


def test_suppressed_findings_are_not_reported(project, lint):
    text = (project / "stale.py").read_text()
    (project / "stale.py").write_text(
        text.replace("x * w", "x * w  # remat-lint: ignore[stale-capture] -- known")
    )

    assert codes(concise(lint, "stale.py")) == []


@pytest.mark.parametrize(
    ("arguments", "env", "colored"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "0"}, False),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_follow_the_option_then_the_environment_then_the_terminal(
    project, lint, arguments, env, colored
):
    done = lint("stale.py", *arguments, **env)

    assert ("\x1b[" in done.stdout) == colored


def test_a_file_that_python_cannot_read_is_a_finding_and_the_others_are_linted(project, lint):
    (project / "broken.py").write_text("import jax\n\nlayer = jax.checkpoint(\n")
    (project / "binary.py").write_bytes(b"\x00\x01jax.checkpoint")
    (project / "empty.py").write_text("")
    done = concise(lint, "--ignore", "RML201")

    assert done.returncode == 1
    assert "broken.py:3:" in done.stdout
    assert codes(done).count("RML101") == 1
    assert "RML001" in codes(done)


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals")
def test_a_person_who_waits_sees_a_bar_on_stderr_only(project, spawn):
    for number in range(150):
        (project / f"stale{number}.py").write_text((project / "stale.py").read_text())
    mine, its = os.openpty()
    child = spawn("--select", "RML101", "--statistics", stdout=subprocess.PIPE, stderr=its)
    os.close(its)
    seen = b""
    while piece := _read(mine):
        seen += piece
    os.close(mine)

    assert child.stdout.read().startswith(b"151  RML101  stale-capture")
    assert child.wait(60) == 1
    assert b"Checking" in seen


def _read(terminal):
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end is closed
        return b""


def test_verbose_names_the_project_and_the_configuration(project, lint):
    done = lint("clean.py", "--verbose")

    assert f"project: {project}\nconfiguration: {project / 'pyproject.toml'}\n" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_hostile_names_and_lines_are_harmless_in_every_format(project, lint):
    folder = project / "a\x1b]0;owned\x07\n::error::"
    folder.mkdir()
    name = os.fsencode(folder) + b"/\xff\xe2\x80\xae.py"
    text = "import jax\n\ndef layer(x):\n    return x * w  # \x1b[2J\u202e ws[i] [bold]\n\n"
    with open(name, "w", encoding="utf-8") as file:  # noqa: PTH123 (a name that is no text)
        file.write(text + "for w in [1, 2]:\n    y = jax.checkpoint(layer)(1.0)\n")

    for format_name in ("full", "concise", "github", "json"):
        done = lint("--output-format", format_name, "--ignore", "RML201")
        assert done.returncode == 1
        assert all(char.isprintable() or char == "\n" for char in done.stdout + done.stderr)
        assert not [line for line in done.stdout.splitlines() if line.startswith("::error::")]
    found = {finding["filename"] for finding in json.loads(done.stdout)}
    assert os.fsencode(max(found, key=len)) == os.path.relpath(name, os.fsencode(project))
    assert "ws[i] [bold]" in lint("--ignore", "RML201").stdout
