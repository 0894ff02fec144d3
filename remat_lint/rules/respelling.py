"""The edits that put a name that exists in the place of one that does not."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit
from remat_lint.jaxapi.policies import lookup_policy
from remat_lint.jaxapi.wrappers import RETIRED
from remat_lint.project.analysis import Analysis
from remat_lint.project.spellings import ImportUse
from remat_lint.project.values import External, Moment
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Place

_POLICIES = "checkpoint_policies"
_HOMES = {
    "checkpoint": "jax",
    "remat": "jax",
    _POLICIES: "jax",
    "checkpoint_name": "jax.ad_checkpoint",
    "print_saved_residuals": "jax.ad_checkpoint",
}
"""Modules from which names can be imported that look as if they were in `jax.checkpoint`."""


def respell(use: ImportUse, project: Analysis) -> tuple[Edit, ...]:
    """Return the edits; none where they would not be right for all that the file does with the name."""
    if use.node is not None:
        return _attribute(use, use.node, project)
    statement, alias = use.statement, use.alias
    if statement is None or alias is None or not _stands_alone(use, statement):
        return ()
    if not use.is_module:
        return _from_elsewhere(use, statement)
    if statement.module is None:
        return _module_import(use, statement, alias) if len(statement.names) == 1 else ()
    return _from_module(use, statement, project)


def _attribute(use: ImportUse, node: n.Attribute, project: Analysis) -> tuple[Edit, ...]:
    place = Place(use.module, use.at)
    package, _, name = RETIRED[use.dotted].instead.rpartition(".")
    root: n.Expression = node
    while isinstance(root, n.Attribute):
        root = root.value
    if isinstance(root, n.Name) and project.evaluate(root, Moment(use.scope, None)) == (External(package),):
        return (place.replace(f"{root.id}.{name}"),)
    text, imports = spell(use.module, package, name, project)
    return (place.replace(text), *imports)


def _stands_alone(use: ImportUse, statement: n.Import) -> bool:
    """Whether the statement has its lines for itself and holds no comment."""
    module = use.module
    span = module.span(statement.at)
    first, last = module.source.line(span.start.row), module.source.line(span.end.row)
    before, after = first[: span.start.column - 1], last[span.end.column - 1 :].strip()
    return (
        not before.strip() and (not after or after.startswith("#")) and "#" not in module.source.slice(span)
    )


def _from_elsewhere(use: ImportUse, statement: n.Import) -> tuple[Edit, ...]:
    """Take every name that is gone out of a `from` import, and import it from where it is now."""
    lines: dict[str, list[str]] = {}
    for alias in statement.names:
        row = RETIRED.get(f"{statement.module}.{alias.name}")
        home, name = (statement.module or "", alias.name)
        if row is not None:
            home, _, name = row.instead.rpartition(".")
        lines.setdefault(home, []).append(name if name == alias.bound else f"{name} as {alias.bound}")
    return (_in_place(use, statement, lines),)


def _module_import(use: ImportUse, statement: n.Import, alias: n.Alias) -> tuple[Edit, ...]:
    if alias.name != use.dotted:
        return ()
    name = use.dotted.rpartition(".")[2]
    if not alias.renamed:
        return (Place(use.module, statement.at).replace("import jax"),)
    renamed = "" if alias.bound == name else f" as {alias.bound}"
    return (Place(use.module, statement.at).replace(f"from jax import {name}{renamed}"),)


def _from_module(use: ImportUse, statement: n.Import, project: Analysis) -> tuple[Edit, ...]:
    """Import what there is from where it is; policies are spelled as attributes of their namespace."""
    lines: dict[str, list[str]] = {}
    edits: list[Edit] = []
    for alias in statement.names:
        home = _HOMES.get(alias.name)
        if home is not None:
            text = alias.name if alias.bound == alias.name else f"{alias.name} as {alias.bound}"
            lines.setdefault(home, []).append(text)
            continue
        reads = _reads_of_policy(use, alias, project)
        if not reads:
            return ()
        if _POLICIES not in lines.setdefault("jax", []):
            lines["jax"].append(_POLICIES)
        edits += [Place(use.module, read.at).replace(f"{_POLICIES}.{alias.name}") for read in reads]
    return (_in_place(use, statement, lines), *edits)


def _reads_of_policy(use: ImportUse, alias: n.Alias, project: Analysis) -> list[n.Name]:
    """Return where an imported policy is read; nothing if it is none, or if that is not all that happens to it."""
    if lookup_policy(f"jax.{_POLICIES}.{alias.name}") is None or len(use.scope.bindings[alias.bound]) != 1:
        return []
    held = project.evaluate(n.Name(-1, _POLICIES), Moment(use.scope, None))
    if use.scope.find(_POLICIES) is not None and held != (External(f"jax.{_POLICIES}"),):
        return []
    return [
        node
        for node, scope in use.module.builder.located.names((alias.bound,))
        if scope.find(node.id) is use.scope
    ]


def _in_place(use: ImportUse, statement: n.Import, lines: dict[str, list[str]]) -> Edit:
    place = Place(use.module, statement.at)
    indent = " " * (place.span.start.column - 1)
    return place.replace(
        f"\n{indent}".join(f"from {home} import {', '.join(lines[home])}" for home in sorted(lines))
    )
