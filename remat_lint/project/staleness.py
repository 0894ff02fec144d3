"""Finds calls of a checkpointed function that replay a trace made before something it reads was changed.

Here is gathered what belongs together: the calls that find one trace, what the function reads from outside, and the
writes to it, all as the frames see them. Which of them make a stale pair is decided in `pairs`.
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import STATIC_ATTRIBUTES
from remat_lint.project.analysis import Analysis, SiteCall
from remat_lint.project.captures import Read
from remat_lint.project.modules import Module
from remat_lint.project.pairs import Stale, Story, Use, find_pair
from remat_lint.project.preparation import changing
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.timeline import Occurrence, occurrences
from remat_lint.project.values import (
    Access,
    Data,
    External,
    FunctionRef,
    Instance,
    Moment,
    Result,
    WrapSite,
)
from remat_lint.project.writes import Write, Writes

_OF_CONTAINERS = frozenset(
    {"append", "extend", "insert", "update", "pop", "popitem", "clear", "add", "setdefault", "remove"}
)


class Staleness:
    """Answers for the function objects of one project."""

    def __init__(self, project: Analysis) -> None:
        self.project = project
        self.captures = project.captures
        self.writes = Writes(project)

    def of(self, site: WrapSite) -> Iterator[Stale | str]:
        """Yield what goes stale in calls of a site, or sentences that say why nothing does."""
        if not site.wrapper.keeps_trace:
            yield f"{site.wrapper.qualname} traces anew at each call"
            return
        if not site.functions:
            yield "the wrapped function is not known"
        for function in site.functions:
            yield from self._of_function(site, function)

    def _of_function(self, site: WrapSite, function: FunctionRef) -> Iterator[Stale | str]:
        """Yield what goes stale in one function object that a site wraps."""
        home = self.project.home(site)
        calls = [
            call for call in self._calls(site, function) if not call.cached and call.event.module is home
        ]
        reads = [read for read in self.captures.reads(function) if not _is_static(read.access)]
        mine = [call for call in calls if call.site is site]
        if not calls:
            yield "no call of the wrapped function is seen"
        elif not reads:
            yield "the function reads nothing from outside"
        silent = bool(mine and reads)
        for made in {id(call.made): call.made for call in mine}.values():
            uses = [call for call in calls if call.made is made]
            born = made or (site.event if site.wrapper.trace_key == "wrapper" else self._made(function))
            for read in reads:
                found = self._find(site, function, read, uses, born)
                if found is not None:
                    silent = False
                    yield found
        if silent:
            yield "nothing that the function reads from outside is seen to change between its calls"

    def _calls(self, site: WrapSite, function: FunctionRef) -> list[SiteCall]:
        """Return every traced call that finds the same trace, whichever wrapper it goes through."""
        if site.wrapper.trace_key == "wrapper":
            return list(self.project.site_calls(site))
        made = self._made(function)
        found: list[SiteCall] = []
        for other in list(self.project.sites.values()):
            if other.wrapper.trace_key == "function" and any(
                f.scope is function.scope and self._made(f) is made for f in other.functions
            ):
                found += self.project.site_calls(other)
        return sorted(found, key=lambda call: call.event.order)

    def _made(self, function: FunctionRef) -> Event | None:
        """Return the event that made a function object.

        A bound method is made at each evaluation, but equals another one of the same object: while a wrapper of one
        is kept and called, the others find its trace.
        """
        receiver = function.receiver
        if receiver is None or receiver.access is None:
            return function.made
        for site in self.project.sites.values():
            for other in site.functions:
                holder = other.receiver
                if other.scope is function.scope and holder is not None and holder.access == receiver.access:
                    kept = isinstance(site.scope.module.builder.parents.of(site.at), n.Bind)
                    if kept and self.project.site_calls(site):
                        return other.made
        return function.made

    def _find(
        self, site: WrapSite, function: FunctionRef, read: Read, calls: list[SiteCall], born: Event | None
    ) -> Stale | None:
        bound, home = born.frame if born is not None else None, self.project.home(site)
        uses: dict[Scope, list[Use]] = {}
        for call in calls:
            for seen in occurrences(call.event, bound, self.project, call.holders, home):
                uses.setdefault(seen.frame, []).append(Use(call, seen))
        for here in uses.values():
            here.sort(key=lambda use: _place(use.call.event, use.at))
        ways = {read.access} | {use.at.seen(read.access) for here in uses.values() for use in here}
        ways |= {other for way in ways for other in self._inside(way)}
        shown = [
            write
            for way in ways
            for write in self._writes(way, home)
            if not function.scope.encloses(write.event.frame) and self._shows(read, write, function)
        ]
        writes = [
            (write, seen)
            for write in changing(shown, self.project)
            for seen in occurrences(
                write.event, write.access.scope.frame if write.access.name else None, self.project, home=home
            )
            if not self._is_of_trace(seen, function)
        ]
        # The order in which statements were parsed must not choose the story that is told.
        writes.sort(key=lambda pair: _place(pair[0].event, pair[1]))
        return find_pair(Story(site, function, read, born, uses, writes), self.project)

    def _writes(self, way: Access, home: Module) -> tuple[Write, ...]:
        """Return the writes to something; of a class of another file its own methods are read for it."""
        step = way.steps[0] if way.steps else ("", None)
        if way.scope.kind == "class" and way.scope.module is not home and step[0] == ".":
            way.scope.module.load_stores(way.scope, str(step[1]))
        return self.writes.to(way)

    def _is_of_trace(self, seen: Occurrence, function: FunctionRef) -> bool:
        """Whether a write happens because the function runs: no call replays it, and none is late for it."""
        if any(function.scope.encloses(event.frame) for event in seen.path):
            return True
        return not seen.lifted and seen.frame in self.project.callgraph.reached(function.scope)

    def _inside(self, way: Access) -> Iterator[Access]:
        """Yield how a way looks from the methods of its object."""
        classes = [way.scope] if way.scope.kind == "class" and not way.name else []
        if way.name and way.scope.kind != "class":
            values = (v for e in way.scope.bindings.get(way.name, ()) for v in self.project.bound(e, None))
            classes += [value.cls.scope for value in values if isinstance(value, Instance)]
        for cls in classes:
            for base in self.project.lineage(cls):
                yield Access(base, "", way.steps)

    def _shows(self, read: Read, write: Write, function: FunctionRef) -> bool:
        """Whether a write shows in plain Python and not in the trace.

        A numpy array that JAX operations take whole stays one buffer, which the trace holds too: an item written later
        is seen. A container is seen whole only if it is known to be a list, dict or set of Python.
        """
        receiver = function.receiver
        if (
            receiver is not None
            and receiver.access is not None
            and len(write.access.steps) < len(receiver.access.steps) + 1
        ):
            return write.access.scope.kind == "class"
        if (
            len(write.access.steps) <= len(read.access.steps)
            or write.access.steps[len(read.access.steps)][0] == "."
        ):
            return True
        if write.event.kind == "call" and isinstance(write.event.node, n.Call):
            func = write.event.node.func
            if isinstance(func, n.Attribute) and func.attr in _OF_CONTAINERS:
                return True
        return self._is_container(read) or self._in_numpy(read, function)

    def _is_container(self, read: Read) -> bool:
        for event in read.access.scope.bindings.get(read.access.name, ()) if not read.access.steps else ():
            for value in self.project.bound(event, None):
                if isinstance(value, Data) and isinstance(value.node, n.Collection | n.Comprehension):
                    return True
                if isinstance(value, Result) and value.dotted in (
                    "builtins.list",
                    "builtins.dict",
                    "builtins.set",
                ):
                    return True
        return False

    def _in_numpy(self, read: Read, function: FunctionRef) -> bool:
        """Whether the value is an argument of a numpy function, which computes with it while the body is traced."""
        above = read.module.builder.parents.of(read.at)
        event = read.module.happened(above.at) if isinstance(above, n.Call) else None
        if event is None or not isinstance(above, n.Call) or function.scope.module is not read.module:
            return False
        callees = self.project.evaluate(above.func, Moment(event.scope, event))
        return any(isinstance(callee, External) and callee.dotted.startswith("numpy.") for callee in callees)


def _is_static(access: Access) -> bool:
    """Whether a way leads to a shape or dtype: what is read there rarely changes when the array does."""
    return any(kind == "." and step in STATIC_ATTRIBUTES for kind, step in access.steps)


def _place(event: Event, seen: Occurrence) -> tuple[tuple[str, int], ...]:
    """Return where something happens, the way to it included, to sort by."""
    return tuple((str(one.module.path), one.order) for one in (event, *seen.path))
