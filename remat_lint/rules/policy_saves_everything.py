"""Finds a policy under which a checkpoint saves everything, so that it frees no memory.

## What it does
Reports `save_anything_except_these_names(…)`, and as a note `everything_saveable` given as the policy of a checkpoint.

## Why it is a problem
`everything_saveable` is the same as no checkpoint, and its barriers against the compiler can make it worse than none.
`save_anything_except_these_names` saves everything as well, whatever names it is given: the named value itself, or
what it is the name of.

## When to ignore it
For `everything_saveable`, where the policy is a switch for experiments. One half of `save_from_both_policies` and an
entry of a table of policies are not reported.

## Fix safety
Writing `save_any_names_but_these` is unsafe: it saves named values only, so that memory and time change.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#list-of-policies>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.policies import PolicyUse
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, unsafe

_ALL, _EXCEPT, _BUT = "everything_saveable", "save_anything_except_these_names", "save_any_names_but_these"


class PolicySavesEverything(Rule):
    """`policy-saves-everything`: a policy that makes the checkpoint useless."""

    code = "RML408"
    name = "policy-saves-everything"
    category = "memory"
    severity = Severity.WARNING
    subject = PolicyUse
    examples = (
        Bad(
            "names that make no difference",
            """
import jax

policy = jax.checkpoint_policies.save_anything_except_these_names("große_werte")
#        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
layer = jax.checkpoint(lambda x: x * 2, policy=policy)
""",
            fixed="""
import jax

policy = jax.checkpoint_policies.save_any_names_but_these("große_werte")
layer = jax.checkpoint(lambda x: x * 2, policy=policy)
""",
            message=(
                "`save_anything_except_these_names` saves everything whatever names it is given, as `everything_saveable` "
                "does: the checkpoint frees no memory; name what to save (`save_only_these_names`), or save the other "
                "named values only (`save_any_names_but_these`)"
            ),
        ),
        Bad(
            "inside the partial of a decorated method, through aliases",
            """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

class Net:
    def build(self, big):
        @partial(rm, policy=cp.save_anything_except_these_names(*big))
#                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        def body(x):
            return x @ x
        return body
""",
            fixed="""
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

class Net:
    def build(self, big):
        @partial(rm, policy=cp.save_any_names_but_these(*big))
        def body(x):
            return x @ x
        return body
""",
        ),
        Bad(
            "one half is enough to save everything",
            """
import jax

cp = jax.checkpoint_policies
policy = cp.save_from_both_policies(cp.dots_saveable, cp.save_anything_except_these_names("h408"))
#                                                     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
layer = jax.checkpoint(lambda x: x * 2, policy=policy)
""",
            fixed="""
import jax

cp = jax.checkpoint_policies
policy = cp.save_from_both_policies(cp.dots_saveable, cp.save_any_names_but_these("h408"))
layer = jax.checkpoint(lambda x: x * 2, policy=policy)
""",
        ),
        Bad(
            "the policy that saves everything",
            """
import jax

layer = jax.checkpoint(lambda x: x * 2, policy=jax.checkpoint_policies.everything_saveable)
#                                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            message=(
                "`everything_saveable` computes nothing again, so that this checkpoint frees no memory; leave the wrapper "
                "out, or choose a policy that saves less"
            ),
            severity=Severity.INFO,
        ),
        Good(
            "named values but some",
            """
import jax

policy = jax.checkpoint_policies.save_any_names_but_these("big")
layer = jax.checkpoint(lambda x: x * 2, policy=policy)
""",
        ),
        Good(
            "one of several policies to choose from",
            """
import jax

cp = jax.checkpoint_policies
TABLE = {"all": cp.everything_saveable, "none": cp.nothing_saveable, "dots": cp.dots_saveable}

def wrap(f, name, keep):
    first = jax.checkpoint(f, policy=TABLE[name])
    return jax.checkpoint(first, policy=cp.everything_saveable if keep else None)
""",
        ),
        Good(
            "one half of a policy",
            """
import jax

cp = jax.checkpoint_policies
layer = jax.checkpoint(
    lambda x: x * 2, policy=cp.save_from_both_policies(cp.everything_saveable, cp.nothing_saveable)
)
""",
        ),
        Miss(
            "a policy of one's own that always says yes",
            """
import jax

layer = jax.checkpoint(lambda x: x * 2, policy=lambda *_, **__: True)
""",
        ),
    )

    def check(self, subject: PolicyUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report a policy under which nothing is computed again."""
        del project
        if subject.role == "called" and subject.policy.name == _EXCEPT and subject.call is not None:
            if subject.alternatives > 1:
                yield Silent("what is called may be something else")
                return
            message = (
                f"`{_EXCEPT}` saves everything whatever names it is given, as `{_ALL}` does: the checkpoint frees no memory; "
                f"name what to save (`save_only_these_names`), or save the other named values only (`{_BUT}`)"
            )
            place = Place(subject.module, subject.call.at)
            yield Report(place, message, self.severity, facts=Place(subject.module, subject.at))
        elif subject.role == "option" and subject.policy.name == _ALL:
            if subject.alternatives > 1:
                yield Silent("it is one of several policies to choose from")
                return
            message = (
                f"`{_ALL}` computes nothing again, so that this checkpoint frees no memory; leave the wrapper out, or "
                "choose a policy that saves less"
            )
            yield Report(Place(subject.module, subject.at), message, Severity.INFO)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Write the factory that does what the name says."""
        del project
        factory: Place | None = report.facts
        if factory is None or not factory.text.endswith(_EXCEPT):
            return None
        text = factory.text.removesuffix(_EXCEPT) + _BUT
        return unsafe(f"Write `{_BUT}`", factory.replace(text))
