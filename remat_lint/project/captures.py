"""What a function reads from outside: ways to values that its arguments do not give.

A way starts at a variable of a scope around the function, or at the instance whose method it is. Reads of nested
functions belong to the function, and so do those of helpers that it calls: they all run while it is traced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import function_arguments
from remat_lint.project.modules import Module
from remat_lint.project.parents import inside
from remat_lint.project.scopes import Scope
from remat_lint.project.values import Access, External, FunctionRef, Instance, Moment, Value, Wrapped

LONGEST_WAY = 8
"""An object that holds another one of its kind would give ways without end."""


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
        self._helpers: dict[Scope, tuple[FunctionRef, ...]] = {}
        self._joined: dict[Scope, dict[Access, Read]] = {}

    def reads(self, function: FunctionRef) -> tuple[Read, ...]:
        """Return the outside reads of one function object, as seen by whoever holds it."""
        if function.scope not in self._joined:
            self._join(function.scope)
        found: dict[Access, Read] = {}
        for read in self._joined[function.scope].values():
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

    def _join(self, start: Scope) -> None:
        """Work out the reads of a function and of all helpers that it reaches: a change goes on to the callers."""
        callers = self._callers(start)
        changed = dict.fromkeys(reversed([*callers]))
        for scope in changed:
            if scope not in self._joined:
                own = (read for read in self._reads_of(scope) if not scope.encloses(read.access.scope))
                self._joined[scope] = _first_each(own)
        while changed:
            scope = next(iter(changed))
            del changed[scope]
            for caller, helper in callers[scope]:
                if self._take_over(caller, helper):
                    changed[caller] = None

    def _callers(self, start: Scope) -> dict[Scope, list[tuple[Scope, FunctionRef]]]:
        """Return who calls each function that `start` reaches; what is joined already is not looked into."""
        callers: dict[Scope, list[tuple[Scope, FunctionRef]]] = {start: []}
        todo = [start]
        while todo:
            scope = todo.pop()
            for helper in self._helpers_of(scope):
                if helper.scope not in callers and helper.scope not in self._joined:
                    todo.append(helper.scope)
                callers.setdefault(helper.scope, []).append((scope, helper))
        return callers

    def _take_over(self, scope: Scope, helper: FunctionRef) -> bool:
        """Give a function the reads of a helper; whether there are new ones among them."""
        known = self._joined[scope]
        before = len(known)
        for read in self._from_helper(helper):
            if not scope.encloses(read.access.scope) and len(read.access.steps) <= LONGEST_WAY:
                known.setdefault(read.access, read)
        return len(known) > before

    def _helpers_of(self, scope: Scope) -> tuple[FunctionRef, ...]:
        """Return the functions outside of a function that it, or a function in it, runs."""
        if scope not in self._helpers:
            found: list[FunctionRef] = []
            for inner in _functions_inside(scope):
                found += [entry.function for entry in self.project.callgraph.calls(inner)]
                found += self._checkpointed(inner)
            self._helpers[scope] = tuple(one for one in found if not scope.encloses(one.scope))
        return self._helpers[scope]

    def _checkpointed(self, scope: Scope) -> Iterator[FunctionRef]:
        """Yield the functions that a function runs through wrappers of their own."""
        for event in list(scope.events):
            if event.kind == "call" and isinstance(event.node, n.Call):
                for callee in self.project.evaluate(event.node.func, Moment(event.scope, event)):
                    if isinstance(callee, Wrapped) and len(callee.site.functions) == 1:
                        yield callee.site.functions[0]

    def _from_helper(self, helper: FunctionRef) -> list[Read]:
        return _as_called(helper, self._joined.get(helper.scope, {}).values())

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
                    for read in _as_called(FunctionRef(getter, None, holder), self._reads_of(getter)):
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


def _first_each(reads: Iterable[Read]) -> dict[Access, Read]:
    found: dict[Access, Read] = {}
    for read in reads:
        found.setdefault(read.access, read)
    return found


def _as_called(helper: FunctionRef, found: Iterable[Read]) -> list[Read]:
    """Return the reads of a helper as its caller sees them; those of an object that is not known are left out."""
    reads = []
    for read in found:
        access, cls = read.access, helper.scope.owner_class
        if cls is not None and access.scope is cls and not access.name:
            if helper.receiver is None or helper.receiver.access is None:
                continue
            access = access.rebase(Access(cls, ""), helper.receiver.access)
        reads.append(Read(access, read.module, read.at))
    return reads


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


def _functions_inside(scope: Scope) -> Iterator[Scope]:
    """Yield a function and those defined in it."""
    yield scope
    for child in list(scope.children):
        yield from _functions_inside(child)
