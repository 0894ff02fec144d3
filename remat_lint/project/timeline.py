"""When things happen relative to one another: events lifted from helpers into the frames that call them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project import traversal
from remat_lint.project.analysis import Activation, Analysis
from remat_lint.project.modules import Module
from remat_lint.project.scopes import ArmKey, Event, LoopNode, Scope
from remat_lint.project.values import Access

HIGHEST = 3


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event as one frame sees it: at `event` (the call that leads to it, or the event itself).

    `origin` is the event itself; `rebased` tells what the instance of a method is called in the frame. What a
    context manager does after its `yield` happens at the end of the `with` block, behind the event `last`. `path`
    leads from `event` through the calls to `origin`.
    """

    event: Event
    origin: Event
    rebased: tuple[tuple[Access, Access], ...] = ()
    last: Event | None = None
    path: tuple[Event, ...] = ()

    @property
    def frame(self) -> Scope:
        """The frame."""
        return self.event.frame

    @property
    def order(self) -> float:
        """Position in the frame."""
        return self.event.order if self.last is None else self.last.order + 0.5

    @property
    def loops(self) -> tuple[LoopNode, ...]:
        """Loops of the frame around it."""
        return self.event.loops

    @property
    def arms(self) -> tuple[ArmKey, ...]:
        """Branch arms of the frame around it."""
        return self.event.arms

    @property
    def lifted(self) -> bool:
        """Whether it happens in a function that the frame calls."""
        return self.event is not self.origin

    def precedes(self, other: Occurrence) -> bool:
        """Whether this happens before something else; what one call leads to is compared further down."""
        if self.order != other.order:
            return self.order < other.order
        for mine, theirs in zip(self.path, other.path, strict=False):
            if mine is not theirs:
                return mine.frame is theirs.frame and mine.order < theirs.order
        return False

    def seen(self, access: Access) -> Access:
        """Return a way as this frame spells it."""
        for base, target in self.rebased:
            access = access.rebase(base, target)
        return access


def occurrences(
    event: Event,
    bound: Scope | None,
    project: Analysis,
    rebased: tuple[tuple[Access, Access], ...] = (),
    home: Module | None = None,
) -> Iterator[Occurrence]:
    """Yield an event in its own frame and in the frames that call it, up to three calls away.

    Args:
        event: what happens.
        bound: the frame at whose end it loses its meaning, because what it concerns is made anew with each run of
            that frame; None if there is none.
        project: tells who calls whom.
        rebased: what methods call `self` and the frame of the event spells otherwise.
        home: the module whose calls count; None for all that are known.
    """
    seen: set[tuple[int, int]] = set()
    todo = [(Occurrence(event, event, rebased, None, (event,)), 0)]
    while todo:
        step, height = todo.pop(0)
        if (id(step.event), height) in seen:
            continue
        seen.add((id(step.event), height))
        yield step
        frame = step.frame
        if height >= HIGHEST or frame.kind != "function" or (bound is not None and frame.encloses(bound)):
            continue
        for activation in project.activations(frame, home):
            if (activation.cached and not _is_fresh(activation)) or activation.event.frame is frame:
                continue
            rebased = step.rebased
            cls, receiver = frame.owner_class, activation.function.receiver
            if cls is not None and receiver is not None and receiver.access is not None:
                rebased = (*rebased, (Access(cls, ""), receiver.access))
            last = _exit(step.event, activation.event) if frame is event.frame else None
            path = (activation.event, *step.path)
            todo.append((Occurrence(activation.event, event, rebased, last, path), height + 1))


def _exit(event: Event, entry: Event) -> Event | None:
    """Return the last event of the `with` block that a context manager is called for, if `event` is in its exit part."""
    node = event.frame.node
    if not isinstance(node, n.Function) or not node.is_generator:
        return None
    yields = [
        part.at for part in traversal.walk(node.body) if isinstance(part, n.Operation) and part.op == "yield"
    ]
    if not yields or event.at < min(yields):
        return None
    block = entry.module.builder.parents.of(entry.at)
    if not isinstance(block, n.With):
        return None
    inside = [one for one in entry.frame.events if block in one.guards]
    return max(inside, key=lambda one: one.order, default=None)


def _is_fresh(activation: Activation) -> bool:
    """Whether the function that is run is made anew whenever it is run, so that no `jit` or scan knows it already."""
    made, event = activation.function.made, activation.event
    return made is not None and made.frame is event.frame and made.loops == event.loops
