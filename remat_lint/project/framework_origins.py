"""Where the objects that a traced body works on came from: an argument, from outside, or made in the body."""

from __future__ import annotations

from typing import Literal

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.framework_classes import MERGES
from remat_lint.project.frameworks import Frameworks
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.values import External, Moment

Origin = Literal["argument", "captured", "merged", "local", "unknown"]
_DEEPEST = 6


class Origins:
    """Answers for one body.

    Attributes:
        inside: the functions that run during the trace.
        given: where what a parameter of such a function holds came from.
    """

    def __init__(self, project: Analysis, frameworks: Frameworks) -> None:
        self.project, self.frameworks = project, frameworks
        self.inside: set[Scope] = set()
        self.given: dict[tuple[Scope, str], Origin] = {}

    def of(self, node: n.Expression, moment: Moment, depth: int = 0) -> Origin:
        """Return where the object came from that an expression names, or on which it hangs."""
        while isinstance(node, n.Attribute | n.Subscript):
            node = node.value
        if depth > _DEEPEST:
            return "unknown"
        if isinstance(node, n.Call):
            return self._made(node, moment, depth)
        if not isinstance(node, n.Name):
            return "unknown"
        scope = moment.scope.find(node.id)
        if scope is None or scope.frame not in self.inside:
            return "captured"
        if (scope, node.id) in self.given:
            return self.given[scope, node.id]
        events = scope.bindings.get(node.id, [])
        same = moment.event is not None and scope.frame is moment.scope.frame
        live = reaching(events, moment.event if same else None, scope.frame) or events
        found = [self._bound(event, moment, depth + 1) for event in live]
        return next((one for one in found if one != "unknown"), "unknown")

    def parameters(self, scope: Scope) -> tuple[str, ...]:
        """Return where the parameters of a function came from, in order."""
        return tuple(self.given.get((scope, p.name), "") for p in scope.parameters())

    def _bound(self, event: Event, moment: Moment, depth: int) -> Origin:
        if not isinstance(event.value, n.Expression):
            return "unknown"
        return self.of(event.value, Moment(event.scope, event, moment.env), depth)

    def _made(self, call: n.Call, moment: Moment, depth: int) -> Origin:
        """Return where the result of a call came from: loops over `enumerate(…)` and the like hand on what they hold."""
        here = Moment(moment.scope, moment.scope.module.happened(call.at) or moment.event, moment.env)
        for callee in self.project.evaluate(call.func, here):
            if isinstance(callee, External) and callee.dotted in MERGES:
                return "merged"
            if isinstance(callee, External) and callee.dotted.startswith("builtins.") and call.args:
                return self.of(call.args[-1].value, here, depth + 1)
        if self.frameworks.modules(call, here):
            return "local"
        return "unknown"
