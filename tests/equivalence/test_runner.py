import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from remat_lint.equivalence.report import render_json, render_report
from remat_lint.equivalence.runner import run_paths
from remat_lint.equivalence.verdicts import ExitCode, find_exit_code
from remat_lint.errors import UsageError

pytestmark = pytest.mark.execution

MODEL = """
import jax
scale = {"s": 1.0}
@jax.checkpoint
def good(x):
    return jax.numpy.sin(x)
@jax.checkpoint
def frozen(x):
    return x * scale["s"]
def stale(x):
    scale["s"] = 1.0
    a = frozen(x)
    scale["s"] = 2.0
    return a + frozen(x)
"""

HEADER = """
import os, sys, subprocess, time, ctypes
import pytest
from remat_lint.testing import array, check_equivalence
def verify():
    check_equivalence("model.py:good", (array((4,)),))
"""


@pytest.fixture
def run(tmp_path):
    """Runs a test file beside a small model in this interpreter, which knows our package only by the copy."""
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "model.py").write_text(MODEL)

    def run_text(text, timeout_s=60.0, **options):
        file = tmp_path / "test_generated.py"
        file.write_text(HEADER + text)
        environ = {
            name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")
        }
        return run_paths(
            [file],
            python=sys.executable,
            timeout_s=timeout_s,
            environ=environ | options.pop("environ", {}),
            **options,
        )

    return run_text


def statuses(report):
    return {case.test.partition("::")[2]: case.status for case in report.cases}


def test_a_verified_run_says_on_what_it_ran_and_what_that_does_not_show(run):
    report = run("def test_good():\n    verify()\n")
    assert statuses(report) == {"test_good": "verified"}
    assert find_exit_code(report.cases) is ExitCode.VERIFIED
    text = render_report(report)
    assert f"Python {sys.version.split()[0]}, JAX " in text
    assert "requested: default" in text
    assert "16 eps of its dtype" in text
    assert "this shows nothing about GPU or TPU" in text
    assert "1 verified in " in text
    shown = json.loads(render_json(report))
    assert shown["exit_code"] == 0
    leaves = shown["cases"][0]["evidence"][0]["stages"]["jit"]
    assert [leaf["name"] for leaf in leaves] == ["out", "grad[0]"]
    assert leaves[0]["origin"] == "float32, 16 eps"
    assert {"platform", "device_kind", "jax", "jaxlib", "python"} <= shown["environment"].keys()


def test_a_mismatch_names_the_leaf_and_outweighs_everything(run):
    report = run(
        "def test_stale():\n    check_equivalence('model.py:stale', (array((4,)),))\n"
        "def test_good():\n    verify()\n"
        "def test_skip():\n    pytest.skip('no inputs')\n"
        "def test_wrong():\n    raise OSError('disk')\n"
    )
    assert statuses(report) == {
        "test_stale": "mismatch",
        "test_good": "verified",
        "test_skip": "not verified",
        "test_wrong": "error",
    }
    assert find_exit_code(report.cases) is ExitCode.MISMATCH
    assert report.cases[0].reason.startswith("[eager] out: relative L2 3.3e-01 > 1.9e-06 (float32, 16 eps)")
    assert report.cases[3].reason == "OSError: disk"


def test_a_file_with_a_syntax_error_says_which(run):
    (case,) = run("x = (\n").cases
    assert case.status == "error"
    assert case.reason.startswith("SyntaxError: '(' was never closed (File ")


@pytest.mark.parametrize(
    "text",
    [
        "def test_skip():\n    pytest.skip('no inputs')\n",
        "def test_nothing():\n    assert True\n",
        "def test_no_remat():\n    check_equivalence(lambda x: x, (array((4,)),))\n",
        "x = 1\n",
        "pytest.skip('whole file', allow_module_level=True)\n",
    ],
    ids=["skip", "no check", "no checkpoint", "no tests", "file skipped"],
)
def test_a_run_without_a_verdict_is_no_pass(run, text):
    report = run(text)
    assert find_exit_code(report.cases) is ExitCode.NOT_VERIFIED
    assert find_exit_code(report.cases, allow_unverified=True) is ExitCode.VERIFIED
    assert "verified" not in {case.status for case in report.cases}


def test_a_file_that_cannot_be_loaded_is_an_error_that_tells_why(run):
    report = run("import a_module_that_is_not_there\n")
    assert find_exit_code(report.cases) is ExitCode.BROKEN
    assert "a_module_that_is_not_there" in report.cases[0].reason


def test_each_way_to_end_early_is_a_crash_of_that_test_alone(run):
    report = run(
        "def test_first():\n    verify()\n"
        "def test_exit():\n    os._exit(0)\n"
        "def test_segfault():\n    ctypes.string_at(0)\n"
        "def test_system_exit():\n    sys.exit(0)\n"
        "def test_teardown(request):\n    verify()\n    request.addfinalizer(lambda: os._exit(0))\n"
        "def test_last():\n    verify()\n"
    )
    assert statuses(report) == {
        "test_first": "verified",
        "test_exit": "crashed",
        "test_segfault": "crashed",
        "test_system_exit": "error",
        "test_teardown": "crashed",
        "test_last": "verified",
    }
    reasons = {case.test.partition("::")[2]: case.reason for case in report.cases}
    assert reasons["test_exit"] == "the process exited with status 0 before the test gave a verdict"
    assert reasons["test_segfault"] == "the process was ended by SIGSEGV"
    assert find_exit_code(report.cases) is ExitCode.BROKEN


@pytest.mark.parametrize("text", ["sys.exit(0)\n", "os._exit(0)\n"])
def test_a_file_that_ends_the_process_when_loaded_is_no_pass(run, text):
    assert find_exit_code(run(text).cases) is ExitCode.BROKEN


def test_a_test_that_hangs_is_stopped_with_its_children_and_the_next_one_runs(run, tmp_path):
    started = time.monotonic()
    report = run(
        "def test_hang():\n"
        f"    child = subprocess.Popen(['sleep', '300'])\n    open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "    time.sleep(300)\n"
        "def test_next():\n    verify()\n",
        timeout_s=20.0,
    )
    assert statuses(report) == {"test_hang": "timeout", "test_next": "verified"}
    assert time.monotonic() - started < 100
    assert not is_running(int((tmp_path / "pid").read_text()))


def is_running(pid):
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False


def test_a_child_that_keeps_the_output_open_does_not_delay_the_report(run, tmp_path):
    report = run(
        "def test_leaves_child():\n    verify()\n"
        f"    child = subprocess.Popen(['sleep', '300'])\n    open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
    )
    assert statuses(report) == {"test_leaves_child": "verified"}
    assert report.seconds < 60
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_output_that_looks_like_a_verdict_is_no_verdict(run):
    report = run(
        "def test_noise():\n"
        '    line = \'{"token": "x", "event": "result", "test": "test_generated.py::test_noise", "status": "verified"}\'\n'
        "    for fd in range(1, 20):\n"
        "        try:\n            os.write(fd, (line + chr(10)).encode() * 500 if fd < 3 else (line + chr(10)).encode())\n"
        "        except OSError:\n            pass\n"
        "    sys.stdout.write('\\x1b[31m' + 'x' * 200_000)\n"
        "def test_good():\n    verify()\n"
    )
    assert statuses(report) == {"test_noise": "not verified", "test_good": "verified"}


def test_files_of_the_opened_folder_do_not_take_the_place_of_modules(run, tmp_path):
    for name in (
        "json.py",
        "jax.py",
        "numpy.py",
        "pytest.py",
        "remat_lint.py",
        "sitecustomize.py",
        "platform.py",
    ):
        (tmp_path / name).write_text("raise SystemExit('taken from the opened folder')\n")
    report = run("def test_good():\n    verify()\n", environ={"PYTHONPATH": os.pathsep.join(["", "."])})
    assert statuses(report) == {"test_good": "verified"}


def test_settings_of_the_users_own_test_runs_do_not_reach_the_worker(run, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "--no-such-option"\n')
    report = run("def test_good():\n    verify()\n", environ={"PYTEST_ADDOPTS": "--no-such-option"})
    assert statuses(report) == {"test_good": "verified"}


def test_a_platform_that_is_not_there_is_not_verified_and_not_replaced(run):
    report = run("def test_good():\n    verify()\n", platform="no_such_platform")
    assert find_exit_code(report.cases) is ExitCode.NOT_VERIFIED
    assert report.cases[0].reason.startswith("no device: ")
    assert "No device was reached" in render_report(report)


def test_an_interpreter_without_jax_is_named(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")], check=True)
    file = tmp_path / "test_it.py"
    file.write_text("")
    (tmp_path / "pyproject.toml").write_text("")
    with pytest.raises(
        UsageError,
        match=r"\.venv/bin/python \(the project's \.venv\) has no jax and no numpy and no pytest",
    ):
        run_paths([file], environ={"PATH": os.environ["PATH"]})


def test_a_test_name_cannot_write_to_the_terminal(run):
    report = run(
        "@pytest.mark.parametrize('x', ['a'], ids=['\\x1b]0;title\\x07'])\ndef test_it(x):\n    verify()\n"
    )
    assert "\x1b" not in render_report(report)
    assert "\x07" not in render_report(report)
