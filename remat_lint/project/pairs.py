"""Which calls and writes make a stale pair: two calls of one function object with a write in between.

A call in a loop is such a pair with itself if the write lies in the loop and the object is made outside of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis, SiteCall
from remat_lint.project.captures import Read
from remat_lint.project.keys import differ, varies_with
from remat_lint.project.scopes import Event, LoopNode, Scope, exclusive
from remat_lint.project.timeline import Occurrence
from remat_lint.project.values import External, FunctionRef, Moment, WrapSite
from remat_lint.project.writes import Write, varies

_MAKERS = frozenset(
    {"__init__", "__new__", "__post_init__", "__attrs_post_init__", "__setstate__", "setup", "build"}
)
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

    def concerns(self, use: Use, write: Write, at: Occurrence) -> bool:
        """Whether the object written to is the one that is read in this use."""
        return use.at.seen(self.read.access).overlaps(at.seen(write.access))

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
                    found = _in_sequence(story, first, second)
                    if found is not None:
                        return found
    return _elsewhere(story, project)


def _in_loop(story: Story, use: Use, project: Analysis) -> Stale | None:
    """Find a write in a loop that repeats the call."""
    frame = use.at.frame
    for loop in reversed(use.at.loops):
        if _made_in(loop, story.born, use.at) or _leaves(use.at, loop):
            return None
        if any(loop in event.loops for event in _clearings(frame, project)):
            return None
        for write, at in story.seen(frame):
            if loop in at.loops and _changes(write, loop, at, project) and story.concerns(use, write, at):
                if varies_with(story.site, use.call.call, loop, use.call.event, project):
                    return None
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
    if _rebound(first.at, second.at):
        return False
    one, other = (first.call.site, first.call.call), (second.call.site, second.call.call)
    return not differ(one, other, project, second.at.frame)


def _in_sequence(story: Story, first: Use, second: Use) -> Stale | None:
    """Find a write between two calls."""
    for write, at in story.seen(second.at.frame):
        apart = exclusive(at.arms, second.at.arms) or exclusive(at.arms, first.at.arms)
        if _between(first.at, at, second.at) and not apart and story.concerns(second, write, at):
            return story.tell(write, first, second, None, certain=not at.lifted)
    return None


def _elsewhere(story: Story, project: Analysis) -> Stale | None:
    """Find a write in a function or method other than those that call: the order is not seen."""
    born = story.born
    for frame, uses in story.uses.items():
        kept = frame.kind == "function" and (born is None or not frame.encloses(born.frame))
        for use in uses if kept else ():
            if use.call.site is story.site and not use.at.lifted:
                for write, at in story.writes:
                    if not at.lifted and _may_come_between(write, frame, story.read, project):
                        return story.tell(write, use, use, None, certain=False)
    return None


def _may_come_between(write: Write, frame: Scope, read: Read, project: Analysis) -> bool:
    """Whether a write in another function may happen between two runs of `frame`."""
    where, root = write.event.frame, read.access.scope
    if where.kind != "function" or write.access.scope is not root:
        return False
    if any(scope.name in _MAKERS for scope in where.ancestors()):
        return False
    if root.kind == "class":
        return not project.external_bases(root) & _FROZEN and write.event.kind == "store"
    return where is not (frame if root.kind == "module" else root)


def _clearings(frame: Scope, project: Analysis) -> Iterator[Event]:
    """Yield the calls of `jax.clear_caches()`, which drops every trace."""
    for event in frame.events:
        if event.kind == "call" and isinstance(event.node, n.Call) and not event.node.args:
            callees = project.evaluate(event.node.func, Moment(event.scope, event))
            if External("jax.clear_caches") in callees:
                yield event


def _changes(write: Write, loop: LoopNode, at: Occurrence, project: Analysis) -> bool:
    """Whether a write in a loop gives another value in another round."""
    event = write.event
    augmented = isinstance(event.node, n.Bind) and event.node.how == "augmented"
    if at.lifted or augmented or event.part or not isinstance(event.value, n.Expression):
        return True
    return varies(event.value, loop, event.frame, project)


def _between(first: Occurrence, write: Occurrence, second: Occurrence) -> bool:
    """Whether a write happens after one call and before another; those in one helper are compared there."""
    after = first.order < write.order or (first.order == write.order and _precedes(first, write))
    return after and (
        write.order < second.order or (write.order == second.order and _precedes(write, second))
    )


def _precedes(one: Occurrence, other: Occurrence) -> bool:
    return one.origin.frame is other.origin.frame and one.origin.order < other.origin.order


def _rebound(first: Occurrence, second: Occurrence) -> bool:
    """Whether the name of the object whose method is called means another object at the second call."""
    return any(
        event.kind == "bind" and event.name == target.name and first.order < event.order < second.order
        for _, target in second.rebased
        for event in second.frame.events
    )


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
