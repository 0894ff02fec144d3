"""Whether a call in a timed region is the first one of what it calls, so that it compiles there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.timing import Timed, TimedCall, given_by
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, Moment

_SAID = re.compile(r"compil|warm|cold|trace", re.IGNORECASE)
_AROUND = 3
_MEANS = frozenset(
    {
        "builtins.sum",
        "builtins.len",
        "statistics.mean",
        "statistics.fmean",
        *(f"{package}.{name}" for package in ("numpy", "jax.numpy") for name in ("mean", "sum", "average")),
    }
)


def compiles_inside(region: TimedCall, project: Analysis) -> Timed | None:
    """Return the call of a region that surely compiles in it, though nothing says that this is meant."""
    if _is_said(region) or (region.start.loops and not _is_averaged(region, project)):
        return None
    first = region.calls[0]
    if not first.compiled or not isinstance(first.call.func, n.Name) or _varies(first):
        return None
    name, frame = first.call.func.id, region.frame
    binder = first.event.scope.find(name)
    if binder is None or any(node.at < region.start.at for node in _reads(name, frame)):
        return None
    if binder is frame and frame.parameter(name) is not None:
        return first if _is_given_fresh(name, frame, project) else None
    run = None if binder is frame or frame.kind == "module" else _first_run(frame, project)
    if run is None and binder is not frame and frame.kind != "module":
        return None
    elsewhere = [node for node in _all_reads(name, region) if not _stands_in(node, frame)]
    return first if all(run is not None and _comes_after(node, run) for node in elsewhere) else None


def _is_said(region: TimedCall) -> bool:
    """Whether the code speaks of compiling or of a warm-up."""
    module, node = region.frame.module, region.frame.node
    if isinstance(node, n.Function):
        return _SAID.search(module.text_at(node.at)) is not None
    first = max(module.span(region.start.at).start.row - _AROUND, 1)
    last = module.span(region.stop.at).end.row + _AROUND
    lines = module.source.text.split("\n")[first - 1 : last]
    return any(_SAID.search(line) for line in lines)


def _is_averaged(region: TimedCall, project: Analysis) -> bool:
    """Whether a loop puts the times of its rounds into a list of which nothing but the mean is taken."""
    module, frame = region.frame.module, region.frame
    if region.loops or len(region.start.loops) != 1:
        return False
    for above in module.builder.parents.chain(region.stop.at):
        if isinstance(above, n.Call) and isinstance(above.func, n.Attribute) and above.func.attr == "append":
            owner = above.func.value
            reads = (
                [node for node in _reads(owner.id, frame) if node is not owner]
                if isinstance(owner, n.Name)
                else []
            )
            return bool(reads) and all(_is_in_mean(node, frame, project) for node in reads)
    return False


def _is_in_mean(node: n.Name, frame: Scope, project: Analysis) -> bool:
    """Whether a list is the argument of something that adds all its items up, or of `len`."""
    above = frame.module.builder.parents.of(node.at)
    event = frame.module.happened(above.at) if isinstance(above, n.Call) else None
    if not isinstance(above, n.Call) or event is None:
        return False
    values = project.evaluate(above.func, Moment(event.scope, event))
    return any(isinstance(value, External) and value.dotted in _MEANS for value in values)


def _varies(timed: Timed) -> bool:
    """Whether a loop gives the call other arguments in each round: the work itself, no measurement."""
    loops = timed.event.loops
    used = {part.id for part in walk(timed.call.args) if isinstance(part, n.Name)}
    for loop in loops:
        if isinstance(loop, n.Loop) and loop.target is None:
            return True
        targets = [loop.target] if isinstance(loop, n.Loop) else [clause.target for clause in loop.clauses]
        if any(isinstance(part, n.Name) and part.id in used for part in walk(tuple(targets))):
            return True
    return False


def _first_run(frame: Scope, project: Analysis) -> Event | None:
    """Return the first visible call of a function; None if a loop makes it, or if what it gives is thrown away."""
    runs = sorted((run.event for run in project.activations(frame)), key=lambda event: event.at)
    same = {run.frame for run in runs}
    return runs[0] if len(same) == 1 and not runs[0].loops and not runs[0].bare else None


def _comes_after(node: n.Name, run: Event) -> bool:
    """Whether a node stands behind a call, in the code around it."""
    return node.at > run.at and _stands_in(node, run.frame)


def _is_given_fresh(name: str, frame: Scope, project: Analysis) -> bool:
    """Whether a call of a function gives its parameter something compiled that was not called before."""
    for event, argument in given_by(name, frame, project):
        if event.loops:
            continue
        if isinstance(argument, n.Call):
            return True
        if isinstance(argument, n.Name) and not any(
            node.at != argument.at and (node.at < argument.at or not _stands_in(node, event.frame))
            for node in _all_reads(argument.id, event)
        ):
            return True
    return False


def _reads(name: str, frame: Scope) -> Iterator[n.Name]:
    """Yield the places below a frame that read a name."""
    node = frame.node
    bodies = node.body if isinstance(node, n.Function) else tuple(frame.module.builder.bodies)
    bound = {
        part.at
        for one in walk(bodies)
        if isinstance(one, n.Bind)
        for target in one.targets
        for part in walk(target)
        if isinstance(part, n.Name)
    }
    for one in walk(bodies):
        if isinstance(one, n.Name) and one.id == name and one.at not in bound:
            yield one


def _all_reads(name: str, inside: TimedCall | Event) -> Iterator[n.Name]:
    frame = inside.frame
    yield from _reads(name, frame.module.scope)


def _stands_in(node: n.Name, frame: Scope) -> bool:
    """Whether a node stands in a frame itself and not in a function there; for the module, outside of functions."""
    for above in frame.module.builder.parents.chain(node.at):
        if isinstance(above, n.Function):
            return above is frame.node
    return frame.kind == "module"
