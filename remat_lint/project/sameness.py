"""Whether two expressions are one checkpointed computation done twice, so that comparing them shows nothing."""

from __future__ import annotations

from collections.abc import Hashable

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.comparisons import Comparison
from remat_lint.project.leads import lead_of_values
from remat_lint.project.scopes import Scope
from remat_lint.project.sides import holding
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, FunctionRef, Moment, Transformed, Value, Wrapped, WrapSite

_DEEPEST = 8
_METHODS = frozenset({"sum", "mean", "block_until_ready", "ravel", "item", "astype", "reshape"})
Root = tuple[n.Call, Moment]


def compares_with_itself(comparison: Comparison, project: Analysis) -> bool:
    """Whether both sides call the same checkpointed function, with the same options and arguments."""
    moment = Moment(comparison.event.scope, comparison.event)
    one, other = (_root(operand, moment, project) for operand in comparison.operands)
    if one is None or other is None or not _have_same_arguments(one, other):
        return False
    if one[0] is other[0]:
        return True
    if _changes_between(one, other):
        return False
    kinds = [_kind_of(project.evaluate(call.func, at), project) for call, at in (one, other)]
    return kinds[0] is not None and kinds[0] == kinds[1]


def _root(node: n.Expression, moment: Moment, project: Analysis, depth: int = 0) -> Root | None:
    """Return the call of something checkpointed that gives an expression its value."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, n.Name):
        events = holding(node.id, moment)
        if len(events) != 1 or events[0].part or not isinstance(events[0].value, n.Call):
            return None
        event = events[0]
        return _root(events[0].value, Moment(event.scope, event), project, depth + 1)
    if not isinstance(node, n.Call):
        return None
    event_of = moment.scope.module.happened(node.at)
    if event_of is None:
        return None
    here = Moment(event_of.scope, event_of)
    values = project.evaluate(node.func, here)
    if all(isinstance(value, External) for value in values):
        plain = [a.value for a in node.args if a.keyword is None and not a.star]
        return _root(plain[0], here, project, depth + 1) if len(plain) == 1 else None
    if lead_of_values(values, project).sites:
        return node, here
    if isinstance(node.func, n.Attribute) and node.func.attr in _METHODS:
        return _root(node.func.value, here, project, depth + 1)
    return None


def _have_same_arguments(one: Root, other: Root) -> bool:
    """Whether two calls are given what reads alike, and their variables hold the same."""
    (first, at), (second, at_other) = one, other
    module = at.scope.module
    if len(first.args) != len(second.args):
        return False
    for mine, theirs in zip(first.args, second.args, strict=True):
        if (mine.keyword, mine.star) != (theirs.keyword, theirs.star):
            return False
        if module.text_at(mine.value.at) != module.text_at(theirs.value.at):
            return False
        for part in walk(mine.value):
            if isinstance(part, n.Name) and holding(part.id, at) != holding(part.id, at_other):
                return False
    return True


def _changes_between(one: Root, other: Root) -> bool:
    """Whether something is stored between two calls: the second one may then be meant to differ."""
    orders = sorted(at.event.order for _, at in (one, other) if at.event is not None)
    frame: Scope = one[1].scope.frame
    return any(event.kind == "store" and orders[0] < event.order < orders[-1] for event in frame.events)


def _kind_of(values: tuple[Value, ...], project: Analysis) -> Hashable:
    """Return what tells one checkpointed callable from others; None if that is not sure."""
    if len(values) != 1:
        return None
    match values[0]:
        case Wrapped(site=site):
            functions = frozenset(function.scope for function in site.functions)
            return ("wrapped", functions, _options(site)) if functions and not site.spread else None
        case Transformed(dotted=dotted, inner=inner):
            inside = _kind_of(inner, project)
            return None if inside is None else (dotted, inside)
        case FunctionRef(scope=scope):
            return scope
    return None


def _options(site: WrapSite) -> frozenset[tuple[str, str]]:
    module = site.event.module
    own = frozenset((name, module.text_at(argument.value.at)) for name, argument in site.options.items())
    for body in site.bodies:
        if isinstance(body, Wrapped):
            own |= _options(body.site)
    return own
