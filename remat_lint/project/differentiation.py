"""How much of what is differentiated a wrap site is: all of it, all of its layers, or a piece of straight code."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.interior import is_light
from remat_lint.project.placement import DERIVATIVES, Contexts, Placement, Use
from remat_lint.project.scopes import Scope
from remat_lint.project.values import External, Moment, WrapSite

_HIGHEST = 6
_BRANCHES = ("cond", "switch")


def differentiated_whole(site: WrapSite, placement: Placement, project: Analysis) -> Use | None:
    """Return the derivative that is taken of the result of a site itself, or of a function that only passes it on."""
    direct = first_derivative(placement.uses(site), project)
    if direct is not None:
        return direct
    for use in placement.uses(site):
        frame = use.event.frame
        if use.how == "call" and frame.kind == "function" and _only_passes_on(frame, use, project):
            found = first_derivative(placement.uses(frame), project)
            if found is not None:
                return found
    return None


def first_derivative(uses: tuple[Use, ...], project: Analysis) -> Use | None:
    """Return the first place that applies a derivative, rather than one that calls or compiles the result of it."""
    found = [use for use in uses if use.how == "grad"]
    for use in found:
        if use.call is None:
            return use
        values = project.evaluate(use.call.func, Moment(use.event.scope, use.event))
        if any(isinstance(value, External) and value.dotted in DERIVATIVES for value in values):
            return use
    return found[0] if found else None


def _only_passes_on(frame: Scope, use: Use, project: Analysis) -> bool:
    """Whether a function returns what the call gives, and does nothing besides."""
    if use.call is None or use.event.loops or not frame.returns:
        return False
    for returned in frame.returns:
        value = returned.value
        parts = value.items if isinstance(value, n.Collection) else (value,)
        names = [part.id for part in parts if isinstance(part, n.Name)]
        bound = [event for name in names for event in frame.bindings.get(name, ())]
        direct = isinstance(value, n.Call) and value.at == use.call.at
        if not direct and not (bound and all(event.value is use.call for event in bound)):
            return False
    return is_light(frame, project, without=frozenset({use.call.at}))


def is_outermost(site: WrapSite, use: Use, contexts: Contexts, placement: Placement) -> bool:
    """Whether nothing around the derivative is differentiated in turn or run by a loop of XLA, and nothing else uses it."""
    if contexts.loops or contexts.derivatives:
        return False
    for other in placement.uses(site):
        inside = other.how == "call" and other.event.frame.kind == "function"
        if inside and other.event.frame is not use.event.frame and not placement.uses(other.event.frame):
            return False
        if inside and other.event.loops:
            return False
    frame = use.event.frame
    if frame.kind != "function":
        return True
    above = placement.contexts(frame)
    return not (above.loops or above.grads or above.derivatives)


def called_once(contexts: Contexts, placement: Placement, project: Analysis) -> Use | None:
    """Return the derivative of a function in which the site's result is called once and that does little besides."""
    if contexts.loops or contexts.rounds or contexts.derivatives or contexts.is_handed_on:
        return None
    if len(contexts.calls) != 1:
        return None
    use = contexts.calls[0]
    for _ in range(_HIGHEST):
        frame = use.event.frame
        if frame.kind != "function" or use.call is None or use.event.loops:
            return None
        if not is_light(frame, project, without=frozenset({use.call.at})):
            return None
        found = first_derivative(placement.uses(frame), project)
        if found is not None:
            return found
        calls = [other for other in placement.uses(frame) if other.how != "made"]
        if len(calls) != 1 or calls[0].how != "call":
            return None
        use = calls[0]
    return None


def is_straight(use: Use, placement: Placement) -> bool:
    """Whether a call is seen in straight code that is differentiated, and no loop or branch of XLA runs that code."""
    frame = use.event.frame
    if frame.kind != "function":
        return False
    above = placement.contexts(frame)
    if above.loops or any(other.dotted.rpartition(".")[2] in _BRANCHES for other in placement.uses(frame)):
        return False
    return bool(above.grads) or (bool(use.event.loops) and not placement.is_handed_on(frame))
