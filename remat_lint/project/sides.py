"""What the two sides of a comparison were computed by, read backwards from the compared expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.leads import Lead, lead_of
from remat_lint.project.scopes import Event, reaching
from remat_lint.project.values import External, Moment, Value

_DEEPEST = 12
_MASKS = frozenset({"jax.numpy.nan_to_num", "numpy.nan_to_num"})
_WHERE = frozenset({"jax.numpy.where", "numpy.where"})
_FINITE = frozenset(
    f"{package}.{name}" for package in ("jax.numpy", "numpy") for name in ("isnan", "isfinite")
)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison.

    Attributes:
        lead: what the calls that it is made of lead to.
        calls: these calls, with the moment of each, the outermost first.
        masks: calls that replace what is not finite.
    """

    lead: Lead = field(default_factory=Lead)
    calls: tuple[tuple[n.Call, Moment], ...] = ()
    masks: tuple[n.Call, ...] = ()

    def __or__(self, other: Side) -> Side:
        calls = tuple(dict.fromkeys((*self.calls, *other.calls)))
        return Side(self.lead | other.lead, calls, tuple(dict.fromkeys((*self.masks, *other.masks))))


def side_of(node: n.Expression | None, moment: Moment, project: Analysis, depth: int = 0) -> Side:
    """Return what an expression was computed by."""
    if node is None or depth > _DEEPEST:
        return Side()
    if isinstance(node, n.Call):
        return _side_of_call(node, moment, project, depth)
    found = Side()
    for value, at in _made_of(node, moment):
        found |= side_of(value, at, project, depth + 1)
    return found


def _made_of(node: n.Expression, moment: Moment) -> Iterator[tuple[n.Expression | None, Moment]]:
    """Yield the expressions that give an expression its value, with the moment of each."""
    match node:
        case n.Name():
            yield from _sources(node.id, moment)
        case n.Attribute() | n.Subscript() | n.Format():
            yield node.value, moment
        case n.Operation():
            yield from ((operand, moment) for operand in node.operands)
        case n.Collection():
            yield from ((item, moment) for item in node.items)
        case n.Conditional():
            yield from ((node.body, moment), (node.orelse, moment))


def _side_of_call(call: n.Call, moment: Moment, project: Analysis, depth: int) -> Side:
    event = moment.scope.module.happened(call.at)
    if event is None:
        return Side()
    here = Moment(event.scope, event, moment.env)
    callees = project.evaluate(call.func, here)
    found = Side()
    if not all(isinstance(callee, External) for callee in callees) or _runs_arguments(callees):
        lead = lead_of(call, here, project)
        if lead.functions or lead.sites:
            found = Side(lead, ((call, here),))
    if _is_mask(call, callees, here, project):
        found |= Side(masks=(call,))
    runs = bool(found.calls)
    for argument in call.args:
        given = side_of(argument.value, here, project, depth + 1)
        # What a function is given may be cleaned up as one likes: its result is compared as it is.
        found |= replace(given, masks=()) if runs else given
    if isinstance(call.func, n.Attribute):
        found |= side_of(call.func.value, here, project, depth + 1)
    return found


def _runs_arguments(callees: tuple[Value, ...]) -> bool:
    receivers = [lookup_receiver(callee.dotted) for callee in callees if isinstance(callee, External)]
    return any(one is not None and one.kind in ("now", "now-cached") for one in receivers)


def _is_mask(call: n.Call, callees: tuple[Value, ...], moment: Moment, project: Analysis) -> bool:
    """Whether a call replaces NaN and infinite: `nan_to_num(x)`, `where(isnan(x), 0, x)`."""
    names = {callee.dotted for callee in callees if isinstance(callee, External)}
    if names & _MASKS:
        return True
    test = call.args[0].value if names & _WHERE and len(call.args) > 1 else None
    if isinstance(test, n.Operation) and test.op == "~":
        test = test.operands[0]
    if not isinstance(test, n.Call):
        return False
    values = project.evaluate(test.func, moment)
    return any(isinstance(value, External) and value.dotted in _FINITE for value in values)


def _sources(name: str, moment: Moment) -> Iterator[tuple[n.Expression, Moment]]:
    """Yield the expressions that give a variable its value at a moment."""
    for event in holding(name, moment):
        value = event.value
        moment_of = Moment(event.scope, event, moment.env)
        if isinstance(value, n.Call) and event.part in ("iteration", "element"):
            value = _zipped(value, event.position) or value
        if isinstance(value, n.Expression) and not isinstance(value, n.Function):
            yield value, moment_of


def holding(name: str, moment: Moment) -> list[Event]:
    """Return the bindings that a name may hold at a moment, the newest first."""
    scope = moment.scope.find(name)
    if scope is None:
        return []
    events = scope.module.lookup(name) if scope.kind == "module" else scope.bindings[name]
    same = moment.event is not None and scope.frame is moment.scope.frame
    return reaching(events, moment.event if same else None, scope.frame) or events[-1:]


def _zipped(call: n.Call, position: int | None) -> n.Expression | None:
    """Return the argument of `zip` whose items the target at `position` takes."""
    is_zip = isinstance(call.func, n.Name) and call.func.id == "zip"
    plain = [argument.value for argument in call.args if argument.keyword is None and not argument.star]
    return plain[position] if is_zip and position is not None and position < len(plain) else None
