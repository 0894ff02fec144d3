"""Where a member of `jax.checkpoint_policies` is used: called, given as a policy, or kept in a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.policies import Policy, lookup_policy
from remat_lint.project.analysis import Analysis
from remat_lint.project.choices import Choice, Choices
from remat_lint.project.modules import Module
from remat_lint.project.namespace import member, module_events
from remat_lint.project.scopes import Event
from remat_lint.project.values import Data, External, Moment, Partial, Value, WrapSite


@dataclass(frozen=True, slots=True, eq=False)
class PolicyUse:
    """One use of a policy or a policy factory.

    Attributes:
        module: where it stands.
        policy: the member that is used.
        at: number of the expression that names it.
        role: called (then `call` is set), option (given as `policy=` to `site`), half (given to
            `save_from_both_policies`) or table (a value of a dict).
        event: the moment of the use.
        alternatives: how many things the expression can stand for, this one included.
        partial: whether a `functools.partial` of the member is what is given.
        table: the dict of which it is a value.
    """

    module: Module
    policy: Policy
    at: int
    role: str
    event: Event
    call: n.Call | None = None
    site: WrapSite | None = None
    alternatives: int = 1
    partial: bool = False
    table: n.Collection | None = None


@dataclass(frozen=True, slots=True, eq=False)
class PolicyOption:
    """What the option `policy` of a wrap site can be.

    Attributes:
        module: where the option stands.
        at: number of the expression that is given.
        site: the site, the first one of those that are given the same expression.
        event: the moment at which the expression is evaluated.
        choices: what it can stand for.
    """

    module: Module
    at: int
    site: WrapSite
    event: Event
    choices: tuple[Choice, ...]


def policy_uses(module: Module, sites: Sequence[WrapSite], project: Analysis) -> tuple[PolicyUse, ...]:
    """Return the uses in a module, in no particular order, each expression once for each role."""
    found = [*_called(module, project), *_tabled(module, project)]
    for option in policy_options(module, sites, project):
        found += _given(option, project)
    uses: dict[tuple[int, str, str], PolicyUse] = {}
    for use in found:
        if use.module is module:
            uses.setdefault((use.at, use.role, use.policy.name), use)
    return tuple(uses.values())


def policy_options(module: Module, sites: Sequence[WrapSite], project: Analysis) -> tuple[PolicyOption, ...]:
    """Return the `policy` options of the sites of a module that are given there, each expression once for each caller."""
    follow = Choices(project)
    found: dict[tuple[object, ...], PolicyOption] = {}
    for site in sites:
        given = _option(site, project)
        if given is None or given[1].event is None:
            continue
        node, moment = given
        choices = tuple(
            _dynamic_choice(choice, project) for choice in follow.of(node, moment) if choice.module is module
        )
        key = (moment.scope.module.path, node.at, *sorted({choice.place.at for choice in choices}))
        if choices and key not in found and moment.event is not None:
            found[key] = PolicyOption(moment.scope.module, node.at, site, moment.event, choices)
    return tuple(found.values())


def _option(site: WrapSite, project: Analysis) -> tuple[n.Expression, Moment] | None:
    """Return the expression given as `policy`, also through a dict that is spread into the call."""
    option, moment = site.options.get("policy"), site.option_moments.get("policy")
    if option is not None and moment is not None:
        return option.value, moment
    call = site.event.node
    if not site.spread or not isinstance(call, n.Call):
        return None
    here = Moment(site.event.scope, site.event, site.env)
    for argument in call.args:
        if argument.star == "**":
            for value in project.evaluate(argument.value, here):
                if isinstance(value, Data) and isinstance(value.node, n.Collection):
                    entry = _entry(value.node, "policy")
                    if entry is not None:
                        return entry, value.moment
    return None


def _entry(table: n.Collection, key: str) -> n.Expression | None:
    """Return the last value of a dict display under a literal key."""
    found = None
    if table.kind == "dict":
        for name, value in zip(table.items[::2], table.items[1::2], strict=True):
            if isinstance(name, n.Constant) and name.value == key:
                found = value
    return found


def _called(module: Module, project: Analysis) -> Iterator[PolicyUse]:
    follow = Choices(project)
    for event in module.calls():
        if not isinstance(event.node, n.Call) or not module.leading.may_lead(event.node.func, event.scope):
            continue
        call, moment = event.node, Moment(event.scope, event)
        values = [member(value, project) for value in project.evaluate(call.func, moment)]
        for policy in policies(values):
            count = len(values)
            yield PolicyUse(module, policy, call.func.at, "called", event, call, alternatives=count)
            if policy.name == "save_from_both_policies":
                for argument in call.args:
                    yield from _halves(argument, moment, follow, project)


def _halves(argument: n.Argument, moment: Moment, follow: Choices, project: Analysis) -> Iterator[PolicyUse]:
    choices = follow.of(argument.value, moment)
    for choice in choices:
        for policy in policies([member(choice.value, project)]):
            if moment.event is not None:
                yield PolicyUse(
                    choice.module, policy, choice.place.at, "half", moment.event, alternatives=len(choices)
                )


def _given(option: PolicyOption, project: Analysis) -> Iterator[PolicyUse]:
    for choice in option.choices:
        value, partial = choice.value, False
        if isinstance(value, Partial):
            value, partial = value.target, True
        entry = choice.table is not None
        for policy in policies([member(value, project)]):
            yield PolicyUse(
                choice.moment.scope.module if entry else choice.module,
                policy,
                choice.node.at if entry else choice.place.at,
                "table" if entry else "option",
                option.event,
                site=option.site,
                alternatives=1 if choice.sure else max(2, len(option.choices)),
                partial=partial,
                table=choice.table,
            )


def _tabled(module: Module, project: Analysis) -> Iterator[PolicyUse]:
    for event in module_events(module):
        value = event.value
        if (
            event.kind in ("bind", "store", "return")
            and isinstance(value, n.Collection)
            and value.kind == "dict"
        ):
            for item in value.items[1::2]:
                if isinstance(item, n.Name | n.Attribute) and module.leading.may_lead(item, event.scope):
                    values = project.evaluate(item, Moment(event.scope, event))
                    for policy in policies(values):
                        yield PolicyUse(
                            module, policy, item.at, "table", event, alternatives=len(values), table=value
                        )


def policies(values: Sequence[Value]) -> list[Policy]:
    """Return the members of the namespace among some values."""
    found = (lookup_policy(value.dotted) for value in values if isinstance(value, External))
    return [policy for policy in found if policy is not None]


def _dynamic_choice(choice: Choice, project: Analysis) -> Choice:
    """Return the choice with the member that a `getattr` by a known name gives."""
    value = member(choice.value, project)
    if value is choice.value:
        return choice
    return replace(choice, value=value)
