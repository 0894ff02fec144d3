"""What a module writes: bindings, attribute and item stores, mutating methods, each as a way to what changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import MUTATING_METHODS
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.parents import inside
from remat_lint.project.scopes import Event, LoopNode, Scope
from remat_lint.project.values import Access, External, Moment

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
        self._tables: dict[Module, dict[tuple[int, str], list[Write]]] = {}

    def to(self, access: Access) -> tuple[Write, ...]:
        """Return the writes that change what `access` gives, in the module of its root."""
        module = access.scope.module
        if module not in self._tables:
            table: dict[tuple[int, str], list[Write]] = {}
            for write in self._all(module):
                table.setdefault((id(write.access.scope), write.access.name), []).append(write)
            self._tables[module] = table
        found = self._tables[module].get((id(access.scope), access.name), ())
        return tuple(write for write in found if access.overlaps(write.access))

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

    A name that each round binds to the same thing does not vary; one that is bound from itself does.
    """
    if node is None:
        return True
    for part in walk(node):
        if isinstance(part, n.Name) and _name_varies(part.id, loop, frame, project, above):
            return True
        if isinstance(part, n.Call) and not _is_pure(part, frame, project):
            return True
    return False


def _name_varies(name: str, loop: LoopNode, frame: Scope, project: Analysis, above: frozenset[str]) -> bool:
    bound = [
        event for event in frame.events if event.kind == "bind" and event.name == name and loop in event.loops
    ]
    if bound and name in above:
        return True
    for event in bound:
        whole = isinstance(event.value, n.Expression) and not event.part
        if not whole or not isinstance(event.node, n.Bind) or event.node.how == "augmented":
            return True
        if varies(event.value, loop, frame, project, above | {name}):
            return True
    return False


def changes_in(name: str, loop: LoopNode, frame: Scope) -> bool:
    """Whether `name` is bound inside `loop`."""
    return any(event.name == name and loop in event.loops for event in frame.events if event.kind == "bind")


def _is_pure(call: n.Call, frame: Scope, project: Analysis) -> bool:
    event = frame.module.happened(call.at)
    if event is None:
        return False
    values = project.evaluate(call.func, Moment(event.scope, event))
    return all(
        isinstance(v, External) and v.dotted.startswith(("jax.", "numpy.", "builtins.")) for v in values
    ) and not any(
        isinstance(v, External) and v.dotted.startswith(("numpy.random.", "builtins.next", "builtins.input"))
        for v in values
    )


def walk(node: n.Node) -> Iterator[n.Node]:
    """Yield an expression and everything in it, but not the bodies of functions."""
    todo: list[n.Node] = [node]
    while todo:
        step = todo.pop()
        yield step
        if not isinstance(step, n.Function):
            todo += inside(step)
