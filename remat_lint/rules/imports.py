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
    row = module.span(first.at).start.row if first is not None else _first_row(module)
    start = Position(row, 1)
    return Edit(Span(start, start), f"import {package}\n")


def _first_row(module: Module) -> int:
    """Return the first row for an import: behind leading comments, the docstring and imports from `__future__`."""
    row = 1
    for number, statement in enumerate(statement for body in module.builder.bodies for statement in body):
        docstring = (
            number == 0 and isinstance(statement, n.Evaluate) and isinstance(statement.value, n.Constant)
        )
        future = isinstance(statement, n.Import) and statement.module == "__future__"
        if not docstring and not future:
            heads = getattr(statement, "decorators", ())
            start = min(module.span(node.at).start.row for node in (statement, *heads))
            return start if number == 0 else row
        row = module.span(statement.at).end.row + 1
    return row
