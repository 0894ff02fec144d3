"""What a run of equivalence tests found out, and the exit code that follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

VERIFIED, MISMATCH, NOT_VERIFIED = "verified", "mismatch", "not verified"
ERROR, CRASHED, TIMEOUT = "error", "crashed", "timeout"


class ExitCode(IntEnum):
    """Exit codes of `remat-lint run`; 2 is the usage error of every command."""

    VERIFIED = 0
    MISMATCH = 1
    NOT_VERIFIED = 3
    BROKEN = 4


@dataclass(frozen=True)
class Case:
    """One test and its verdict.

    Attributes:
        test: pytest's id, relative to the root of the run.
        status: verified, mismatch, not verified, error (the test raised something else), crashed or timeout.
        reason: what happened; empty for a verified test.
        evidence: what its checks compared, as JSON values.
    """

    test: str
    status: str
    reason: str = ""
    evidence: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class Report:
    """One run.

    Attributes:
        root: folder that test ids are relative to.
        interpreter: path of the Python that ran the tests.
        interpreter_origin: why it was chosen.
        requested_platform: what was asked for; `default` leaves the choice to JAX.
        environment: device, platform and versions as the worker saw them; empty if it never came so far.
        timeout_s: seconds that one test may take.
        seconds: wall time of the run.
        cases: tests in the order in which they were collected.
    """

    root: str
    interpreter: str
    interpreter_origin: str
    requested_platform: str
    environment: Mapping[str, Any]
    timeout_s: float
    seconds: float
    cases: tuple[Case, ...] = field(default=())

    def count(self, *statuses: str) -> int:
        """Number of tests with one of these statuses."""
        return sum(case.status in statuses for case in self.cases)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain JSON values, with the format's version."""
        return {
            "version": 1,
            "exit_code": int(find_exit_code(self.cases)),
            "scope": describe_scope(self),
            **asdict(self),
        }


def find_exit_code(cases: Sequence[Case], *, allow_unverified: bool = False) -> ExitCode:
    """The exit code of a run: a mismatch outweighs a crash, and a test without a verdict is no pass.

    Args:
        cases: all tests of the run.
        allow_unverified: whether tests without a verdict, or no tests at all, count as success.
    """
    statuses = {case.status for case in cases}
    if MISMATCH in statuses:
        return ExitCode.MISMATCH
    if statuses & {ERROR, CRASHED, TIMEOUT}:
        return ExitCode.BROKEN
    if not allow_unverified and (not statuses or NOT_VERIFIED in statuses):
        return ExitCode.NOT_VERIFIED
    return ExitCode.VERIFIED


def describe_scope(report: Report) -> str:
    """What the result speaks about, and what it does not."""
    shown = report.environment.get("platform")
    if not shown:
        return "No device was reached: nothing was shown."
    kind = report.environment.get("device_kind", shown)
    beyond = "GPU or TPU" if shown == "cpu" else "other devices"
    return (
        f"Run on {kind} ({shown}) with small example inputs: this shows nothing about {beyond}, about other shapes and "
        "dtypes, or about the correctness of the plain program and its derivative."
    )
