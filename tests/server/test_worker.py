import os

import pytest
from remat_lint_server.commands import check_place, write_file
from remat_lint_server.documents import split_lines
from remat_lint_server.jobs import Check, Generate
from remat_lint_server.lifetime import is_running
from remat_lint_server.markdown import code, plain
from remat_lint_server.worker import answer

from remat_lint.findings import Edit, Severity
from remat_lint.rules.keyword_only_decorator import KeywordOnlyDecorator
from remat_lint.rules.rule import safe

TEXT = "import jax\ng = jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)\n"


def check(folder, text=TEXT):
    return answer(Check(text, folder / "a.py")).findings


def test_fix_that_breaks_the_text_is_not_offered(tmp_path, monkeypatch):
    assert check(tmp_path)[0].fix

    def spoil(self, report, project):
        return safe("Spoil it", Edit(report.place.span, "jax.checkpoint(("))

    monkeypatch.setattr(KeywordOnlyDecorator, "fix", spoil)
    (finding,) = check(tmp_path)
    assert finding.code == "RML201"
    assert finding.fix is None


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ('[tool.remat-lint.severity]\nRML201 = "warning"\n', [Severity.WARNING]),
        ('[tool.remat-lint.severity]\nRML201 = "info"\n', []),
        ('[tool.remat-lint.per-file-ignores]\n"a.py" = ["RML201"]\n', []),
        ('[tool.remat-lint.per-file-ignores]\n"b.py" = ["RML201"]\n', [Severity.ERROR]),
        ('[tool.remat-lint]\nexclude = ["a.py"]\n', []),
        ('[tool.remat-lint]\njax-version = "0.9.2"\n', []),
        ('[tool.remat-lint]\njax-version = ">=0.9"\n', [Severity.WARNING]),
        ('[project]\ndependencies = ["jax>=0.10"]\n', [Severity.ERROR]),
    ],
)
def test_settings_of_the_project_hold_in_the_editor(tmp_path, monkeypatch, table, found):
    if "jax" in table:
        monkeypatch.setattr(KeywordOnlyDecorator, "versions", ">=0.10")
    (tmp_path / "a.py").write_text(TEXT)
    (tmp_path / "pyproject.toml").write_text(table)

    assert [finding.severity for finding in check(tmp_path)] == found


def test_a_setting_that_cannot_be_used_is_said_with_its_line(tmp_path):
    (tmp_path / "a.py").write_text(TEXT)
    (tmp_path / "pyproject.toml").write_text('[tool.remat-lint.severity]\nRML201 = "warn"\n')

    answered = answer(Check(TEXT, tmp_path / "a.py"))
    assert answered.findings == ()
    assert answered.trouble.endswith(
        "pyproject.toml:2: unknown severity 'warn' of 'RML201'; did you mean 'warning'?"
    )


@pytest.mark.parametrize(
    ("row", "name"),
    [(1, None), (2, "g"), (4, "layer"), (5, "layer"), (6, "layer"), (9, "Model"), (99, None), (0, None)],
)
def test_row_names_the_function_around_it(tmp_path, row, name):
    text = (
        "import jax\ng = jax.checkpoint(print)\n\n@jax.checkpoint\ndef layer():\n    return 1\n\n"
        "class Model:\n    pass\n"
    )
    (tmp_path / "a.py").write_text(text)
    made = answer(Generate(text, tmp_path / "a.py", (tmp_path,), row=row))
    if name is None:
        assert made.trouble == f"line {row} is in no top-level function; put the cursor into one"
    else:
        assert made.path is None or made.path.name == f"test_remat_a_{name}.py"
        assert made.path or name in made.trouble


def test_test_goes_below_the_opened_folder_although_the_project_begins_above_it(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    opened = tmp_path / "sub"
    opened.mkdir()
    (opened / "a.py").write_text("def layer():\n    return 1\n")
    made = answer(Generate("def layer():\n    return 2\n", opened / "a.py", (opened,), name="layer"))
    assert made.path == opened / "tests" / "test_remat_a_layer.py"
    assert made.notes == ("a.py is not saved; the test is made for its saved text.",)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\r\nb\rc\nd", ["a\r\n", "b\r", "c\n", "d"]),
        ("a\x0cb\u2028c\x85d\n", ["a\x0cb\u2028c\x85d\n"]),
        ("\n\n", ["\n", "\n"]),
    ],
)
def test_lines_end_where_the_protocol_says(text, lines):
    assert list(split_lines(text)) == lines


@pytest.mark.parametrize(
    ("text", "span"),
    [("f", "`f`"), ("", "`  `"), ("a`b", "``a`b``"), ("`a``", "``` `a`` ```"), ("a\n\tb\u202e", "`a b`")],
)
def test_code_spans_hold_any_text(text, span):
    assert code(text) == span


def test_long_text_is_cut():
    assert len(plain("x" * 5000)) == 160


def test_files_are_written_only_below_the_roots_and_never_over_others(tmp_path):
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (root / "file").symlink_to(outside / "new")
    assert check_place(root / "tests" / "a.py", (root,)) == ""
    assert "outside" in check_place(root / "link" / "a.py", (root,))
    assert "is a link" in check_place(root / "file", (root,))
    assert "outside" in check_place(root / ".." / "a.py", (root,))
    assert write_file(root / "tests" / "a.py", "x\r\n") == ""
    assert (root / "tests" / "a.py").read_bytes() == b"x\r\n"
    assert "cannot be written" in write_file(root / "tests" / "a.py", "y")
    assert "cannot be written" in write_file(root / "file", "y")


def test_own_process_runs_and_an_unused_id_does_not():
    assert is_running(os.getpid())
    assert not is_running(2**22 + 1)
