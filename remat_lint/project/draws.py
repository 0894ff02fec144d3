"""The places of a body that ask the host for a random number, the time or the next item of an iterator."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import CLOCK_WITH_ARGUMENT, GENERATORS, IN_PLACE_CALLS, classify_impure
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body
from remat_lint.project.holders import Holders
from remat_lint.project.levels import COMPUTES, Level
from remat_lint.project.scopes import Event
from remat_lint.project.taint import Taint
from remat_lint.project.values import External, Instance, Moment, Result

_FOR_NAMES = ("uuid.", "secrets.", "os.")
_ITERATORS = frozenset(
    {
        *(f"builtins.{name}" for name in ("iter", "enumerate", "zip", "map", "filter", "reversed")),
        *(f"itertools.{name}" for name in ("count", "cycle", "chain", "repeat", "islice", "accumulate")),
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One draw: `kind` is randomness, clock or iterator, `dotted` the function that draws."""

    event: Event
    call: n.Call
    kind: str
    dotted: str


def draws(body: Body, project: Analysis) -> Iterator[Draw]:
    """Yield the draws of a body in the order of the text, each once."""
    holders = Holders(body, Taint(body, project), project)
    for scope in body.scopes:
        far = not body.root.function.scope.encloses(scope)
        for event in scope.events:
            if event.kind == "call" and isinstance(event.node, n.Call):
                draw = _draw(event, event.node, holders)
                if draw is not None and not (far and _is_aside(draw, holders)):
                    yield draw


def _is_aside(draw: Draw, holders: Holders) -> bool:
    """Whether what a helper draws may be for messages or names only: no sum or product takes it in."""
    if draw.kind == "randomness" and not draw.dotted.startswith(_FOR_NAMES):
        return False
    above = draw.event.module.builder.parents.chain(draw.call.at)
    moment = Moment(draw.event.scope, draw.event)
    for part in itertools.takewhile(lambda node: isinstance(node, n.Expression), above):
        if isinstance(part, n.Operation) and part.op in COMPUTES:
            return holders.taint.level(part, moment) is not Level.TRACED
    return True


def _draw(event: Event, call: n.Call, holders: Holders) -> Draw | None:
    moment = Moment(event.scope, event)
    values = holders.project.evaluate(call.func, moment)
    if len(values) == 1 and isinstance(values[0], External):
        dotted = values[0].dotted
        kind = classify_impure(dotted)
        if kind in ("randomness", "clock"):
            converts = dotted in CLOCK_WITH_ARGUMENT and len(call.args) > (dotted == "time.strftime")
            return (
                None
                if converts or _shuffles(dotted, call, moment, holders)
                else Draw(event, call, kind, dotted)
            )
        if dotted == "builtins.next" and call.args and _is_iterator(call.args[0].value, moment, holders):
            return Draw(event, call, "iterator", dotted)
    if isinstance(call.func, n.Attribute):
        return _method(event, call, call.func, holders)
    return None


def _shuffles(dotted: str, call: n.Call, moment: Moment, holders: Holders) -> bool:
    """Whether the call only shuffles an object from outside, which is a change of it and no value."""
    return dotted in IN_PLACE_CALLS and bool(call.args) and holders.is_outside(call.args[0].value, moment)


def _is_iterator(node: n.Expression, moment: Moment, holders: Holders) -> bool:
    """Whether an iterator from outside the body is a plain one; sequences of keys of a framework are traced."""
    if not holders.is_outside(node, moment):
        return False
    for value in holders.project.evaluate(node, moment):
        if isinstance(value, Instance) or (isinstance(value, Result) and value.dotted not in _ITERATORS):
            return False
    return holders.kind(node, moment) != "managed"


def _method(event: Event, call: n.Call, func: n.Attribute, holders: Holders) -> Draw | None:
    """Return the draw from a generator that lives outside the body, or that the body makes without a seed."""
    for value in holders.project.evaluate(func.value, Moment(event.scope, event)):
        generator = GENERATORS.get(value.dotted) if isinstance(value, Result) else None
        if generator is None or not isinstance(value, Result) or func.attr not in generator.draws:
            continue
        inside = value.event is not None and holders.body.contains(value.event.frame)
        seeded = any(
            not isinstance(a.value, n.Constant) or a.value.value is not None for a in value.call.args
        )
        if inside and (seeded or generator.name.endswith("Generator")):
            continue
        return Draw(event, call, "randomness", f"{generator.name}.{func.attr}")
    return None
