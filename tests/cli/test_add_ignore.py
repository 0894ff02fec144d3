"""`--add-ignore`: findings are taken back by comments, and nothing else changes."""

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine
from remat_lint.source.text import SourceText
from remat_lint.takeback import take_back

DECORATED = "@jax.checkpoint(policy=None)"


def test_comment_is_written_for_every_finding_and_the_next_run_is_clean(project, lint):
    before = (project / "stale.py").read_text()
    done = lint("--add-ignore", "--output-format", "concise")

    assert done.returncode == 0
    assert done.stdout == "Ignored 2 findings in 2 files. Checked 3 files: nothing found.\n"
    assert (
        f"{DECORATED}  # remat-lint: ignore[keyword-only-decorator]\n"
        in (project / "argparse.py").read_text()
    )
    after = (project / "stale.py").read_text()
    assert [line.partition("  # remat-lint")[0] for line in after.splitlines()] == before.splitlines()
    assert lint().returncode == 0


def test_reason_stands_behind_the_names(project, lint):
    lint("argparse.py", "--add-ignore=not our code yet")
    text = (project / "argparse.py").read_text()
    assert f"{DECORATED}  # remat-lint: ignore[keyword-only-decorator] -- not our code yet\n" in text


def test_word_behind_the_option_is_a_path(project, lint):
    before = (project / "stale.py").read_text()
    assert lint("--add-ignore", "argparse.py").returncode == 0
    assert (project / "stale.py").read_text() == before


def test_second_run_changes_nothing(project, lint):
    lint("--add-ignore=why")
    once = (project / "argparse.py").read_bytes()
    lint("--add-ignore=other")
    assert (project / "argparse.py").read_bytes() == once


def test_diff_shows_the_comments_and_writes_nothing(project, lint):
    before = (project / "argparse.py").read_bytes()
    done = lint("argparse.py", "--add-ignore", "--diff")
    assert done.returncode == 1
    assert f"+{DECORATED}  # remat-lint: ignore[keyword-only-decorator]" in done.stdout
    assert "1 finding in 1 file would be ignored." in done.stderr
    assert (project / "argparse.py").read_bytes() == before


def test_text_on_stdin_comes_back_with_the_comments(project, lint):
    done = lint("-", "--add-ignore", text=(project / "argparse.py").read_text())
    assert f"{DECORATED}  # remat-lint: ignore[keyword-only-decorator]\n" in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize("reason", ["two\nlines", "a # b"])
def test_reason_must_fit_into_a_comment(project, lint, reason):
    done = lint(f"--add-ignore={reason}")
    assert done.returncode == 2
    assert "must be one line" in done.stderr


def test_fixing_and_ignoring_at_once_is_refused(project, lint):
    done = lint("--add-ignore", "--fix")
    assert done.returncode == 2
    assert "fix first" in done.stderr


# Where the comment stands


def taken(text, path, reason=""):
    def lint(text):
        return Engine(Settings(root=path.parent)).check_text(text, path).findings

    return take_back(SourceText(path, text), lint(text), lint, reason)


def test_line_that_has_a_comment_gets_the_name_in_it(tmp_path):
    text = f"import jax\n\n{DECORATED}  # type: ignore # remat-lint: ignore[RML101] -- why\ndef f(x):\n    return x\n"
    outcome = taken(text, tmp_path / "a.py", "ignored where a list stands already")
    assert "# remat-lint: ignore[RML101, keyword-only-decorator] -- why\n" in outcome.after.text


def test_two_findings_of_one_line_share_a_comment(tmp_path):
    text = "import jax\n\nf = jax.checkpoint(lambda x: x, policy='dots_saveable', concrete=True)\n"
    outcome = taken(text, tmp_path / "a.py")
    assert outcome.after.text.count("# remat-lint: ignore[") == 1
    assert outcome.findings == ()
    assert len(outcome.applied) == 2


def test_line_ends_of_the_file_stay(tmp_path):
    text = f"import jax\r\n\r\n{DECORATED}\r\ndef f(x):\r\n    return x\r\n"
    after = taken(text, tmp_path / "a.py").after.text
    assert after.count("\r\n") == after.count("\n") == 5


def test_expression_over_several_lines_takes_the_comment_where_one_can_stand(tmp_path):
    text = 'import jax\n\n@jax.checkpoint(policy="""a\nb""")\ndef f(x):\n    return x\n'
    outcome = taken(text, tmp_path / "a.py")
    assert 'b""")  # remat-lint: ignore[' in outcome.after.text
    assert outcome.findings == ()


def test_place_without_room_for_a_comment_is_left_and_said(tmp_path):
    text = "import jax\n\ny = 1 + \\\n    jax.checkpoint(lambda x: x, policy='dots') \\\n    (2.0)\n"
    outcome = taken(text, tmp_path / "a.py")
    assert outcome.after.text == text or outcome.findings == ()
