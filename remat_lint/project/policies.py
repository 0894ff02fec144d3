"""Where a member of `jax.checkpoint_policies` is used: called, given as a policy, or kept in a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.policies import Policy, lookup_policy
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event
from remat_lint.project.values import External, Moment, Value, WrapSite


@dataclass(frozen=True, slots=True, eq=False)
class PolicyUse:
    """One use of a policy or a policy factory.

    Attributes:
        module: where it stands.
        policy: the member that is used.
        at: number of the expression that names it.
        role: called (then `call` is set), option (given as `policy=` to `site`) or table (a value of a dict).
        event: the moment of the use.
        alternatives: how many things the expression can stand for, this one included.
    """

    module: Module
    policy: Policy
    at: int
    role: str
    event: Event
    call: n.Call | None = None
    site: WrapSite | None = None
    alternatives: int = 1


def policy_uses(module: Module, sites: Sequence[WrapSite], project: Analysis) -> tuple[PolicyUse, ...]:
    """Return the uses in a module, in no particular order, each expression once for each role."""
    found = [*_called(module, project), *_tabled(module, project)]
    for site in sites:
        found += _given(site, project)
    return tuple({(use.at, use.role, use.policy.name): use for use in found if use.module is module}.values())


def _called(module: Module, project: Analysis) -> Iterator[PolicyUse]:
    for event in list(module.builder.happened.values()):
        if isinstance(event.node, n.Call):
            values = project.evaluate(event.node.func, Moment(event.scope, event))
            for policy in _policies(values):
                yield PolicyUse(
                    module, policy, event.node.func.at, "called", event, event.node, alternatives=len(values)
                )


def _given(site: WrapSite, project: Analysis) -> Iterator[PolicyUse]:
    option = site.options.get("policy")
    moment = site.option_moments.get("policy")
    if option is None or moment is None or moment.event is None:
        return
    # A name that holds the policy is followed, so that the finding stands where the policy is given.
    values = project.evaluate(option.value, moment)
    for policy in _policies(values):
        module = moment.scope.module
        yield PolicyUse(
            module, policy, option.value.at, "option", moment.event, site=site, alternatives=len(values)
        )


def _tabled(module: Module, project: Analysis) -> Iterator[PolicyUse]:
    for event in _events(module):
        value = event.value
        if (
            event.kind in ("bind", "store", "return")
            and isinstance(value, n.Collection)
            and value.kind == "dict"
        ):
            for item in value.items[1::2]:
                if isinstance(item, n.Name | n.Attribute):
                    values = project.evaluate(item, Moment(event.scope, event))
                    for policy in _policies(values):
                        yield PolicyUse(module, policy, item.at, "table", event, alternatives=len(values))


def _events(module: Module) -> Iterator[Event]:
    yield from list(module.scope.events)
    for scope in list(module.builder.scopes.values()):
        yield from list(scope.events)


def _policies(values: Sequence[Value]) -> list[Policy]:
    found = (lookup_policy(value.dotted) for value in values if isinstance(value, External))
    return [policy for policy in found if policy is not None]
