"""What the decorators around a wrap site are, the topmost first."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.values import External, Moment, Partial, Result, Transformed, Value, WrapSite


def applied(site: WrapSite, project: Analysis) -> Iterator[tuple[n.Expression, str, Moment]]:
    """Yield the decorators of the definition that a site decorates, each with its dotted name, empty if unknown."""
    scope = site.definition
    if scope is None or not isinstance(scope.node, n.Function | n.Class):
        return
    for decorator in scope.node.decorators:
        moment = Moment(scope.parent or scope, scope.definition)
        names = {_dotted(value) for value in project.evaluate(decorator, moment)}
        yield decorator, names.pop() if len(names) == 1 else "", moment


def _dotted(value: Value) -> str:
    match value:
        case External(dotted=dotted) | Result(dotted=dotted) | Transformed(dotted=dotted):
            return dotted.removesuffix("()")
        case Partial(target=External(dotted=dotted)):
            return dotted
    return ""
