"""`--fix`, `--diff` and texts on stdin."""

import subprocess

import pytest

PARTIAL = "@functools.partial(jax.checkpoint, policy=None)"


def test_fix_writes_safe_fixes_and_reports_what_is_left(project, lint):
    done = lint("--fix", "--output-format", "concise")

    assert PARTIAL in (project / "argparse.py").read_text()
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("Fixed 1 finding in 1 file. Found 1 error")
    assert "RML201" not in done.stdout


def test_findings_without_a_safe_fix_are_left_in_a_file_that_was_fixed(project, lint):
    both = (project / "argparse.py").read_text() + "\n" + (project / "stale.py").read_text()
    (project / "both.py").write_text(both)
    done = lint("both.py", "--fix", "--output-format", "concise")

    assert done.returncode == 1
    assert done.stdout == lint("both.py", "--output-format", "concise").stdout.replace(
        "Found", "Fixed 1 finding in 1 file. Found"
    )
    assert "RML101" in done.stdout


def test_a_fixed_file_is_clean_and_fixing_it_again_changes_nothing(project, lint):
    lint("argparse.py", "--fix")
    once = (project / "argparse.py").read_text()
    done = lint("argparse.py", "--fix")

    assert (project / "argparse.py").read_text() == once
    assert (done.returncode, done.stdout) == (0, "Checked 1 file: nothing found.\n")


def test_diff_shows_the_change_and_writes_nothing(project, lint):
    before = (project / "argparse.py").read_bytes()
    done = lint("--diff")

    assert done.returncode == 1
    assert done.stdout.startswith("--- argparse.py\n+++ argparse.py\n")
    assert f"-@jax.checkpoint(policy=None)\n+{PARTIAL}\n" in done.stdout
    assert "1 finding in 1 file would be fixed." in done.stderr
    assert (project / "argparse.py").read_bytes() == before


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_a_diff_can_be_applied_and_does_what_fix_does(project, lint, line_end):
    file = project / "argparse.py"
    file.write_bytes(
        file.read_bytes().replace(b"\n", line_end).removesuffix(line_end) + b"  # \x0c no line end"
    )
    patch = lint("--diff", raw=True).stdout
    (project / "copy").mkdir()
    (project / "copy/argparse.py").write_bytes(file.read_bytes())
    subprocess.run(["git", "apply"], input=patch, cwd=project / "copy", check=True)
    lint("--fix")

    assert (project / "copy/argparse.py").read_bytes() == file.read_bytes()


def test_diff_without_a_change_exits_zero(project, lint):
    done = lint("--diff", "clean.py")

    assert (done.returncode, done.stdout) == (0, "")


def test_a_finding_with_an_unsafe_fix_needs_the_option(project, lint):
    before = (project / "stale.py").read_text()
    lint("stale.py", "--fix")

    assert (project / "stale.py").read_text() == before


def test_a_file_behind_a_link_out_of_the_project_is_not_written(tmp_path, lint):
    project, outside = tmp_path / "project", tmp_path / "outside.py"
    project.mkdir()
    (project / "pyproject.toml").write_text("")
    text = "import jax\n\n@jax.checkpoint(policy=None)\ndef layer(x):\n    return x\n"
    outside.write_text(text)
    (project / "link.py").symlink_to(outside)
    done = lint("project", "--fix")

    assert done.returncode == 2
    assert "remat-lint: error: " in done.stderr
    assert "outside of the project" in done.stderr
    assert "RML201" in done.stdout
    assert outside.read_text() == text


def test_stdin_is_linted_under_the_given_name(project, lint):
    done = lint(
        "-",
        "--stdin-filename",
        "sub/new.py",
        "--output-format",
        "concise",
        text=(project / "stale.py").read_text(),
    )

    assert done.returncode == 1
    assert done.stdout.startswith("sub/new.py:4:16: RML101 error ")


def test_stdin_has_a_name_of_its_own(project, lint):
    done = lint("-", "--output-format", "concise", text=(project / "stale.py").read_text())

    assert done.stdout.startswith("-:4:16: RML101 error ")


def test_fixing_stdin_prints_the_fixed_text_and_nothing_else(project, lint):
    text = b"\xef\xbb\xbf" + (project / "argparse.py").read_bytes().replace(b"\n", b"\r\n")
    done = lint("-", "--fix", text=text, raw=True)

    assert done.returncode == 0
    assert done.stdout.startswith(b"\xef\xbb\xbfimport ")
    assert PARTIAL.encode() + b"\r\n" in done.stdout
    assert b"\n" not in done.stdout.replace(b"\r\n", b"")
    assert b"Fixed 1 finding in 1 file" in done.stderr


@pytest.mark.parametrize("text", ["", "import jax\n", "x = (\n"])
def test_fixing_stdin_without_a_fix_gives_the_text_back(project, lint, text):
    assert lint("-", "--fix", text=text).stdout == text


def test_stdin_of_an_excluded_name_has_no_findings(project, lint):
    text = (project / "stale.py").read_text()
    done = lint("-", "--stdin-filename", "build/a.py", "--output-format", "concise", text=text)

    assert (done.returncode, done.stdout) == (0, "Checked 1 file: nothing found.\n")


def test_a_diff_of_stdin_is_printed(project, lint):
    done = lint("-", "--diff", text=(project / "argparse.py").read_text())

    assert done.returncode == 1
    assert f"+{PARTIAL}\n" in done.stdout


def test_binary_stdin_is_a_finding(project, lint):
    done = lint("-", "--output-format", "concise", text=b"\x00\xff")

    assert done.returncode == 1
    assert done.stdout.startswith("-:1:1: RML001 error is a binary file")
