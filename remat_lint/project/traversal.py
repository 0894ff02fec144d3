"""A walk over nodes for questions about the text of one function."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from remat_lint.facts import nodes as n


def walk(node: Any, enter: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Yield a node and every node in it, parents first; what `enter` refuses is left out with all it holds."""
    todo = [node]
    while todo:
        item = todo.pop()
        if type(item) is tuple:
            todo.extend(reversed(item))
            continue
        slots = _SLOTS.get(type(item))
        if slots is not None and (enter is None or enter(item)):
            yield item
            todo += [getattr(item, slot) for slot in slots]


_SLOTS: dict[type, tuple[str, ...]] = {
    # Last one first: a stack gives them back in the order of the text.
    kind: tuple(slot for slot in reversed(kind.__slots__) if slot not in {"at", "name_at"})
    for kind in vars(n).values()
    if isinstance(kind, type) and hasattr(kind, "__slots__") and "at" in kind.__slots__
}


def mentions(function: n.Function, name: str) -> Iterator[Any]:
    """Yield the nodes of a function's body in which `name` still means the function's own variable."""

    def enter(node: Any) -> bool:
        return not (isinstance(node, n.Function) and any(p.name == name for p in node.parameters))

    yield from walk(function.body, enter)


def is_name(node: Any, name: str) -> bool:
    """Whether a node is the plain name `name`."""
    return isinstance(node, n.Name) and node.id == name
