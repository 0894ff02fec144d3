import sys

import pytest

from remat_lint.equivalence.interpreter import choose_interpreter
from remat_lint.equivalence.runner import run_paths
from remat_lint.errors import UsageError


@pytest.fixture
def python_in(tmp_path):
    def make(folder):
        python = tmp_path / folder / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\n")
        python.chmod(0o755)
        return str(python)

    return make


def test_the_one_asked_for_goes_before_the_active_then_the_projects_then_our_own(tmp_path, python_in):
    own = choose_interpreter(None, tmp_path, {}, sys.executable)
    assert (own.path, own.origin) == (sys.executable, "the one that runs remat-lint")
    plain = python_in("venv")
    assert choose_interpreter(None, tmp_path, {}, sys.executable).path == plain
    hidden = python_in(".venv")
    assert choose_interpreter(None, tmp_path, {}, sys.executable).path == hidden
    active = python_in("elsewhere")
    environ = {"VIRTUAL_ENV": str(tmp_path / "elsewhere")}
    assert choose_interpreter(None, tmp_path, environ, sys.executable).origin == "the active environment"
    assert choose_interpreter(None, tmp_path, environ, sys.executable).path == active
    assert choose_interpreter(plain, tmp_path, environ, sys.executable).path == plain


def test_one_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no Python interpreter '/nowhere/python'"):
        choose_interpreter("/nowhere/python", tmp_path, {}, sys.executable)


def test_one_that_does_not_run_is_refused(tmp_path):
    broken = tmp_path / "python"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    file = tmp_path / "test_it.py"
    file.write_text("")
    with pytest.raises(UsageError, match="cannot be started"):
        run_paths([file], python=str(broken))


def test_a_path_that_does_not_exist_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"there is no .*missing\.py"):
        run_paths([tmp_path / "missing.py"])
    with pytest.raises(UsageError, match="name the test files"):
        run_paths([])
