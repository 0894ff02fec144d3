"""How a finding tells the way to what happens: the wrap site, then each call that leads there."""

from __future__ import annotations

from remat_lint.project.body import Body
from remat_lint.project.scopes import Scope
from remat_lint.rules.rule import Note, Place


def way(body: Body, frame: Scope) -> tuple[Note, ...]:
    """Return notes on the way from the wrap site of a body to one of its functions."""
    site = body.site
    function = f"`{body.name}`" if body.root.function.scope.name else "the lambda"
    notes = [Note(Place(site.event.module, site.at), f"{function} is traced by {site.wrapper.qualname}")]
    for entry in body.path(frame):
        assert entry.event is not None
        name = entry.function.scope.name
        what = f"`{name}`" if name else "a lambda"
        text = f"{what} runs during the trace of {function}"
        notes.append(Note(Place(entry.event.module, entry.event.at), text))
    return tuple(notes)


def inside(body: Body, frame: Scope) -> str:
    """Return the words that name the function of a body in which something happens, if calls lead there."""
    if body.root.function.scope.encloses(frame) or not frame.name:
        return ""
    return f" in `{frame.qualname}`"


def is_far(body: Body, frame: Scope) -> bool:
    """Whether something happens in another file, or in a function that is called by another one than the wrapped."""
    root = body.root.function.scope
    return not root.encloses(frame) and (frame.module is not root.module or len(body.path(frame)) > 1)
