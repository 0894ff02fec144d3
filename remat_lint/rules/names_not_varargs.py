"""Finds names given to a policy factory in the wrong form: a list where names are due, a string where a list is.

## What it does
Reports a list, tuple or set given to `save_only_these_names` and the other factories that take names as separate
arguments, `save_only_these_names()` without any name, and a string given to `names_which_can_be_saved` or
`names_which_can_be_offloaded`, which take lists.

## Why it is a problem
A tuple is taken as one name, which no value has, so nothing is saved and nothing raises; a list or set raises
`TypeError: unhashable type`. A string where a list is due is read letter by letter: `"attn"` means the four names
"a", "t", "t" and "n".

## When to ignore it
Never.

## Fix safety
Spreading the names (`*names`) or putting the string into a list is safe where the literal, or the name that holds it,
is seen.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#list-of-policies>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity
from remat_lint.jaxapi.policies import Policy
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.policies import PolicyUse
from remat_lint.project.values import Data, Given, Moment, Result, Value
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, safe

_MAKERS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "dict"})
_HASHABLE = frozenset({"tuple", "frozenset", "generator"})


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """What the fix needs to know: the argument, and whether it is a list to spread or a string to put into one."""

    argument: n.Argument
    spread: bool


class NamesNotVarargs(Rule):
    """`names-not-varargs`: names that the factory does not see."""

    code = "RML405"
    name = "names-not-varargs"
    category = "correctness"
    severity = Severity.ERROR
    subject = PolicyUse
    examples = (
        Bad(
            "a list of names",
            """
import jax

def owner(x):
    policy = jax.checkpoint_policies.save_only_these_names(["query", "clé"])
#                                                          ^^^^^^^^^^^^^^^^
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
            fixed="""
import jax

def owner(x):
    policy = jax.checkpoint_policies.save_only_these_names("query", "clé")
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
            message=(
                "`save_only_these_names` takes names as separate arguments: a list raises TypeError (unhashable type); "
                "spread it with `*`"
            ),
            runs=True,
        ),
        Bad(
            "a tuple kept in a constant, through aliases",
            """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

SAVED = ("q405", "k405")

@partial(rm, policy=cp.save_only_these_names(SAVED))
#                                            ^^^^^
def layer(x):
    return x * x
""",
            fixed="""
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

SAVED = ("q405", "k405")

@partial(rm, policy=cp.save_only_these_names(*SAVED))
def layer(x):
    return x * x
""",
            message=(
                "`save_only_these_names` takes names as separate arguments: the tuple `SAVED` is one name that no value "
                "has, so nothing is saved and nothing raises; spread it with `*`"
            ),
        ),
        Bad(
            "no names at all, in a method",
            """
import jax

class Net:
    def wrap(self, f):
        return jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names())
#                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            message=(
                "`save_only_these_names` without names saves nothing, as no policy at all does; give it names, or drop it"
            ),
        ),
        Bad(
            "a string where a list is due",
            """
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved="attn",
#                            ^^^^^^
    names_which_can_be_offloaded=[],
    offload_src="device",
    offload_dst="pinned_host",
)
""",
            fixed="""
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=["attn"],
    names_which_can_be_offloaded=[],
    offload_src="device",
    offload_dst="pinned_host",
)
""",
            message=(
                "`names_which_can_be_saved` takes a list of names: a string is read letter by letter, so that its letters "
                "are the names; put it into a list"
            ),
        ),
        Good(
            "the names are spread",
            """
import jax

NAMES = ["query", "key"]
policy = jax.checkpoint_policies.save_any_names_but_these(*NAMES)
layer = jax.checkpoint(lambda x: x * x, policy=policy)
""",
        ),
        Good(
            "one name, or a few",
            """
from jax import checkpoint_policies as cp
import jax

ATTENTION = "attention"

class Net:
    def wrap(self, f):
        return jax.checkpoint(f, policy=cp.save_only_these_names(ATTENTION, "mlp"))
""",
        ),
        Good(
            "lists by keyword",
            """
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=("attn",), names_which_can_be_offloaded=[], offload_src="device", offload_dst="pinned_host"
)
layer = jax.checkpoint(lambda x: x * x, policy=policy)
""",
        ),
        Good(
            "a parameter may be one name",
            """
import jax

def wrap(f, name):
    return jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names(name))
""",
        ),
        Miss(
            "a list that comes out of a call",
            """
import jax

def wrap(f, cfg):
    return jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names(cfg.names.split(",")))
""",
        ),
    )

    def check(self, subject: PolicyUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report names in a form that the factory does not take."""
        call, policy = subject.call, subject.policy
        if subject.role != "called" or call is None or policy.kind != "factory":
            return
        if subject.alternatives > 1:
            yield Silent("what is called may be something else")
            return
        if expected(subject.event, project, "TypeError"):
            yield Silent("a test expects the error")
            return
        moment = Moment(subject.event.scope, subject.event)
        if policy.name == "save_only_these_names" and not call.args:
            message = f"`{policy.name}` without names saves nothing, as no policy at all does; give it names, or drop it"
            yield Report(Place(subject.module, call.at), message, self.severity)
        for argument in call.args:
            if policy.varargs and argument.keyword is None and not argument.star:
                yield from self._listed(subject, argument, moment, project)
            elif argument.keyword in policy.name_lists and _is_text(argument.value, moment, project):
                message = (
                    f"`{argument.keyword}` takes a list of names: a string is read letter by letter, so that its letters "
                    "are the names; put it into a list"
                )
                place = Place(subject.module, argument.value.at)
                yield Report(place, message, self.severity, facts=_Form(argument, spread=False))

    def _listed(
        self, use: PolicyUse, argument: n.Argument, moment: Moment, project: Analysis
    ) -> Iterator[Report]:
        kinds = {_kind(value) for value in project.evaluate(argument.value, moment)}
        if "" in kinds or not kinds:
            return
        kind = kinds.pop()
        named = (
            f"the {kind} `{render(argument.value)}`" if isinstance(argument.value, n.Name) else f"a {kind}"
        )
        message = f"`{use.policy.name}` takes names as separate arguments: {named} {_result(use.policy, kind)}; spread it with `*`"
        severity = self.severity if use.policy.refuses_list else Severity.WARNING
        yield Report(Place(use.module, argument.at), message, severity, facts=_Form(argument, spread=True))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Spread the names, or put the string into a list."""
        del project
        form: _Form | None = report.facts
        if form is None:
            return None
        if not form.spread:
            place = Place(report.place.module, form.argument.value.at)
            return safe("Put the name into a list", place.insert_before("["), place.insert_after("]"))
        text = report.place.text
        literal = isinstance(form.argument.value, n.Collection) and form.argument.value.kind in (
            "list",
            "tuple",
            "set",
        )
        inner = text[1:-1]
        if (
            literal
            and text[:1] in "([{"
            and inner.strip()
            and not inner.rstrip().endswith(",")
            and "#" not in inner
        ):
            source, span = report.place.module.source, report.place.span
            start, end = source.offset(span.start), source.offset(span.end)
            edits = (Edit(source.span(start, start + 1), ""), Edit(source.span(end - 1, end), ""))
            return safe("Give the names as separate arguments", *edits)
        return safe("Spread the names", report.place.insert_before("*"))


def _kind(value: Value) -> str:
    """Return what kind of container a value is; empty if it is none, or that is not known."""
    if isinstance(value, Data):
        if isinstance(value.node, n.Collection):
            return value.node.kind
        if isinstance(value.node, n.Comprehension):
            return value.node.kind
    if isinstance(value, Result) and value.dotted.removeprefix("builtins.") in _MAKERS:
        name = value.dotted.removeprefix("builtins.")
        return "list" if name == "sorted" else name
    if isinstance(value, Given):
        node = value.parameter.annotation
        base = node.value if isinstance(node, n.Subscript) else node
        name = base.id.lower() if isinstance(base, n.Name) else ""
        return name if name in ("list", "tuple", "set", "frozenset") else ""
    return ""


def _result(policy: Policy, kind: str) -> str:
    if not policy.refuses_list:
        return "is one name that no value has"
    if kind not in _HASHABLE:
        return "raises TypeError (unhashable type)"
    if policy.name == "save_only_these_names":
        return "is one name that no value has, so nothing is saved and nothing raises"
    return "is one name that no value has, so no name is left out and nothing raises"


def _is_text(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    for value in project.evaluate(node, moment):
        if not isinstance(value, Data):
            return False
        text = (
            isinstance(value.node, n.Constant) and isinstance(value.node.value, str) and not value.node.kind
        )
        if not text and not (isinstance(value.node, n.Operation) and value.node.op == "string"):
            return False
    return True
