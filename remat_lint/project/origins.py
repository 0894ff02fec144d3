"""Which parameters of the wrapped function an expression takes its Python value from.

`not train`, `n + 1` and `x.shape[0] // n` do, for a number `n`; `x * n` for an array `x` does not: that is computed
from an array, whatever `n` is.
"""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body
from remat_lint.project.levels import COMPUTES, Level, compares
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.taint import Taint
from remat_lint.project.values import Moment

_NOTHING: frozenset[str] = frozenset()
_DEEPEST = 8
_FIRST_GIVEN = frozenset({"flax.linen.merge_param", "flax.linen.module.merge_param", "flax.nnx.first_from"})
"""Calls that return the first of their arguments that is not None."""


class Origins:
    """Answers for one body; `taint` is what is traced in it."""

    def __init__(self, body: Body, project: Analysis) -> None:
        self.body, self.project = body, project
        self.taint = Taint(body, project)

    def of(self, node: n.Expression, moment: Moment, depth: int = 0) -> frozenset[str]:
        """Return the parameters from which `node`, evaluated at `moment`, takes its value."""
        if depth > _DEEPEST:
            return _NOTHING
        match node:
            case n.Name():
                return self._name(node, moment, depth)
            case n.Operation(op="not" | "and" | "or" | "-" | "+" | "~"):
                return self._computed(node, moment, depth)
            case n.Operation() if node.op in COMPUTES or compares(node.op):
                return self._computed(node, moment, depth)
            case n.Conditional():
                return self.of(node.body, moment, depth + 1) | self.of(node.orelse, moment, depth + 1)
            case n.Call() if self.taint.dotted(node.func, moment) in _FIRST_GIVEN:
                values = (a.value for a in node.args if not a.star)
                return _NOTHING.union(*(self.of(value, moment, depth + 1) for value in values))
        return _NOTHING

    def anywhere(self, node: n.Expression, moment: Moment) -> frozenset[str]:
        """Return the parameters for `node` or, if it is a display, for its items."""
        if isinstance(node, n.Collection) and node.kind in ("tuple", "list"):
            return _NOTHING.union(*(self.anywhere(item, moment) for item in node.items if item is not None))
        return self.of(node, moment)

    def _computed(self, node: n.Operation, moment: Moment, depth: int) -> frozenset[str]:
        found = _NOTHING
        for operand in node.operands:
            names = self.of(operand, moment, depth + 1)
            if isinstance(operand, n.Constant) and (operand.value is None or isinstance(operand.value, str)):
                return _NOTHING
            if not names and self.taint.level(operand, moment) is not Level.NONE:
                return _NOTHING
            found |= names
        return found

    def _name(self, node: n.Name, moment: Moment, depth: int) -> frozenset[str]:
        scope = moment.scope.find(node.id)
        if scope is None or not self.taint.is_inside(scope):
            return _NOTHING
        live = self.taint.live(scope.bindings.get(node.id, []), moment, scope.frame)
        return _NOTHING.union(*(self._bound(event, depth) for event in live))

    def _bound(self, event: Event, depth: int) -> frozenset[str]:
        if isinstance(event.value, n.Parameter):
            return self.of_parameter(event.scope, event.value, depth)
        plain = isinstance(event.value, n.Expression) and not event.part
        if plain and isinstance(event.node, n.Bind) and event.node.how != "augmented":
            return self.of(event.value, Moment(event.scope, event), depth + 1)  # type: ignore[arg-type]  # just checked
        return _NOTHING

    def of_parameter(self, scope: Scope, parameter: n.Parameter, depth: int = 0) -> frozenset[str]:
        """Return the parameters of the wrapped function that calls hand to a parameter of a function of the body."""
        if scope is self.body.root.function.scope:
            star = parameter.kind in ("star", "double-star")
            return _NOTHING if star else frozenset({parameter.name})
        found = _NOTHING
        for entry in self.body.entries.get(scope, ()):
            value = entry.given(parameter)
            if value is not None and entry.event is not None:
                found |= self.of(value, Moment(entry.event.scope, entry.event), depth + 1)
        return found
