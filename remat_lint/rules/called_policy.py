"""Finds a policy that is called instead of being passed.

## What it does
Reports `policy=jax.checkpoint_policies.dots_saveable()` and the like: the members of the namespace that are policies
themselves, called as if they were factories, without arguments or with names.

## Why it is a problem
A policy takes an operation. Most raise `TypeError` at once (missing argument 'prim'). `nothing_saveable()` does not:
it returns False, which JAX takes as no policy. `everything_saveable()` returns True, which raises only under
differentiation (`'bool' object is not callable`).

## When to ignore it
Never; a policy of your own calls another one with the operation, which is not reported.

## Fix safety
Dropping the parentheses is safe: the call cannot have given a policy.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#list-of-policies>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.names import texts
from remat_lint.project.policies import PolicyUse
from remat_lint.project.values import Moment
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, safe

_PASSES = {
    "nothing_saveable": "returns False, which JAX takes as no policy without a word",
    "everything_saveable": "returns True, which raises TypeError ('bool' object is not callable) under differentiation",
}


class CalledPolicy(Rule):
    """`called-policy`: a policy with parentheses."""

    code = "RML402"
    name = "called-policy"
    category = "correctness"
    severity = Severity.ERROR
    subject = PolicyUse
    examples = (
        Bad(
            "as an option",
            """
import jax

def owner(x):
    return jax.checkpoint(lambda h: h * h, policy=jax.checkpoint_policies.dots_saveable())(x)
#                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
import jax

def owner(x):
    return jax.checkpoint(lambda h: h * h, policy=jax.checkpoint_policies.dots_saveable)(x)
""",
            message=(
                "`dots_saveable` is a policy itself: called without an operation it raises TypeError (missing argument "
                "'prim'); drop the parentheses"
            ),
            runs=True,
        ),
        Bad(
            "through aliases in a partial, where nothing raises",
            """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

@partial(rm, policy=cp.nothing_saveable())  # économe
#                   ^^^^^^^^^^^^^^^^^^^^^
def layer(x):
    return x * x
""",
            fixed="""
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

@partial(rm, policy=cp.nothing_saveable)  # économe
def layer(x):
    return x * x
""",
            message=(
                "`nothing_saveable` is a policy itself: called without an operation it returns False, which JAX takes as "
                "no policy without a word; drop the parentheses"
            ),
        ),
        Bad(
            "kept in a variable of a method, on one branch",
            """
import jax
from jax.ad_checkpoint import checkpoint_policies

class Net:
    def policy(self, full):
        chosen = None
        if full:
            chosen = checkpoint_policies.everything_saveable()
#                    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return chosen
""",
            fixed="""
import jax
from jax.ad_checkpoint import checkpoint_policies

class Net:
    def policy(self, full):
        chosen = None
        if full:
            chosen = checkpoint_policies.everything_saveable
        return chosen
""",
            message=(
                "`everything_saveable` is a policy itself: called without an operation it returns True, which raises "
                "TypeError ('bool' object is not callable) under differentiation when `full`; drop the parentheses"
            ),
        ),
        Bad(
            "with names",
            """
import jax

def owner(x):
    return jax.checkpoint(lambda h: h * h, policy=jax.checkpoint_policies.dots_saveable("h402"))(x)
#                                                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            message=(
                "`dots_saveable` is a policy itself and takes no names: called with names it raises; did you mean "
                "`save_only_these_names`?"
            ),
            runs=True,
        ),
        Good(
            "the policy is passed",
            """
import jax

layer = jax.checkpoint(lambda x: x * x, policy=jax.checkpoint_policies.dots_saveable)
""",
        ),
        Good(
            "a policy of one's own calls another with the operation",
            """
import jax

def keep(prim, *avals, **params):
    return jax.checkpoint_policies.dots_saveable(prim, *avals, **params)

layer = jax.checkpoint(lambda x: x * x, policy=keep)
""",
        ),
        Good(
            "factories are called",
            """
from jax import checkpoint_policies as cp
import jax

class Net:
    def wrap(self, f):
        return jax.checkpoint(f, policy=cp.save_only_these_names("attention"))
""",
        ),
        Good(
            "a test of the error",
            """
import jax
import pytest

def test_policy_needs_an_operation():
    with pytest.raises(TypeError):
        jax.checkpoint_policies.dots_saveable()
""",
        ),
        Miss(
            "by a name that is only known when the program runs",
            """
import jax

def wrap(f, name):
    return jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, name)())
""",
        ),
    )

    def check(self, subject: PolicyUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report a policy that is called without arguments."""
        if subject.role != "called" or subject.policy.kind != "policy" or subject.call is None:
            return
        if subject.alternatives > 1:
            yield Silent("what is called may be something else")
        elif expected(subject.event, project, "TypeError", "AttributeError"):
            yield Silent("a test expects the error")
        elif subject.call.args:
            if _are_names(subject, project):
                message = (
                    f"`{subject.policy.name}` is a policy itself and takes no names: called with names it "
                    f"{_NAMED.get(subject.policy.name, 'raises')}{when(subject.event)}; did you mean "
                    "`save_only_these_names`?"
                )
                yield Report(Place(subject.module, subject.call.at), message, self.severity)
        else:
            name = subject.policy.name
            result = _PASSES.get(name, "raises TypeError (missing argument 'prim')")
            message = (
                f"`{name}` is a policy itself: called without an operation it {result}{when(subject.event)}; drop the "
                "parentheses"
            )
            yield Report(Place(subject.module, subject.call.at), message, self.severity, facts=subject.call)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Drop the parentheses."""
        del project
        if report.facts is None:
            return None
        module = report.place.module
        gone = Span(Place(module, report.facts.func.at).span.end, report.place.span.end)
        if module.source.slice(gone).translate(_BLANK) != "()":
            return None
        return safe("Drop the parentheses", Edit(gone, ""))


_NAMED = {name: result.partition(" (")[0] for name, result in _PASSES.items()}


def _are_names(use: PolicyUse, project: Analysis) -> bool:
    """Whether every argument of a call is a string, or a list of them."""
    assert use.call is not None
    moment = Moment(use.event.scope, use.event)
    for argument in use.call.args:
        listed = isinstance(argument.value, n.Collection) and argument.value.kind != "dict"
        if argument.keyword is not None or not (listed or texts(argument.value, moment, project)):
            return False
    return True


_BLANK = str.maketrans("", "", " \t\r\n")
