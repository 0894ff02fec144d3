"""The edits that give an option to a wrap site, in whatever form the site is written."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit
from remat_lint.project.analysis import Analysis
from remat_lint.project.values import WrapSite
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Place


def add_option(site: WrapSite, text: str, project: Analysis) -> tuple[Edit, ...]:
    """Return the edits that add `text` (`name=value`) to the options of a site; none where it has no place."""
    module = site.scope.module
    if site.via or site.spread:
        return ()
    call = _written(site)
    if call is not None and call.args:
        return (Place(module, call.args[-1].at).insert_after(f", {text}"),)
    if site.form == "decorator":
        partial, edits = spell(module, "functools", "partial", project)
        wrapper = Place(module, site.at)
        return (wrapper.insert_before(f"{partial}("), wrapper.insert_after(f", {text})"), *edits)
    return ()


def _written(site: WrapSite) -> n.Call | None:
    """Return the call in which options of the site stand."""
    if site.form in ("call", "keyword-only"):
        return site.event.node if isinstance(site.event.node, n.Call) else None
    if site.form == "partial-call" and isinstance(site.event.node, n.Call):
        return site.event.node.func if isinstance(site.event.node.func, n.Call) else None
    node = None if site.definition is None else site.definition.node
    for decorator in node.decorators if isinstance(node, n.Function | n.Class) else ():
        if decorator.at == site.at and isinstance(decorator, n.Call):
            return decorator
    return None
