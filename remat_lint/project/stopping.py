"""Whether everything that a wrap site returns is a constant for the derivative, because of `stop_gradient`."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.placement import Use
from remat_lint.project.scopes import Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, FunctionRef, Moment, WrapSite

_STOPS = frozenset({"jax.lax.stop_gradient"})
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})


def stops_gradient(site: WrapSite, project: Analysis) -> bool:
    """Whether no derivative passes through what the site returns: it stops inside, or at every use."""
    bodies = site.bodies
    if bodies and all(
        isinstance(body, FunctionRef) and _returns_constant(body.scope, project) for body in bodies
    ):
        return True
    placement = project.placement(site)
    uses = placement.uses(site)
    if not uses or placement.is_handed_on(site) or any(use.how != "call" for use in uses):
        return False
    return all(_is_stopped(use, project) for use in uses)


def _returns_constant(scope: Scope, project: Analysis) -> bool:
    returned = [event.value for event in scope.returns]
    return bool(returned) and all(
        isinstance(value, n.Call) and _stops(value, scope, project) for value in returned
    )


def _is_stopped(use: Use, project: Analysis) -> bool:
    if use.call is None:
        return False
    frame = use.event.frame
    parents = frame.module.builder.parents
    above = parents.of(use.call.at)
    if isinstance(above, n.Call):
        return above.func is not use.call and _stops(above, frame, project)
    if not isinstance(above, n.Bind) or len(above.targets) != 1 or not isinstance(above.targets[0], n.Name):
        return False
    name = above.targets[0]
    if not isinstance(frame.node, n.Function) or len(frame.bindings.get(name.id, ())) != 1:
        return False
    reads = [
        part
        for part in walk(frame.node.body)
        if isinstance(part, n.Name) and part.id == name.id and part is not name
    ]
    around = [parents.of(part.at) for part in reads]
    return bool(around) and all(isinstance(one, n.Call) and _stops(one, frame, project) for one in around)


def _stops(call: n.Call, frame: Scope, project: Analysis) -> bool:
    """Whether a call is `stop_gradient` of something, or maps it over a tree."""
    event = frame.module.happened(call.at)
    if event is None:
        return False
    moment = Moment(event.scope, event)
    values = project.evaluate(call.func, moment)
    if _are_all(values, _MAPS) and call.args:
        values = project.evaluate(call.args[0].value, moment)
    return _are_all(values, _STOPS)


def _are_all(values: tuple[object, ...], names: frozenset[str]) -> bool:
    return bool(values) and all(isinstance(value, External) and value.dotted in names for value in values)
