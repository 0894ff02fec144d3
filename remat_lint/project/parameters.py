"""What the parameters of the functions of a body hold during the trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import MODULE_FIRST, Body
from remat_lint.project.callgraph import Entry
from remat_lint.project.levels import Level
from remat_lint.project.statics import shift, static_option
from remat_lint.project.values import Moment

if TYPE_CHECKING:
    from remat_lint.project.taint import Taint

Given = dict[str, Level]
_NON_ARRAYS_STATIC = frozenset({"equinox", "haliax"})
_ITEMS_UNKNOWN = ("functools.reduce", "builtins.", "jax.grad", "jax.value_and_grad", "jax.jit")


def site_levels(body: Body, taint: Taint) -> Given:
    """Return the levels of the wrapped function's own parameters."""
    site, function = body.site, body.root.function
    parameters = list(function.scope.parameters())
    given = dict.fromkeys((p.name for p in parameters), Level.TRACED)
    if site.wrapper.framework in _NON_ARRAYS_STATIC or body.root.through not in ("", "class", "jax.vmap"):
        given = dict.fromkeys(given, Level.MAYBE)
    positional = [p for p in parameters if p.kind in ("positional-only", "positional")]
    if positional and _is_module_first(body):
        given[positional[0].name] = Level.NONE
    given.update(dict.fromkeys(untraced(body, taint.project), Level.NONE))
    for parameter in parameters:
        if parameter.default is not None and not is_passed(body, parameter, taint):
            given[parameter.name] = Level.NONE
    return given


def _is_module_first(body: Body) -> bool:
    return (
        body.root.function.receiver is not None
        or body.root.through == "class"
        or (body.site.wrapper.framework in MODULE_FIRST)
    )


def untraced(body: Body, project: Analysis) -> frozenset[str]:
    """Return the parameters of the wrapped function that get their argument as it is.

    Those are the static ones and those that a `partial` fills; all of them if `static_argnums` cannot be read.
    """
    site, function = body.site, body.root.function
    positional = [p.name for p in function.scope.parameters() if p.kind in ("positional-only", "positional")]
    names = frozenset(_bound_by_partials(body.root, list(positional)))
    option = static_option(site, project)
    unreadable = option is not None and (
        option.indices is None or (min(option.indices, default=0) < 0 and not site.wrapper.negative_static)
    )
    if unreadable or site.spread or "static_argnames" in site.options:
        return names | frozenset(positional)
    counted = positional[1:] if function.receiver is not None else positional
    counted = counted[shift(site) or 0 :]
    indices = option.indices if option is not None and option.indices is not None else ()
    return names | frozenset(counted[index] for index in indices if -len(counted) <= index < len(counted))


def _bound_by_partials(entry: Entry, names: list[str]) -> Iterator[str]:
    """Yield the parameters that `functools.partial` fills in."""
    if entry.function.receiver is not None:
        names = names[1:]
    for partial in reversed(entry.partials):
        for argument in partial.call.args[1:]:
            if argument.keyword is not None:
                yield argument.keyword
            elif argument.star:
                yield from names
            elif names:
                yield names.pop(0)


def is_passed(body: Body, parameter: n.Parameter, taint: Taint) -> bool:
    """Whether a visible call of the site gives a parameter that has a default."""
    positional = [
        p.name for p in body.root.function.scope.parameters() if p.kind in ("positional-only", "positional")
    ]
    if body.root.function.receiver is not None or body.root.through == "class":
        positional = positional[1:]
    taken = list(_bound_by_partials(body.root, list(positional)))
    positional = [name for name in positional if name not in taken]
    for call in taint.project.site_calls(body.site):
        if any(argument.star for argument in call.call.args):
            return True
        count = sum(argument.keyword is None for argument in call.call.args)
        named = {argument.keyword for argument in call.call.args}
        if parameter.name in named or parameter.name in positional[:count]:
            return True
    return False


def passed_to(entry: Entry, moment: Moment, taint: Taint) -> Given:
    """Return the levels that one way into a function gives its parameters."""
    function = entry.function
    names = [p.name for p in function.scope.parameters() if p.kind in ("positional-only", "positional")]
    others = [p.name for p in function.scope.parameters() if p.kind not in ("positional-only", "positional")]
    if function.receiver is not None and function.scope.owner_class is not None:
        names = names[1:]
    given: Given = {}
    for partial in reversed(entry.partials):
        _assign(partial.call.args[1:], names, given, partial.moment, taint)
    if entry.through:
        level = Level.MAYBE if entry.through.startswith(_ITEMS_UNKNOWN) else Level.TRACED
        if entry.through.startswith(("jax.tree", "builtins.", "functools.")) and entry.call is not None:
            rest = max((taint.level(a.value, moment) for a in entry.call.args[1:]), default=Level.NONE)
            level = min(level, Level.TRACED if rest is Level.ARRAY else rest)
        given.update(dict.fromkeys(names, level))
        if "with_path" in entry.through and names:
            given[names[0]] = Level.NONE
        return given
    if entry.call is not None:
        _assign(entry.call.args, names, given, moment, taint)
        spread = max((taint.level(a.value, moment) for a in entry.call.args), default=Level.NONE)
        hidden = any(a.star == "**" for a in entry.call.args)
        for parameter in function.scope.parameters():
            if parameter.name in others and parameter.name not in given:
                taken = parameter.kind in ("star", "double-star")
                level = spread if taken else min(spread, Level.MAYBE) if hidden else Level.NONE
                given[parameter.name] = level
    return given


def _assign(
    args: tuple[n.Argument, ...], names: list[str], given: Given, moment: Moment, taint: Taint
) -> None:
    for argument in args:
        level = taint.level(argument.value, moment)
        if argument.star:
            given.update(dict.fromkeys(names, min(level, Level.MAYBE)))
            names.clear()
        elif argument.keyword is not None:
            given[argument.keyword] = level
        elif names:
            given[names.pop(0)] = level
