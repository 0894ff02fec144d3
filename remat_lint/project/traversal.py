"""A walk over nodes for questions about the text of one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from remat_lint.facts import nodes as n


def walk(node: Any, enter: Callable[[Any], bool] = lambda _: True) -> Iterator[Any]:
    """Yield a node and every node in it, parents first; what `enter` refuses is left out with all it holds."""
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item, enter)
    elif hasattr(node, "at") and enter(node):
        yield node
        for slot in node.__slots__:
            yield from walk(getattr(node, slot), enter)


def mentions(function: n.Function, name: str) -> Iterator[Any]:
    """Yield the nodes of a function's body in which `name` still means the function's own variable."""

    def enter(node: Any) -> bool:
        return not (isinstance(node, n.Function) and any(p.name == name for p in node.parameters))

    yield from walk(function.body, enter)


def is_name(node: Any, name: str) -> bool:
    """Whether a node is the plain name `name`."""
    return isinstance(node, n.Name) and node.id == name
