"""Turning `W(f, x)` into `W(f)(x)`: the edits, and whether they are right for every argument."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.values import External, FunctionRef, Instance, Member, Moment, Wrapped, WrapSite
from remat_lint.rules.rule import Place

_FRAMEWORKS = frozenset({"flax", "equinox", "haiku", "trax", "haliax", "penzai", "keras"})


def split_call(call: n.Call, target: n.Argument, extra: Span, module: Module) -> tuple[Edit, ...]:
    """Return the edits that move the arguments at `extra`, which follow `target`, into a second call.

    Options keep their place; where a comment would be lost there are no edits.
    """
    source = module.source
    first = Place(module, target.at).span
    between = source.slice(Span(first.end, extra.start))
    if Place(module, call.args[-1].at).span.end == extra.end:
        comma = between.find(",")
        if comma < 0 or "#" in between[:comma]:
            return ()
        start = source.offset(first.end) + comma
        blank = len(between) - comma - 1 if not between[comma + 1 :].strip(" \t") else 0
        return (Edit(source.span(start, start + 1 + blank), ")("),)
    gone = Span(first.end, extra.end)
    if "#" in source.slice(gone):
        return ()
    end = Place(module, call.at).span.end
    return Edit(gone, ""), Edit(Span(end, end), f"({source.slice(extra)})")


def is_harmless(site: WrapSite, extra: tuple[n.Argument, ...], project: Analysis) -> bool:
    """Whether no argument can be a module of a framework or a bare bool, as far as the file tells."""
    if _imports_framework(site, project):
        return False
    for argument in extra:
        if isinstance(argument.value, n.Constant) and isinstance(argument.value.value, bool | str):
            return False
        values = project.evaluate(argument.value, Moment(site.scope, site.event))
        if any(isinstance(value, Instance | FunctionRef | Wrapped | Member) for value in values):
            return False
    return not any(_calls_parameter(function) for function in site.functions)


def _imports_framework(site: WrapSite, project: Analysis) -> bool:
    for events in list(site.scope.module.scope.bindings.values()):
        for event in events:
            if isinstance(event.value, n.Import):
                values = project.bound(event, None)
                if any(isinstance(v, External) and v.dotted.partition(".")[0] in _FRAMEWORKS for v in values):
                    return True
    return False


def _calls_parameter(function: FunctionRef) -> bool:
    """Whether a function calls one of its parameters or a method of one."""
    names = {parameter.name for parameter in function.scope.parameters()}
    for event in function.scope.events:
        func: n.Expression | None = event.node.func if isinstance(event.node, n.Call) else None
        while isinstance(func, n.Attribute):
            func = func.value
        if isinstance(func, n.Name) and func.id in names:
            return True
    return False
