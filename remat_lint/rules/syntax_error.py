"""Finds files and statements that cannot be parsed.

## What it does
Reports a file that cannot be read or decoded, and a statement that Python's grammar does not accept. The other
statements of the file are analysed all the same.

## Why it is a problem
What cannot be parsed cannot be checked: the file may be clean only because nobody could look into it.

## When to ignore it
This finding cannot be switched off. Exclude the file if it is not meant to be Python.

## Fix safety
There is no fix.

## References
<https://docs.python.org/3/reference/grammar.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.rules.rule import Bad, Good, Place, Report, Rule, Silent


class SyntaxErrorRule(Rule):
    """`syntax-error`: a statement that cannot be parsed."""

    code = "RML001"
    name = "syntax-error"
    category = "tool"
    severity = Severity.ERROR
    subject = Module
    examples = (
        Bad(
            "an open bracket",
            """
import jax

layer = jax.checkpoint((lambda x: x
#                                  ^
""",
        ),
        Bad(
            "a stray word, reported without losing the rest",
            """
import jax

def layer(x):
    return jax.checkpoint x
#                         ^
""",
        ),
        Bad(
            "a header without its body",
            """
import jax

@jax.checkpoint
def layer(x)
#           ^
""",
        ),
        Good("a file that parses", "import jax\n\nlayer = jax.checkpoint(lambda x: x)\n"),
    )

    def check(self, subject: Module, project: Analysis) -> Iterator[Report | Silent]:
        """Report each statement of a module that could not be parsed."""
        del project
        for fault in subject.faults:
            if fault.syntax:
                yield Report(Place(subject, 0), fault.message, self.severity, span=fault.span)
