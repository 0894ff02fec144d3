"""The process that runs generated tests: pytest with a plugin that writes verdicts to a channel of its own.

A verdict is what a finished check reported, never what a test prints, and not the exit status either: a program that
ends the process early gives none.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

_REASON_LIMIT = 4000


class Channel:
    """JSON lines on a file of its own, each with the token of the run; child processes do not inherit it."""

    def __init__(self, path: str, token: str) -> None:
        self._file: TextIO = Path(path).open("a", encoding="utf-8")  # noqa: SIM115 - open as long as the process
        self._token = token

    def send(self, event: str, **values: Any) -> None:
        """Writes one event at once."""
        self._file.write(json.dumps({"token": self._token, "event": event, **values}) + "\n")
        self._file.flush()


class VerdictPlugin:
    """A pytest plugin: which tests there are, which one runs, and what its checks showed."""

    def __init__(self, channel: Channel, skip: frozenset[str]) -> None:
        self._channel, self._skip = channel, skip
        self._evidence: list[Any] = []

    def observe(self, evidence: Any) -> None:
        """Receives the evidence of a finished check."""
        self._evidence.append(evidence)

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Tells all tests, and leaves out those that an earlier worker has finished."""
        self._channel.send("collected", tests=[item.nodeid for item in items])
        items[:] = [item for item in items if item.nodeid not in self._skip]

    def pytest_collectreport(self, report: Any) -> None:
        """Tells a file that cannot be loaded, and one that is skipped whole."""
        if report.failed:
            self._send_result(report.nodeid, "error", _last_line(report.longreprtext))
        elif report.skipped and report.nodeid:
            self._send_result(report.nodeid, "not verified", _skip_reason(report))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tells which test runs now."""
        self._evidence.clear()
        self._channel.send("started", test=nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Tells that a test has ended, its teardown included."""
        self._channel.send("finished", test=nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Turns the outcome of a test and the evidence of its checks into one verdict."""
        if report.failed:
            mismatch = next((one for one in self._evidence if one.verdict == "mismatch"), None)
            if report.when == "call" and mismatch is not None:
                self._send_result(report.nodeid, "mismatch", mismatch.reason)
            else:
                self._send_result(report.nodeid, "error", _last_line(report.longreprtext))
        elif report.skipped:
            self._send_result(report.nodeid, "not verified", _skip_reason(report))
        elif report.when == "call":
            if any(one.verdict == "mismatch" for one in self._evidence):
                self._send_result(report.nodeid, "mismatch", "the test passed over a mismatch")
            elif not any(one.verdict == "verified" for one in self._evidence):
                self._send_result(
                    report.nodeid, "not verified", "the test made no equivalence check that ended"
                )
            else:
                self._send_result(report.nodeid, "verified", "")

    def _send_result(self, test: str, status: str, reason: str) -> None:
        evidence = [one.to_json() for one in self._evidence]
        self._channel.send(
            "result", test=test, status=status, reason=reason[:_REASON_LIMIT], evidence=evidence
        )


def _last_line(text: str) -> str:
    """The exception of a traceback as pytest prints it: its first line marked `E`, else the last line.

    A syntax error has its place and the line itself before it.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    marked = [line[1:].strip() for line in lines if line.startswith("E ")]
    if marked and marked[0].startswith('File "'):
        return f"{marked[-1]} ({marked[0]})"
    return marked[0] if marked else (lines[-1].strip() if lines else "no message")


def _skip_reason(report: Any) -> str:
    reason = report.longrepr
    text = str(reason[2]) if isinstance(reason, tuple) else str(reason)
    return text.removeprefix("Skipped: ")


def _describe_environment() -> dict[str, Any]:
    """Versions and device; starts JAX's backend.

    Raises:
        RuntimeError: if the requested platform is not there.
    """
    import jax  # noqa: PLC0415 - its absence is told before

    devices = jax.devices()
    config: Any = jax.config  # its flags are not typed
    return {
        "platform": devices[0].platform,
        "device_kind": devices[0].device_kind,
        "device_count": len(devices),
        "jax": jax.__version__,
        "jaxlib": version("jaxlib"),
        "python": platform.python_version(),
        "system": platform.platform(),
        "x64": bool(config.jax_enable_x64),
        "matmul_precision": config.jax_default_matmul_precision,
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def run(job: dict[str, Any]) -> None:
    """Runs the tests of one job.

    Args:
        job: `channel` (path), `token`, `files`, `skip` (finished test ids), `config` (an empty pytest configuration),
            `root` (the folder that test ids are relative to).
    """
    channel = Channel(job["channel"], job["token"])
    missing = [name for name in ("jax", "numpy", "pytest") if find_spec(name) is None]
    if missing:
        channel.send("missing", modules=missing)
        return
    try:
        channel.send("environment", **_describe_environment())
    except RuntimeError as error:
        channel.send("no device", reason=str(error)[:_REASON_LIMIT])
        return
    import pytest  # noqa: PLC0415 - its absence is told before

    from .checks import observers  # noqa: PLC0415 - needs jax

    plugin = VerdictPlugin(channel, frozenset(job["skip"]))
    observers.append(plugin.observe)
    options = [
        "-c",
        job["config"],
        "--rootdir",
        job["root"],
        "--import-mode=importlib",
        "-p",
        "no:cacheprovider",
    ]
    options += ["-q", "--continue-on-collection-errors"]
    code = pytest.main([*options, "--", *job["files"]], plugins=[plugin])
    channel.send("done", code=int(code))


def main() -> None:
    """Reads one job from standard input and runs it."""
    job = json.loads(sys.stdin.readline())
    sys.dont_write_bytecode = True
    sys.path[:] = [entry for entry in sys.path if entry not in ("", ".")]
    run(job)
