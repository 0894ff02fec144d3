"""Where a body needs the Python value of a parameter: a test, a bound, a shape, an axis, a flag of a layer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.concrete import CONCRETE_ARGUMENTS, CONCRETE_IN_METHODS, ConcreteArgument
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body
from remat_lint.project.layers import layer_flags
from remat_lint.project.levels import Level
from remat_lint.project.origins import Origins
from remat_lint.project.scopes import Scope
from remat_lint.project.values import Data, Moment
from remat_lint.project.visits import Visit, visits

_BOOL, _INTEGER, _INDEX = "TracerBoolConversionError", "TracerIntegerConversionError", "IndexError"


@dataclass(frozen=True, slots=True, eq=False)
class FlagUse:
    """One use.

    Attributes:
        node: the expression that cannot be traced.
        scope: the function in which it stands.
        names: the parameters of the wrapped function whose value it needs.
        reason: what is done there, as a clause about `it`.
        error: the exception of a traced value; empty where that depends.
        truth: whether the truth of it or of a comparison is asked, which other values than numbers have too.
        guarded: whether it happens under a condition.
        maybe: whether the place may not look at the value after all.
    """

    node: n.Expression
    scope: Scope
    names: frozenset[str]
    reason: str
    error: str
    truth: bool = False
    guarded: bool = False
    maybe: bool = False


class Flags:
    """Finds the uses in one body."""

    def __init__(self, body: Body, project: Analysis) -> None:
        self.body, self.project = body, project
        self.origins = Origins(body, project)

    def uses(self) -> Iterator[FlagUse]:
        """Yield the uses, the wrapped function's own first; those that a `try` may catch apart (`in_tries`)."""
        for use, visit in self._all():
            if not _is_tried(visit):
                yield use

    def in_tries(self) -> Iterator[tuple[FlagUse, Visit]]:
        """Yield the uses inside a `try`."""
        yield from ((use, visit) for use, visit in self._all() if _is_tried(visit))

    def _all(self) -> Iterator[tuple[FlagUse, Visit]]:
        seen: set[int] = set()
        for scope in self.body.scopes:
            for visit in visits(scope):
                for use in self._at(visit):
                    if use.names and use.node.at not in seen:
                        seen.add(use.node.at)
                        yield replace(use, guarded=use.guarded or bool(visit.arms)), visit

    def _at(self, visit: Visit) -> Iterator[FlagUse]:
        match visit.node:
            case n.Branch() as node if node.subject is not None:
                yield from self._cases(node, visit)
            case n.Operation() as node:
                yield from self._operation(node, visit)
            case n.Subscript() as node:
                yield from self._subscript(node, visit)
            case n.Call() as node:
                yield from self._call(node, visit)
            case node:
                for test, scope in _tests(node, visit.scope):
                    yield from self._truths(test, replace(visit, scope=scope))

    # Truth

    def _truths(self, test: n.Expression, visit: Visit, *, guarded: bool = False) -> Iterator[FlagUse]:
        """Yield the uses in what is asked to be true."""
        if isinstance(test, n.Operation) and test.op in ("and", "or"):
            yield from self._truths(test.operands[0], visit, guarded=guarded)
            for operand in test.operands[1:]:
                yield from self._truths(operand, visit, guarded=True)
        elif isinstance(test, n.Operation) and test.op == "not":
            for inner in self._truths(test.operands[0], visit, guarded=guarded):
                yield replace(inner, node=test) if inner.node is test.operands[0] else inner
        else:
            asked = test.args[0].value if isinstance(test, n.Call) and _is_bool(test) else test
            names = self.origins.of(asked, visit.moment)
            plain = isinstance(asked, n.Name)
            reason = (
                "asking whether it is true" if plain else "asking for the outcome of a computation with it"
            )
            yield FlagUse(test, visit.scope, names, reason, _BOOL, truth=True, guarded=guarded)

    def _operation(self, node: n.Operation, visit: Visit) -> Iterator[FlagUse]:
        if node.op == "not":
            yield from self._truths(node, visit)
        elif node.op in ("and", "or"):
            for number, operand in enumerate(node.operands[:-1]):
                yield from self._truths(operand, visit, guarded=number > 0)
        elif node.op in ("in", "not in") and isinstance(node.operands[1], n.Collection):
            yield from self._membership(node, node.operands[1], visit)
        elif node.op == "*" and any(
            isinstance(part, n.Collection) and part.kind == "list" for part in node.operands
        ):
            for part in node.operands:
                yield self._use(part, visit, "repeating a list by it", "TypeError")

    def _membership(self, node: n.Operation, items: n.Collection, visit: Visit) -> Iterator[FlagUse]:
        numbers = [item for item in items.items if isinstance(item, n.Constant)]
        if not numbers or len(numbers) < len(items.items):
            return
        if all(isinstance(item.value, bool | int | float) for item in numbers):
            hashed = items.kind in ("set", "dict")
            error = "TypeError" if hashed else _BOOL
            names = self.origins.of(node.operands[0], visit.moment)
            yield FlagUse(node, visit.scope, names, f"looking it up in a {items.kind}", error, truth=True)

    def _cases(self, node: n.Branch, visit: Visit) -> Iterator[FlagUse]:
        """Yield the first `case` that compares: with a number, or with what a dotted name stands for."""
        assert node.subject is not None
        names = self.origins.of(node.subject, visit.moment)
        for arm in node.arms:
            bare = any(_is_number(value) for value in arm.pattern) and _is_bare(
                visit.scope.module.text_at(arm.at)
            )
            if bare:
                value = next(value for value in arm.pattern if _is_number(value))
                yield FlagUse(
                    value, visit.scope, names, "comparing it with the number of a `case`", _BOOL, truth=True
                )
                return

    # Numbers

    def _use(self, node: n.Expression, visit: Visit, reason: str, error: str) -> FlagUse:
        names = self.origins.of(node, visit.moment)
        return FlagUse(node, visit.scope, names, reason, error)

    def _subscript(self, node: n.Subscript, visit: Visit) -> Iterator[FlagUse]:
        parts = (
            node.index.items
            if isinstance(node.index, n.Collection) and node.index.kind == "tuple"
            else (node.index,)
        )
        for part in parts:
            if isinstance(part, n.Operation) and part.op == "slice":
                for bound in part.operands:
                    error = _INDEX if len(parts) > 1 or self._is_array(node.value, visit.moment) else ""
                    error = _INTEGER if self._is_list(node.value, visit.moment) else error
                    yield self._use(bound, visit, "using it as a bound of a slice", error)
            elif part is node.index and self._is_list(node.value, visit.moment):
                kind = self._kind(node.value, visit.moment)
                error = "TypeError" if kind == "dict" else _INTEGER
                yield self._use(part, visit, f"using it as an index of a Python {kind}", error)

    def _is_array(self, node: n.Expression, moment: Moment) -> bool:
        computed = isinstance(node, n.Call | n.Operation)
        return computed and self.origins.taint.level(node, moment) is Level.TRACED

    def _is_list(self, node: n.Expression, moment: Moment) -> bool:
        return bool(self._kind(node, moment))

    def _kind(self, node: n.Expression, moment: Moment) -> str:
        values = self.project.evaluate(node, moment)
        kinds = {
            value.node.kind
            if isinstance(value, Data) and isinstance(value.node, n.Collection | n.Comprehension)
            else ""
            for value in values
        }
        kind = kinds.pop() if len(kinds) == 1 else ""
        return kind if kind in ("list", "tuple", "dict") else ""

    def _call(self, node: n.Call, visit: Visit) -> Iterator[FlagUse]:
        here = Moment(visit.scope, visit.scope.module.happened(node.at) or visit.moment.event)
        dotted = self.origins.taint.dotted(node.func, here)
        if dotted in CONCRETE_ARGUMENTS:
            yield from self._arguments(node, CONCRETE_ARGUMENTS[dotted], visit)
        elif isinstance(node.func, n.Attribute) and self._is_method(node.func, visit):
            yield from self._arguments(node, CONCRETE_IN_METHODS[node.func.attr], visit)
        for flag in layer_flags(node, here, self.project):
            if isinstance(flag.value, n.Operation):
                continue
            names = self.origins.of(flag.value, visit.moment)
            reason = f"handing it to {flag.layer} as `{flag.name}`"
            yield FlagUse(flag.value, visit.scope, names, reason, _BOOL, truth=True, maybe=flag.maybe)

    def _is_method(self, func: n.Attribute, visit: Visit) -> bool:
        """Whether a method of an array of the trace is called that needs Python values."""
        known = func.attr in CONCRETE_IN_METHODS
        return known and self.origins.taint.level(func.value, visit.moment) is not Level.NONE

    def _arguments(self, node: n.Call, row: ConcreteArgument, visit: Visit) -> Iterator[FlagUse]:
        place = 0
        for argument in node.args:
            if argument.star:
                return
            meant = (
                argument.keyword in row.keywords
                if argument.keyword
                else place in row.positions or -1 in row.positions
            )
            place += argument.keyword is None
            if meant:
                nested = isinstance(argument.value, n.Collection)
                error = row.error if not nested or row.what == "a shape" else ""
                names = self.origins.anywhere(argument.value, visit.moment)
                yield FlagUse(argument.value, visit.scope, names, f"using it as {row.what}", error)


def _is_tried(visit: Visit) -> bool:
    return any(isinstance(guard, n.Try) for guard in visit.guards)


def _tests(node: n.Node, scope: Scope) -> Iterator[tuple[n.Expression, Scope]]:
    """Yield what a node asks to be true, and the scope in which it does."""
    match node:
        case n.Branch():
            yield from ((arm.test, scope) for arm in node.arms if arm.test is not None)
        case n.Conditional(test=test) | n.Loop(test=test) if test is not None:
            yield test, scope
        case n.Return(how="assert", values=(test, *_)):
            yield test, scope
        case n.Comprehension():
            inner = scope.module.builder.scopes.get(node.at, scope)
            yield from ((test, inner) for clause in node.clauses for test in clause.conditions)


def _is_bool(node: n.Call) -> bool:
    """Whether a call is `bool(x)`, which asks what a test of `x` asks."""
    return isinstance(node.func, n.Name) and node.func.id == "bool" and len(node.args) == 1


def _is_number(node: n.Expression) -> bool:
    if isinstance(node, n.Operation) and node.op == "-" and len(node.operands) == 1:
        node = node.operands[0]
    return isinstance(node, n.Constant) and type(node.value) in (int, float)


def _is_bare(text: str) -> bool:
    """Whether a case consists of numbers and names, not of numbers inside a sequence, class or mapping pattern."""
    head = text.partition(":")[0]
    return not any(mark in head for mark in "([{,*")
