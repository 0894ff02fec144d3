"""The edits that make parameters static: the numbers at the wrapper, and positional arguments at every call."""

from __future__ import annotations

from collections.abc import Sequence

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import Invocation, Signature
from remat_lint.project.statics import static_option
from remat_lint.project.values import WrapSite
from remat_lint.rules.options import add_option
from remat_lint.rules.rule import Place, unsafe
from remat_lint.rules.traced_flags import TracedFlag


def make_static(flags: Sequence[TracedFlag], project: Analysis) -> Fix | None:
    """Return the fix that makes all of `flags`, traced at one site, static; None where it would not be right.

    Every visible call must pass them by position, or in a way that can be written by position: a static argument that
    is passed by keyword or left to its default raises ValueError.
    """
    site, signature, calls = flags[0].site, flags[0].signature, flags[0].calls
    numbers = sorted({flag.number for flag in flags if flag.number is not None})
    positions = [flag.position for flag in flags if flag.position is not None]
    if not calls or len(numbers) < len(flags) or len(positions) < len(flags):
        return None
    edits: list[Edit] = []
    for call in calls:
        rewritten = _by_position(call, signature, max(positions))
        if rewritten is None:
            return None
        edits += rewritten
    option = _numbers(site, numbers, project)
    if not option:
        return None
    return unsafe(
        "Make the argument static" if len(numbers) == 1 else "Make the arguments static", *edits, *option
    )


def _numbers(site: WrapSite, numbers: list[int], project: Analysis) -> tuple[Edit, ...]:
    """Return the edits that name the numbers at the wrapper."""
    option = static_option(site, project)
    if site.scope.module is not project.place(site).module:
        return ()
    if option is None:
        listed = ", ".join(str(number) for number in numbers)
        return add_option(site, f"static_argnums=({listed}{',' if len(numbers) == 1 else ''})", project)
    node = option.node
    if not option.is_literal or option.module is not site.scope.module or node is None or site.via:
        return ()
    added = "".join(f", {number}" for number in numbers)
    if isinstance(node, n.Collection) and node.kind == "tuple" and node.items and node.items[-1] is not None:
        return (Place(option.module, node.items[-1].at).insert_after(added),)
    if isinstance(node, n.Constant) and type(node.value) is int:
        place = Place(option.module, node.at)
        return (place.replace(f"({place.text}{added})"),)
    return ()


def _by_position(call: Invocation, signature: Signature, last: int) -> list[Edit] | None:
    """Return the edits after which a call passes its parameters up to `last` by position; None if there are none."""
    if not call.complete:
        return None
    count = len(call.positional)
    module = call.event.module
    own = list(call.call.args)
    placed = [argument for argument in own if argument.keyword is None]
    pending = [argument for argument in own if argument.keyword is not None]
    if any(argument.keyword is None for argument in own[len(placed) :]):
        return None
    edits: list[Edit] = []
    for parameter in signature.positional[count : last + 1]:
        argument = call.keywords.get(parameter.name)
        if argument is not None:
            if not pending or pending[0] is not argument:
                return None
            pending.pop(0)
            edits.append(Place(module, argument.at).replace(Place(module, argument.value.at).text))
            placed.append(argument)
        elif isinstance(parameter.default, n.Constant) and placed:
            text = Place(signature.function.scope.module, parameter.default.at).text
            edits.append(Place(module, placed[-1].at).insert_after(f", {text}"))
        else:
            return None
    return edits
