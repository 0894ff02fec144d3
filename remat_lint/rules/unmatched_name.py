"""Finds a name in a policy that is the name of an operation, and of no value.

## What it does
Reports `"dot_general"` and other names of operations given to `save_only_these_names` and the other policies that go
by names, where no `checkpoint_name` of the project makes such a name.

## Why it is a problem
These policies look at the names that `checkpoint_name` gives, never at the operations. A name that nothing makes
matches nothing, so that the policy saves less than it seems to, or leaves out nothing, and nothing says so.

## When to ignore it
Where another library gives a value this very name.

## Fix safety
Writing `dots_saveable` for a policy that names matrix products only is unsafe: it saves convolutions as well.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#custom-policies-for-what-s-saveable>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.policies import PRIMITIVES, PRODUCTS
from remat_lint.project.analysis import Analysis
from remat_lint.project.names import may_be_made_elsewhere, name_uses, texts
from remat_lint.project.policies import PolicyUse
from remat_lint.project.values import Data, Moment
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, unsafe


class UnmatchedName(Rule):
    """`unmatched-name`: a policy that waits for a name which nothing makes."""

    code = "RML406"
    name = "unmatched-name"
    category = "suspicious"
    severity = Severity.ERROR
    subject = PolicyUse
    examples = (
        Bad(
            "matrix products by the name of the operation",
            """
import jax

policy = jax.checkpoint_policies.save_only_these_names("dot_general")
#                                                      ^^^^^^^^^^^^^
layer = jax.checkpoint(lambda x: x @ x, policy=policy)
""",
            fixed="""
import jax

policy = jax.checkpoint_policies.dots_saveable
layer = jax.checkpoint(lambda x: x @ x, policy=policy)
""",
            message=(
                "'dot_general' is an operation of JAX, and `save_only_these_names` goes by the names that `checkpoint_name` "
                "gives, of which none is this one: nothing is saved by it; matrix products are saved by `dots_saveable`"
            ),
        ),
        Bad(
            "one of several names, through aliases in the partial of a decorated method",
            """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm
from jax.ad_checkpoint import checkpoint_name

class Net:
    def build(self):
        @partial(rm, policy=cp.save_only_these_names("clé406", "reduce_sum"))
#                                                              ^^^^^^^^^^^^
        def body(x):
            return checkpoint_name(x @ x, "clé406").sum()
        return body
""",
        ),
        Bad(
            "names kept in a constant and spread",
            """
import jax

NAMES = ("dot_general", "conv_general_dilated")

def wrap(f):
    return jax.checkpoint(f, policy=jax.checkpoint_policies.save_any_names_but_these(*NAMES))
#                                                                                     ^^^^^
""",
        ),
        Bad(
            "in a list of names to offload",
            """
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=[],
    names_which_can_be_offloaded=["dot_general"],
#                                 ^^^^^^^^^^^^^
    offload_src="device",
    offload_dst="pinned_host",
)
""",
        ),
        Good(
            "a name that is made",
            """
import jax
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_only_these_names("dot_general")
layer = jax.checkpoint(lambda x: checkpoint_name(x @ x, "dot_general"), policy=policy)
""",
        ),
        Good(
            "a name that is made somewhere else",
            """
import jax

policy = jax.checkpoint_policies.save_only_these_names("attention", "mlp_out")
layer = jax.checkpoint(lambda x: x @ x, policy=policy)
""",
        ),
        Good(
            "names that are made when the program runs",
            """
import jax
from jax.ad_checkpoint import checkpoint_name

def named(x, name):
    return checkpoint_name(x, name)

policy = jax.checkpoint_policies.save_only_these_names("dot_general")
""",
        ),
        Good(
            "a policy of one's own goes by operations",
            """
import jax

def keep(prim, *_, **params):
    return prim.name in ("dot_general", "conv_general_dilated")

layer = jax.checkpoint(lambda x: x @ x, policy=keep)
""",
        ),
        Miss(
            "an operation whose name is a word of its own",
            """
import jax

policy = jax.checkpoint_policies.save_only_these_names("dot", "tanh")
layer = jax.checkpoint(lambda x: x @ x, policy=policy)
""",
        ),
    )

    def check(self, subject: PolicyUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report names of operations that are no names of values."""
        call, policy = subject.call, subject.policy
        if subject.role != "called" or call is None or not (policy.varargs or policy.name_lists):
            return
        if subject.alternatives > 1:
            yield Silent("what is called may be something else")
            return
        found = [(at, name) for at, name in _names(subject, project) if name in PRIMITIVES]
        if not found:
            return
        made = name_uses(subject.module, project)
        seen: set[int] = set()
        for node, name in found:
            if any(use.names is None or name in use.names for use in made):
                yield Silent("a `checkpoint_name` in this file may make it")
            elif may_be_made_elsewhere(name, subject.module, project):
                yield Silent("a `checkpoint_name` of the project may make it")
            elif node.at not in seen:
                seen.add(node.at)
                yield Report(
                    Place(subject.module, node.at), _message(name, subject), self.severity, facts=subject
                )

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Write the policy for matrix products, where a policy names nothing else."""
        use: PolicyUse | None = report.facts
        if use is None or use.call is None or use.policy.name != "save_only_these_names":
            return None
        names = [name for _, name in _names(use, project)]
        written = [
            argument
            for argument in use.call.args
            if not argument.star and isinstance(argument.value, n.Constant)
        ]
        func = Place(use.module, use.at).text
        plain = len(written) == len(use.call.args) == len(names) and func.endswith(use.policy.name)
        if not plain or not PRODUCTS.issuperset(names):
            return None
        text = func.removesuffix(use.policy.name) + "dots_saveable"
        return unsafe("Write `dots_saveable`", Place(use.module, use.call.at).replace(text))


def _names(use: PolicyUse, project: Analysis) -> Iterator[tuple[n.Expression, str]]:
    """Yield the names that a policy is given, each with the expression in the call that brings it."""
    assert use.call is not None
    moment = Moment(use.event.scope, use.event)
    for argument in use.call.args:
        if argument.star == "*" or argument.keyword in use.policy.name_lists:
            for value in project.evaluate(argument.value, moment):
                if (
                    isinstance(value, Data)
                    and isinstance(value.node, n.Collection)
                    and value.node.kind != "dict"
                ):
                    for item in value.node.items:
                        names = None if item is None else texts(item, value.moment, project)
                        at = item if value.node is argument.value and item is not None else argument.value
                        yield from ((at, name) for name in sorted(names or ()))
        elif argument.keyword is None and not argument.star and use.policy.varargs:
            names = texts(argument.value, moment, project)
            yield from ((argument.value, name) for name in sorted(names or ()))


def _message(name: str, use: PolicyUse) -> str:
    does = "leaves out" if "but" in use.policy.name or "except" in use.policy.name else "saves"
    result = {"saves": "nothing is saved by it", "leaves out": "nothing is left out by it"}[does]
    advice = (
        "matrix products are saved by `dots_saveable`"
        if name in PRODUCTS
        else "name the value with `checkpoint_name`"
    )
    return (
        f"{name!r} is an operation of JAX, and `{use.policy.name}` goes by the names that `checkpoint_name` gives, of which "
        f"none is this one: {result}; {advice}"
    )
