"""Finds a policy factory that is passed where the policy it makes is due.

## What it does
Reports `policy=jax.checkpoint_policies.save_only_these_names` and the other factories of the namespace, given as they
are instead of being called; as a warning also in a dict of policies whose other entries are ready to use.

## Why it is a problem
The factory is callable, so nothing complains at first and the forward pass works. Under differentiation JAX calls it
as if it were a policy, with an operation and its parameters, and that raises: on most operations
`TypeError: save_only_these_names() got an unexpected keyword argument 'dimension_numbers'`.

## When to ignore it
In a table, when the code that reads it calls the entries which are factories.

## Fix safety
The fix is a placeholder for editors: only the author knows the names.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#list-of-policies>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.policies import Policy, lookup_policy
from remat_lint.project.analysis import Analysis
from remat_lint.project.policies import PolicyUse
from remat_lint.project.traversal import is_name
from remat_lint.project.values import External, Moment, Result
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected, expected_at_calls
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, placeholder


class UncalledPolicyFactory(Rule):
    """`uncalled-policy-factory`: a factory in the place of a policy."""

    code = "RML401"
    name = "uncalled-policy-factory"
    category = "correctness"
    severity = Severity.ERROR
    subject = PolicyUse
    examples = (
        Bad(
            "as an option",
            """
import jax

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=jax.checkpoint_policies.save_only_these_names)
#                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
            fixed="""
import jax

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=jax.checkpoint_policies.save_only_these_names("name"))
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
            message=(
                "`save_only_these_names` makes a policy and is none: the forward pass works, but differentiation calls it "
                "with an operation and raises; call it with the names to save"
            ),
            runs=True,
        ),
        Bad(
            "through an alias, in the partial of a decorated method, on one branch",
            """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

class Net:
    def build(self, use_remat):
        body = lambda x: x @ x
        if use_remat:
            policy = cp.offload_dot_with_no_batch_dims  # mémoire hôte
            body = partial(rm, policy=policy)(body)
#                                     ^^^^^^
        return body
""",
            message=(
                "`offload_dot_with_no_batch_dims` makes a policy and is none: the forward pass works, but differentiation "
                "calls it with an operation and raises when `use_remat`; call it with the memory kinds to copy from and to"
            ),
        ),
        Bad(
            "in a table whose other entries are policies",
            """
from jax.ad_checkpoint import checkpoint_policies
import jax

POLICIES = {
    "dots": checkpoint_policies.dots_saveable,
    "both": checkpoint_policies.save_from_both_policies,
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
}

def wrap(f, name):
    return jax.checkpoint(f, policy=POLICIES[name])
""",
            message=(
                "`save_from_both_policies` makes a policy and is none, while other entries of this table are ready to "
                "use: as `policy=` it raises under differentiation; call it with the two policies"
            ),
            severity=Severity.WARNING,
        ),
        Bad(
            "on a decorated function",
            """
import functools
import jax

@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.save_any_names_but_these)
#                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def layer(x):
    return x @ x
""",
            message=(
                "`save_any_names_but_these` makes a policy and is none: the forward pass works, but differentiation calls "
                "it with an operation and raises; call it with the names not to save"
            ),
        ),
        Bad(
            "a partial of a factory",
            """
from functools import partial
import jax

def owner(x):
    policy = partial(jax.checkpoint_policies.save_only_these_names, "h401")
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=policy)
#                                                        ^^^^^^
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
            message=(
                "`save_only_these_names` makes a policy and a `partial` of it is none either: the forward pass works, but "
                "differentiation calls it with an operation and raises; call it with the names to save"
            ),
            runs=True,
        ),
        Bad(
            "by its name, passed on to a function of the project",
            """
import jax

def wrap(f, policy=None):
    return jax.checkpoint(f, policy=policy)

layer = wrap(lambda x: x @ x, getattr(jax.checkpoint_policies, "save_only_these_names"))
#                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        ),
        Good(
            "the factory is called",
            """
import jax

layer = jax.checkpoint(lambda x: x * 2, policy=jax.checkpoint_policies.save_from_both_policies(
    jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.nothing_saveable))
""",
        ),
        Good(
            "a table of factories only, called where it is read",
            """
import jax

cp = jax.checkpoint_policies
FACTORIES = {"only": cp.save_only_these_names, "but": cp.save_any_names_but_these}

def wrap(f, kind, names):
    return jax.checkpoint(f, policy=FACTORIES[kind](*names))
""",
        ),
        Good(
            "a table whose entries are called where that is due",
            """
import jax

cp = jax.checkpoint_policies
POLICIES = {"names": cp.save_only_these_names, "dots": cp.dots_saveable}

def wrap(f, kind, names):
    policy = POLICIES[kind](*names) if kind == "names" else POLICIES[kind]
    return jax.checkpoint(f, policy=policy)
""",
        ),
        Good(
            "a partial over a function of the project is a policy",
            """
from functools import partial
import jax

def keep(names, prim, *_, **params):
    return prim.name in names

layer = jax.checkpoint(lambda x: x * 2, policy=partial(keep, {"dot_general"}))
""",
        ),
        Miss(
            "by a name that is only known when the program runs",
            """
import jax

def wrap(f, name):
    return jax.checkpoint(f, policy=getattr(jax.checkpoint_policies, name))

layer = wrap(lambda x: x * 2, "save_only_these_names")
""",
        ),
    )

    def check(self, subject: PolicyUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report a factory given as a policy, or kept beside policies."""
        if subject.policy.kind == "policy":
            return
        if subject.role == "option" and subject.site is not None:
            if expected_at_calls(subject.site, project, "TypeError", "AssertionError"):
                yield Silent("a test expects the error")
                return
            what = "a `partial` of it is none either" if subject.partial else "is none"
            message = (
                f"`{subject.policy.name}` makes a policy and {what}: the forward pass works, but differentiation calls it "
                f"with an operation and raises{when(subject.site.event)}; call it with {_wanted(subject.policy)}"
            )
            yield Report(Place(subject.module, subject.at), message, self.severity, facts=subject.policy)
        elif subject.role == "table":
            if not _is_mixed(subject, project) or expected(subject.event, project, "TypeError"):
                yield Silent("the table may hold factories that are called later")
                return
            message = (
                f"`{subject.policy.name}` makes a policy and is none, while other entries of this table are ready to use: "
                f"as `policy=` it raises under differentiation; call it with {_wanted(subject.policy)}"
            )
            yield Report(Place(subject.module, subject.at), message, Severity.WARNING, facts=subject.policy)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Offer a call with a hole where the factory itself is written."""
        del project
        policy: Policy = report.facts
        if not report.place.text.endswith(policy.name):
            return None
        return placeholder("Call the factory", report.place.insert_after(_hole(policy)))


def _wanted(policy: Policy) -> str:
    if policy.varargs:
        return (
            "the names not to save"
            if "but" in policy.name or "except" in policy.name
            else "the names to save"
        )
    if policy.name == "save_from_both_policies":
        return "the two policies"
    if policy.positional:
        return "the memory kinds to copy from and to"
    return "the names to save and to offload"


def _hole(policy: Policy) -> str:
    if policy.varargs:
        return '("name")'
    if policy.name == "save_from_both_policies":
        return "(policy_1, policy_2)"
    if policy.positional:
        return '("device", "pinned_host")'
    lists = ", ".join(f'{name}=["name"]' for name in policy.name_lists)
    return f'({lists}, offload_src="device", offload_dst="pinned_host")'


def _is_mixed(use: PolicyUse, project: Analysis) -> bool:
    """Whether a table also holds entries that are ready to use, and nothing in the file calls an entry of it."""
    table = use.table
    if table is None:
        return False
    ready = False
    for item in table.items[1::2]:
        if item is None or item.at == use.at:
            continue
        for value in project.evaluate(item, Moment(use.event.scope, use.event)):
            policy = lookup_policy(value.dotted) if isinstance(value, External | Result) else None
            ready = ready or (policy is not None and (policy.kind == "policy" or isinstance(value, Result)))
    return ready and not _is_called(use)


def _is_called(use: PolicyUse) -> bool:
    """Whether an entry of the table is called somewhere in the file, which only a factory needs."""
    for event in list(use.module.builder.happened.values()):
        func = event.node.func if isinstance(event.node, n.Call) else None
        if isinstance(func, n.Subscript) and is_name(func.value, use.event.name):
            return True
        if (
            isinstance(func, n.Call)
            and isinstance(func.func, n.Attribute)
            and is_name(func.func.value, use.event.name)
        ):
            return True
    return False
