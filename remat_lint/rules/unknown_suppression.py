"""Finds comments that take back the findings of a rule that does not exist.

## What it does
Reports a name in `# remat-lint: ignore[…]` or `# remat-lint: ignore-file[…]`, and a code like `RML999` in `# noqa:`,
that is neither the code nor the name of a rule. Codes of other tools in a `# noqa:` are theirs.

## Why it is a problem
The comment looks as if something were settled here, and takes nothing back: the finding that it was meant for is
still reported, or will be once the code changes.

## When to ignore it
When the comment is meant for a newer release of remat-lint than the one that runs.

## Fix safety
An editor offers the nearest name. `--fix` never applies it: with the right name the comment hides a finding, and
that is for its author to decide.

## References
None.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from remat_lint.findings import Edit, Fix, Severity, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.rules import registry
from remat_lint.rules.rule import Bad, Good, Place, Report, Rule, Silent, placeholder
from remat_lint.source.ignores import Listed, find_ignores

_NAME = re.compile(r"[A-Za-z][\w-]*")
_NEAR = 0.8


class UnknownSuppression(Rule):
    """`unknown-suppression`: a comment that names no rule."""

    code = "RML003"
    name = "unknown-suppression"
    category = "tool"
    severity = Severity.WARNING
    subject = Module
    examples = (
        Bad(
            "a name with a letter too few",
            """
import jax

layer = jax.checkpoint(lambda x: x)  # remat-lint: ignore[stale-captur] -- größer wird nichts
#                                                         ^^^^^^^^^^^^
""",
            message=(
                "`stale-captur` is neither the code nor the name of a rule, so this comment takes nothing back; "
                "did you mean `stale-capture`?"
            ),
        ),
        Bad(
            "one of two, in a comment for the file",
            """
# remat-lint: ignore-file[RML201, jit-in-loop]
#                                 ^^^^^^^^^^^
import jax

@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)
def layer(x):
    return x * 2
""",
        ),
        Bad(
            "a code in small letters",
            """
import jax

layer = jax.remat(lambda x: x)  # type: ignore # remat-lint: ignore[rml101]
#                                                                   ^^^^^^
""",
        ),
        Bad(
            "a category is no rule",
            """
import jax

layer = jax.remat(lambda x: x)  # remat-lint: ignore[memory]
#                                                    ^^^^^^
""",
            message=(
                "`memory` is a category, and a comment can name rules only, by code or name, so it takes nothing back"
            ),
        ),
        Bad(
            "a code of this tool in a noqa",
            """
import jax

layer = jax.remat(lambda x: x)  # noqa: E731, RML999
#                                             ^^^^^^
""",
        ),
        Good(
            "codes and names of rules",
            """
import jax

@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)  # remat-lint: ignore[RML201] -- an example
def layer(x):
    return x * 2

@jax.remat(prevent_cse=False)  # remat-lint: ignore[keyword-only-decorator]
def other(x):
    return x * 2
""",
        ),
        Good(
            "comments for other tools",
            """
import jax

layer = jax.checkpoint(lambda x: x)  # noqa: E731, XYZ123
other = jax.checkpoint(lambda x: x)  # pylint: disable=unnecessary-lambda-assignment
""",
        ),
        Good(
            "text that only speaks of such a comment",
            """
import jax

# A false alarm is taken back by a comment like `# remat-lint: ignore[...]`.
help = "# remat-lint: ignore[no-such-rule]"
layer = jax.checkpoint(lambda x: x)
""",
        ),
    )

    def check(self, subject: Module, project: Analysis) -> Iterator[Report | Silent]:
        """Report each name in the comments of a file that names no rule."""
        del project
        known = {name for rule in registry().values() for name in (rule.code, rule.name)}
        for chunk in subject.chunks:
            for comment in chunk.comments:
                for ignore in find_ignores(comment):
                    for listed in ignore.listed:
                        if listed.name not in known and _NAME.fullmatch(listed.name):
                            yield self._report(listed, subject)

    def _report(self, listed: Listed, module: Module) -> Report:
        name, nearest = listed.name, _nearest(listed.name)
        if name.lower() in {rule.category for rule in registry().values()} and nearest is None:
            message = f"`{name}` is a category, and a comment can name rules only, by code or name, so it takes nothing back"
        else:
            guess = f"; did you mean `{nearest}`?" if nearest else ""
            message = f"`{name}` is neither the code nor the name of a rule, so this comment takes nothing back{guess}"
        span = module.source.span(listed.offset, listed.offset + len(name))
        return Report(Place(module, 0), message, self.severity, facts=(span, nearest), span=span)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Offer the nearest name."""
        del project
        span: Span = report.facts[0]
        nearest: str | None = report.facts[1]
        return placeholder(f"Name `{nearest}`", Edit(span, nearest)) if nearest else None


def _nearest(name: str) -> str | None:
    """Return the code or name of a rule that is spelled nearly like `name`; of codes only the letters' case may differ."""
    if name.upper() in registry():
        return name.upper()
    names = [rule.name for rule in registry().values()]
    spelled = name.lower().replace("_", "-")
    return next(iter(difflib.get_close_matches(spelled, names, n=1, cutoff=_NEAR)), None)
