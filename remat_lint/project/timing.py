"""Where wall-clock time is taken around calls of checkpointed functions.

A region begins where a clock is read into a name and ends where it is read for the difference:
`start = time.perf_counter()` … `took = time.perf_counter() - start`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.leads import compiled_by, lead_of, lead_of_values
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event, LoopNode, Scope, reaching
from remat_lint.project.traversal import walk
from remat_lint.project.values import (
    ClassRef,
    External,
    FunctionRef,
    Given,
    Instance,
    Moment,
    Value,
    WrapSite,
)

CLOCKS = frozenset(
    {
        *(f"time.{name}" for name in ("time", "perf_counter", "monotonic")),
        *(f"time.{name}_ns" for name in ("time", "perf_counter", "monotonic")),
        *(f"datetime.datetime.{name}" for name in ("now", "utcnow")),
        "timeit.default_timer",
    }
)
"""Clocks that go on while the process waits."""

_SPELLED = re.compile(
    r"\b(?:perf_counter|monotonic|default_timer|utcnow|now|time\.time)(?:_ns)?\b|\btime\(\)"
)
_RENAMED = re.compile(r"\b(?:perf_counter|monotonic|default_timer|datetime|time)(?:_ns)? as (\w+)")
_CLOSED = (n.Function, n.Class)


@dataclass(frozen=True, slots=True, eq=False)
class Timed:
    """One call of something checkpointed in a timed region.

    Attributes:
        event: the call.
        call: the same.
        sites: the wrap sites that it leads to.
        compiled: whether it compiles what it calls the first time.
    """

    event: Event
    call: n.Call
    sites: frozenset[WrapSite]
    compiled: bool


@dataclass(frozen=True, slots=True, eq=False)
class TimedCall:
    """A timed region with calls of checkpointed functions.

    Attributes:
        start: the binding of the first reading.
        stop: the call that reads the clock the second time.
        frame: the function or module in which both stand.
        calls: the calls of checkpointed functions, in order.
        others: the other calls in the region, and in the loops that begin in it or are gone through again.
        loops: the loops around the end but not around the beginning.
    """

    start: Event
    stop: Event
    frame: Scope
    calls: tuple[Timed, ...]
    others: tuple[Event, ...]
    loops: tuple[LoopNode, ...]

    def holds(self, at: int) -> bool:
        """Whether the node with number `at` stands in the region, the end of the round of a loop included."""
        return self.start.at < at < self.stop.at or any(
            any(node.at == at for node in walk(loop)) for loop in self.loops
        )


def timed_calls(module: Module, project: Analysis) -> tuple[TimedCall, ...]:
    """Return the timed regions of a module that call something checkpointed."""
    if not project.wrap_sites(module) or _SPELLED.search(module.source.text) is None:
        return ()
    _load(module)
    frames = (module.scope, *(scope for scope in list(module.builder.scopes.values())))
    return tuple(
        region
        for frame in frames
        if frame.kind in ("module", "function")
        for start, stop in _readings(frame, project)
        if (region := _region(start, stop, frame, project)) is not None
    )


def _load(module: Module) -> None:
    """Parse the statements in which a clock is read, and those of the module that compute with the reading."""
    _load_matching(module, _SPELLED)
    _load_words(module, _RENAMED.findall(module.source.text))
    names = {
        event.name
        for event in list(module.scope.events)
        if event.kind == "bind" and isinstance(event.value, n.Call) and isinstance(event.node, n.Bind)
    }
    _load_words(module, [name for name in names if _reads_clock(module, name)])


def _load_words(module: Module, words: list[str]) -> None:
    if words:
        _load_matching(module, re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b"))


def _reads_clock(module: Module, name: str) -> bool:
    """Whether a call without arguments gives a variable of the module its value, as reading a clock does."""
    values = [event.value for event in module.scope.bindings.get(name, ())]
    return any(isinstance(value, n.Call) and not value.args for value in values)


def _load_matching(module: Module, pattern: re.Pattern[str]) -> None:
    loader = module.loader
    for index in list(loader.rest()):
        if module.loader is loader and pattern.search(loader.chunks[index].text):
            loader.load(index)


# The two readings of a region


def _readings(frame: Scope, project: Analysis) -> Iterator[tuple[Event, Event]]:
    """Yield the binding of the first reading and the call of the second one, for every difference of readings."""
    if not any(_is_clock(event, project) for event in frame.events):
        return
    seen: set[tuple[int, int]] = set()
    for node in _statements(frame):
        if isinstance(node, n.Operation) and node.op == "-" and len(node.operands) == 2:  # noqa: PLR2004 - binary
            later, earlier = node.operands
            stop = _end(later, node.at, frame, project)
            start = None if stop is None else _begin(earlier, stop, frame, project)
            if stop is not None and start is not None and (start.at, stop.at) not in seen:
                seen.add((start.at, stop.at))
                yield start, stop


def _statements(frame: Scope) -> Iterator[n.Node]:
    """Yield the nodes of a frame's own statements; those of functions in it are left out."""
    node = frame.node
    body = node.body if isinstance(node, n.Function) else tuple(frame.module.builder.bodies)
    yield from walk(body, lambda one: not isinstance(one, _CLOSED))


def _end(node: n.Expression, at: int, frame: Scope, project: Analysis) -> Event | None:
    """Return the call that reads the clock for the minuend `node` of the difference with number `at`."""
    if isinstance(node, n.Call):
        event = frame.module.happened(node.at)
        return event if event is not None and _is_clock(event, project) else None
    if isinstance(node, n.Name) and frame.find(node.id) is frame:
        before = [event for event in frame.bindings[node.id] if event.at < at]
        return _read_by(before[-1], frame, project) if before else None
    return None


def _begin(node: n.Expression, stop: Event, frame: Scope, project: Analysis) -> Event | None:
    """Return the binding of a reading that the name `node` holds at `stop`."""
    if not isinstance(node, n.Name) or frame.find(node.id) is not frame:
        return None
    live = reaching(frame.bindings[node.id], stop, frame)
    return live[0] if live and _read_by(live[0], frame, project) is not None else None


def _read_by(binding: Event, frame: Scope, project: Analysis) -> Event | None:
    """Return the call that reads the clock for a binding, if it binds nothing but the reading."""
    if not isinstance(binding.value, n.Call) or binding.part:
        return None
    event = frame.module.happened(binding.value.at)
    return event if event is not None and _is_clock(event, project) else None


def _is_clock(event: Event, project: Analysis) -> bool:
    if not isinstance(event.node, n.Call) or event.node.args:
        return False
    values = project.evaluate(event.node.func, Moment(event.scope, event))
    return len(values) == 1 and isinstance(values[0], External) and values[0].dotted in CLOCKS


# What lies between them


def _region(start: Event, stop: Event, frame: Scope, project: Analysis) -> TimedCall | None:
    loops = tuple(loop for loop in stop.loops if loop not in start.loops)
    inside = [
        event
        for event in frame.events
        if isinstance(event.node, n.Call)
        and event is not stop
        and (start.order < event.order < stop.order or any(loop in loops for loop in event.loops))
    ]
    calls: list[Timed] = []
    others: list[Event] = []
    for event in inside:
        timed = _timed(event, frame, project) if start.order < event.order < stop.order else None
        if timed is None:
            others.append(event)
        else:
            calls.append(timed)
    return TimedCall(start, stop, frame, tuple(calls), tuple(others), loops) if calls else None


def _timed(event: Event, frame: Scope, project: Analysis) -> Timed | None:
    """Return a call as one of something checkpointed; a parameter is what the one who calls the function gives."""
    call = event.node
    assert isinstance(call, n.Call)
    moment = Moment(event.scope, event)
    values = project.evaluate(call.func, moment)
    if any(isinstance(value, External) or _is_elsewhere(value, frame) for value in values):
        return None
    if any(isinstance(value, Given) and value.scope is frame for value in values):
        values = _given(values, frame, project)
    sites = lead_of(call, moment, project).sites | lead_of_values(values, project).sites
    return Timed(event, call, sites, compiled_by(values)) if sites else None


def _is_elsewhere(value: Value, frame: Scope) -> bool:
    """Whether a value is a plain function or a class of another file: what it does all in all is no one computation."""
    if isinstance(value, FunctionRef | ClassRef):
        return value.scope.module is not frame.module
    return isinstance(value, Instance) and value.cls.scope.module is not frame.module


def _given(values: tuple[Value, ...], frame: Scope, project: Analysis) -> tuple[Value, ...]:
    """Return what the visible calls of a function give to the parameters among `values`."""
    found: list[Value] = []
    for value in values:
        if isinstance(value, Given):
            for event, argument in given_by(value.parameter.name, frame, project):
                found += project.evaluate(argument, Moment(event.scope, event))
    return tuple(found)


def given_by(name: str, frame: Scope, project: Analysis) -> Iterator[tuple[Event, n.Expression]]:
    """Yield the visible calls of a function with what they give to its parameter `name`."""
    positional = [p.name for p in frame.parameters() if p.kind in ("positional-only", "positional")]
    for activation in project.activations(frame):
        call = activation.event.node
        if not isinstance(call, n.Call) or any(argument.star for argument in call.args):
            continue
        waiting = positional[activation.function.receiver is not None :]
        for argument in call.args:
            reached = argument.keyword or (waiting.pop(0) if waiting else "")
            if reached == name:
                yield activation.event, argument.value
