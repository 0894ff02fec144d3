"""When an expression is evaluated, for those that are no event themselves."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import Moment


def moment_of(node: n.Expression, scope: Scope) -> Moment | None:
    """Return when an expression of `scope` is evaluated: with the call, the binding or the return around it.

    A decorator is evaluated with its definition. None where nothing of that kind is around it.
    """
    module = scope.module
    for above in (node, *module.builder.parents.chain(node.at)):
        event: Event | None = None
        if isinstance(above, n.Call):
            event = module.happened(above.at)
        elif isinstance(above, n.Bind | n.Return | n.Loop):
            event = next((e for e in scope.frame.events if e.node is above and e.kind != "call"), None)
        elif isinstance(above, n.Function | n.Class):
            event = module.happened(above.at)
            return Moment(scope, event) if event is not None and event.scope is scope else None
        elif isinstance(above, n.Comprehension):
            return None
        if event is not None:
            return Moment(event.scope, event)
    return None
