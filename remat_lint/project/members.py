"""Members of classes and instances: methods, class attributes, attributes set in any method, inheritance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.project.modules import Module, Project
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    UNKNOWN,
    Access,
    ClassRef,
    Deferred,
    Environment,
    External,
    FunctionRef,
    Given,
    Instance,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
)


class AttributeStores:
    """The stores `self.name = …` in the methods of one class; methods are parsed as far as they spell the name."""

    def __init__(self, cls: Scope) -> None:
        self._cls = cls
        self._found: dict[str, tuple[Event, ...]] = {}

    def get(self, name: str, default: tuple[Event, ...] = ()) -> tuple[Event, ...]:
        """Return the stores into one attribute, in their order in the text."""
        if name not in self._found:
            self._cls.module.load_stores(self._cls, name)
            self._found[name] = tuple(self._find(name))
        return self._found[name] or default

    def __contains__(self, name: str) -> bool:
        return bool(self.get(name))

    def _find(self, name: str) -> Iterator[Event]:
        for method in self._cls.children:
            if method.kind == "function" and method.parameters():
                first = method.parameters()[0].name
                for event in method.events:
                    target = event.target
                    if (
                        event.kind == "store"
                        and isinstance(target, n.Attribute)
                        and target.attr == name
                        and isinstance(target.value, n.Name)
                        and target.value.id == first
                    ):
                        yield event


class Members(ABC):
    """The part of the resolver that knows classes; holds the state of all parts."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.depth = 0
        self.steps = 0
        self.active: set[tuple[object, ...]] = set()
        self.calls: dict[tuple[Module, int], tuple[Value, ...]] = {}
        self.bindings: dict[int, tuple[Value, ...]] = {}
        self.keep: list[Event] = []
        self.stores: dict[Scope, AttributeStores] = {}

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

    def described(self, annotation: n.Expression | None, scope: Scope) -> tuple[Value, ...]:
        """Return what an annotation that is evaluated in `scope` says of a value.

        Objects of the project's classes and the classes themselves; nothing for all else.
        """
        match annotation:
            case n.Name() | n.Attribute():
                values = self.evaluate(annotation, Moment(scope, None))
                return tuple(
                    Instance(v) if isinstance(v, ClassRef) else v.then("()")
                    for v in values
                    if isinstance(v, ClassRef | Deferred)
                )
            case n.Constant(value=str() as name) if name.isidentifier():
                return self.described(n.Name(annotation.at, name), scope)
            case n.Operation() if annotation.op == "|":
                return tuple(v for operand in annotation.operands for v in self.described(operand, scope))
            case n.Subscript():
                return self._described_by_generic(annotation, scope)
        return ()

    def _described_by_generic(self, annotation: n.Subscript, scope: Scope) -> tuple[Value, ...]:
        base = annotation.value
        name = base.attr if isinstance(base, n.Attribute) else base.id if isinstance(base, n.Name) else ""
        inner = annotation.index
        if name in ("Optional", "Union", "Annotated", "ClassVar", "Final"):
            parts = inner.items if isinstance(inner, n.Collection) else (inner,)
            wanted = parts[:1] if name == "Annotated" else parts
            return tuple(v for part in wanted if part is not None for v in self.described(part, scope))
        if name in ("type", "Type"):
            return tuple(v.cls for v in self.described(inner, scope) if isinstance(v, Instance))
        return self.described(base, scope)

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

    def attribute_stores(self, cls: Scope) -> AttributeStores:
        """Return the stores `self.name = …` in the methods of a class, by name."""
        if cls not in self.stores:
            self.stores[cls] = AttributeStores(cls)
        return self.stores[cls]

    def member(self, base: Instance, attr: str, moment: Moment) -> tuple[Value, ...]:
        """Return what `instance.attr` can stand for."""
        values: list[Value] = []
        for cls in self.lineage(base.cls.scope):
            for event in self.attribute_stores(cls).get(attr, ()):
                for value in self._stored_value(event):
                    values += self._constructed(value, base) or (self._seen_from(value, base, cls),)
            if values:
                return tuple(values)
            values += self._declared(cls, attr)
            if values:
                return tuple(values)
            events = cls.bindings.get(attr)
            if events:
                return tuple(self._bind(v, base, moment) for v in self.bound(events[-1], None))
        return (UNKNOWN,)

    def _constructed(self, value: Value, base: Instance) -> tuple[Value, ...]:
        """Return what the call that made an object gave the parameter of `__init__` that an attribute keeps."""
        if not isinstance(value, Given) or value.scope.name != "__init__" or base.made is None:
            return ()
        call, event = base.made.node, base.made
        if not isinstance(call, n.Call) or any(argument.star for argument in call.args):
            return ()
        positional = [p.name for p in value.scope.parameters() if p.kind in ("positional-only", "positional")]
        plain = [argument for argument in call.args if argument.keyword is None]
        given = dict(zip(positional[1:], plain, strict=False))
        given |= {argument.keyword: argument for argument in call.args if argument.keyword is not None}
        found = given.get(value.parameter.name)
        guard = ("constructed", id(call), value.parameter.name)
        if found is None or guard in self.active:
            return ()
        callees = self.evaluate(call.func, Moment(event.scope, event))
        if not any(isinstance(callee, ClassRef) and callee.scope is base.cls.scope for callee in callees):
            return ()
        self.active.add(guard)
        try:
            return self.evaluate(found.value, Moment(event.scope, event))
        finally:
            self.active.discard(guard)

    def _declared(self, cls: Scope, attr: str) -> tuple[Value, ...]:
        """Return what the annotation of a field without a value says of it."""
        assert isinstance(cls.node, n.Class)
        for statement in cls.node.body:
            if isinstance(statement, n.Bind) and statement.how == "annotated":
                target = statement.targets[0]
                if isinstance(target, n.Name) and target.id == attr:
                    return self.described(statement.annotation, cls)
        return ()

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
