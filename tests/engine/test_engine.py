import sys
from pathlib import Path

import pytest

from remat_lint import rules
from remat_lint.config import Settings
from remat_lint.engine import Engine
from remat_lint.project.values import WrapSite

TEXT = "import jax\n\n\ndef f(x):\n    return x\n\n\nbad = jax.checkpoint(f, 1)\n"


def lint(text, *, select=("ALL",), path=Path("/nowhere/x.py")):
    return Engine(Settings(root=path.parent, select=select)).check_text(text, path)


def test_a_rule_that_crashes_costs_one_finding_and_nothing_else(monkeypatch):
    def crash(self, subject, project):
        raise ZeroDivisionError("on purpose")
        yield

    monkeypatch.setattr(type(rules.registry()["RML201"]), "check", crash)
    result = lint(TEXT)
    assert [finding.code for finding in result.findings] == ["RML900", "RML202"]
    assert (
        "RML201 (keyword-only-decorator) failed with ZeroDivisionError: on purpose"
        in result.findings[0].message
    )
    assert result.crashed


def test_an_analysis_that_crashes_costs_one_file(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.py").write_text(TEXT, encoding="utf-8")
    engine = Engine(Settings(root=tmp_path))
    survey = engine.analysis.wrap_sites

    def crash(module):
        if module.path.name == "a.py":
            raise RecursionError("on purpose")
        return survey(module)

    monkeypatch.setattr(engine.analysis, "wrap_sites", crash)
    result = engine.check_paths([tmp_path])
    assert [(Path(f.path).name, f.code) for f in result.findings] == [("a.py", "RML900"), ("b.py", "RML202")]


def test_notes_are_counted_when_they_are_not_shown():
    text = "import jax\n\n\ndef f(ws, x):\n    for w in ws:\n        x = jax.checkpoint(lambda a, b: a * b)(w, x)\n    return x\n"
    assert [finding.code for finding in lint(text).findings] == ["RML702"]
    quiet = lint(text, select=())
    assert (quiet.findings, quiet.hidden) == ((), 1)


@pytest.mark.parametrize(
    "comment",
    [
        "# remat-lint: ignore[RML202] -- a test",
        "# noqa: RML202",
        "# remat-lint: ignore[arguments-to-wrapper]",
    ],
)
def test_a_suppression_takes_a_finding_back(comment):
    assert lint(TEXT.replace("f, 1)", f"f, 1)  {comment}")).findings == ()


def test_a_suppression_on_a_def_covers_the_function():
    text = "import jax\n\n\ndef f(x):  # remat-lint: ignore[RML202]\n    a = 1\n    return jax.checkpoint(f, x)\n"
    assert lint(text, select=("RML202",)).findings == ()


def test_a_changed_text_is_linted_as_a_new_engine_would(tmp_path):
    path = tmp_path / "x.py"
    path.write_text(TEXT, encoding="utf-8")
    engine = Engine(Settings(root=tmp_path))
    engine.check_paths([tmp_path])
    for changed in (TEXT, TEXT + "worse = jax.checkpoint(f, 2)\n", "import os\n" + TEXT, TEXT):
        again = engine.check_text(changed, path).findings
        assert again
        assert again == Engine(Settings(root=tmp_path)).check_text(changed, path).findings


def test_every_rule_answers_for_a_site_with_a_reason():
    engine = Engine(Settings(root=Path("/nowhere"), select=("ALL",)))
    sites = engine.sites_text(
        "import jax\n\n\ndef f(x):\n    return x\n\n\ng = jax.checkpoint(f)\n", Path("/nowhere/x.py")
    )
    verdicts = list(engine.verdicts(sites[0]))
    assert {v.rule.code for v in verdicts} == {
        r.code for r in rules.registry().values() if r.subject is WrapSite
    }
    assert all(v.reason and v.report is None for v in verdicts)


def test_an_undecodable_file_is_one_finding(tmp_path):
    (tmp_path / "a.py").write_bytes(b"# coding: latin-99\nimport jax  # remat\n")
    (finding,) = Engine(Settings(root=tmp_path)).check_paths([tmp_path]).findings
    assert finding.code == "RML001"
    assert "latin-99" in finding.message


def test_a_text_that_would_crash_the_parser_is_one_finding(tmp_path):
    deep = TEXT + "x = " + "(" * 5000 + ")" * 5000 + "\n"
    (tmp_path / "a.py").write_text(deep, encoding="utf-8")
    (tmp_path / "b.py").write_text("from a import bad\n" + TEXT, encoding="utf-8")
    engine = Engine(Settings(root=tmp_path))
    found = [(Path(f.path).name, f.code) for f in engine.check_paths([tmp_path]).findings]
    assert found == [("a.py", "RML001"), ("b.py", "RML202")]
    assert [f.code for f in lint(deep).findings] == ["RML001"]


def test_linting_imports_neither_jax_nor_pygls(tmp_path):
    import subprocess

    (tmp_path / "a.py").write_text(TEXT, encoding="utf-8")
    code = (
        "import sys; from pathlib import Path; from remat_lint.engine import Engine; from remat_lint.config import Settings;"
        "assert Engine(Settings(root=Path('.'))).check_paths([Path('.')]).findings;"
        "print(sorted({'jax', 'numpy', 'pygls', 'rich', 'asyncio', 'flax'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    "head",
    [
        "#!/usr/bin/env python\n# coding: utf-8\n",
        '"""Text."""\n',
        '"""Text."""\nfrom __future__ import annotations\n',
    ],
)
def test_an_import_that_a_fix_adds_stands_behind_what_must_come_first(head):
    body = "def build():\n    import jax\n\n    @jax.checkpoint(prevent_cse=False)\n    def f(x):\n        return x\n"
    (finding,) = lint(head + body, select=("RML201",)).findings
    added = [edit for edit in finding.fix.edits if edit.content.startswith("import")]
    assert [edit.span.start.row for edit in added] == [head.count("\n") + 1]
