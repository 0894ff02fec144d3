"""What a function reads from outside: ways to values that its arguments do not give.

A way starts at a variable of a scope around the function, or at the instance whose method it is. Reads of nested
functions belong to the function, and so do those of helpers that it calls: they all run while it is traced.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import function_arguments
from remat_lint.project.modules import Module
from remat_lint.project.parents import inside
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import Access, External, FunctionRef, Instance, Moment, Value, Wrapped

DEEPEST_HELPER = 3


@dataclass(frozen=True, slots=True)
class Read:
    """One read of something outside: the way to it, and the expression that reads it."""

    access: Access
    module: Module
    at: int


class Captures:
    """Finds what functions read from outside; keeps the answers."""

    def __init__(self, project: Analysis) -> None:
        self.project = project
        self._own: dict[Scope, tuple[Read, ...]] = {}

    def reads(self, function: FunctionRef) -> tuple[Read, ...]:
        """Return the outside reads of one function object, as seen by whoever holds it."""
        found: dict[Access, Read] = {}
        for read in self._reach(function.scope, 0, ()):
            access = read.access
            receiver = function.receiver
            if (
                receiver is not None
                and receiver.access is not None
                and function.scope.owner_class is not None
            ):
                access = access.rebase(Access(function.scope.owner_class, ""), receiver.access)
            found.setdefault(access, Read(access, read.module, read.at))
        return tuple(found.values())

    def _reach(self, scope: Scope, depth: int, above: tuple[Scope, ...]) -> tuple[Read, ...]:
        """Return the reads of a function and of the helpers it calls, rooted outside the function."""
        own = list(self._reads_of(scope))
        if depth < DEEPEST_HELPER:
            for event in _events_inside(scope):
                if isinstance(event.node, n.Call):
                    for callee in self.project.evaluate(event.node.func, Moment(event.scope, event)):
                        helper = self._helper(callee)
                        if (
                            helper is not None
                            and helper.scope not in (scope, *above)
                            and not scope.encloses(helper.scope)
                        ):
                            own += self._from_helper(helper, scope, depth, above)
        return tuple(read for read in own if not scope.encloses(read.access.scope))

    def _helper(self, callee: object) -> FunctionRef | None:
        if isinstance(callee, Wrapped) and len(callee.site.functions) == 1:
            return callee.site.functions[0]
        if isinstance(callee, Instance):
            return self.project.method(callee.cls.scope, "__call__")
        return callee if isinstance(callee, FunctionRef) else None

    def _from_helper(
        self, helper: FunctionRef, scope: Scope, depth: int, above: tuple[Scope, ...]
    ) -> list[Read]:
        reads = []
        for read in self._reach(helper.scope, depth + 1, (*above, scope)):
            access, cls = read.access, helper.scope.owner_class
            if cls is not None and access.scope is cls and not access.name:
                if helper.receiver is None or helper.receiver.access is None:
                    continue
                access = access.rebase(Access(cls, ""), helper.receiver.access)
            reads.append(Read(access, read.module, read.at))
        return reads

    def _reads_of(self, scope: Scope) -> tuple[Read, ...]:
        if scope not in self._own:
            self._own[scope] = ()
            self._own[scope] = tuple(self._walk_function(scope))
        return self._own[scope]

    def _walk_function(self, scope: Scope) -> Iterator[Read]:
        assert isinstance(scope.node, n.Function)
        for statement in scope.node.body:
            yield from self._walk(statement, scope)

    def _walk(self, node: n.Node | None, scope: Scope) -> Iterator[Read]:
        module = scope.module
        match node:
            case n.Name() | n.Attribute() | n.Subscript():
                access = self.project.access(node, scope)
                if access is not None:
                    yield Read(access, module, node.at)
                if isinstance(node, n.Attribute):
                    yield from self._through_property(node, scope)
                for inner in _indices(node):
                    yield from self._walk(inner, scope)
            case n.Call():
                yield from self._walk_call(node, scope)
            case n.Function() | n.Comprehension() | n.Class():
                yield from self._walk_scope(node, scope)
            case _:
                for inner in _parts(node):
                    yield from self._walk(inner, scope)

    def _through_property(self, node: n.Attribute, scope: Scope) -> Iterator[Read]:
        """Yield what the getter of a property reads."""
        for base in self.project.evaluate(node.value, Moment(scope, None)):
            if isinstance(base, Instance):
                getter = self.project.getter(base.cls.scope, node.attr)
                access = base.access or self.project.access(node.value, scope)
                if getter is not None and getter is not scope:
                    holder = Instance(base.cls, access, base.made)
                    for read in self._from_helper(FunctionRef(getter, None, holder), scope, 1, ()):
                        yield Read(read.access, scope.module, node.at)

    def _walk_call(self, node: n.Call, scope: Scope) -> Iterator[Read]:
        callees = self._callees(node, scope)
        func = node.func
        access = self.project.access(func.value, scope) if isinstance(func, n.Attribute) else None
        if isinstance(func, n.Attribute) and access is not None:
            # What a method is called on is read as a whole, unless the method is one of the project's own.
            own = any(isinstance(callee, FunctionRef) for callee in callees)
            yield Read(access.then((".", func.attr)) if own else access, scope.module, func.value.at)
            for inner in _indices(func.value):
                yield from self._walk(inner, scope)
        else:
            yield from self._walk(func, scope)
        on_host = _host_functions(node, callees)
        for argument in node.args:
            if argument.value not in on_host:
                yield from self._walk(argument.value, scope)

    def _callees(self, node: n.Call, scope: Scope) -> tuple[Value, ...]:
        event = scope.module.happened(node.at)
        return self.project.evaluate(node.func, Moment(scope, event)) if event is not None else ()

    def _walk_scope(self, node: n.Function | n.Comprehension | n.Class, scope: Scope) -> Iterator[Read]:
        inner = scope.module.builder.scopes.get(node.at)
        if inner is None:
            return
        if isinstance(node, n.Comprehension):
            for element in inside(node):
                yield from self._walk(element, inner)
            return
        outside: list[n.Node] = list(node.decorators)
        if isinstance(node, n.Function):
            outside += [p.default for p in node.parameters if p.default is not None]
        for part in outside:
            yield from self._walk(part, scope)
        for statement in node.body:
            yield from self._walk(statement, inner)


def _host_functions(node: n.Call, callees: tuple[Value, ...]) -> tuple[n.Expression, ...]:
    """Return the arguments that run on the host at every call, so that nothing they read is frozen."""
    for callee in callees:
        receiver = lookup_receiver(callee.dotted) if isinstance(callee, External) else None
        if receiver is not None and receiver.kind == "host":
            return function_arguments(receiver, node)
    return ()


def _indices(node: n.Node) -> list[n.Node]:
    """Return the index expressions of a chain of attributes and items, and its base if that is no name."""
    found: list[n.Node] = []
    while isinstance(node, n.Attribute | n.Subscript):
        if isinstance(node, n.Subscript):
            found.append(node.index)
        node = node.value
    return found if isinstance(node, n.Name) else [*found, node]


def _parts(node: n.Node | None) -> list[n.Node]:
    """Return everything directly inside a node that can read something: of a plain target only the indices are read."""
    if node is None:
        return []
    targets: tuple[n.Expression, ...] = ()
    if isinstance(node, n.Bind) and node.how != "augmented":
        targets = node.targets
    elif isinstance(node, n.Loop) and node.target is not None:
        targets = (node.target,)
    parts = [part for part in inside(node) if not any(part is target for target in targets)]
    return [*parts, *(index for target in targets for index in _target_indices(target))]


def _target_indices(target: n.Node) -> list[n.Node]:
    if isinstance(target, n.Attribute | n.Subscript):
        return _indices(target)
    return [index for part in inside(target) for index in _target_indices(part)]


def _events_inside(scope: Scope) -> Iterator[Event]:
    """Yield the events of a function and of the functions defined in it."""
    yield from scope.events
    for child in scope.children:
        yield from _events_inside(child)
