"""The edits that take a wrapper away, and how the same wrapper is spelled around something else."""

from __future__ import annotations

from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Position, Span
from remat_lint.project.scopes import Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import WrapSite
from remat_lint.rules.rule import Place


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A wrapper taken away: the edits, and the text before and after whatever else it is put around."""

    edits: tuple[Edit, ...]
    before: str
    after: str

    def around(self, text: str) -> str:
        """Return `text` inside of the wrapper."""
        return f"{self.before}{text}{self.after}"


def unwrap(site: WrapSite, elsewhere: Scope) -> Unwrapped | None:
    """Return how the wrapper of a site is taken away and spelled in `elsewhere`; None where that is not sure.

    Options that speak of the wrapped function's own arguments cannot move.
    """
    if site.via or site.spread or site.extra or "static_argnums" in site.options or "methods" in site.options:
        return None
    if site.form in ("decorator", "partial-decorator"):
        return _undecorate(site, elsewhere)
    if site.form == "call" and isinstance(site.event.node, n.Call) and site.target is not None:
        return _uncall(site, site.event.node, site.target, elsewhere)
    return None


def _undecorate(site: WrapSite, elsewhere: Scope) -> Unwrapped | None:
    module = site.event.module
    place = Place(module, site.at)
    span, text = place.span, place.text
    first, last = module.source.line(span.start.row), module.source.line(span.end.row)
    alone = first[: span.start.column - 1].strip() == "@" and not last[span.end.column - 1 :].strip()
    decorator = _decorator(site)
    if not alone or "#" in text or decorator is None or not _means_the_same(decorator, site.scope, elsewhere):
        return None
    gone = Span(Position(span.start.row, 1), Position(span.end.row + 1, 1))
    return Unwrapped((Edit(gone, ""),), f"{text}(", ")")


def _decorator(site: WrapSite) -> n.Expression | None:
    node = None if site.definition is None else site.definition.node
    decorators = node.decorators if isinstance(node, n.Function | n.Class) else ()
    return next((one for one in decorators if one.at == site.at), None)


def _uncall(site: WrapSite, call: n.Call, target: n.Expression, elsewhere: Scope) -> Unwrapped | None:
    module = site.event.module
    plain = bool(call.args) and call.args[0].value is target and call.args[0].keyword is None
    if not plain or not _means_the_same(call.func, site.scope, elsewhere):
        return None
    whole, inner = Place(module, call.at).span, Place(module, target.at).span
    source = module.source
    before, after = source.slice(Span(whole.start, inner.start)), source.slice(Span(inner.end, whole.end))
    if "#" in before + after:
        return None
    above = module.builder.parents.of(call.at)
    called = isinstance(above, n.Call) and above.func is call and not isinstance(target, n.Name | n.Attribute)
    opening, closing = ("(", ")") if called else ("", "")
    edits = (Edit(Span(whole.start, inner.start), opening), Edit(Span(inner.end, whole.end), closing))
    options = after.rstrip().removesuffix(")").strip().rstrip(",")
    return Unwrapped(edits, before, f"{options})")


def _means_the_same(node: n.Expression, here: Scope, there: Scope) -> bool:
    """Whether every name in an expression means the same in another scope."""
    names = {part.id for part in walk(node) if isinstance(part, n.Name)}
    return all(here.find(name) is there.find(name) for name in names)
