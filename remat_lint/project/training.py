"""What shows that a function is a step of training, or the loop that calls it: derivatives taken, updates applied."""

from __future__ import annotations

import re
from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.placement import DERIVATIVES
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, FunctionRef, Moment, Transformed

_UPDATES = frozenset({"optax.apply_updates", "equinox.apply_updates", "optax.incremental_update"})
_UPDATING_METHODS = frozenset({"apply_gradients", "apply_updates"})
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
_HOST = re.compile(r"_?(main|train|fit|run)")
_NESTED = re.compile(r"inner|outer|meta|adapt|unroll")
_DEEPEST, _FEWEST = 2, 1


def takes_derivative(scope: Scope, project: Analysis, depth: int = 0) -> bool:
    """Whether a function itself, or one that it calls, takes a derivative by `jax.grad` or its like."""
    for event, call in _calls(scope):
        for value in project.evaluate(call.func, Moment(event.scope, event)):
            if isinstance(value, Transformed) and value.dotted in DERIVATIVES:
                return True
            inner = value.scope if isinstance(value, FunctionRef) and depth < _DEEPEST else scope
            if inner is not scope and takes_derivative(inner, project, depth + 1):
                return True
    return False


def applies_update(scope: Scope, project: Analysis) -> bool:
    """Whether a function changes parameters by the derivatives that it takes: by an optimizer, or by hand."""
    taken = _Derivatives(scope, project)
    return any(_is_update(event, call, taken, project) for event, call in _calls(scope)) or any(
        taken.is_step(part) for part in walk(_body(scope), lambda part: not isinstance(part, n.Function))
    )


def _is_update(event: Event, call: n.Call, taken: _Derivatives, project: Analysis) -> bool:
    method = call.func.attr if isinstance(call.func, n.Attribute) else ""
    values = project.evaluate(call.func, Moment(event.scope, event))
    dotted = {value.dotted for value in values if isinstance(value, External)}
    if method in _UPDATING_METHODS or dotted & _UPDATES:
        return True
    given = any(taken.has(argument.value) for argument in call.args)
    if given and dotted & _MAPS and len(call.args) > _FEWEST:
        lambdas = [
            part for part in walk(call.args[0].value) if isinstance(part, n.Operation) and part.op == "-"
        ]
        return bool(lambdas) and any(render(argument.value) in taken.variables for argument in call.args[1:])
    return given and method == "update"


class _Derivatives:
    """The derivatives that a function takes: the names they get, and what they are taken by."""

    def __init__(self, scope: Scope, project: Analysis) -> None:
        calls = [call for event, call in _calls(scope) if _is_derivative(event, call, project)]
        self.calls = frozenset(call.at for call in calls)
        self.variables = frozenset(render(argument.value) for call in calls for argument in call.args)
        self.names = frozenset(
            event.name
            for event in list(scope.events)
            if event.kind == "bind" and isinstance(event.value, n.Call) and event.value.at in self.calls
        )

    def has(self, node: n.Expression | None) -> bool:
        """Whether an expression mentions a derivative."""
        return any(
            (isinstance(part, n.Name) and part.id in self.names)
            or (isinstance(part, n.Call) and part.at in self.calls)
            for part in walk(node)
        )

    def is_step(self, part: n.Node) -> bool:
        """Whether a derivative is taken away from what it was taken by: `w - rate * grad`, or `w -= …`."""
        if isinstance(part, n.Bind):
            minus = part.how == "augmented" and part.op.startswith("-")
            return minus and render(part.targets[0]) in self.variables and self.has(part.value)
        if isinstance(part, n.Operation) and part.op == "-" and len(part.operands) == len(("left", "right")):
            left, right = part.operands
            return render(left) in self.variables and self.has(right)
        return False


def _is_derivative(event: Event, call: n.Call, project: Analysis) -> bool:
    """Whether a call gives derivatives: a call of what `jax.grad` made."""
    values = project.evaluate(call.func, Moment(event.scope, event))
    return any(isinstance(value, Transformed) and value.dotted in DERIVATIVES for value in values)


def is_host_loop(frame: Scope) -> bool:
    """Whether a function is named as the loop of a training: no derivative is taken of such a one."""
    names = [scope.name for scope in frame.ancestors() if scope.kind == "function" and scope.name]
    return bool(names) and bool(_HOST.match(names[0])) and not any(_NESTED.search(name) for name in names)


def _calls(scope: Scope) -> Iterator[tuple[Event, n.Call]]:
    for event in list(scope.events):
        if event.kind == "call" and isinstance(event.node, n.Call):
            yield event, event.node


def _body(scope: Scope) -> tuple[n.Statement, ...]:
    return scope.node.body if isinstance(scope.node, n.Function) else ()
