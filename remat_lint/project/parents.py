"""What stands directly around a node: asked by the few questions that go from a value to where it flows."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n


class Parents:
    """The parent of every node of a module's statements, by number; arguments and arms are skipped."""

    def __init__(self, bodies: list[tuple[n.Statement, ...]]) -> None:
        self._above: dict[int, n.Node] = {}
        todo: list[n.Node] = [statement for body in bodies for statement in body]
        while todo:
            node = todo.pop()
            for child in inside(node):
                self._above[child.at] = node
                todo.append(child)

    def of(self, at: int) -> n.Node | None:
        """Return the node around the one with number `at`; None for a statement of the module."""
        return self._above.get(at)

    def chain(self, at: int) -> Iterator[n.Node]:
        """Yield the nodes around the one with number `at`, innermost first."""
        step = self._above.get(at)
        while step is not None:
            yield step
            step = self._above.get(step.at)


def inside(node: n.Node) -> Iterator[n.Node]:
    """Yield the expressions and statements directly inside a node, whatever its kind."""
    match node:
        case n.Function():
            yield from node.decorators
            yield from (p.default for p in node.parameters if p.default is not None)
            yield from node.body
        case n.Class():
            yield from node.decorators
            yield from (argument.value for argument in node.bases)
            yield from node.body
        case n.Branch():
            yield from () if node.subject is None else (node.subject,)
            for arm in node.arms:
                yield from arm.pattern
                yield from () if arm.test is None else (arm.test,)
                yield from arm.body
        case n.Loop():
            yield from (part for part in (node.iter, node.target, node.test) if part is not None)
            yield from node.body + node.orelse
        case n.Try():
            yield from node.body
            for handler in node.handlers:
                yield from () if handler.type is None else (handler.type,)
                yield from handler.body
            yield from node.orelse + node.final
        case n.With():
            for context, target in node.items:
                yield context
                yield from () if target is None else (target,)
            yield from node.body
        case n.Evaluate():
            yield node.value
        case n.Return():
            yield from node.values
        case n.Bind():
            yield from () if node.value is None else (node.value,)
            yield from node.targets
        case n.Call():
            yield node.func
            yield from (argument.value for argument in node.args)
        case _:
            yield from _operands(node)


def _operands(node: n.Node) -> Iterator[n.Expression]:
    match node:
        case n.Attribute():
            yield node.value
        case n.Subscript():
            yield from (node.value, node.index)
        case n.Collection():
            yield from (item for item in node.items if item is not None)
        case n.Operation():
            yield from node.operands
        case n.Format():
            yield from (node.value, *node.spec)
        case n.Conditional():
            yield from (node.test, node.body, node.orelse)
        case n.Comprehension():
            for clause in node.clauses:
                yield from (clause.iter, clause.target, *clause.conditions)
            yield from node.elements
