"""Tells that a rule failed on a file; the run went on without it.

## What it does
Marks a defect of remat-lint itself: a rule raised an exception while it looked at a file. Every other rule ran.

## Why it is a problem
What this rule would have found in the file is unknown, so the run ends with exit code 2.

## When to ignore it
This finding cannot be switched off. Leave the rule out with `--ignore CODE` until it is mended, and report the
message together with the statement it points to.

## Fix safety
There is no fix.

## References
None.
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.rules.rule import Report, Rule, Silent


class InternalError(Rule):
    """`internal-error`: made by the engine when another rule fails."""

    code = "RML900"
    name = "internal-error"
    category = "tool"
    severity = Severity.ERROR
    subject = Module

    def check(self, subject: Module, project: Analysis) -> Iterator[Report | Silent]:
        """Yield nothing: only the engine makes this finding."""
        del subject, project
        yield from ()
