"""Finds wrong arguments of the policy factories that offload values, and of the one that combines two policies.

## What it does
Looks at `save_and_offload_only_these_names`, `offload_dot_with_no_batch_dims` and `save_from_both_policies`: arguments
by position where only keywords are taken, missing, unknown and surplus ones, a name in both lists, memory kinds that
are swapped, equal or no memory kinds, and halves of a policy that are no policies, or offload.

## Why it is a problem
Most of it raises TypeError or ValueError when the policy is made. Swapped memory kinds raise an AssertionError without
a text, and a bad half some other error, under differentiation only. A memory kind that does not exist, or is the same
twice, raises nothing on the CPU, and nothing is offloaded.

## When to ignore it
Never.

## Fix safety
The fix is a placeholder for editors: what was meant is a guess.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#list-of-policies>
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.policies import Policy, lookup_policy
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.choices import Choice, Choices, is_tested
from remat_lint.project.names import text_of, texts
from remat_lint.project.namespace import member
from remat_lint.project.policies import PolicyUse
from remat_lint.project.values import Data, External, Moment, Result
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.offload_examples import EXAMPLES
from remat_lint.rules.policy_shapes import unfit
from remat_lint.rules.policy_values import kind_of
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent, placeholder

_DEVICE, _HOSTS = "device", frozenset({"pinned_host", "unpinned_host"})
_BOTH = "save_from_both_policies"
_ONLY_TWO = 2


class OffloadArguments(Rule):
    """`offload-arguments`: a policy that cannot be made like this, or does nothing."""

    code = "RML410"
    name = "offload-arguments"
    category = "correctness"
    severity = Severity.ERROR
    subject = PolicyUse
    examples = EXAMPLES

    def check(self, subject: PolicyUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report arguments that the factory does not take, or that do not go together."""
        call, policy = subject.call, subject.policy
        parameters = (*policy.positional, *policy.keywords)
        if subject.role != "called" or call is None or policy.kind != "factory" or not parameters:
            return
        if subject.alternatives > 1 or any(argument.star for argument in call.args):
            yield Silent("what is called may be something else, or some arguments are not seen")
            return
        if expected(subject.event, project, "TypeError", "ValueError", "AssertionError"):
            yield Silent("a test expects the error")
            return
        wrong = _signature(policy, call)
        if wrong:
            yield Report(Place(subject.module, call.at), wrong, self.severity, facts=subject)
            return
        given = _bound(policy, call)
        moment = Moment(subject.event.scope, subject.event)
        if policy.name == _BOTH:
            for argument in given.values():
                yield from self._half(argument, subject, moment, project)
            return
        if policy.name_lists:
            yield from self._lists(given, subject, moment, project)
        yield from self._ends(given, subject, moment, project)

    def _half(
        self, argument: n.Argument, use: PolicyUse, moment: Moment, project: Analysis
    ) -> Iterator[Report]:
        for choice in Choices(project).of(argument.value, moment):
            if choice.module is not use.module or any(is_tested(node, scope) for node, scope in choice.names):
                continue
            wrong = _no_half(choice, project)
            if wrong:
                yield Report(Place(choice.module, choice.place.at), wrong, self.severity)
                return

    def _lists(
        self, given: Mapping[str, n.Argument], use: PolicyUse, moment: Moment, project: Analysis
    ) -> Iterator[Report]:
        """Report a list that is none, and names that stand in both."""
        saved, offloaded = (given[name] for name in use.policy.name_lists)
        for argument in (saved, offloaded):
            if isinstance(argument.value, n.Constant) and text_of(argument.value) is None:
                message = (
                    f"`{argument.keyword}` takes a list of names: `{render(argument.value)}` is none, and this raises "
                    "TypeError; give an empty list if there are no names"
                )
                yield Report(Place(use.module, argument.value.at), message, self.severity)
                return
        both = sorted(_names(saved.value, moment, project) & _names(offloaded.value, moment, project))
        if both:
            named = " and ".join(repr(name) for name in both)
            message = (
                f"{named} {'stands' if len(both) == 1 else 'stand'} in both lists, of what is saved and of what is offloaded: "
                "this raises ValueError; keep a name in one of them"
            )
            note = Note(Place(use.module, saved.value.at), "the names that are saved")
            yield Report(Place(use.module, offloaded.value.at), message, self.severity, (note,))

    def _ends(
        self, given: Mapping[str, n.Argument], use: PolicyUse, moment: Moment, project: Analysis
    ) -> Iterator[Report]:
        """Report memory kinds from which, or to which, nothing can be copied."""
        source, target = given["offload_src"], given["offload_dst"]
        src, dst = (_only(texts(end.value, moment, project)) for end in (source, target))
        if src in _HOSTS and dst == _DEVICE:
            message = (
                f"`offload_src` is where a value is made and `offload_dst` where it is kept: from {src!r} to 'device' fails "
                "under differentiation, with an AssertionError without a text; swap them"
            )
            yield Report(Place(use.module, source.value.at), message, self.severity, facts=(source, target))
        elif src is not None and src == dst and src in {_DEVICE, *_HOSTS}:
            message = (
                f"values are offloaded from {src!r} to {dst!r}, which is where they are: no memory is freed; offload from "
                "'device' to 'pinned_host'"
            )
            yield Report(Place(use.module, target.value.at), message, Severity.WARNING)
        else:
            for end, kind in ((source, src), (target, dst)):
                if kind is not None and kind not in {_DEVICE, *_HOSTS}:
                    message = (
                        f"{kind!r} is no memory kind of JAX, although the CPU does not complain: there are 'device', "
                        "'pinned_host' and 'unpinned_host'; offload from 'device' to 'pinned_host'"
                    )
                    yield Report(Place(use.module, end.value.at), message, Severity.WARNING)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Offer the keywords for arguments by position, or the ends the other way round."""
        del project
        if isinstance(report.facts, PolicyUse):
            use, call = report.facts, report.facts.call
            names = (*use.policy.positional, *use.policy.keywords)
            if call is None or not use.policy.keyword_only or len(call.args) != len(names):
                return None
            if any(argument.keyword is not None for argument in call.args):
                return None
            pairs = zip(names, call.args, strict=True)
            edits = [
                Place(use.module, argument.value.at).insert_before(f"{name}=") for name, argument in pairs
            ]
            return placeholder("Give the arguments by keyword", *edits)
        if report.facts is not None:
            source, target = (Place(report.place.module, argument.value.at) for argument in report.facts)
            return placeholder(
                "Swap the memory kinds", source.replace(target.text), target.replace(source.text)
            )
        return None


def _signature(policy: Policy, call: n.Call) -> str:
    """Return the message about arguments that do not fit the factory's parameters."""
    names = (*policy.positional, *policy.keywords)
    positional = [argument for argument in call.args if argument.keyword is None]
    keywords = [argument.keyword for argument in call.args if argument.keyword is not None]
    if policy.keyword_only and positional:
        return (
            f"`{policy.name}` takes its arguments by keyword only: by position this raises TypeError; name them, "
            f"`{names[0]}=` and so on"
        )
    unknown = [keyword for keyword in keywords if keyword not in names]
    if unknown:
        return f"`{policy.name}` has no argument `{unknown[0]}`, so that this raises TypeError; it takes {_listed(names)}"
    if len(positional) > len(names):
        more = "; combine two at a time" if policy.name == _BOTH else ""
        return (
            f"`{policy.name}` takes {len(names)} arguments, so that {len(positional)} raise TypeError{more}"
        )
    missing = [name for name in names[len(positional) :] if name not in keywords]
    if missing:
        listed = policy.name == _BOTH and positional and isinstance(positional[0].value, n.Collection)
        advice = "; give the two policies as two arguments" if listed else ""
        return f"`{policy.name}` needs {_listed(missing)} as well, so that this raises TypeError{advice}"
    return ""


def _listed(names: list[str] | tuple[str, ...]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _bound(policy: Policy, call: n.Call) -> dict[str, n.Argument]:
    """Return the arguments by the names of their parameters."""
    names = (*policy.positional, *policy.keywords)
    found: dict[str, n.Argument] = {}
    for index, argument in enumerate(call.args):
        found[argument.keyword or names[index]] = argument
    return found


def _no_half(choice: Choice, project: Analysis) -> str:
    """Return the message about one half that is no policy, or none that can be combined."""
    value = member(choice.value, project)
    text = render(choice.place)
    policy = lookup_policy(value.dotted) if isinstance(value, External | Result) else None
    if isinstance(value, External) and policy is not None and policy.kind != "policy":
        return (
            f"`{policy.name}` makes a policy and is none, so that differentiation raises TypeError; call it inside of "
            f"`{_BOTH}`"
        )
    if (
        isinstance(value, Result)
        and policy is not None
        and "offload_src" in (*policy.positional, *policy.keywords)
    ):
        return (
            f"`{_BOTH}` combines policies that answer with a bool, and `{policy.name}` does not, so that differentiation "
            "raises ValueError (the oldest releases of JAX offload nothing); write one policy that asks both"
        )
    kind = kind_of(choice)
    # A name may be replaced where it is None; what is written as None is not.
    if isinstance(choice.node, n.Constant) and choice.node.value is None and not choice.names:
        return "one half of the policy is None, so that differentiation raises TypeError; give the other half alone"
    if kind is not None:
        return f"one half of the policy is {kind.words}, so that differentiation raises TypeError{kind.refused}; give a policy"
    wrong, _, advice = unfit(value, project).partition("; ")
    shown = "this function" if isinstance(choice.place, n.Function) or "…" in text else f"`{text}`"
    advice = advice or "a policy is `(prim, *_, **params) -> bool`"
    return f"{shown} {wrong}, so that differentiation raises TypeError; {advice}" if wrong else ""


def _names(node: n.Expression, moment: Moment, project: Analysis) -> frozenset[str]:
    """Return the names that a list holds, as far as they are literal."""
    found: set[str] = set()
    values = project.evaluate(node, moment)
    if len(values) == 1 and isinstance(values[0], Data) and isinstance(values[0].node, n.Collection):
        for item in values[0].node.items:
            if item is not None:
                name = _only(texts(item, values[0].moment, project))
                found |= {name} if name is not None else set()
    return frozenset(found)


def _only(names: frozenset[str] | None) -> str | None:
    return next(iter(names)) if names is not None and len(names) == 1 else None
