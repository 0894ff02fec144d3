"""Which calls and writes make a stale pair: two calls of one function object with a write in between.

A call in a loop is such a pair with itself if the write lies in the loop and the object is made outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis, SiteCall
from remat_lint.project.captures import Read
from remat_lint.project.contents import change_in, held, is_constant
from remat_lint.project.keys import differ, varies_with
from remat_lint.project.preparation import HIGHEST, is_maker, is_named_as_maker
from remat_lint.project.scopes import Event, LoopNode, Scope, exclusive
from remat_lint.project.timeline import Occurrence
from remat_lint.project.values import Access, External, FunctionRef, Moment, WrapSite
from remat_lint.project.writes import Write

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
class Use:
    """A traced call of one function object as a frame sees it."""

    call: SiteCall
    at: Occurrence


@dataclass(frozen=True, slots=True)
class Story:
    """Everything about one read of one function object.

    Attributes:
        site: the site whose calls are judged.
        function: the function object; `born` is the event that makes it.
        read: what it reads from outside.
        uses: its traced calls, by the frame that sees them.
        writes: the writes to what is read, each as the frames see it.
    """

    site: WrapSite
    function: FunctionRef
    read: Read
    born: Event | None
    uses: dict[Scope, list[Use]]
    writes: list[tuple[Write, Occurrence]]

    def seen(self, frame: Scope) -> Iterator[tuple[Write, Occurrence]]:
        """Yield the writes that a frame sees."""
        return ((write, at) for write, at in self.writes if at.frame is frame)

    def concerning(self, use: Use, project: Analysis) -> list[tuple[Write, Occurrence]]:
        """Return the writes, as the frame of a use sees them, to the very object that is read in this use."""
        mine = use.at.seen(self.read.access)
        found = []
        for write, at in self.seen(use.at.frame):
            access = at.seen(write.access)
            if is_same_self(access, mine, project):
                access = Access(mine.scope, mine.name, access.steps)
            if mine.overlaps(access):
                found.append((Write(access, write.event), at))
        return found

    def tell(self, write: Write, first: Use, second: Use, loop: LoopNode | None, *, certain: bool) -> Stale:
        """Return the stale read."""
        return Stale(self.function, self.read, write, first.at, second.at, second.call, loop, certain)


def find_pair(story: Story, project: Analysis) -> Stale | None:
    """Return the first stale pair of a story: in a loop, in sequence, or with a write whose order is not seen."""
    for frame, uses in story.uses.items():
        mine = [use for use in uses if use.call.site is story.site]
        for use in mine:
            found = _in_loop(story, use, project)
            if found is not None:
                return found
        cleared = [event.order for event in _clearings(frame, project)]
        for second in mine:
            for first in uses:
                if _can_share(story, first, second, cleared, project):
                    found = _in_sequence(story, first, second, project)
                    if found is not None:
                        return found
    return _elsewhere(story, project)


def is_same_self(one: Access, other: Access, project: Analysis) -> bool:
    """Whether two ways start at `self` of one class and of a base of it."""
    if one.name or other.name or one.scope is other.scope:
        return False
    return one.scope.kind == other.scope.kind == "class" and one.scope in project.lineage(other.scope)


def _in_loop(story: Story, use: Use, project: Analysis) -> Stale | None:
    """Find a write in a loop that repeats the call."""
    frame, read = use.at.frame, use.at.seen(story.read.access)
    writes = story.concerning(use, project)
    for loop in reversed(use.at.loops):
        if _made_in(loop, story.born, use.at) or _leaves(use.at, loop):
            return None
        if any(loop in event.loops for event in _clearings(frame, project)):
            return None
        found = change_in(loop, use.at, read, writes, project)
        if found is not None:
            if varies_with(story.site, use.call.call, loop, use.call.event, project):
                return None
            write, at = found
            return story.tell(write, use, use, loop, certain=not at.lifted)
    return None


def _can_share(story: Story, first: Use, second: Use, cleared: list[int], project: Analysis) -> bool:
    """Whether a second call can find the trace of a first one in the same frame."""
    low, high = first.at.order, second.at.order
    if (
        low >= high
        or exclusive(first.at.arms, second.at.arms)
        or any(low < order < high for order in cleared)
    ):
        return False
    if first.at.event.leaves and not set(first.at.arms) <= set(second.at.arms):
        return False
    born = story.born
    if born is not None and born.frame is first.at.frame and low < born.order < high:
        return False
    if _rebound(first.at, second.at) or _of_others(story, first.at, second.at):
        return False
    one, other = (first.call.site, first.call.call), (second.call.site, second.call.call)
    return not differ(one, other, project, second.at.frame)


def _in_sequence(story: Story, first: Use, second: Use, project: Analysis) -> Stale | None:
    """Find a write between two calls."""
    writes = story.concerning(second, project)
    for write, at in writes:
        apart = exclusive(at.arms, second.at.arms) or exclusive(at.arms, first.at.arms)
        if first.at.precedes(at) and at.precedes(second.at) and not apart:
            read = second.at.seen(story.read.access)
            before, after = (held(use.at, read, writes, project) for use in (first, second))
            if before == after and len(before) == 1 and not _is_unknown(before):
                return None
            return story.tell(write, first, second, None, certain=not at.lifted)
    return None


def _elsewhere(story: Story, project: Analysis) -> Stale | None:
    """Find a write in a function or method other than those that call: the order is not seen."""
    born = story.born
    for frame, uses in story.uses.items():
        kept = frame.kind == "function" and (born is None or not frame.encloses(born.frame))
        for use in uses if kept else ():
            if use.call.site is not story.site or use.at.lifted or project.compilation.is_jitted(frame):
                continue
            read = use.at.seen(story.read.access)
            if is_constant(held(use.at, read, story.concerning(use, project), project)):
                continue
            for write, at in story.writes:
                if not at.lifted and _may_come_between(write, frame, story, project):
                    return story.tell(write, use, use, None, certain=False)
    return None


def _may_come_between(write: Write, frame: Scope, story: Story, project: Analysis) -> bool:
    """Whether a write in another function may happen between two runs of `frame`."""
    where, read = write.event.frame, story.read.access
    root = read.scope
    same = write.access.scope is root or is_same_self(write.access, read, project)
    if where.kind != "function" or not same or _is_uncertain(write.access, read):
        return False
    if _is_settled(where, story, project, 0):
        return False
    if root.kind == "class":
        return not project.external_bases(root) & _FROZEN and write.event.kind == "store"
    return where is not (frame if root.kind == "module" else root)


def _is_uncertain(written: Access, read: Access) -> bool:
    """Whether a write to some item may be one to another item than the one that is read."""
    return len(written.steps) <= len(read.steps) and ("[]", None) in written.steps


def _is_settled(where: Scope, story: Story, project: Analysis, height: int) -> bool:
    """Whether every run of a function is seen: before the first call, or where the order was judged already."""
    if where.kind == "module" or is_maker(where):
        return True
    if height > HIGHEST:
        return False
    home = project.home(story.site)
    found = project.activations(where, home)
    runs = [one.event.frame for one in found if not where.encloses(one.event.frame)]
    if runs:
        return all(_is_settled(frame, story, project, height + 1) for frame in runs)
    if is_named_as_maker(where):
        return True
    return height > 0 and where.owner_class is None and where in story.uses


def _clearings(frame: Scope, project: Analysis) -> Iterator[Event]:
    """Yield the calls of `jax.clear_caches()`, which drops every trace."""
    for event in frame.events:
        if event.kind == "call" and isinstance(event.node, n.Call) and not event.node.args:
            callees = project.evaluate(event.node.func, Moment(event.scope, event))
            if External("jax.clear_caches") in callees:
                yield event


def _is_unknown(keys: frozenset[tuple[object, ...]]) -> bool:
    """Whether contents that are spelled alike may still differ."""
    return any(key[0] not in ("constant", "name") for key in keys)


def _rebound(first: Occurrence, second: Occurrence) -> bool:
    """Whether the name of the object whose method is called means another object at the second call."""
    return any(
        event.kind == "bind" and event.name == target.name and first.order < event.order < second.order
        for _, target in second.rebased
        for event in second.frame.events
    )


def _of_others(story: Story, first: Occurrence, second: Occurrence) -> bool:
    """Whether two calls are of functions that two objects made for themselves."""
    if story.born is None or story.born.frame.owner_class is None:
        return False
    holders = dict(first.rebased)
    return any(base in holders and holders[base] != target for base, target in second.rebased)


def _made_in(loop: LoopNode, born: Event | None, at: Occurrence) -> bool:
    """Whether each round of `loop` has a function object of its own: made in it, or one of many made elsewhere."""
    if (
        born is not None
        and born.frame is at.frame
        and (loop in born.loops or not set(born.loops) <= set(at.loops))
    ):
        return True
    return any(
        event.kind == "bind" and loop in event.loops and event.name == target.name and event.order < at.order
        for _, target in at.rebased
        for event in at.frame.events
    )


def _leaves(at: Occurrence, loop: LoopNode) -> bool:
    """Whether the loop is left right after the call, so that it runs once."""
    return at.event.leaves and bool(at.event.loops) and at.event.loops[-1] is loop
