"""Finds comments that take back findings which there are not.

## What it does
Reports a rule in `# remat-lint: ignore[…]`, `# remat-lint: ignore-file[…]` or `# noqa: RML…` that has no finding where
the comment counts. Only rules that ran are looked at: what is not selected, left out for the file or failed may have a
finding. A file in which something could not be parsed is left alone.

## Why it is a problem
The comment tells readers of a danger that is gone, and hides the finding that the next change may bring.

## When to ignore it
When the finding comes and goes with the version of JAX that the project names.

## Fix safety
The edit takes out the names that take nothing back, and the comment with its reason if none is left. It is safe: the
program does not change, and no finding comes up.

## References
None.
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Edit, Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.idle import IdleIgnore
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, safe


class UnusedSuppression(Rule):
    """`unused-suppression`: a comment without a finding."""

    code = "RML002"
    name = "unused-suppression"
    category = "tool"
    severity = Severity.WARNING
    subject = IdleIgnore
    examples = (
        Bad(
            "nothing is stale here",
            """
import jax

layer = jax.checkpoint(lambda x: x)  # remat-lint: ignore[stale-capture] -- größer wird nichts
#                                                         ^^^^^^^^^^^^^
""",
            fixed="""
import jax

layer = jax.checkpoint(lambda x: x)
""",
            message="`stale-capture` has no finding here, so this comment takes nothing back; take it out",
        ),
        Bad(
            "one of two",
            """
import jax

@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)  # remat-lint: ignore[RML201, RML104] -- kept on purpose
#                                                                                           ^^^^^^
def layer(x):
    return x * 2
""",
            fixed="""
import jax

@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)  # remat-lint: ignore[RML201] -- kept on purpose
def layer(x):
    return x * 2
""",
        ),
        Bad(
            "a line of its own, for the whole file",
            """
# remat-lint: ignore-file[frozen-randomness]
#                         ^^^^^^^^^^^^^^^^^
import jax

layer = jax.checkpoint(lambda x: x)
""",
            fixed="""
import jax

layer = jax.checkpoint(lambda x: x)
""",
        ),
        Bad(
            "among the codes of other tools",
            """
import jax

layer = jax.remat(lambda x: x)  # type: ignore # noqa: E731, RML101
#                                                            ^^^^^^
""",
            fixed="""
import jax

layer = jax.remat(lambda x: x)  # type: ignore # noqa: E731
""",
        ),
        Good(
            "a finding is taken back",
            """
import jax

@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)  # remat-lint: ignore[keyword-only-decorator] -- a test
def layer(x):
    return x * 2
""",
        ),
        Good(
            "codes of other tools alone",
            """
import jax

layer = jax.remat(lambda x: x)  # noqa: E731
""",
        ),
        Good(
            "text that only speaks of such a comment",
            """
import jax

help = "# remat-lint: ignore[RML101]"
layer = jax.checkpoint(lambda x: x)
""",
        ),
        Miss(
            "a file that mentions no checkpoint at all",
            """
import json

data = json.loads("{}")  # remat-lint: ignore[RML101]
""",
        ),
    )

    def check(self, subject: IdleIgnore, project: Analysis) -> Iterator[Report | Silent]:
        """Report each rule in a comment that has no finding there."""
        del project
        for number, listed in enumerate(subject.idle):
            message = f"`{listed.name}` has no finding here, so this comment takes nothing back; take it out"
            span = subject.module.source.span(listed.offset, listed.offset + len(listed.name))
            # One edit takes out all names of the list, so that edits of one list do not meet.
            facts = subject if number == 0 else None
            yield Report(Place(subject.module, 0), message, self.severity, facts=facts, span=span)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Take the names out, and the comment if none is left."""
        del project
        subject: IdleIgnore | None = report.facts
        if subject is None:
            return None
        idle = {listed.name for listed in subject.idle}
        is_noqa = subject.ignore.kind == "noqa"
        kept = [word for word in subject.ignore.words if (word.upper() if is_noqa else word) not in idle]
        source = subject.module.source
        if kept:
            edit = Edit(source.span(*subject.ignore.names), ", ".join(kept))
            return safe(f"Take {_listed(sorted(idle))} out", edit)
        start, end, text = _whole(subject)
        return safe("Take the comment out", Edit(source.span(start, end), text))


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _whole(subject: IdleIgnore) -> tuple[int, int, str]:
    """Return what goes with the last name: the part of the comment, the space around it, or the line."""
    comment, text = subject.comment, subject.module.source.text
    start, end = subject.ignore.clause
    stop = comment.offset + len(comment.text)
    before, after = text[comment.offset : start], text[end:stop]
    if after.strip():
        return start, end + len(after) - len(after.lstrip()), ""
    if before.strip():
        return comment.offset + len(before.rstrip()), stop, ""
    if not comment.alone:
        return len(text[: comment.offset].rstrip(" \t")), stop, ""
    rows = subject.module.source.line_starts
    first = rows[comment.row - 1]
    return first, rows[comment.row] if comment.row < len(rows) else stop, ""
