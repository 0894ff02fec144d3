"""Finds a `checkpoint_name` that has no effect, because nothing uses what it returns, or no policy can see it.

## What it does
Reports `checkpoint_name(x, "name")` as a statement or with a result that is never read, with the value and the name
swapped, with a function as the value, and, where the policy of a checkpoint reads the name, outside of the function
that it wraps.

## Why it is a problem
`checkpoint_name` names the value that it *returns*. Where the rest of the function goes on with the old one, or the
name is given outside of the checkpointed function, the policy finds no such name: the value is computed again, and
nothing says so.

## When to ignore it
Never.

## Fix safety
Assigning the result to the value's own name is safe where that is a variable bound earlier in the same function.
Every other fix is unsafe.

## References
<https://docs.jax.dev/en/latest/gradient-checkpointing.html#custom-policies-for-what-s-saveable>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.policies import lookup_policy
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import bodies
from remat_lint.project.names import NameUse, may_be_made_elsewhere, name_uses, texts
from remat_lint.project.policies import PolicyOption, policy_options
from remat_lint.project.scopes import Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import (
    ClassRef,
    FunctionRef,
    Moment,
    Partial,
    Result,
    Transformed,
    Wrapped,
)
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.name_examples import EXAMPLES
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent, safe, unsafe

_DROPPED, _UNREAD, _SWAPPED = "dropped", "unread", "swapped"


@dataclass(frozen=True, slots=True, eq=False)
class _Slip:
    """What the fix needs: how the name gets lost, and the assignment if there is one."""

    kind: str
    use: NameUse
    bind: n.Bind | None = None


class DiscardedName(Rule):
    """`discarded-name`: a name that no policy can meet."""

    code = "RML407"
    name = "discarded-name"
    category = "correctness"
    severity = Severity.ERROR
    subject = NameUse
    examples = EXAMPLES

    def check(self, subject: NameUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report a name that gets lost."""
        place = Place(subject.module, subject.call.at)
        if expected(subject.event, project, "TypeError"):
            yield Silent("a test expects the error")
            return
        misused = _misused(subject, project)
        if misused is not None:
            yield Report(place, misused, self.severity, facts=_Slip(_SWAPPED, subject))
        elif subject.event.bare:
            own = f"`{render(subject.value)}` itself" if _is_place(subject.value) else "what it is given"
            message = (
                f"the result of `checkpoint_name` is thrown away: it names the value that it returns, and {own} stays "
                "without a name; assign the result"
            )
            yield Report(place, message, self.severity, facts=_Slip(_DROPPED, subject))
        else:
            unread = _unread(subject)
            if unread is not None:
                yield Report(
                    place,
                    _unread_message(subject, unread),
                    self.severity,
                    facts=_Slip(_UNREAD, subject, unread),
                )
            else:
                yield from self._outside(subject, project)

    def _outside(self, use: NameUse, project: Analysis) -> Iterator[Report]:
        """Report a name that only stands beside the calls of the checkpoint whose policy reads it."""
        if use.names is None or len(use.names) != 1:
            return
        (name,) = use.names
        text = use.module.source.text
        if "save_only_these_names" not in text or text.count(name) == 1:
            return
        sites = project.wrap_sites(use.module)
        for option in policy_options(use.module, sites, project):
            if name in _saved(option, project) and _is_beside(use, option, project):
                if _is_made_again(name, use, project):
                    return
                message = (
                    f"the name {name!r} is given outside of the function whose checkpoint saves it, and its policy sees "
                    "inside only, so that nothing is saved; name a value inside the function"
                )
                note = Note(Place(option.module, option.at), "this policy reads the name")
                yield Report(Place(use.module, use.call.at), message, self.severity, (note,))
                return

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Assign the result to the value's own name, or swap the arguments."""
        del project
        slip: _Slip | None = report.facts
        if slip is None:
            return None
        use, module = slip.use, report.place.module
        own = _is_own(use)
        if slip.kind == _SWAPPED:
            return _swap(use)
        if slip.kind == _DROPPED and _is_place(use.value) and use.value is not None:
            if isinstance(use.value, n.Name) and not own:
                return None
            edit = report.place.insert_before(f"{module.text_at(use.value.at)} = ")
            return (safe if own else unsafe)("Assign the named value", edit)
        if slip.kind == _UNREAD and own and slip.bind is not None and slip.bind.annotation is None:
            target = Place(module, slip.bind.targets[0].at)
            return safe("Go on with the named value", target.replace(render(use.value)))
        return None


def _is_place(node: n.Expression | None) -> bool:
    """Whether an expression can be assigned to."""
    return isinstance(node, n.Name | n.Attribute | n.Subscript) and "…" not in render(node)


def _is_own(use: NameUse) -> bool:
    """Whether the value is a variable that is bound earlier in the function of the call."""
    node, scope = use.value, use.event.scope
    if use.event.arms and isinstance(scope.node, n.Comprehension):
        return False
    if not isinstance(node, n.Name) or scope.find(node.id) is not scope or scope.kind == "class":
        return False
    return any(event.order < use.event.order for event in scope.bindings.get(node.id, ()))


def _misused(use: NameUse, project: Analysis) -> str | None:
    """Return the message about a value that cannot be named."""
    if use.value is None or use.name is None:
        return None
    moment = Moment(use.event.scope, use.event)
    if texts(use.value, moment, project):
        if use.names:
            return (
                "`checkpoint_name` names values of JAX: given a string as the value it raises TypeError (older releases "
                "of JAX may return the string)"
            )
        return (
            "`checkpoint_name` takes the value first and then its name: given a string as the value it raises TypeError "
            "(older releases of JAX may return the string)"
        )
    values = project.evaluate(use.value, moment)
    if all(isinstance(value, FunctionRef | Wrapped | Partial | Transformed | ClassRef) for value in values):
        text = render(use.value)
        named = f"the function `{text}`" if "…" not in text and text != "lambda" else "a function"
        return (
            f"`checkpoint_name` names values: given {named} it raises TypeError (older releases of JAX may return the "
            "function); name what it returns"
        )
    return None


def _swap(use: NameUse) -> Fix | None:
    """Put the string behind the value, if both stand there by position."""
    if use.names or len(use.call.args) != 2 or any(a.keyword or a.star for a in use.call.args):  # noqa: PLR2004 - value and name
        return None
    first, second = (Place(use.module, argument.value.at) for argument in use.call.args)
    node = use.call.args[1].value
    known = _is_own(NameUse(use.module, use.event, use.call, node, None, None))
    edits = (first.replace(second.text), second.replace(first.text))
    return (safe if known else unsafe)("Swap value and name", *edits)


def _unread(use: NameUse) -> n.Bind | None:
    """Return the assignment of the result to a local name that nothing reads, while the value itself is read later."""
    bind = use.module.builder.parents.of(use.call.at)
    if not isinstance(bind, n.Bind) or bind.value is not use.call or bind.how not in ("assign", "annotated"):
        return None
    target = bind.targets[0]
    if len(bind.targets) != 1 or not isinstance(target, n.Name):
        return None
    holder = use.event.scope.find(target.id)
    if (
        holder is None
        or holder.kind != "function"
        or holder is not use.event.scope
        or not isinstance(holder.node, n.Function)
    ):
        return None
    if target.id in holder.declared or "locals" in _read_names(holder) or target.id in _read_names(holder):
        return None
    if isinstance(use.value, n.Name):
        last = max(node.at for node in walk(use.call))
        later = any(
            isinstance(node, n.Name) and node.id == use.value.id and node.at > last
            for node in walk(holder.node.body)
        )
        return bind if later or use.event.loops else None
    return bind


def _read_names(scope: Scope) -> frozenset[str]:
    """Return the names that a function reads, in functions inside it as well."""
    assert isinstance(scope.node, n.Function)
    written = {
        id(target)
        for node in walk(scope.node.body)
        if isinstance(node, n.Bind) and node.how != "augmented"
        for target in node.targets
    }
    return frozenset(
        node.id for node in walk(scope.node.body) if isinstance(node, n.Name) and id(node) not in written
    )


def _unread_message(use: NameUse, bind: n.Bind) -> str:
    target = render(bind.targets[0])
    goes_on = f", and `{render(use.value)}` goes on without it" if _is_place(use.value) else ""
    return (
        f"`{target}`, which has the name, is never read{goes_on}, so that no policy saves it; go on with what "
        "`checkpoint_name` returns"
    )


def _saved(option: PolicyOption, project: Analysis) -> frozenset[str]:
    """Return the names that a policy saves or offloads, where the text tells them all."""
    found: set[str] = set()
    for choice in option.choices:
        value = choice.value
        policy = lookup_policy(value.dotted) if isinstance(value, Result) else None
        if (
            not isinstance(value, Result)
            or policy is None
            or policy.name != "save_only_these_names"
            or value.event is None
        ):
            return frozenset()
        moment = Moment(value.event.scope, value.event)
        for argument in value.call.args:
            known = None if argument.star else texts(argument.value, moment, project)
            found |= known or frozenset()
    return frozenset(found)


def _is_made_again(name: str, use: NameUse, project: Analysis) -> bool:
    """Whether another `checkpoint_name` may give the same name."""
    others = (other for other in name_uses(use.module, project) if other.call is not use.call)
    if any(other.names is None or name in other.names for other in others):
        return True
    return may_be_made_elsewhere(name, use.module, project)


def _is_beside(use: NameUse, option: PolicyOption, project: Analysis) -> bool:
    """Whether a name is given in the very function that calls the checkpointed one, and not inside of any other."""
    site, frame = option.site, use.event.frame
    calls = [call for call in project.site_calls(site) if call.event.frame is frame]
    known = site.functions and all(function.scope.module is use.module for function in site.functions)
    if not calls or not known:
        return False
    return not any(
        body.contains(use.event.scope)
        for other in project.wrap_sites(use.module)
        for body in bodies(other, project)
    )
