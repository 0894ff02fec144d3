"""Flags that a call hands to a layer of a framework, which must be Python values there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.concrete import LAYER_FLAGS, LAYER_OPTIONS, ConcreteArgument
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event
from remat_lint.project.values import External, Moment, Result, Wrapped, WrapSite


@dataclass(frozen=True, slots=True, eq=False)
class LayerFlag:
    """A flag.

    Attributes:
        value: what is passed.
        layer: the layer's dotted name.
        name: the flag's name.
        maybe: whether the layer may not look at it.
        event: the call that passes it.
    """

    value: n.Expression
    layer: str
    name: str
    maybe: bool
    event: Event | None


def layer_flags(call: n.Call, moment: Moment, project: Analysis) -> Iterator[LayerFlag]:
    """Yield the flags in a call that makes a layer, or calls one."""
    for callee in project.evaluate(call.func, moment):
        if isinstance(callee, External) and callee.dotted in LAYER_OPTIONS:
            yield from _given(call, LAYER_OPTIONS[callee.dotted], callee.dotted, call, moment.event)
        elif isinstance(callee, Result) and callee.dotted in LAYER_FLAGS:
            yield from _given(call, LAYER_FLAGS[callee.dotted], callee.dotted, callee.call, moment.event)


def wrapped_layer_flags(site: WrapSite, project: Analysis) -> Iterator[LayerFlag]:
    """Yield the flags given to instances of a layer that is wrapped itself, as in `nn.remat(nn.BatchNorm)`."""
    rows = {
        body.dotted: LAYER_FLAGS[body.dotted]
        for body in site.bodies
        if isinstance(body, External) and body.dotted in LAYER_FLAGS
    }
    if len(rows) != 1 or len(site.bodies) != 1:
        return
    ((layer, row),) = rows.items()
    for event in list(project.place(site).module.builder.happened.values()):
        made = _instance(event.node.func, event, site, project) if isinstance(event.node, n.Call) else None
        if made is not None and isinstance(event.node, n.Call):
            yield from _given(event.node, row, layer, made, event)


def _instance(func: n.Expression, event: Event, site: WrapSite, project: Analysis) -> n.Call | None:
    """Return the call that makes the instance of a wrapped layer which is called here."""
    scope = event.scope.find(func.id) if isinstance(func, n.Name) else None
    if scope is not None and isinstance(func, n.Name):
        bound = scope.bindings.get(func.id, [])
        if len(bound) != 1 or bound[0].part or not isinstance(bound[0].value, n.Call):
            return None
        func, event = bound[0].value, scope.module.happened(bound[0].value.at) or event
    if not isinstance(func, n.Call):
        return None
    values = project.evaluate(func.func, Moment(event.scope, event))
    return func if any(isinstance(value, Wrapped) and value.site is site for value in values) else None


def _given(
    call: n.Call, row: ConcreteArgument, layer: str, made: n.Call, event: Event | None
) -> Iterator[LayerFlag]:
    place = 0
    for argument in call.args:
        if argument.star:
            return
        meant = argument.keyword in row.keywords if argument.keyword else place in row.positions
        place += argument.keyword is None
        if meant:
            maybe = layer.endswith("Dropout") and not _drops(made)
            yield LayerFlag(argument.value, layer, row.keywords[0], maybe, event)


def _drops(made: n.Call) -> bool:
    """Whether a dropout layer visibly drops something: with the rate 0 it never looks at its flag."""
    for argument in made.args[:1]:
        rate = argument.value
        if argument.keyword in (None, "rate") and isinstance(rate, n.Constant):
            return isinstance(rate.value, float) and rate.value > 0
    return False
