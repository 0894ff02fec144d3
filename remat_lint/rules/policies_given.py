"""Whether a wrap site is given a policy that may keep something."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.values import Data, External, Moment, WrapSite


def keeps_something(site: WrapSite, project: Analysis) -> bool:
    """Whether a policy is given that may keep something, or options are hidden by `**`."""
    policy = site.options.get("policy")
    if policy is None:
        return site.spread
    moment = site.option_moments.get("policy", Moment(site.scope, site.event))
    for value in project.evaluate(policy.value, moment):
        nothing = isinstance(value, External) and value.dotted.endswith(".nothing_saveable")
        absent = isinstance(value, Data) and isinstance(value.node, n.Constant) and value.node.value is None
        if not nothing and not absent:
            return True
    return False
