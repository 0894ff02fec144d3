"""How a file spells a name of another module, and the import that makes it available."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Position, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.values import External, Moment


def spell(module: Module, package: str, attribute: str, project: Analysis) -> tuple[str, tuple[Edit, ...]]:
    """Return the text that means `package.attribute` in a module, and the edits that import what is missing.

    An import that stands at the top of the file is used as it is; else `import package` is added before the first
    import that is not from `__future__`.
    """
    dotted = f"{package}.{attribute}"
    for name, events in module.scope.bindings.items():
        if len(events) == 1 and isinstance(events[0].value, n.Import) and not events[0].arms:
            values = project.name(name, Moment(module.scope, None))
            if values == (External(dotted),):
                return name, ()
            if values == (External(package),):
                return f"{name}.{attribute}", ()
    return dotted, (_add_import(module, package),)


def _add_import(module: Module, package: str) -> Edit:
    first = None
    for event in module.scope.events:
        if isinstance(event.value, n.Import) and event.value.module != "__future__" and not event.arms:
            first = event.value
            break
    row = module.span(first.at).start.row if first is not None else 1
    start = Position(row, 1)
    return Edit(Span(start, start), f"import {package}\n")
