"""Finds a policy that JAX cannot call: a string, a flag, a list, or a function of the wrong shape.

## What it does
Reports `policy=` with a string, a bool, a number, a list, tuple, set or dict, the namespace of policies itself, an
object or class that is no policy, and a function that does not take `(prim, *_, **params)` or does not return a bool.

## Why it is a problem
Nothing calls the policy in the forward pass, so that it works. Under differentiation JAX calls
the policy with each operation, its operands and, by keyword, its parameters, and that raises TypeError. A falsy value
such as `False` raises nothing: it is taken as no policy.

## When to ignore it
For a falsy value, where you mean no policy.

## Fix safety
A string that is the name of a policy becomes the policy itself: safe where the string is written as the option, or in
a name that nothing else reads. Other reports have no fix.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#custom-policies-for-what-s-saveable>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.policies import POLICIES, find_nearest
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.choices import Choice, is_tested
from remat_lint.project.policies import PolicyOption
from remat_lint.project.scopes import Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import Data
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected_at_calls
from remat_lint.rules.policy_examples import NON_CALLABLE
from remat_lint.rules.policy_shapes import unfit
from remat_lint.rules.policy_values import Kind, kind_of, namespace_text
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent, safe


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A string that names a policy: where it is written, and whether nothing else reads it."""

    literal: Place
    name: str
    alone: bool


class NonCallablePolicy(Rule):
    """`non-callable-policy`: something in the place of a policy that JAX cannot ask."""

    code = "RML403"
    name = "non-callable-policy"
    category = "correctness"
    severity = Severity.ERROR
    subject = PolicyOption
    examples = NON_CALLABLE

    def check(self, subject: PolicyOption, project: Analysis) -> Iterator[Report | Silent]:
        """Report what is given as a policy and is none."""
        if expected_at_calls(subject.site, project, "TypeError", "AssertionError"):
            yield Silent("a test expects the error")
            return
        seen: set[Place] = set()
        for choice in subject.choices:
            kind = kind_of(choice)
            report = (
                self._shape(choice, subject, project) if kind is None else self._value(kind, choice, subject)
            )
            if report is not None and report.place not in seen:
                seen.add(report.place)
                yield report

    def _shape(self, choice: Choice, subject: PolicyOption, project: Analysis) -> Report | None:
        """Report a callable that does not take what JAX gives, or returns no bool."""
        wrong, _, advice = unfit(choice.value, project).partition("; ")
        if not wrong or choice.table is not None:
            return None
        text = render(choice.place)
        subject_text = "this function" if isinstance(choice.place, n.Function) or "…" in text else f"`{text}`"
        condition = "" if choice.sure else when(subject.event)
        message = (
            f"{subject_text} {wrong}, so that differentiation raises TypeError{condition}; "
            f"{advice or 'a policy is `(prim, *_, **params) -> bool`'}"
        )
        return Report(Place(choice.module, choice.place.at), message, self.severity)

    def _value(self, kind: Kind, choice: Choice, subject: PolicyOption) -> Report | None:
        """Report something that cannot be called."""
        if any(is_tested(node, scope) for node, scope in choice.names):
            return None
        place, severity = Place(choice.module, choice.place.at), self.severity
        if kind.falsy:
            # One falsy possibility among others is how code says that it may want no policy.
            message = f"`policy` is {kind.words}, which JAX takes as no policy at all; leave it out, or give a policy"
            sure = choice.sure and choice.table is None and kind.type != "dict"
            return Report(place, message, Severity.WARNING) if sure else None
        if choice.table is not None:
            place, severity = Place(choice.moment.scope.module, choice.node.at), Severity.WARNING
            if place.module is not subject.module or _is_named(choice):
                return None
        condition = "" if choice.sure or choice.table is not None else when(subject.event)
        given = "an entry of this table that is given as `policy`" if choice.table is not None else "`policy`"
        message = f"{given} is {kind.words}: {kind.result}{condition}; {_advice(choice, kind)}"
        return Report(place, message, severity, self._notes(choice), self._known(choice))

    @staticmethod
    def _notes(choice: Choice) -> tuple[Note, ...]:
        if not isinstance(choice.value, Data) or choice.node is choice.place or choice.table is not None:
            return ()
        return (Note(Place(choice.moment.scope.module, choice.node.at), "it is written here"),)

    @staticmethod
    def _known(choice: Choice) -> _Known | None:
        if not isinstance(choice.node, n.Constant) or not isinstance(choice.node.value, str):
            return None
        policy = POLICIES.get(choice.node.value)
        if policy is None or policy.kind != "policy":
            return None
        literal = Place(choice.moment.scope.module, choice.node.at)
        alone = choice.node is choice.place or all(_is_read_once(node, scope) for node, scope in choice.names)
        return _Known(literal, policy.name, alone)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put the policy in the place of its name."""
        known: _Known | None = report.facts
        if known is None or not known.alone or known.literal.module is not report.place.module:
            return None
        namespace, edits = namespace_text(known.literal, project)
        return safe(f"Give `{known.name}` itself", known.literal.replace(f"{namespace}.{known.name}"), *edits)


def _advice(choice: Choice, kind: Kind) -> str:
    node = choice.node
    if isinstance(node, n.Constant) and isinstance(node.value, str):
        known = POLICIES.get(node.value) or find_nearest(node.value)
        if known is not None and known.kind == "policy":
            return f"give `{known.name}` of `jax.checkpoint_policies` itself"
        if known is not None and known.kind == "factory":
            return f"give what `{known.name}` of `jax.checkpoint_policies` makes"
    if isinstance(node, n.Collection) and kind.type in ("list", "tuple") and len(node.items) == 2:  # noqa: PLR2004 - it combines two
        return "two policies become one by `save_from_both_policies`"
    return "give a member of `jax.checkpoint_policies`, or leave `policy` out"


def _is_named(choice: Choice) -> bool:
    """Whether the code that looks into a table treats the entry's key apart from others."""
    if not isinstance(choice.key, n.Constant):
        return True
    for _, scope in choice.names:
        body = scope.frame.node.body if isinstance(scope.frame.node, n.Function) else ()
        for node in walk(body):
            parts = node.operands if isinstance(node, n.Operation) else ()
            if any(isinstance(part, n.Constant) and part.value == choice.key.value for part in parts):
                return True
    return False


def _is_read_once(node: n.Expression, scope: Scope) -> bool:
    """Whether a local name is bound once and read once."""
    holder = scope.find(node.id) if isinstance(node, n.Name) else None
    if holder is None or not isinstance(holder.node, n.Function) or not isinstance(node, n.Name):
        return False
    uses = sum(isinstance(other, n.Name) and other.id == node.id for other in walk(holder.node.body))
    return len(holder.bindings[node.id]) == 1 and uses == 2  # noqa: PLR2004 - where it is bound, and where it is read
