"""Which argument of a call is what."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import Receiver


def function_arguments(receiver: Receiver, call: n.Call) -> tuple[n.Expression, ...]:
    """Return the arguments of `call` that are functions, by the receiver's row; a listed one gives its items."""
    found: list[n.Expression] = []
    position = 0
    for argument in call.args:
        if argument.star:
            break
        if argument.keyword is not None:
            if argument.keyword in receiver.keywords:
                found.append(argument.value)
        else:
            if position in receiver.functions:
                found.append(argument.value)
            position += 1
    if receiver.listed:
        return tuple(
            item
            for value in found
            for item in (value.items if isinstance(value, n.Collection) else (value,))
            if item is not None
        )
    return tuple(found)


def keyword(call: n.Call, name: str) -> n.Argument | None:
    """Return the argument given by the keyword `name`."""
    return next((argument for argument in call.args if argument.keyword == name), None)


def render(node: n.Expression | None) -> str:
    """Return short readable text for an expression, for messages; what is long becomes `…`."""
    match node:
        case n.Name():
            return node.id
        case n.Attribute():
            return f"{render(node.value)}.{node.attr}"
        case n.Subscript():
            return f"{render(node.value)}[{render(node.index)}]"
        case n.Constant():
            return "..." if node.kind == "ellipsis" else repr(node.value)
        case n.Call():
            return f"{render(node.func)}({'…' if node.args else ''})"
        case n.Function():
            return node.name or "lambda"
        case n.Collection() if node.kind in ("tuple", "list") and len(node.items) <= 4:  # noqa: PLR2004 - what fits a message
            items = ", ".join(render(item) for item in node.items)
            return f"[{items}]" if node.kind == "list" else f"({items}{',' if len(node.items) == 1 else ''})"
        case n.Operation() if node.op in ("+", "-", "*", "/", "@") and len(node.operands) == 2:  # noqa: PLR2004 - binary
            return f" {node.op} ".join(render(operand) for operand in node.operands)
        case n.Operation() if node.op == "not":
            return f"not {render(node.operands[0])}"
        case _:
            return "…"
