"""What a checkpointed function does to the host: Python output while it is traced, callbacks when it executes.

`host_effects` answers for the code of one body: how far that goes is for the rule to say when it asks for the body.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import CHECKS, DEBUG_CALLBACKS, HOST_CALLBACKS, MUTATING_METHODS, PRINTS
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body
from remat_lint.project.levels import Level
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.taint import Taint
from remat_lint.project.values import External, FunctionRef, Member, Moment, Partial, Value, WrapSite

Kind = Literal["output", "debug", "io", "pure", "check"]
_LOGGERS = frozenset({"logging.getLogger", "logging.Logger", "logging.getLogger.getChild"})
_LOGS = frozenset(name.rpartition(".")[2] for name in PRINTS if name.startswith("logging."))
_TRACING = re.compile(r"trac|compil|jit|shape|dtype", re.IGNORECASE)
_REVERSE = frozenset({"vjp", "linearize", "hessian", "jacrev", "jacobian", "check_grads"})


@dataclass(frozen=True, slots=True, eq=False)
class HostEffect:
    """One call with an effect on the host; `dotted` is the function that has it."""

    kind: Kind
    event: Event
    call: n.Call
    dotted: str


def host_effects(body: Body, project: Analysis, *kinds: Kind) -> Iterator[HostEffect]:
    """Yield the effects of some kinds that the code of a body has, in the order of the text."""
    for scope in body.scopes:
        for event in list(scope.events):
            if isinstance(event.node, n.Call):
                values = project.evaluate(event.node.func, Moment(event.scope, event))
                dotted = _dotted(values[0]) if len(values) == 1 else ""
                kind = _kind_of(dotted)
                if kind is not None and kind in kinds:
                    yield HostEffect(kind, event, event.node, dotted.removeprefix("builtins."))


def _dotted(value: Value) -> str:
    if isinstance(value, External):
        return value.dotted
    is_log = isinstance(value, Member) and value.base.dotted in _LOGGERS and value.attr in _LOGS
    return f"logging.{value.attr}" if isinstance(value, Member) and is_log else ""


def _kind_of(dotted: str) -> Kind | None:
    if dotted.removeprefix("builtins.") in PRINTS:
        return "output"
    if dotted in DEBUG_CALLBACKS:
        return "debug"
    if dotted in HOST_CALLBACKS:
        return "io" if dotted.endswith("io_callback") else "pure"
    return "check" if dotted in CHECKS else None


def is_about_tracing(effect: HostEffect, body: Body, project: Analysis) -> bool:
    """Whether an output tells about the trace itself: it says so, or it shows nothing but what is known there."""
    arguments = [argument.value for argument in effect.call.args]
    words = [
        part.value
        for argument in arguments
        for part in _parts(argument)
        if isinstance(part, n.Constant) and isinstance(part.value, str)
    ]
    if any(_TRACING.search(word) for word in words):
        return True
    taint, moment = Taint(body, project), Moment(effect.event.scope, effect.event)
    shown = [part for argument in arguments for part in _shown(argument)]
    return bool(shown) and all(taint.level(part, moment) is Level.NONE for part in shown)


def _parts(node: n.Expression) -> Iterator[n.Expression]:
    yield node
    if isinstance(node, n.Operation):
        for operand in node.operands:
            yield from _parts(operand)


def _shown(node: n.Expression) -> Iterator[n.Expression]:
    """Yield what an argument of an output shows, other than fixed text."""
    for part in _parts(node):
        if isinstance(part, n.Format):
            yield part.value
        elif not isinstance(part, n.Constant | n.Operation):
            yield part


def is_everything_saved(site: WrapSite, project: Analysis) -> bool:
    """Whether a site's policy saves everything, so that nothing is computed again."""
    policy = site.options.get("policy")
    if policy is None:
        return site.spread
    moment = site.option_moments.get("policy", Moment(site.scope, site.event))
    values = project.evaluate(policy.value, moment)
    return any(isinstance(v, External) and v.dotted.endswith(".everything_saveable") for v in values)


@dataclass(frozen=True, slots=True)
class Derivation:
    """What is seen of backward passes through a site: `seen` one, `ruled_out` that there is any."""

    seen: Event | None
    ruled_out: bool


def derivation(site: WrapSite, project: Analysis) -> Derivation:
    """Return whether a backward pass goes through what a site returns."""
    placement = project.placement(site)
    subjects: list[WrapSite | Scope] = [site]
    ruled_out = True
    for subject in subjects:
        contexts = placement.contexts(subject)
        uses = [*contexts.grads, *(use for use in contexts.derivatives if _goes_back(use.dotted))]
        if uses:
            return Derivation(uses[0].event, ruled_out=False)
        frames = {use.event.frame for use in contexts.loops if use.event.frame.kind == "function"}
        subjects += [frame for frame in frames if frame not in subjects]
        ruled_out = ruled_out and not contexts.is_handed_on and (contexts.reaches_top or bool(frames))
    return Derivation(None, ruled_out)


def _goes_back(dotted: str) -> bool:
    return dotted.rpartition(".")[2].removeprefix("filter_") in _REVERSE


def written_outside(effect: HostEffect, project: Analysis) -> n.Node | None:
    """Return the statement of a callback's host function that changes something outside of it."""
    callback = next((a.value for a in effect.call.args if a.keyword in (None, "callback")), None)
    if callback is None:
        return None
    for value in project.evaluate(callback, Moment(effect.event.scope, effect.event)):
        inner = value
        while isinstance(inner, Partial):
            inner = inner.target
        if isinstance(inner, FunctionRef):
            own = inner.scope.parameters()[:1] if inner.receiver is not None else ()
            found = _write_in(inner.scope, {parameter.name for parameter in own})
            if found is not None:
                return found
    return None


def _write_in(scope: Scope, outside: set[str]) -> n.Node | None:
    """Return a statement of a function that changes what is not its own, or the object called as in `outside`."""
    for event in list(scope.events):
        if event.kind == "bind" and event.name in event.scope.declared:
            return event.node
        target = event.target if event.kind == "store" else None
        if isinstance(event.node, n.Call) and isinstance(event.node.func, n.Attribute):
            target = event.node.func if event.node.func.attr in MUTATING_METHODS else None
        root: n.Expression | None = target
        while isinstance(root, n.Attribute | n.Subscript):
            root = root.value
        if isinstance(root, n.Name) and (root.id in outside or scope.find(root.id) is not scope):
            return event.node
    return None
