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
from remat_lint.project.names import text_of
from remat_lint.project.policies import PolicyUse
from remat_lint.project.values import Data, External, Given, Moment, Result, Value
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.policy_values import annotated
from remat_lint.rules.rule import Place, Report, Rule, Silent, safe
from remat_lint.rules.varargs_examples import EXAMPLES

_MAKERS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "dict"})
_HASHABLE = frozenset({"tuple", "frozenset", "generator"})


@dataclass(frozen=True, slots=True, eq=False)
class _Form:
    """What the fix needs to know: the argument, and what to do with it: spread, enclose, gather or name.

    Spread a list, enclose a string in a list, gather the letters of a spread string, or drop a keyword (name).
    """

    argument: n.Argument
    action: str


class NamesNotVarargs(Rule):
    """`names-not-varargs`: names that the factory does not see."""

    code = "RML405"
    name = "names-not-varargs"
    category = "correctness"
    severity = Severity.ERROR
    subject = PolicyUse
    examples = EXAMPLES

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
            if policy.varargs and argument.keyword is None:
                yield from self._one(subject, argument, moment, project)
            elif policy.varargs and not argument.star:
                yield self._by_keyword(subject, argument)
            elif argument.keyword in policy.name_lists and _is_text(argument.value, moment, project):
                message = (
                    f"`{argument.keyword}` takes a list of names: a string is read letter by letter, so that its letters "
                    "are the names; put it into a list"
                )
                place = Place(subject.module, argument.value.at)
                yield Report(place, message, self.severity, facts=_Form(argument, "enclose"))

    def _by_keyword(self, use: PolicyUse, argument: n.Argument) -> Report:
        """Report a name, or names, given by a keyword that the factory does not have."""
        message = (
            f"`{use.policy.name}` takes names as separate arguments and none by keyword: `{argument.keyword}=` raises "
            "TypeError; leave the keyword out"
        )
        assert use.call is not None
        alone = len(use.call.args) == 1
        return Report(
            Place(use.module, argument.at),
            message,
            self.severity,
            facts=_Form(argument, "name") if alone else None,
        )

    def _one(
        self, use: PolicyUse, argument: n.Argument, moment: Moment, project: Analysis
    ) -> Iterator[Report]:
        """Report one argument that is no name."""
        place = Place(use.module, argument.at)
        if argument.star:
            if _is_text(argument.value, moment, project):
                message = "a string is spread letter by letter, so that its letters are the names; leave the `*` out"
                yield Report(place, message, self.severity, facts=_Form(argument, "gather"))
            return
        if isinstance(argument.value, n.Constant) and argument.value.value is None:
            message = f"`{use.policy.name}` takes names: None is one that no value has; give names, or drop the policy"
            yield Report(place, message, self.severity)
            return
        values = project.evaluate(argument.value, moment)
        known = _is_split(argument.value) and not any(
            isinstance(value, External | Result) for value in values
        )
        kinds = {"list"} if known else {_kind(value, project) for value in values}
        if "" in kinds or not kinds:
            return
        kind = min(kinds)
        named = (
            f"the {kind} `{render(argument.value)}`" if isinstance(argument.value, n.Name) else f"a {kind}"
        )
        message = f"`{use.policy.name}` takes names as separate arguments: {named} {_result(use.policy, kind)}; spread it with `*`"
        severity = self.severity if use.policy.refuses_list else Severity.WARNING
        yield Report(place, message, severity, facts=_Form(argument, "spread"))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Spread the names, or put the string into a list."""
        del project
        form: _Form | None = report.facts
        if form is None:
            return None
        module = report.place.module
        value = Place(module, form.argument.value.at)
        if form.action == "enclose":
            return safe("Put the name into a list", value.insert_before("["), value.insert_after("]"))
        if form.action == "gather":
            return safe("Give the string itself", report.place.replace(value.text))
        if form.action == "name":
            return _without_keyword(report.place, form.argument, value)
        inner = _unpacked(form.argument.value, report.place)
        if inner is not None:
            return safe("Give the names as separate arguments", *inner)
        return safe("Spread the names", report.place.insert_before("*"))


def _without_keyword(place: Place, argument: n.Argument, value: Place) -> Fix | None:
    """Return the fix for `names=…`, if what is given is plainly a string or a list."""
    if text_of(argument.value) is not None:
        return safe("Give the name itself", place.replace(value.text))
    listed = isinstance(argument.value, n.Collection) and argument.value.kind in ("list", "tuple", "set")
    if not listed:
        return None
    text = value.text[1:-1].strip()
    whole = text and not text.endswith(",") and "#" not in text
    return safe("Give the names as separate arguments", place.replace(text if whole else f"*{value.text}"))


def _unpacked(node: n.Expression, place: Place) -> tuple[Edit, ...] | None:
    """Return the edits that take the brackets off a list; None where it must be spread."""
    text = place.text
    inner = text[1:-1]
    literal = isinstance(node, n.Collection) and node.kind in ("list", "tuple", "set") and text[:1] in "([{"
    if not literal or not inner.strip() or inner.rstrip().endswith(",") or "#" in inner:
        return None
    source, span = place.module.source, place.span
    start, end = source.offset(span.start), source.offset(span.end)
    return Edit(source.span(start, start + 1), ""), Edit(source.span(end - 1, end), "")


def _kind(value: Value, project: Analysis) -> str:
    """Return what kind of container a value is; empty if it is none, or that is not known."""
    match value:
        case Data():
            return _kind_of_node(value.node, value.moment, project)
        case Result():
            name = value.dotted.removeprefix("builtins.")
            return ("list" if name == "sorted" else name) if name in _MAKERS else ""
        case Given() if value.parameter.kind == "star":
            return "tuple"
        case Given():
            name = annotated(value.parameter.annotation)
            return name if name in _MAKERS else ""
        case _:
            return ""


def _kind_of_node(node: n.Expression, moment: Moment, project: Analysis) -> str:
    match node:
        case n.Collection() | n.Comprehension():
            return node.kind
        case n.Operation() if node.op == "+":
            # A list is only added to a list, and a tuple to a tuple.
            parts = [_kinds(operand, moment, project) for operand in node.operands]
            return next((kind for kind in parts if kind in ("list", "tuple")), "")
        case _:
            return ""


def _kinds(node: n.Expression, moment: Moment, project: Analysis) -> str:
    found = {_kind(value, project) for value in project.evaluate(node, moment)}
    return found.pop() if len(found) == 1 else ""


def _is_split(node: n.Expression) -> bool:
    """Whether an expression is `text.split(",")`, which gives a list."""
    return (
        isinstance(node, n.Call)
        and isinstance(node.func, n.Attribute)
        and node.func.attr in ("split", "rsplit", "splitlines")
        and all(text_of(argument.value) is not None for argument in node.args)
    )


def _result(policy: Policy, kind: str) -> str:
    if not policy.refuses_list:
        return "is one name that no value has"
    if kind not in _HASHABLE:
        return "raises TypeError (unhashable type)"
    if policy.name == "save_only_these_names":
        return "is one name that no value has, so nothing is saved and nothing raises"
    return "is one name that no value has, so no name is left out and nothing raises"


def _is_text(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    """Whether an expression is a string, a parameter by its annotation."""
    return all(_is_text_value(value) for value in project.evaluate(node, moment))


def _is_text_value(value: Value) -> bool:
    match value:
        case Given():
            return annotated(value.parameter.annotation) == "str"
        case Data(node=n.Operation(op="string")):
            return True
        case Data():
            return text_of(value.node) is not None
        case _:
            return False
