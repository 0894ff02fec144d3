"""Members of classes and instances: methods, class attributes, attributes set in any method, inheritance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.project.modules import Project
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    UNKNOWN,
    Access,
    ClassRef,
    Environment,
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
)


class Members(ABC):
    """The part of the resolver that knows classes; holds the state of all parts."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.depth = 0
        self.steps = 0
        self.active: set[tuple[object, ...]] = set()
        self.calls: dict[tuple[object, int], tuple[Value, ...]] = {}
        self.bindings: dict[int, tuple[Value, ...]] = {}
        self.keep: list[Event] = []
        self.stores: dict[Scope, dict[str, list[Event]]] = {}

    @abstractmethod
    def evaluate(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        """Return what `node` can stand for at `moment`; never empty."""

    @abstractmethod
    def bound(self, event: Event, env: Environment | None) -> tuple[Value, ...]:
        """Return what a binding gives its name."""

    @abstractmethod
    def name(self, name: str, moment: Moment) -> tuple[Value, ...]:
        """Return what a name can stand for at `moment`."""

    @abstractmethod
    def access(self, node: n.Expression, scope: Scope) -> Access | None:
        """Return the way that a chain of attributes and items spells; None for other expressions and for imports."""

    @abstractmethod
    def force(self, values: tuple[Value, ...], moment: Moment) -> tuple[Value, ...]:
        """Look up what was deferred among `values`."""

    def method_kind(self, scope: Scope) -> str:
        """Return method, staticmethod, classmethod or property, by the decorators of a function in a class."""
        assert isinstance(scope.node, n.Function)
        if not scope.parameters() or scope.parameters()[0].kind not in ("positional", "positional-only"):
            return "staticmethod"
        for decorator in scope.node.decorators:
            name = decorator.id if isinstance(decorator, n.Name) else ""
            if name in ("staticmethod", "classmethod", "property"):
                return name
            if isinstance(decorator, n.Attribute) and decorator.attr == "cached_property":
                return "property"
        return "classmethod" if scope.name in ("__init_subclass__", "__class_getitem__") else "method"

    def bases(self, cls: Scope) -> tuple[Value, ...]:
        """Return what the bases of a class stand for."""
        assert isinstance(cls.node, n.Class)
        moment = Moment(cls.parent or cls, cls.definition)
        values: list[Value] = []
        for base in cls.node.bases:
            if base.keyword is None and not base.star:
                values += self.force(self.evaluate(base.value, moment), moment)
        return tuple(values)

    def lineage(self, cls: Scope) -> Iterator[Scope]:
        """Yield a class and its bases in the project, nearest first."""
        todo, seen = [cls], set()
        while todo:
            step = todo.pop(0)
            if id(step) in seen:
                continue
            seen.add(id(step))
            yield step
            todo += [base.scope for base in self.bases(step) if isinstance(base, ClassRef)]

    def external_bases(self, cls: Scope) -> frozenset[str]:
        """Return the dotted names of the bases that the project does not define, over the whole lineage."""
        return frozenset(
            base.dotted
            for step in self.lineage(cls)
            for base in self.bases(step)
            if isinstance(base, External)
        )

    def attribute_stores(self, cls: Scope) -> dict[str, list[Event]]:
        """Return the stores `self.name = …` in the methods of a class, by name."""
        if cls not in self.stores:
            table: dict[str, list[Event]] = {}
            for method in cls.children:
                if method.kind != "function" or not method.parameters():
                    continue
                first = method.parameters()[0].name
                for event in method.events:
                    target = event.target
                    if (
                        event.kind == "store"
                        and isinstance(target, n.Attribute)
                        and isinstance(target.value, n.Name)
                        and target.value.id == first
                    ):
                        table.setdefault(target.attr, []).append(event)
            self.stores[cls] = table
        return self.stores[cls]

    def member(self, base: Instance, attr: str, moment: Moment) -> tuple[Value, ...]:
        """Return what `instance.attr` can stand for."""
        values: list[Value] = []
        for cls in self.lineage(base.cls.scope):
            for event in self.attribute_stores(cls).get(attr, ()):
                values += (self._seen_from(value, base, cls) for value in self._stored_value(event))
            if values:
                return tuple(values)
            events = cls.bindings.get(attr)
            if events:
                return tuple(self._bind(v, base, moment) for v in self.bound(events[-1], None))
        return (UNKNOWN,)

    def _stored_value(self, event: Event) -> tuple[Value, ...]:
        """Return what a store gives its attribute; worked out once, since attributes may hold one another."""
        if event.value is None or isinstance(event.value, n.Parameter | n.Import | n.Class) or event.part:
            return (UNKNOWN,)
        if id(event) not in self.bindings:
            self.bindings[id(event)] = (UNKNOWN,)
            self.keep.append(event)
            self.bindings[id(event)] = self.evaluate(event.value, Moment(event.scope, event))
        return self.bindings[id(event)]

    def class_member(self, base: ClassRef, attr: str, moment: Moment) -> tuple[Value, ...]:
        """Return what `Class.attr` can stand for."""
        del moment
        for cls in self.lineage(base.scope):
            events = cls.bindings.get(attr)
            if events:
                return self.bound(events[-1], None)
        return (UNKNOWN,)

    def _bind(self, value: Value, base: Instance, moment: Moment) -> Value:
        """Bind a function of the class to the instance; a static method stays as it is."""
        if isinstance(value, FunctionRef) and value.receiver is None and value.scope.owner_class is not None:
            if self.method_kind(value.scope) == "staticmethod":
                return value
            return FunctionRef(value.scope, moment.event, base, value.env)
        return value

    def _seen_from(self, value: Value, base: Instance, cls: Scope) -> Value:
        """Return a value stored on `self` by a method as it looks through another way to the same instance."""
        own = Access(cls, "")
        if base.access is None or base.access == own:
            return value
        if (
            isinstance(value, FunctionRef)
            and value.receiver is not None
            and value.receiver.access is not None
        ):
            receiver = Instance(value.receiver.cls, value.receiver.access.rebase(own, base.access))
            return FunctionRef(value.scope, value.made, receiver, value.env)
        return value

    def method(self, cls: Scope, name: str) -> FunctionRef | None:
        """Return the function that a class of the project calls `name`, unbound."""
        for step in self.lineage(cls):
            for event in step.bindings.get(name, ())[-1:]:
                for value in self.bound(event, None):
                    inner = value
                    while isinstance(inner, Transformed | Partial):
                        inner = inner.inner[0] if isinstance(inner, Transformed) else inner.target
                    if isinstance(inner, FunctionRef):
                        return inner
                    if isinstance(inner, Wrapped) and inner.site.functions:
                        return inner.site.functions[0]
        return None
