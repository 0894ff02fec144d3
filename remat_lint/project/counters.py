"""The statements of a body that move a Python counter, or another state outside, from one value to the next."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body
from remat_lint.project.holders import Holders
from remat_lint.project.levels import Level
from remat_lint.project.scopes import Event
from remat_lint.project.taint import Taint
from remat_lint.project.traversal import walk
from remat_lint.project.values import Moment

_COUNTS_TRACES = re.compile(r"trac|compil|jit", re.IGNORECASE)
_MAKES_NAMES = re.compile(r"name|uniq|fresh|uid|(?:^|_|\b)ids?(?:_|\b)", re.IGNORECASE)
_PLAIN = frozenset({"", "list", "dict", "object", "class", "module", "function"})


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One update: when it happens, what is updated, and `global` or `nonlocal` for a variable."""

    event: Event
    target: n.Expression
    scope: str = ""


def steps(body: Body, project: Analysis) -> Iterator[Step]:
    """Yield the updates of what lives outside a body by a Python value that depends on the value before.

    What is put back in the same body, as the depth of a context is, and what counts traces on purpose is left out;
    so is what gives names to things in a function that the body calls.
    """
    taint = Taint(body, project)
    holders = Holders(body, taint, project)
    found = [
        step
        for scope in body.scopes
        for event in list(scope.events)
        for step in [_step(event, body, taint, holders)]
        if step is not None
    ]
    for step in found:
        if _COUNTS_TRACES.search(render(step.target)) or _is_put_back(step, body):
            continue
        far = not body.root.function.scope.encloses(step.event.frame)
        if far and _MAKES_NAMES.search(f"{render(step.target)} {step.event.frame.name}"):
            continue
        yield step


def _step(event: Event, body: Body, taint: Taint, holders: Holders) -> Step | None:
    if not isinstance(event.node, n.Bind) or event.part or event.node.how == "delete":
        return None
    if event.kind == "bind" and event.name in event.scope.declared and event.target is not None:
        home = event.scope.find(event.name)
        outside = home is not None and not body.contains(home)
        if outside and _moves(event, event.target) and taint.stored(event) is Level.NONE:
            return Step(event, event.target, event.scope.declared[event.name])
    elif event.kind == "store" and isinstance(event.target, n.Attribute | n.Subscript):
        moment = Moment(event.scope, event)
        owner = event.target.value
        if not _moves(event, event.target) or not holders.is_outside(owner, moment):
            return None
        if taint.stored(event) is Level.NONE and holders.kind(owner, moment) in _PLAIN:
            return Step(event, event.target)
    return None


def _moves(event: Event, target: n.Expression) -> bool:
    """Whether a value is made from the one before: `n += 1`, `self.n = self.n + 1`."""
    node = event.node
    if isinstance(node, n.Bind) and node.how == "augmented":
        return True
    text = render(target)
    if (
        "…" in text
        or not isinstance(event.value, n.Operation)
        or event.value.op not in ("+", "-", "*", "//", "%")
    ):
        return False
    return any(
        isinstance(part, n.Name | n.Attribute | n.Subscript) and render(part) == text
        for part in walk(event.value)
    )


def _is_put_back(step: Step, body: Body) -> bool:
    """Whether the body gives the same place another value, before or after."""
    text = render(step.target)
    others = [
        event
        for scope in body.scopes
        for event in scope.events
        if event is not step.event
        and isinstance(event.node, n.Bind)
        and event.target is not None
        and event.kind in ("store", "bind")
        and render(event.target) == text
    ]
    return any(_operator(event) != _operator(step.event) for event in others)


def _operator(event: Event) -> str:
    return event.node.op if isinstance(event.node, n.Bind) and event.node.how == "augmented" else "="
