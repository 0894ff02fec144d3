"""The edits that take an argument out of a call."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Span
from remat_lint.project.modules import Module
from remat_lint.rules.rule import Place


def remove_argument(call: n.Call, argument: n.Argument, module: Module) -> tuple[Edit, ...]:
    """Return the edits that take `argument` out of `call`; none where a comment would be lost."""
    index = next((i for i, other in enumerate(call.args) if other is argument), None)
    if index is None:
        return ()
    own = Place(module, argument.at).span
    if index > 0:
        gone = Span(Place(module, call.args[index - 1].at).span.end, own.end)
    elif len(call.args) > 1:
        gone = Span(own.start, Place(module, call.args[1].at).span.start)
    else:
        gone = own
    return () if "#" in module.source.slice(gone) else (Edit(gone, ""),)
