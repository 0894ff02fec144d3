"""What `static_argnames` says, in the form that works: numbers, and arguments by position."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import Invocation, Signature, invocations, signatures
from remat_lint.project.keywords import Keyword
from remat_lint.project.modules import Module
from remat_lint.project.statics import shift
from remat_lint.project.values import Data, WrapSite


@dataclass(frozen=True, slots=True, eq=False)
class NamedStatics:
    """The parameters that are named.

    Attributes:
        names: their names as written.
        numbers: their numbers as the wrapper counts them; empty if one of them has none.
        by_position: arguments of visible calls to pass by position, each with its module.
        rewritable: whether after that every visible call passes them by position.
    """

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    by_position: tuple[tuple[Module, n.Argument], ...] = ()
    rewritable: bool = False

    @property
    def option(self) -> str:
        """The option that works; empty if the numbers are not known."""
        listed = ", ".join(map(str, self.numbers)) + ("," if len(self.numbers) == 1 else "")
        return f"static_argnums=({listed})" if self.numbers else ""

    def describe(self) -> str:
        """Return the beginning of a sentence about the parameters."""
        listed = ", ".join(f"`{name}`" for name in self.names)
        return f"{listed} {'stays' if len(self.names) == 1 else 'stay'}"

    def edits(self, keyword: Keyword) -> tuple[Edit, ...]:
        """Return the edits; none if they would not be right for every visible call."""
        if not self.rewritable or not self.option or keyword.call is None:
            return ()
        edits = [Edit(keyword.moment.scope.module.span(keyword.at), self.option)]
        # The value's own place leaves out the parentheses around it.
        values = [(m, a, m.text_at(a.at).partition("=")[2].lstrip()) for m, a in self.by_position]
        return (*edits, *(Edit(module.span(a.at), text) for module, a, text in values))


def named_statics(keyword: Keyword, site: WrapSite, project: Analysis) -> NamedStatics | None:
    """Return what a `static_argnames` says; None if the names are not known."""
    values = project.evaluate(keyword.value, keyword.moment)
    node = values[0].node if len(values) == 1 and isinstance(values[0], Data) else None
    items = node.items if isinstance(node, n.Collection) and node.kind != "dict" else (node,)
    names = tuple(i.value for i in items if isinstance(i, n.Constant) and isinstance(i.value, str))
    if len(names) < len(items):
        return None
    known, offset = signatures(site, project), shift(site)
    if len(known) != 1 or offset is None or not names:
        return NamedStatics(names, ())
    positions = [i for i, p in enumerate(known[0].positional) if p.name in names]
    if len(positions) < len(names) or min(positions) < offset:
        return NamedStatics(names, ())
    numbers = tuple(position - offset for position in positions)
    moved: list[tuple[Module, n.Argument]] = []
    for call in invocations(site, project):
        arguments = _moved(call, known[0], positions)
        if arguments is None:
            return NamedStatics(names, numbers)
        moved += [(call.event.module, argument) for argument in arguments]
    return NamedStatics(names, numbers, tuple(moved), "static_argnums" not in site.options)


def _moved(call: Invocation, signature: Signature, positions: list[int]) -> list[n.Argument] | None:
    """Return the keyword arguments of a call to write by position; None if that is not possible."""
    if not call.complete:
        return None
    behind = list(itertools.dropwhile(lambda argument: argument.keyword is None, call.call.args))
    moved: list[n.Argument] = []
    for position in positions:
        if position < len(call.positional):
            continue
        given = call.keywords.get(signature.positional[position].name)
        filled = len(call.positional) + len(moved)
        if given is None or position != filled or behind[len(moved)] is not given:
            return None
        moved.append(given)
    return moved
