"""Under which condition a place is reached, in words for a message."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.arguments import render
from remat_lint.project.scopes import Event

_LONGEST = 60


def when(event: Event) -> str:
    """Return ` when CONDITION` for the innermost branch around an event in its function, else an empty text."""
    for at, number in reversed(event.arms):
        node = event.module.builder.branches.get(at)
        text = "" if node is None else _condition(node, number)
        if text:
            return f" when `{text}`" if len(text) <= _LONGEST else ""
    return ""


def _condition(node: n.Branch | n.Conditional, number: int) -> str:
    if isinstance(node, n.Conditional):
        return _negated(node.test) if number else _text(node.test)
    if node.subject is not None:
        return ""
    test = node.arms[number].test
    if test is not None:
        return _text(test)
    return _negated(node.arms[0].test) if len(node.arms) == 2 and node.arms[0].test is not None else ""  # noqa: PLR2004 - if and else


def _text(test: n.Expression) -> str:
    text = _render(test)
    return "" if "…" in text or "__name__" in text else text


def _negated(test: n.Expression) -> str:
    if isinstance(test, n.Operation) and test.op == "not":
        return _text(test.operands[0])
    text = _text(test)
    return f"not {text}" if text and isinstance(test, n.Name | n.Attribute | n.Subscript | n.Call) else ""


def _render(node: n.Expression) -> str:
    if isinstance(node, n.Operation) and len(node.operands) == 2 and node.op in _BINARY:  # noqa: PLR2004 - binary
        return f"{_render(node.operands[0])} {node.op} {_render(node.operands[1])}"
    if isinstance(node, n.Operation) and node.op == "not":
        return f"not {_render(node.operands[0])}"
    return render(node)


_BINARY = frozenset({"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in", "and", "or"})
