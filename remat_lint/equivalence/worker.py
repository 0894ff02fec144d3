"""The child process that runs tests, and the file on which it reports.

The child has its own process group, writes what it prints to a log that nobody waits for, and reports on a file with
a random token in every line. It may hang, crash, print anything or leave children behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import remat_lint
from remat_lint.errors import UsageError

_POLL_S = 0.05
_STARTUP_S = 60.0
_LOG_TAIL_BYTES = 4000
_PACKAGE = Path(remat_lint.__file__).parent
# The first statement replaces the current folder on the import path, before anything can be imported from there.
_START = "import sys; sys.path[0] = sys.argv.pop(1); from remat_lint.runtime.worker import main; main()"


def copy_runtime(folder: Path) -> Path:
    """Copies what runs beside user code, and nothing else of this package, into a folder.

    Returns:
        The folder to put in front of the child's import path.
    """
    package = folder / "import" / "remat_lint"
    package.mkdir(parents=True)
    for name in ("__init__.py", "testing.py"):
        shutil.copyfile(_PACKAGE / name, package / name)
    shutil.copytree(_PACKAGE / "runtime", package / "runtime", ignore=shutil.ignore_patterns("__pycache__"))
    return package.parent


@dataclass
class Progress:
    """What a worker has reported so far.

    Attributes:
        environment: device and versions.
        collected: ids of all tests.
        current: the test that runs now.
        results: reported status, reason and evidence by test.
        finished: tests that have ended, teardown included.
        missing: modules that the interpreter lacks.
        no_device: why JAX found no device.
        done: pytest's exit code, once it came to its end.
    """

    environment: dict[str, Any] = field(default_factory=dict)
    collected: list[str] = field(default_factory=list)
    current: str | None = None
    results: dict[str, dict[str, Any]] = field(default_factory=dict)
    finished: set[str] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)
    no_device: str = ""
    done: int | None = None

    def take(self, event: Mapping[str, Any]) -> None:
        """Takes in one event."""
        values = {name: value for name, value in event.items() if name not in ("token", "event")}
        match event["event"]:
            case "environment":
                self.environment = values
            case "collected":
                self.collected = list(values["tests"])
            case "started":
                self.current = values["test"]
            case "result":
                self.results[values["test"]] = values
            case "finished":
                self.finished.add(values["test"])
                self.current = None
            case "missing":
                self.missing = list(values["modules"])
            case "no device":
                self.no_device = values["reason"]
            case "done":
                self.done = values["code"]


class _EventFile:
    """Reads complete lines that carry the token; whatever else stands in the file is passed over."""

    def __init__(self, path: Path, token: str) -> None:
        path.touch(mode=0o600)
        self.path, self.token, self._offset = path, token, 0

    def read(self) -> Iterator[Mapping[str, Any]]:
        """Events that came since the last call."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            text = file.read()
        complete = text[: text.rfind(b"\n") + 1]
        self._offset += len(complete)
        for line in complete.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and event.get("token") == self.token and "event" in event:
                yield event


def _has_exited(process: subprocess.Popen[bytes]) -> bool:
    """Whether the child has ended, without reaping it where that is possible, so that its group id stays taken."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _end(process: subprocess.Popen[bytes]) -> int:
    """Kills the child's process group, children left behind included, and reaps the child."""
    if hasattr(os, "killpg"):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
    else:
        process.kill()
    return process.wait()


@dataclass(frozen=True)
class Ending:
    """How a worker ended: in time or not, with which status, and the end of what it printed."""

    timed_out: bool
    status: int
    printed: str

    def describe(self) -> str:
        """The ending in words."""
        if self.timed_out:
            return "the time limit was reached"
        if self.status < 0:
            try:
                return f"the process was ended by {signal.Signals(-self.status).name}"
            except ValueError:
                return f"the process was ended by signal {-self.status}"
        return f"the process exited with status {self.status} before the test gave a verdict"


@dataclass(frozen=True)
class Job:
    """What every worker of a run has in common.

    Attributes:
        python: the interpreter.
        files: test files or folders.
        folder: a private folder with `import` (see `copy_runtime`); the logs and the events are written there.
        root: the folder that test ids are relative to, and the child's current one.
        environ: the child's environment.
        timeout_s: seconds that one test may take; starting up has at least a minute.
    """

    python: str
    files: Sequence[str]
    folder: Path
    root: Path
    environ: Mapping[str, str]
    timeout_s: float


def run_worker(job: Job, skip: Sequence[str] = ()) -> tuple[Progress, Ending]:
    """Runs one worker until it ends, or until a test takes longer than the limit.

    Args:
        job: what to run.
        skip: ids of tests that are not to be run.

    Raises:
        UsageError: if the interpreter cannot be started.
    """
    token = secrets.token_hex(16)
    events = _EventFile(job.folder / f"events-{token[:8]}", token)
    log = job.folder / f"log-{token[:8]}"
    process = _start(job, log)
    progress = Progress()
    try:
        _send_order(process, job, events, skip)
        timed_out = _follow(process, events, progress, job.timeout_s)
    finally:
        status = _end(process)
    for event in events.read():
        progress.take(event)
    with log.open("rb") as output:
        output.seek(max(0, log.stat().st_size - _LOG_TAIL_BYTES))
        printed = output.read().decode("utf-8", "replace")
    return progress, Ending(timed_out, status, printed)


def _start(job: Job, log: Path) -> subprocess.Popen[bytes]:
    command = [job.python, "-c", _START, str(job.folder / "import")]
    with log.open("wb") as output:
        try:
            return subprocess.Popen(  # noqa: S603 - the interpreter is chosen by the user
                command,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=job.root,
                env=dict(job.environ),
                start_new_session=True,
            )
        except OSError as error:
            raise UsageError(f"the interpreter {job.python} cannot be started: {error.strerror}") from error


def _send_order(process: subprocess.Popen[bytes], job: Job, events: _EventFile, skip: Sequence[str]) -> None:
    config = job.folder / "pytest.ini"
    config.write_text("[pytest]\n", encoding="utf-8")
    order = {"channel": str(events.path), "token": events.token, "files": list(job.files), "skip": list(skip)}
    order |= {"config": str(config), "root": str(job.root)}
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it ended at once; its status tells how
        process.stdin.write(json.dumps(order).encode() + b"\n")
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()


def _follow(
    process: subprocess.Popen[bytes], events: _EventFile, progress: Progress, timeout_s: float
) -> bool:
    """Takes in events until the child ends; returns whether it was too slow."""
    since = time.monotonic()
    while not _has_exited(process):
        for event in events.read():
            progress.take(event)
            since = time.monotonic()
        limit = timeout_s if progress.current is not None else max(timeout_s, _STARTUP_S)
        if time.monotonic() - since > limit:
            return True
        time.sleep(_POLL_S)
    return False
