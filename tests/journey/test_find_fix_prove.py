"""The whole journey of a user: the linter finds it, a generated test proves it, the fix mends it, the test passes."""

import json
import os
import subprocess
import sys

import pytest
from programs import HEADER, MENDED_BY_HAND, RIGHT, STALE


def run(*arguments, folder, code=0):
    command = [sys.executable, "-m", "remat_lint", *arguments]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONSAFEPATH": "1"},
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def write(folder, programs):
    for name, text in programs.items():
        (folder / f"{name}.py").write_text(HEADER + text, encoding="utf-8")


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    write(tmp_path, STALE)
    return tmp_path


def verdicts(report):
    """Return the messages of each program's cases, by the program's name and the case."""
    return {case["test"]: case for case in json.loads(report)["cases"]}


def test_every_stale_program_is_found(project):
    findings = json.loads(run("check", "--output-format", "json", ".", folder=project, code=1))
    assert {item["filename"] for item in findings if item["code"] == "RML101"} == {
        f"{name}.py" for name in STALE
    }
    assert {item["code"] for item in findings} == {"RML101"}


def test_right_programs_stay_silent(tmp_path):
    write(tmp_path, {name.replace(" ", "_"): text for name, text in RIGHT.items()})
    assert json.loads(run("check", "--output-format", "json", ".", folder=tmp_path)) == []


@pytest.mark.execution
def test_the_generated_test_fails_before_and_passes_after_the_fix(project):
    for name in STALE:
        run("generate", f"{name}.py::owner", "-o", "checks", folder=project)
    before = verdicts(
        run("run", "checks", "--python", sys.executable, "--output-format", "json", folder=project, code=1)
    )
    standard = {key: case for key, case in before.items() if "standard" in key}
    assert len(standard) == len(STALE)
    for case in standard.values():
        assert case["status"] == "mismatch", case
        assert "out" in case["reason"], case
    zeros = [case for key, case in before.items() if "zeros" in key]
    # With inputs of zero the values agree (sin 0 is 0 whatever it is scaled by): what differs is the gradient.
    assert any("grad" in case["reason"] for case in zeros if case["status"] == "mismatch"), zeros

    run("check", "--fix", "--unsafe-fixes", "--exit-zero", ".", folder=project)
    mended = {
        name for name in STALE if (project / f"{name}.py").read_text(encoding="utf-8") != HEADER + STALE[name]
    }
    assert mended >= {"loop_name", "dict_item", "global_name"}
    write(project, {name: text for name, text in MENDED_BY_HAND.items() if name not in mended})
    assert json.loads(run("check", "--output-format", "json", ".", folder=project)) == []
    after = verdicts(
        run("run", "checks", "--python", sys.executable, "--output-format", "json", folder=project)
    )
    assert {case["status"] for case in after.values()} == {"verified"}
    assert len(after) == len(before)
