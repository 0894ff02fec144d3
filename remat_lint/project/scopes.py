"""Scopes and the order of events in them, derived from the nodes of a module.

A frame is what runs as one activation: the module or one call of a function. Lambdas and functions have frames of
their own; classes and comprehensions have a scope but run in the frame around them. Each frame keeps its events
(bindings, stores, calls, definitions) in the order of evaluation, each with the loops and branch arms around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n

if TYPE_CHECKING:
    from remat_lint.project.modules import Module

CHUNK_BITS = 20
"""The upper bits of the number of a node are the index of its chunk."""

LoopNode = n.Loop | n.Comprehension
ArmKey = tuple[int, int]


@dataclass(eq=False, repr=False, slots=True)
class Scope:
    """A region in which names are looked up; `kind` is module, function, class or comprehension."""

    kind: str
    node: n.Function | n.Class | n.Comprehension | None
    parent: Scope | None
    module: Module
    bindings: dict[str, list[Event]] = field(default_factory=dict)
    declared: dict[str, str] = field(default_factory=dict)
    children: list[Scope] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    complete: dict[int, int] = field(default_factory=dict)
    returns: list[Event] = field(default_factory=list)
    definition: Event | None = None

    @property
    def frame(self) -> Scope:
        """The scope whose activation runs this one's statements."""
        scope = self
        while scope.kind in ("class", "comprehension") and scope.parent is not None:
            scope = scope.parent
        return scope

    @property
    def name(self) -> str:
        """The name in the definition; empty for modules, lambdas and comprehensions."""
        return self.node.name if isinstance(self.node, n.Function | n.Class) else ""

    @property
    def qualname(self) -> str:
        """Dotted name inside the module, with `<lambda>` where there is none."""
        if self.parent is None:
            return ""
        own = self.name or ("<lambda>" if self.kind == "function" else "")
        return ".".join(part for part in (self.parent.qualname, own) if part)

    @property
    def owner_class(self) -> Scope | None:
        """The class whose method this function is, if it is one."""
        if self.kind == "function" and self.parent is not None and self.parent.kind == "class":
            return self.parent
        return None

    def ancestors(self) -> Iterator[Scope]:
        """Yield this scope and those around it, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def encloses(self, other: Scope) -> bool:
        """Whether `other` is this scope or lies inside it."""
        return any(scope is self for scope in other.ancestors())

    def parameters(self) -> tuple[n.Parameter, ...]:
        """The parameters of a function; empty for other scopes."""
        return self.node.parameters if isinstance(self.node, n.Function) else ()

    def parameter(self, name: str) -> n.Parameter | None:
        """The parameter called `name`."""
        return next((p for p in self.parameters() if p.name == name), None)

    def find(self, name: str) -> Scope | None:
        """Return the scope that binds `name` as seen from here, by Python's rules."""
        for scope in self.ancestors():
            if scope.kind == "class" and scope is not self:
                continue
            declared = scope.declared.get(name)
            if declared == "global":
                return scope.root
            if declared == "nonlocal":
                return scope.parent.find(name) if scope.parent else None
            if name in scope.bindings:
                return scope
        return None

    @property
    def root(self) -> Scope:
        """The module's scope."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


@dataclass(eq=False, repr=False, slots=True)
class Event:
    """Something that happens in a frame.

    `kind` is bind (a name gets a value), store (an attribute or item is written), call, or define (a function or
    class object is made). `node` is what happens; `name` the bound name; `value` the expression that gives the
    value, if there is one that gives it whole; `part` tells an element of it (`for` target, unpacking, `with`), `position` which.
    `leaves` tells that the block around it ends by leaving, `bare` that the result of a call is thrown away.
    """

    kind: str
    node: n.Node
    scope: Scope
    frame: Scope
    order: int
    loops: tuple[LoopNode, ...]
    arms: tuple[ArmKey, ...]
    guards: tuple[n.With | n.Try, ...]
    leaves: bool
    name: str = ""
    value: n.Expression | n.Function | n.Class | n.Import | n.Parameter | None = None
    part: str = ""
    position: int | None = None
    inner: Scope | None = None
    target: n.Expression | None = None
    bare: bool = False

    @property
    def module(self) -> Module:
        """The module in which it happens."""
        return self.frame.module

    @property
    def at(self) -> int:
        """The number of its node."""
        return self.node.at


def exclusive(one: tuple[ArmKey, ...], other: tuple[ArmKey, ...]) -> bool:
    """Whether two places lie in different arms of one branch, so that one run meets at most one of them."""
    taken = dict(one)
    return any(branch in taken and taken[branch] != arm for branch, arm in other)


def reaching(events: list[Event], moment: Event | None, frame: Scope) -> list[Event]:
    """Return the bindings among `events` that may hold at `moment` (None: at the end), the newest first."""
    arms = () if moment is None else moment.arms
    covered: dict[int, set[int]] = {}
    out = []
    for event in reversed(events):
        if moment is not None and (event.order >= moment.order or exclusive(event.arms, arms)):
            continue
        out.append(event)
        rest = event.arms
        while rest and rest[-1] not in arms:
            branch, arm = rest[-1]
            covered.setdefault(branch, set()).add(arm)
            if len(covered[branch]) < frame.complete.get(branch, 1 << 30):
                break
            rest = rest[:-1]
        if all(key in arms for key in rest):
            break
    return out
