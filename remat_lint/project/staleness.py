"""Finds calls of a checkpointed function that replay a trace made before something it reads was changed.

`jax.checkpoint` keeps one trace per function object and key. So a pair of calls of one object with a write in
between to something the object reads from outside makes the second call use the old value; a call in a loop is such
a pair with itself if the write lies in the loop and the object is made outside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import STATIC_ATTRIBUTES
from remat_lint.project.analysis import Analysis, SiteCall
from remat_lint.project.captures import Read
from remat_lint.project.keys import differ, varies_with
from remat_lint.project.scopes import Event, LoopNode, Scope, exclusive
from remat_lint.project.timeline import Occurrence, occurrences
from remat_lint.project.values import Access, Data, External, FunctionRef, Moment, Result, WrapSite
from remat_lint.project.writes import Write, Writes, varies

_MAKERS = frozenset({"__init__", "__new__", "__post_init__", "__attrs_post_init__", "__setstate__", "setup", "build"})
_OF_CONTAINERS = frozenset({"append", "extend", "insert", "update", "pop", "popitem", "clear", "add", "setdefault", "remove"})
_FROZEN = frozenset({"flax.linen.Module", "equinox.Module", "haiku.Module", "typing.NamedTuple"})


@dataclass(frozen=True, slots=True)
class Stale:
    """One stale read.

    Attributes:
        function: the function object whose trace is kept.
        read: what it reads from outside.
        write: the change that later calls do not see.
        first: the call that makes the trace.
        second: the call that replays it, as its frame sees it; the same as `first` in a loop.
        call: the call of the site's result behind `second`.
        loop: the loop that repeats the call, if it is one.
        certain: whether write and calls lie in one frame, so that their order is seen.
    """

    function: FunctionRef
    read: Read
    write: Write
    first: Occurrence
    second: Occurrence
    call: SiteCall
    loop: LoopNode | None
    certain: bool


@dataclass(frozen=True, slots=True)
class _Use:
    """A traced call of one function object as a frame sees it."""

    call: SiteCall
    at: Occurrence


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
        calls = [call for call in self._calls(site, function) if not call.cached]
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
        bound = born.frame if born is not None else None
        uses: dict[Scope, list[_Use]] = {}
        for call in calls:
            for seen in occurrences(call.event, bound, self.project, call.holders):
                uses.setdefault(seen.frame, []).append(_Use(call, seen))
        ways = {read.access} | {use.at.seen(read.access) for here in uses.values() for use in here}
        writes = [
            (write, seen)
            for way in ways
            for write in self.writes.to(way)
            if not function.scope.encloses(write.event.frame) and self._shows(read, write, function)
            for seen in occurrences(write.event, write.access.scope.frame if write.access.name else None, self.project)
        ]
        for frame, here in uses.items():
            local = [(write, seen) for write, seen in writes if seen.frame is frame]
            for finder in (self._in_loop, self._in_sequence):
                found = finder(site, function, read, here, local, born)
                if found is not None:
                    return found
        return self._elsewhere(site, function, read, uses, writes, born)

    def _shows(self, read: Read, write: Write, function: FunctionRef) -> bool:
        """Whether a write shows in plain Python and not in the trace.

        A numpy array that JAX operations take whole stays one buffer, which the trace holds too: an item written later
        is seen. A container is seen whole only if it is known to be a list, dict or set of Python.
        """
        receiver = function.receiver
        if receiver is not None and receiver.access is not None and len(write.access.steps) < len(receiver.access.steps) + 1:
            return write.access.scope.kind == "class"
        if len(write.access.steps) <= len(read.access.steps) or write.access.steps[len(read.access.steps)][0] == ".":
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
                if isinstance(value, Result) and value.dotted in ("builtins.list", "builtins.dict", "builtins.set"):
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

    def _in_loop(  # noqa: PLR0913 - the parts of one story
        self,
        site: WrapSite,
        function: FunctionRef,
        read: Read,
        uses: list[_Use],
        writes: list[tuple[Write, Occurrence]],
        born: Event | None,
    ) -> Stale | None:
        """Find a call that a loop repeats, with a write in the same loop."""
        for use in uses:
            if use.call.site is not site or use.at.event.leaves and not use.at.loops:
                continue
            for loop in reversed(use.at.loops):
                if _made_in(loop, born, use.at) or _leaves(use.at, loop):
                    break
                if self._cleared(use.at.frame, lambda event, loop=loop: loop in event.loops):
                    break
                for write, seen in writes:
                    if loop in seen.loops and self._changes(write, loop, seen) and self._same_object(use, seen, read, write):
                        if varies_with(site, use.call.call, loop, use.call.event, self.project):
                            return None
                        return Stale(function, read, write, use.at, use.at, use.call, loop, not seen.lifted)
        return None

    def _in_sequence(  # noqa: PLR0913 - the parts of one story
        self,
        site: WrapSite,
        function: FunctionRef,
        read: Read,
        uses: list[_Use],
        writes: list[tuple[Write, Occurrence]],
        born: Event | None,
    ) -> Stale | None:
        """Find two calls with a write between them."""
        for second in uses:
            if second.call.site is not site:
                continue
            for first in uses:
                if first.at.order >= second.at.order or exclusive(first.at.arms, second.at.arms):
                    continue
                if born is not None and born.frame is first.at.frame and first.at.order < born.order < second.at.order:
                    continue
                if differ(
                    (first.call.site, first.call.call), (second.call.site, second.call.call), self.project, second.at.frame
                ):
                    continue
                if self._cleared(second.at.frame, lambda e, a=first.at.order, b=second.at.order: a < e.order < b):
                    continue
                if _rebound(first.at, second.at):
                    continue
                for write, seen in writes:
                    if not _between(first.at, seen, second.at) or exclusive(seen.arms, second.at.arms) or exclusive(seen.arms, first.at.arms):
                        continue
                    if self._same_object(second, seen, read, write):
                        return Stale(function, read, write, first.at, second.at, second.call, None, not seen.lifted)
        return None

    def _elsewhere(  # noqa: PLR0913 - the parts of one story
        self,
        site: WrapSite,
        function: FunctionRef,
        read: Read,
        uses: dict[Scope, list[_Use]],
        writes: list[tuple[Write, Occurrence]],
        born: Event | None,
    ) -> Stale | None:
        """Find a write in a function or method other than those that call: the order is not seen."""
        for frame, here in uses.items():
            for use in here:
                kept = born is None or not (frame.encloses(born.frame))
                if use.call.site is not site or use.at.lifted or frame.kind != "function" or not kept:
                    continue
                for write, seen in writes:
                    if seen.lifted or not self._may_come_between(write, frame, read):
                        continue
                    return Stale(function, read, write, use.at, use.at, use.call, None, certain=False)
        return None

    def _cleared(self, frame: Scope, where: Callable[[Event], bool]) -> bool:
        """Whether `jax.clear_caches()` is called there, which drops the trace."""
        return any(
            event.kind == "call"
            and isinstance(event.node, n.Call)
            and isinstance(event.node.func, n.Attribute | n.Name)
            and where(event)
            and External("jax.clear_caches") in self.project.evaluate(event.node.func, Moment(event.scope, event))
            for event in frame.events
            if isinstance(event.node, n.Call) and not event.node.args
        )

    def _may_come_between(self, write: Write, frame: Scope, read: Read) -> bool:
        """Whether a write in another function may happen between two runs of `frame`."""
        where = write.event.frame
        if where.kind != "function" or write.access.scope is not read.access.scope:
            return False
        if where.name in _MAKERS or any(scope.name in _MAKERS for scope in where.ancestors()):
            return False
        root = read.access.scope
        if root.kind == "class":
            if self.project.external_bases(root) & _FROZEN:
                return False
            return isinstance(write.event.node, n.Bind) or write.event.kind == "store"
        if root.kind == "module":
            return where is not frame
        return root.kind == "function" and where is not root

    def _changes(self, write: Write, loop: LoopNode, seen: Occurrence) -> bool:
        """Whether a write in a loop gives another value in another round."""
        event = write.event
        if event.kind == "bind" and event.part == "iteration":
            return True
        if seen.lifted or event.kind == "call" or event.part:
            return True
        if isinstance(event.node, n.Bind) and event.node.how == "augmented":
            return True
        if isinstance(event.value, n.Expression):
            return varies(event.value, loop, event.frame, self.project)
        return True

    def _same_object(self, use: _Use, seen: Occurrence, read: Read, write: Write) -> bool:
        """Whether the written object is the one that is read, for reads that go through an instance."""
        mine, theirs = use.at.seen(read.access), seen.seen(write.access)
        return mine.overlaps(theirs)


def _between(first: Occurrence, write: Occurrence, second: Occurrence) -> bool:
    """Whether a write happens after one call and before another; those in one helper are compared there."""
    after = first.order < write.order or (first.order == write.order and _precedes(first, write))
    return after and (write.order < second.order or (write.order == second.order and _precedes(write, second)))


def _precedes(one: Occurrence, other: Occurrence) -> bool:
    return one.origin.frame is other.origin.frame and one.origin.order < other.origin.order


def _rebound(first: Occurrence, second: Occurrence) -> bool:
    """Whether the name of the object whose method is called means another object at the second call."""
    return any(
        event.kind == "bind" and event.name == target.name and first.order < event.order < second.order
        for _, target in second.rebased
        for event in second.frame.events
    )


def _is_static(access: Access) -> bool:
    """Whether a way leads to a shape or dtype: what is read there rarely changes when the array does."""
    return any(kind == "." and step in STATIC_ATTRIBUTES for kind, step in access.steps)


def _made_in(loop: LoopNode, born: Event | None, at: Occurrence) -> bool:
    """Whether each round of `loop` has a function object of its own: made in it, or one of many made elsewhere."""
    if born is not None and born.frame is at.frame and (loop in born.loops or not set(born.loops) <= set(at.loops)):
        return True
    return any(
        event.kind == "bind" and loop in event.loops and event.name == target.name and event.order < at.order
        for _, target in at.rebased
        for event in at.frame.events
    )


def _leaves(at: Occurrence, loop: LoopNode) -> bool:
    """Whether the loop is left right after the call, so that it runs once."""
    return at.event.leaves and bool(at.event.loops) and at.event.loops[-1] is loop
