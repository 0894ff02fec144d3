"""What a module writes: bindings, attribute and item stores, mutating methods, each as a way to what changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import MUTATING_METHODS, STATIC_ATTRIBUTES
from remat_lint.project import traversal
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.parents import inside
from remat_lint.project.purity import is_pure
from remat_lint.project.scopes import Event, LoopNode, Scope
from remat_lint.project.values import SLICE, Access

_INSIDE = ("*", None)
_SETATTR = 3
_GIVING = frozenset({"pop", "popitem", "popleft", "setdefault"})


@dataclass(frozen=True, slots=True)
class Write:
    """One event that changes something, and the way to it."""

    access: Access
    event: Event


class Writes:
    """The writes of each module, by the root of their ways."""

    def __init__(self, project: Analysis) -> None:
        self.project = project
        self._known: dict[Module, int] = {}
        self._tables: dict[Module, dict[tuple[int, str], list[Write]]] = {}

    def to(self, access: Access) -> tuple[Write, ...]:
        """Return the writes that change what `access` gives, in the module of its root, in the order of the text."""
        module = access.scope.module
        known = len(module.loader.loaded)
        if self._known.get(module) != known:
            self._known[module] = known
            table: dict[tuple[int, str], list[Write]] = {}
            for write in self._all(module):
                table.setdefault((id(write.access.scope), write.access.name), []).append(write)
            self._tables[module] = table
        found = self._tables[module].get((id(access.scope), access.name), ())
        overlapping = (write for write in found if access.overlaps(write.access))
        # Chunks are parsed in any order; what is told first must not depend on it.
        return tuple(sorted(overlapping, key=lambda write: write.event.at))

    def _all(self, module: Module) -> Iterator[Write]:
        for scope in [module.scope, *module.builder.scopes.values()]:
            for name, events in scope.bindings.items():
                for event in events:
                    yield Write(Access(scope, name), event)
            for event in scope.events:
                yield from self._of(event)

    def _of(self, event: Event) -> Iterator[Write]:
        if event.kind == "store" and event.target is not None:
            access = self.project.access(event.target, event.scope)
            index = event.target.index if isinstance(event.target, n.Subscript) else None
            if access is not None and isinstance(index, n.Operation) and index.op == "slice":
                access = Access(access.scope, access.name, (*access.steps[:-1], ("[]", SLICE)))
            if access is not None:
                yield Write(access, event)
        elif event.kind == "call" and isinstance(event.node, n.Call):
            func = event.node.func
            if isinstance(func, n.Name) and func.id == "setattr" and len(event.node.args) == _SETATTR:
                target, name, _ = event.node.args
                access = self.project.access(target.value, event.scope)
                if access is not None and isinstance(name.value, n.Constant):
                    yield Write(access.then((".", str(name.value.value))), event)
            if (
                isinstance(func, n.Attribute)
                and func.attr in MUTATING_METHODS
                and (event.bare or func.attr in _GIVING)
            ):
                access = self.project.access(func.value, event.scope)
                # `x.at[i].add(v)` of JAX returns a new array.
                if access is not None and (".", "at") not in access.steps:
                    yield Write(access.then(_INSIDE), event)


def varies(
    node: n.Node | None, loop: LoopNode, frame: Scope, project: Analysis, above: frozenset[str] = frozenset()
) -> bool:
    """Whether an expression may have another value in another round of `loop`, as far as can be seen.

    A name that each round binds to the same thing does not vary; one that is bound from itself does. Shapes and
    dtypes do not vary: where they did, the arguments would have other traces.
    """
    if node is None:
        return True
    if isinstance(node, n.Attribute) and node.attr in STATIC_ATTRIBUTES:
        return False
    if isinstance(node, n.Function):
        names = (part.id for part in traversal.walk(node.body) if isinstance(part, n.Name))
        return any(_name_varies(name, loop, frame, project, above) for name in set(names))
    if isinstance(node, n.Name | n.Attribute | n.Subscript):
        access = project.access(node, frame)
        if access is not None and any(
            kind == "." and step in STATIC_ATTRIBUTES for kind, step in access.steps
        ):
            return False
        if access is not None:
            return _place_varies(access, node, loop, frame, project, above)
    if isinstance(node, n.Name):
        return _name_varies(node.id, loop, frame, project, above)
    if isinstance(node, n.Call) and not is_pure(node, frame, project):
        return True
    return any(varies(part, loop, frame, project, above) for part in inside(node))


def _place_varies(  # noqa: PLR0913, PLR0917 - what `varies` knows, and the place
    access: Access,
    node: n.Node,
    loop: LoopNode,
    frame: Scope,
    project: Analysis,
    above: frozenset[str],
) -> bool:
    """Whether a way through attributes and items leads elsewhere, or to something else, in another round."""
    for write in project.staleness.writes.to(access):
        if loop in write.event.loops and write.event.frame is frame and write.event.kind != "bind":
            return True
    while isinstance(node, n.Attribute | n.Subscript):
        if isinstance(node, n.Subscript) and varies(node.index, loop, frame, project, above):
            return True
        node = node.value
    return isinstance(node, n.Name) and _name_varies(node.id, loop, frame, project, above)


def _name_varies(name: str, loop: LoopNode, frame: Scope, project: Analysis, above: frozenset[str]) -> bool:
    bound = [
        event for event in frame.events if event.kind == "bind" and event.name == name and loop in event.loops
    ]
    if bound and name in above:
        return True
    for event in bound:
        whole = isinstance(event.value, n.Expression) and event.part in ("", "element")
        if isinstance(event.node, n.Function):
            return varies(event.node, loop, frame, project, above | {name})
        if not whole or not isinstance(event.node, n.Bind) or event.node.how == "augmented":
            return True
        if varies(event.value, loop, frame, project, above | {name}):
            return True
    return False


def changes_in(name: str, loop: LoopNode, frame: Scope) -> bool:
    """Whether `name` is bound inside `loop`."""
    return any(event.name == name and loop in event.loops for event in frame.events if event.kind == "bind")


def walk(node: n.Node) -> Iterator[n.Node]:
    """Yield an expression and everything in it, but not the bodies of functions."""
    todo: list[n.Node] = [node]
    while todo:
        step = todo.pop()
        yield step
        if not isinstance(step, n.Function):
            todo += inside(step)
