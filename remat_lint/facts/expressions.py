"""The part of the walk that deals with expressions, parameters and patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from remat_lint.facts import nodes as n

_KEYWORDS = {"True": True, "False": False, "None": None}


class Expressions:
    """Makes the nodes of expressions; `Walker` adds statements."""

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self.made: list[cst.CSTNode] = []
        self.yields = False

    def number(self, node: cst.CSTNode) -> int:
        """Give the next number to what stands at `node`."""
        self.made.append(node)
        return self.first + len(self.made) - 1

    def expression(self, node: Any) -> n.Expression:
        """Walk one expression; an unknown kind becomes an `Operation` without operands."""
        handler = _HANDLERS.get(type(node))
        return n.Operation(self.number(node), "unknown", ()) if handler is None else handler(self, node)

    def _name(self, node: cst.Name) -> n.Expression:
        if node.value in _KEYWORDS:
            return n.Constant(self.number(node), _KEYWORDS[node.value])
        return n.Name(self.number(node), node.value)

    def _attribute(self, node: cst.Attribute) -> n.Expression:
        at = self.number(node)
        return n.Attribute(at, self.expression(node.value), node.attr.value)

    def _subscript(self, node: cst.Subscript) -> n.Expression:
        at = self.number(node)
        value = self.expression(node.value)
        parts = [self._index(element.slice) for element in node.slice]
        index = parts[0] if len(parts) == 1 else n.Collection(self.number(node), "tuple", tuple(parts))
        return n.Subscript(at, value, index)

    def _index(self, node: cst.BaseSlice) -> n.Expression:
        if isinstance(node, cst.Index):
            value = self.expression(node.value)
            return value if node.star is None else n.Operation(self.number(node), "star", (value,))
        at = self.number(node)
        bounds = (node.lower, node.upper, node.step) if isinstance(node, cst.Slice) else ()
        none = n.Constant(at, None)
        return n.Operation(at, "slice", tuple(none if b is None else self.expression(b) for b in bounds))

    def _integer(self, node: cst.Integer) -> n.Expression:
        # libcst's own `evaluated_value` compiles the literal, at a hundred times the price.
        return n.Constant(self.number(node), int(node.value, 0))

    def _float(self, node: cst.Float) -> n.Expression:
        return n.Constant(self.number(node), float(node.value))

    def _imaginary(self, node: cst.Imaginary) -> n.Expression:
        return n.Constant(self.number(node), complex(node.value.lower()))

    def _ellipsis(self, node: cst.Ellipsis) -> n.Expression:
        return n.Constant(self.number(node), "...", "ellipsis")

    def _string(self, node: cst.SimpleString) -> n.Expression:
        return n.Constant(self.number(node), _text(node))

    def _concatenated(self, node: cst.ConcatenatedString) -> n.Expression:
        at = self.number(node)
        parts: list[n.Expression] = []
        step: cst.BaseExpression = node
        while isinstance(step, cst.ConcatenatedString):
            parts.append(self.expression(step.left))
            step = step.right
        parts.append(self.expression(step))
        values = [part.value for part in parts if isinstance(part, n.Constant)]
        if len(values) == len(parts) and all(isinstance(value, str) for value in values):
            return n.Constant(at, "".join(str(value) for value in values))
        return n.Operation(at, "string", tuple(parts))

    def _formatted(self, node: cst.FormattedString) -> n.Expression:
        at = self.number(node)
        return n.Operation(at, "string", self._parts(node.parts))

    def _parts(self, parts: Sequence[Any] | None) -> tuple[n.Expression, ...]:
        out: list[n.Expression] = []
        for part in parts or ():
            at = self.number(part)
            if hasattr(part, "expression"):
                value = self.expression(part.expression)
                out.append(n.Format(at, value, self._parts(part.format_spec), part.conversion or ""))
            else:
                out.append(n.Constant(at, part.value))
        return tuple(out)

    def _call(self, node: cst.Call) -> n.Expression:
        at = self.number(node)
        func = self.expression(node.func)
        return n.Call(at, func, tuple(self.argument(arg) for arg in node.args))

    def argument(self, arg: cst.Arg) -> n.Argument:
        """Walk one argument of a call or a class statement."""
        at = self.number(arg)
        keyword = None if arg.keyword is None else arg.keyword.value
        return n.Argument(at, self.expression(arg.value), keyword, arg.star)

    def _lambda(self, node: cst.Lambda) -> n.Expression:
        at = self.number(node)
        parameters = self.parameters(node.params)
        outer, self.yields = self.yields, False
        body = n.Return(self.number(node.body), "return", (self.expression(node.body),))
        generator, self.yields = self.yields, outer
        return n.Function(at, at, "", parameters, (), (body,), is_generator=generator)

    def parameters(self, params: cst.Parameters) -> tuple[n.Parameter, ...]:
        """Walk the parameters of a definition, in the order of the signature."""
        out = [self._parameter(p, "positional-only") for p in params.posonly_params]
        out += [self._parameter(p, "positional") for p in params.params]
        if isinstance(params.star_arg, cst.Param):
            out.append(self._parameter(params.star_arg, "star"))
        out += [self._parameter(p, "keyword-only") for p in params.kwonly_params]
        if params.star_kwarg is not None:
            out.append(self._parameter(params.star_kwarg, "double-star"))
        return tuple(out)

    def _parameter(self, param: cst.Param, kind: str) -> n.Parameter:
        at = self.number(param)
        annotation = None if param.annotation is None else self.expression(param.annotation.annotation)
        default = None if param.default is None else self.expression(param.default)
        return n.Parameter(at, param.name.value, kind, annotation, default)

    def _sequence(self, node: cst.Tuple | cst.List | cst.Set) -> n.Expression:
        at = self.number(node)
        items = tuple(self._element(element) for element in node.elements)
        return n.Collection(at, type(node).__name__.lower(), items)

    def _element(self, element: cst.BaseElement) -> n.Expression:
        if isinstance(element, cst.StarredElement):
            return n.Operation(self.number(element), "star", (self.expression(element.value),))
        return self.expression(element.value)

    def _dict(self, node: cst.Dict) -> n.Expression:
        at = self.number(node)
        items: list[n.Expression | None] = []
        for element in node.elements:
            items.append(self.expression(element.key) if isinstance(element, cst.DictElement) else None)
            items.append(self.expression(element.value))
        return n.Collection(at, "dict", tuple(items))

    def _comprehension(self, node: cst.ListComp | cst.SetComp | cst.GeneratorExp) -> n.Expression:
        at = self.number(node)
        clauses = self._clauses(node.for_in)
        kind = type(node).__name__.removesuffix("Comp").removesuffix("Exp").lower()
        return n.Comprehension(at, kind, (self.expression(node.elt),), clauses)

    def _dict_comprehension(self, node: cst.DictComp) -> n.Expression:
        at = self.number(node)
        clauses = self._clauses(node.for_in)
        return n.Comprehension(at, "dict", (self.expression(node.key), self.expression(node.value)), clauses)

    def _clauses(self, first: cst.CompFor) -> tuple[n.Clause, ...]:
        out: list[n.Clause] = []
        step: cst.CompFor | None = first
        while step is not None:
            at = self.number(step)
            iterated, target = self.expression(step.iter), self.expression(step.target)
            out.append(n.Clause(at, target, iterated, tuple(self.expression(c.test) for c in step.ifs)))
            step = step.inner_for_in
        return tuple(out)

    def _conditional(self, node: cst.IfExp) -> n.Expression:
        at = self.number(node)
        return n.Conditional(at, *(self.expression(e) for e in (node.test, node.body, node.orelse)))

    def _binary(self, node: cst.BinaryOperation | cst.BooleanOperation) -> n.Expression:
        # A chain such as a + b + c + … nests to the left as deep as it is long: walked in a loop, not by recursion.
        chain: list[cst.BinaryOperation | cst.BooleanOperation] = [node]
        while isinstance(chain[-1].left, cst.BinaryOperation | cst.BooleanOperation):
            chain.append(chain[-1].left)
        numbers = [self.number(step) for step in chain]
        value = self.expression(chain[-1].left)
        for step, at in zip(reversed(chain), reversed(numbers), strict=True):
            op = _OPERATORS.get(type(step.operator).__name__, "")
            value = n.Operation(at, op, (value, self.expression(step.right)))
        return value

    def _unary(self, node: cst.UnaryOperation) -> n.Expression:
        at = self.number(node)
        value = self.expression(node.expression)
        op = _OPERATORS.get(type(node.operator).__name__, "")
        if op == "-" and isinstance(value, n.Constant) and isinstance(value.value, int | float | complex):
            return n.Constant(at, -value.value)
        return n.Operation(at, op, (value,))

    def _comparison(self, node: cst.Comparison) -> n.Expression:
        at = self.number(node)
        operands = [self.expression(node.left)] + [self.expression(c.comparator) for c in node.comparisons]
        op = ",".join(_OPERATORS.get(type(c.operator).__name__, "") for c in node.comparisons)
        return n.Operation(at, op, tuple(operands))

    def _walrus(self, node: cst.NamedExpr) -> n.Expression:
        at = self.number(node)
        value = self.expression(node.value)
        return n.Bind(at, "walrus", (self.expression(node.target),), value)

    def _await(self, node: cst.Await) -> n.Expression:
        at = self.number(node)
        return n.Operation(at, "await", (self.expression(node.expression),))

    def _yield(self, node: cst.Yield) -> n.Expression:
        at, self.yields = self.number(node), True
        if node.value is None:
            return n.Operation(at, "yield", ())
        if isinstance(node.value, cst.From):
            return n.Operation(at, "yield from", (self.expression(node.value.item),))
        return n.Operation(at, "yield", (self.expression(node.value),))

    def pattern(self, node: cst.MatchPattern) -> tuple[tuple[n.Expression, ...], tuple[n.Name, ...]]:
        """Return the values a match pattern compares with, and the names it binds."""
        values: list[n.Expression] = []
        binds: list[n.Name] = []
        todo: list[Any] = [node]
        while todo:
            part = todo.pop()
            if isinstance(part, cst.MatchValue | cst.MatchSingleton):
                values.append(self.expression(part.value))
                continue
            for field in ("name", "rest"):
                name = getattr(part, field, None)
                if isinstance(name, cst.Name):
                    binds.append(n.Name(self.number(name), name.value))
            for field in ("pattern", "value"):
                todo += [
                    inner for inner in [getattr(part, field, None)] if isinstance(inner, cst.MatchPattern)
                ]
            for field in ("patterns", "elements", "kwds"):
                todo += getattr(part, field, ())
        return tuple(values), tuple(binds)


def _text(node: cst.SimpleString) -> str | bytes:
    raw = node.value
    if raw[0] in "'\"" and "\\" not in raw:
        return raw[3:-3] if raw[:3] in ("'''", '"""') else raw[1:-1]
    value = node.evaluated_value
    return value if isinstance(value, str | bytes) else ""


_OPERATORS = {
    "Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "FloorDivide": "//", "Modulo": "%",
    "Power": "**", "MatrixMultiply": "@", "LeftShift": "<<", "RightShift": ">>", "BitAnd": "&", "BitOr": "|",
    "BitXor": "^", "BitInvert": "~", "Plus": "+", "Minus": "-", "Not": "not", "And": "and", "Or": "or",
    "Equal": "==", "NotEqual": "!=", "LessThan": "<", "LessThanEqual": "<=", "GreaterThan": ">",
    "GreaterThanEqual": ">=", "In": "in", "NotIn": "not in", "Is": "is", "IsNot": "is not",
}  # fmt: skip

_HANDLERS: dict[type, Callable[[Expressions, Any], n.Expression]] = {
    cst.Name: Expressions._name,
    cst.Attribute: Expressions._attribute,
    cst.Subscript: Expressions._subscript,
    cst.Integer: Expressions._integer,
    cst.Float: Expressions._float,
    cst.Imaginary: Expressions._imaginary,
    cst.Ellipsis: Expressions._ellipsis,
    cst.SimpleString: Expressions._string,
    cst.ConcatenatedString: Expressions._concatenated,
    cst.FormattedString: Expressions._formatted,
    cst.Call: Expressions._call,
    cst.Lambda: Expressions._lambda,
    cst.Tuple: Expressions._sequence,
    cst.List: Expressions._sequence,
    cst.Set: Expressions._sequence,
    cst.Dict: Expressions._dict,
    cst.ListComp: Expressions._comprehension,
    cst.SetComp: Expressions._comprehension,
    cst.GeneratorExp: Expressions._comprehension,
    cst.DictComp: Expressions._dict_comprehension,
    cst.IfExp: Expressions._conditional,
    cst.BinaryOperation: Expressions._binary,
    cst.BooleanOperation: Expressions._binary,
    cst.UnaryOperation: Expressions._unary,
    cst.Comparison: Expressions._comparison,
    cst.NamedExpr: Expressions._walrus,
    cst.Await: Expressions._await,
    cst.Yield: Expressions._yield,
}
