"""Running equivalence tests in the user's interpreter."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from remat_lint.equivalence.interpreter import Interpreter, choose_interpreter
from remat_lint.equivalence.verdicts import CRASHED, ERROR, NOT_VERIFIED, TIMEOUT, Case, Report
from remat_lint.equivalence.worker import Ending, Job, Progress, copy_runtime, run_worker
from remat_lint.errors import UsageError

_BROKEN_OFF = (2, 3, 4)  # pytest's codes for an interruption, an internal error and a usage error
_PROJECT_MARKERS = ("pyproject.toml", "remat-lint.toml", ".git")
# Options and plugins of the user's own test runs (coverage, parallel runs) would come between a test and its verdict.
_DROPPED_VARIABLES = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONSTARTUP", "PYTHONINSPECT")


def _find_root(path: Path) -> Path:
    folder = path if path.is_dir() else path.parent
    for candidate in (folder, *folder.parents):
        if any((candidate / marker).exists() for marker in _PROJECT_MARKERS):
            return candidate
    return folder


def _make_environment(environ: Mapping[str, str], platform: str | None) -> dict[str, str]:
    made = {name: value for name, value in environ.items() if name not in _DROPPED_VARIABLES}
    folders = [entry for entry in made.pop("PYTHONPATH", "").split(os.pathsep) if Path(entry).is_absolute()]
    if folders:
        made["PYTHONPATH"] = os.pathsep.join(folders)
    made |= {
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }
    if platform is not None:
        made["JAX_PLATFORMS"] = platform
    return made


class _Run:
    """The results of one run, gathered over as many workers as crashes and time limits make necessary."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self._order: dict[str, None] = {}
        self._cases: dict[str, Case] = {}
        self.environment: dict[str, Any] = {}

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases, in the order of collection."""
        names = dict.fromkeys([*self._order, *self._cases])
        return tuple(self._cases[name] for name in names if name in self._cases)

    @property
    def settled(self) -> tuple[str, ...]:
        """Ids of tests that need not run again."""
        return tuple(self._cases)

    def take(self, progress: Progress, ending: Ending) -> bool:
        """Takes in what a worker reported; returns whether tests are left for another one."""
        self.environment = progress.environment or self.environment
        self._order.update(dict.fromkeys(progress.collected))
        for test, values in progress.results.items():
            if test in progress.finished or test not in progress.collected:
                self._settle(test, values["status"], values["reason"], values["evidence"])
        if progress.no_device:
            self._settle_rest(NOT_VERIFIED, f"no device: {progress.no_device}")
            return False
        if progress.done is not None:
            reason = f"pytest ended with code {progress.done} before it ran this{_quote_end(ending.printed)}"
            self._settle_rest(ERROR, reason, whole_files=progress.done in _BROKEN_OFF)
            return False
        status = TIMEOUT if ending.timed_out else CRASHED
        if progress.current is None:
            self._settle_rest(status, f"{ending.describe()}, outside a test{_quote_end(ending.printed)}")
            return False
        self._settle(progress.current, status, ending.describe(), [])
        return any(test not in self._cases for test in self._order)

    def _settle(self, test: str, status: str, reason: str, evidence: Sequence[Mapping[str, Any]]) -> None:
        self._cases[test] = Case(test, status, reason, tuple(evidence))

    def _settle_rest(self, status: str, reason: str, *, whole_files: bool = True) -> None:
        """Gives the tests without a verdict one; where none were collected, the files stand for them."""
        rest = [test for test in self._order if test not in self._cases]
        if whole_files and not self._order and not self._cases:
            rest = list(self._files)
        for test in rest:
            self._settle(test, status, reason, [])


def _quote_end(printed: str) -> str:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return f"; its last words: {lines[-1][:300]}" if lines else ""


def _refuse_missing(missing: Sequence[str], interpreter: Interpreter) -> None:
    if missing:
        raise UsageError(
            f"{interpreter.path} ({interpreter.origin}) has no {' and no '.join(missing)}: "
            "install it there, or name another interpreter with --python"
        )


def _refuse_absent(paths: Sequence[Path]) -> None:
    if not paths:
        raise UsageError("name the test files or folders to run")
    for path in paths:
        if not path.exists():
            raise UsageError(f"there is no {path}")


def run_paths(
    paths: Sequence[Path],
    *,
    python: str | None = None,
    timeout_s: float = 120.0,
    platform: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> Report:
    """Runs the tests in files or folders, each in a child process of the user's interpreter.

    User code runs here. It can hang, crash or print anything without harm to the verdicts of other tests; a test
    program that forges verdicts on purpose is out of scope.

    Args:
        paths: test files or folders.
        python: the interpreter to use; see `choose_interpreter` for what happens without.
        timeout_s: seconds that one test may take.
        platform: value for `JAX_PLATFORMS`; without it JAX chooses.
        environ: environment variables, those of this process by default.

    Raises:
        UsageError: a path does not exist, the interpreter cannot be started, or jax or pytest is missing there.
    """
    _refuse_absent(paths)
    given = os.environ if environ is None else environ
    started = time.monotonic()
    root = _find_root(paths[0].resolve())
    interpreter = choose_interpreter(python, root, given, sys.executable)
    files = [str(path.resolve()) for path in paths]
    run = _Run(files)
    with tempfile.TemporaryDirectory(prefix="remat-lint-", ignore_cleanup_errors=True) as private:
        folder = Path(private)
        copy_runtime(folder)
        job = Job(interpreter.path, files, folder, root, _make_environment(given, platform), timeout_s)
        left = True
        while left:
            progress, ending = run_worker(job, skip=run.settled)
            _refuse_missing(progress.missing, interpreter)
            left = run.take(progress, ending)
    return Report(
        root=str(root),
        interpreter=interpreter.path,
        interpreter_origin=interpreter.origin,
        requested_platform=platform or "default",
        environment=run.environment,
        timeout_s=timeout_s,
        seconds=time.monotonic() - started,
        cases=run.cases,
    )
