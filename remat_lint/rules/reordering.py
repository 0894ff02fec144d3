"""The edits that put a wrapper on the right side of something else."""

from __future__ import annotations

from collections.abc import Sequence

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Position, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.ordering import Disorder
from remat_lint.rules.rule import Place, safe, unsafe
from remat_lint.rules.static_edits import make_static
from remat_lint.rules.untraced_statics import UntracedStatic
from remat_lint.rules.unwrapping import unwrap


def exchange(found: Disorder) -> Fix:
    """Return the fix that exchanges two decorators next to each other; comments stay on their lines."""
    module = found.site.event.module
    mine, other = Place(module, found.site.at), Place(module, found.other)
    return safe("Exchange the decorators", mine.replace(other.text), other.replace(mine.text))


def static_in_both(found: Sequence[UntracedStatic], project: Analysis) -> Fix | None:
    """Return the fix that names the static arguments of the `jit` in the checkpoint too."""
    by_position = all(_by_position(one) for one in found)
    fix = make_static([one.flag for one in found], project) if found[0].calls else None
    if fix is None:
        return None
    return safe("Make the argument static in the checkpoint too", *fix.edits) if by_position else fix


def _by_position(one: UntracedStatic) -> bool:
    return one.position is not None and all(
        call.complete and len(call.positional) > one.position for call in one.calls
    )


def behind_rules(found: Disorder) -> Fix | None:
    """Return the fix that takes the wrapper away and wraps the function once its rules are defined."""
    node, scope = found.uses[-1]
    module = scope.module
    if not isinstance(node.value, n.Name) or found.site.scope.frame is not scope.frame:
        return None
    statement = _statement(node, module)
    taken = unwrap(found.site, scope)
    if statement is None or taken is None:
        return None
    name = node.value.id
    span = module.span(statement.at)
    first = module.source.line(_first_row(statement, module))
    indent = first[: len(first) - len(first.lstrip())]
    # A comment behind the statement stays where it is.
    end = Position(span.end.row, len(module.source.line(span.end.row).rstrip("\r\n")) + 1)
    line = Edit(Span(end, end), f"\n{indent}{name} = {taken.around(name)}")
    return unsafe("Wrap the function after its rules are defined", *taken.edits, line)


def _first_row(statement: n.Statement, module: Module) -> int:
    decorators = getattr(statement, "decorators", ())
    return min(module.span(node.at).start.row for node in (statement, *decorators))


def _statement(node: n.Attribute, module: Module) -> n.Evaluate | n.Function | None:
    """Return the statement that defines a rule: a call of its own, or a definition with the attribute as decorator."""
    for above in module.builder.parents.chain(node.at):
        if isinstance(above, n.Evaluate):
            return above
        if isinstance(above, n.Function) and not above.is_lambda:
            return above if any(decorator is node for decorator in above.decorators) else None
        if not isinstance(above, n.Call):
            return None
    return None
