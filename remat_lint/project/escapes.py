"""Whether a value made in one round of a loop is still used in a later one, or after the loop."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.jaxapi import wrappers
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.jaxapi.public import TRANSPARENT
from remat_lint.project import traversal
from remat_lint.project.analysis import Analysis
from remat_lint.project.application import PARTIALS
from remat_lint.project.parents import inside
from remat_lint.project.scopes import LoopNode, Scope
from remat_lint.project.values import External, Moment, Partial, Value
from remat_lint.project.writes import changes_in

_COLLECTORS = frozenset({"append", "add", "insert", "extend", "appendleft", "setdefault", "put", "push"})
_SETATTR = 3
_MAKERS = frozenset(
    f"builtins.{name}" for name in ("list", "tuple", "dict", "set", "sorted", "enumerate", "zip")
)


class Escape:
    """Follows one value out of one loop.

    Args:
        project: resolves what the value is given to.
        frame: the frame of the loop.
        loop: the loop in whose round the value is made.
    """

    def __init__(self, project: Analysis, frame: Scope, loop: LoopNode) -> None:
        self.project, self.frame, self.loop = project, frame, loop
        self.parents = frame.module.builder.parents
        self._names: set[str] = set()

    def of(self, node: n.Expression) -> n.Expression | None:
        """Return the expression by which the value of `node` leaves its round; None if it does not, or unclear."""
        for above in self._flows(node):
            if isinstance(above, n.Comprehension):
                return node if above.kind != "generator" or self._is_collected(above) else None
            if isinstance(above, n.Call):
                return node if self._collects(above, node) else None
            if isinstance(above, n.Bind):
                return self._bound(above, node)
            return None
        return None

    def of_name(self, name: str, after: int) -> n.Expression | None:
        """Return the first use of a local name in the loop by which its value leaves the round.

        A name that is called in the round as well is left alone: the call makes the trace while the value is right.
        """
        if name in self._names:
            return None
        self._names.add(name)
        found = None
        for use in self._uses(name, after):
            above = self.parents.of(use.at)
            if isinstance(above, n.Call) and above.func is use:
                return None
            found = found or self.of(use)
        return found

    def _flows(self, node: n.Expression) -> Iterator[n.Node]:
        """Yield the node to which the value goes, through displays, conditionals and function transformations."""
        step: n.Node = node
        for above in self.parents.chain(node.at):
            passed = isinstance(above, n.Call) and above.func is not step and self._passes_on(above)
            chosen = isinstance(above, n.Operation) and above.op in ("or", "and")
            if passed or chosen or isinstance(above, n.Collection | n.Conditional):
                step = above
            else:
                if isinstance(above, n.Comprehension) and step not in above.elements:
                    return
                yield above
                return

    def _callee(self, call: n.Call) -> tuple[Value, ...]:
        event = self.frame.module.happened(call.at)
        return () if event is None else self.project.evaluate(call.func, Moment(event.scope, event))

    def _passes_on(self, call: n.Call) -> bool:
        """Whether the call returns a function that will call the value later."""
        for callee in self._callee(call):
            target = callee.target if isinstance(callee, Partial) else callee
            if isinstance(target, External):
                receiver = lookup_receiver(target.dotted)
                if target.dotted in PARTIALS | TRANSPARENT or wrappers.lookup(target.dotted) is not None:
                    return True
                if receiver is not None and receiver.kind in ("transform", "cached", "partial"):
                    return True
        return False

    def _collects(self, call: n.Call, node: n.Expression) -> bool:
        func = call.func
        if isinstance(func, n.Name) and func.id == "setattr" and len(call.args) == _SETATTR:
            return not isinstance(call.args[1].value, n.Constant) and self._is_outer(call.args[0].value)
        if func is node or not isinstance(func, n.Attribute) or func.attr not in _COLLECTORS:
            return False
        return self._is_outer(func.value) and not self._is_used(func.value, call.at)

    def _is_used(self, container: n.Expression, after: int) -> bool:
        """Whether the round itself takes something out of a container: a call may come while the value is right."""
        if not isinstance(container, n.Name):
            access = self.project.access(container, self.frame)
            return access is None or any(
                isinstance(part, n.Attribute | n.Subscript)
                and part.at > after
                and self.project.access(part, self.frame) == access
                and not self._is_collector(part)
                for part in traversal.walk(self.loop)
            )
        return any(not self._is_collector(use) for use in self._uses(container.id, after))

    def _is_collector(self, use: n.Expression) -> bool:
        """Whether a container is used for nothing but to put something into it."""
        above = self.parents.of(use.at)
        if isinstance(above, n.Attribute) and above.attr in _COLLECTORS:
            return True
        stored = self.parents.of(above.at) if isinstance(above, n.Subscript) else None
        return isinstance(stored, n.Bind) and above in stored.targets

    def _is_outer(self, node: n.Expression) -> bool:
        """Whether a container lives longer than one round."""
        while isinstance(node, n.Attribute | n.Subscript):
            node = node.value
        return isinstance(node, n.Name) and not changes_in(node.id, self.loop, self.frame)

    def _is_collected(self, generator: n.Comprehension) -> bool:
        above = self.parents.of(generator.at)
        if not isinstance(above, n.Call):
            return False
        return any(isinstance(v, External) and v.dotted in _MAKERS for v in self._callee(above))

    def _bound(self, bind: n.Bind, node: n.Expression) -> n.Expression | None:
        if bind.how == "augmented":
            return node if self._is_extended(bind.targets[0]) else None
        for target in bind.targets:
            if isinstance(target, n.Subscript):
                moving = not isinstance(target.index, n.Constant)
                kept = moving and self._is_outer(target) and not self._is_used(target.value, bind.at)
                return node if kept else None
            if isinstance(target, n.Name):
                return self.of_name(target.id, bind.at)
        return None

    def _is_extended(self, target: n.Expression) -> bool:
        """Whether `target += [value]` puts the value into a container made before the loop."""
        if not isinstance(target, n.Name):
            return self._is_outer(target)
        bound = [event for event in self.frame.events if event.kind == "bind" and event.name == target.id]
        fresh = [event for event in bound if self.loop in event.loops and not _is_augmented(event.node)]
        return not fresh

    def _uses(self, name: str, after: int) -> Iterator[n.Name]:
        """Yield the reads of a name in the loop behind the node with number `after`."""
        todo: list[n.Node] = [self.loop]
        found: list[n.Name] = []
        while todo:
            node = todo.pop()
            for part in _reads_inside(node):
                if isinstance(part, n.Name) and part.id == name and part.at > after:
                    found.append(part)
                elif not isinstance(part, n.Function | n.Class):
                    todo.append(part)
        yield from sorted(found, key=lambda use: use.at)


def _is_augmented(node: n.Node) -> bool:
    return isinstance(node, n.Bind) and node.how == "augmented"


def _reads_inside(node: n.Node) -> Iterator[n.Node]:
    """Yield what is inside a node, without plain targets of bindings: they are no reads."""
    targets = node.targets if isinstance(node, n.Bind) else ()
    for part in inside(node):
        if not (isinstance(part, n.Name) and part in targets):
            yield part
