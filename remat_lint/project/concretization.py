"""What a body does with traced values that only concrete ones allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body
from remat_lint.project.conversions import CONCRETE, CONVERTING_METHODS, TRUTH, converts
from remat_lint.project.levels import ARRAY_METHODS, COMPUTES, Level, compares
from remat_lint.project.taint import Taint
from remat_lint.project.values import Moment
from remat_lint.project.visits import Visit, visits


@dataclass(frozen=True, slots=True, eq=False)
class Concretization:
    """One use: the node, where it stands, its text for a message, the exception, and the value that it needs."""

    node: n.Expression
    visit: Visit
    text: str
    error: str
    operand: n.Expression


class Concretizations:
    """Finds the uses in one body."""

    def __init__(self, body: Body, project: Analysis) -> None:
        self.body, self.project = body, project
        self.taint = Taint(body, project)

    def __iter__(self) -> Iterator[Concretization]:
        for scope in self.body.scopes:
            for visit in visits(scope):
                yield from self._at(visit)

    def _at(self, visit: Visit) -> Iterator[Concretization]:
        match visit.node:
            case n.Call() as node:
                yield from self._call(node, visit)
            case n.Format(value=value, spec=spec) if spec and self.is_array(value, visit.moment):
                text = f"the format of `{_shown(value)}`"
                yield Concretization(value, visit, text, "TypeError", value)
            case n.Branch(subject=None) as node:
                for arm in node.arms:
                    if arm.test is not None:
                        yield from self._test(arm.test, visit)
            case n.Conditional(test=test) | n.Loop(test=test) if test is not None:
                yield from self._test(test, visit)
            case n.Return(how="assert", values=(test, *_)):
                yield from self._test(test, visit)

    def _test(self, test: n.Expression, visit: Visit) -> Iterator[Concretization]:
        if isinstance(test, n.Operation) and test.op in ("and", "or", "not"):
            for operand in test.operands:
                yield from self._test(operand, visit)
        elif self.is_array(test, visit.moment):
            yield Concretization(test, visit, f"asking whether `{_shown(test)}` is true", TRUTH, test)

    def _call(self, node: n.Call, visit: Visit) -> Iterator[Concretization]:
        here = Moment(visit.scope, visit.scope.module.happened(node.at) or visit.moment.event)
        func = node.func
        if isinstance(func, n.Attribute) and func.attr in CONVERTING_METHODS and not node.args:
            if self.is_array(func.value, here) or self._is_traced(func.value, here):
                yield Concretization(node, visit, f"`{_shown(node)}`", CONCRETE, func.value)
            return
        dotted = self.taint.dotted(func, here)
        error = converts(dotted)
        if error and node.args and not node.args[0].star and self._is_traced(node.args[0].value, here):
            text = f"{render(func)}({_shown(node.args[0].value)})"
            yield Concretization(node, visit, f"`{text}`", error, node.args[0].value)

    def _is_traced(self, node: n.Expression, moment: Moment) -> bool:
        return self.taint.level(node, moment) is Level.TRACED

    def is_array(self, node: n.Expression, moment: Moment) -> bool:
        """Whether a value is traced and, by how it is made, an array: no container and no None."""
        if not self._is_traced(node, moment):
            return False
        match node:
            case n.Operation():
                texts = any(isinstance(o, n.Constant) and not _is_number(o) for o in node.operands)
                return not texts and (node.op in COMPUTES or compares(node.op))
            case n.Call():
                method = isinstance(node.func, n.Attribute) and node.func.attr in ARRAY_METHODS
                return method or self.taint.dotted(node.func, moment).startswith("jax.")
            case n.Name():
                return self._is_bound_array(node, moment)
        return False

    def _is_bound_array(self, node: n.Name, moment: Moment) -> bool:
        scope = moment.scope.find(node.id)
        if scope is None:
            return False
        live = self.taint.live(scope.bindings.get(node.id, []), moment, scope.frame)
        return bool(live) and all(
            isinstance(event.value, n.Operation | n.Call)
            and not event.part
            and self.is_array(event.value, Moment(event.scope, event))
            for event in live
        )


def _is_number(node: n.Constant) -> bool:
    return isinstance(node.value, bool | int | float)


def _shown(node: n.Expression) -> str:
    """Return short text for a message."""
    if isinstance(node, n.Operation) and compares(node.op) and len(node.operands) == 2:  # noqa: PLR2004 - one comparison
        return f" {node.op} ".join(render(operand) for operand in node.operands)
    return render(node)
