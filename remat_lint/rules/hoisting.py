"""The edit that moves the making of a function out of a loop.

It is offered only where the moved expression means the same before the loop, and what the function reads is not
changed by the loop.
"""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Position, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event, LoopNode, Scope
from remat_lint.project.values import FunctionRef, Moment
from remat_lint.project.writes import changes_in, walk
from remat_lint.rules.rule import Place


def hoist(node: n.Expression, event: Event, loop: LoopNode, name: str, project: Analysis) -> tuple[Edit, ...]:
    """Return the edits that bind `name` to `node` before `loop` and use it in its place; none if that is not right."""
    frame, module = event.frame, event.module
    if not isinstance(loop, n.Loop) or not _means_the_same(node, event, loop, project):
        return ()
    place, head = Place(module, node.at), module.span(loop.at).start
    line = module.source.line(head.row)
    indent = line[: head.column - 1]
    if indent.strip() or place.span.start.row != place.span.end.row:
        return ()
    free = _free_name(name, frame)
    start = Position(head.row, 1)
    return (Edit(Span(start, start), f"{indent}{free} = {place.text}\n"), place.replace(free))


def _free_name(name: str, frame: Scope) -> str:
    while frame.find(name) is not None or any(
        name in scope.bindings for scope in frame.module.builder.scopes.values()
    ):
        name += "_"
    return name


def _means_the_same(node: n.Expression, event: Event, loop: LoopNode, project: Analysis) -> bool:
    frame = event.frame
    for part in walk(node):
        if isinstance(part, n.Name) and changes_in(part.id, loop, frame):
            return False
        if isinstance(part, n.Name | n.Function):
            for value in project.evaluate(part, Moment(event.scope, event)):
                if isinstance(value, FunctionRef) and not _reads_what_stays(value, frame, project):
                    return False
    return True


def _reads_what_stays(function: FunctionRef, frame: Scope, project: Analysis) -> bool:
    """Whether everything a function reads from outside is written once only, in the frame or around it."""
    for read in project.captures.reads(function):
        writes = project.staleness.writes.to(read.access)
        if not read.access.name or len(writes) > 1 or any(write.event.loops for write in writes):
            return False
        if any(not write.event.frame.encloses(frame) for write in writes):
            return False
    return True
