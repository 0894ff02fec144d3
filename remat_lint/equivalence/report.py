"""A report of a run for people to read in a terminal, and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from remat_lint.equivalence.verdicts import (
    CRASHED,
    ERROR,
    MISMATCH,
    NOT_VERIFIED,
    TIMEOUT,
    VERIFIED,
    Case,
    Report,
    describe_scope,
)
from remat_lint.output.terminal import visible

_ORDER = (VERIFIED, MISMATCH, NOT_VERIFIED, ERROR, CRASHED, TIMEOUT)


def render_json(report: Report) -> str:
    """The whole report as JSON; it holds names, shapes, dtypes and errors, and no values of arrays."""
    return json.dumps(_replace_infinite(report.to_json()), indent=2, allow_nan=False) + "\n"


def _replace_infinite(value: Any) -> Any:
    """The same with infinities and NaN as text, which JSON has no numbers for."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {name: _replace_infinite(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_infinite(item) for item in value]
    return value


def _describe_worst(evidence: Mapping[str, Any]) -> str:
    """The leaf that comes closest to its limit, over all stages."""
    leaves = [
        (stage, leaf) for stage, errors in evidence["stages"].items() for leaf in errors if leaf["limit"]
    ]
    count = len({leaf["name"] for errors in evidence["stages"].values() for leaf in errors})
    stages = ", ".join(evidence["stages"])
    if not leaves:
        return f"{count} leaves compared ({stages})"
    stage, worst = max(leaves, key=lambda pair: pair[1]["error"] / pair[1]["limit"])
    return (
        f"{count} leaves compared ({stages}), largest error {worst['error']:.1e} of {worst['limit']:.1e} allowed, "
        f"{worst['name']} in {stage}; {worst['origin']}"
    )


def _render_case(case: Case) -> Iterator[str]:
    yield visible(f"{case.status:>12}  {case.test}")
    if case.reason:
        yield visible(f"{'':14}{' '.join(case.reason.split())}")
    for evidence in case.evidence:
        if case.status == VERIFIED:
            yield visible(f"{'':14}{_describe_worst(evidence)}")
        for note in evidence["notes"]:
            yield visible(f"{'':14}note: {' '.join(note.split())}")


def _render_environment(report: Report) -> Iterator[str]:
    shown = report.environment
    yield visible(f"interpreter  {report.interpreter} ({report.interpreter_origin})")
    if not shown:
        return
    yield visible(
        f"versions     Python {shown['python']}, JAX {shown['jax']}, jaxlib {shown['jaxlib']}, "
        f"x64 {'on' if shown['x64'] else 'off'}"
    )
    yield visible(
        f"device       {shown['device_kind']} ({shown['platform']}), requested: {report.requested_platform}"
    )
    rules = sorted({evidence["tolerance"] for case in report.cases for evidence in case.evidence})
    for rule in rules:
        yield visible(f"tolerance    {rule}")


def render_report(report: Report) -> str:
    """The report as plain text, with control characters of file and test names made visible."""
    lines = [line for case in report.cases for line in _render_case(case)]
    if not report.cases:
        lines.append("no tests were found, so nothing was verified")
    lines += ["", *_render_environment(report)]
    lines.append(describe_scope(report))
    counts = [f"{report.count(status)} {status}" for status in _ORDER if report.count(status)]
    lines.append(f"{', '.join(counts) or '0 verified'} in {report.seconds:.1f} s")
    return "\n".join(lines) + "\n"
