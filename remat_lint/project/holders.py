"""Where the object lives that a statement of a body changes, and what kind of object it is."""

from __future__ import annotations

import functools

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import makes_traced
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword
from remat_lint.project.body import Body
from remat_lint.project.callgraph import Entry
from remat_lint.project.parameters import is_passed
from remat_lint.project.scopes import Scope, reaching
from remat_lint.project.taint import Taint
from remat_lint.project.values import (
    ClassRef,
    Data,
    External,
    FunctionRef,
    Given,
    Instance,
    ModuleRef,
    Moment,
    Result,
    Value,
    Wrapped,
)

_KINDS = {
    **{f"{package}{name}": "list" for package in ("builtins.", "typing.") for name in ("list", "List")},
    **{
        f"{package}{name}": "dict"
        for package in ("builtins.", "typing.")
        for name in ("dict", "Dict", "MutableMapping")
    },
    **{f"{package}{name}": "set" for package in ("builtins.", "typing.") for name in ("set", "Set")},
    **{f"collections.{name}": "dict" for name in ("defaultdict", "OrderedDict", "Counter")},
    "typing.DefaultDict": "dict",
    "collections.abc.MutableMapping": "dict",
    "collections.deque": "list",
    "types.SimpleNamespace": "object",
    "argparse.Namespace": "object",
    "threading.local": "object",
}
_FIELDS = frozenset({"dataclasses.field"})
_PLAIN_BASES = frozenset(
    {"builtins.object", "builtins.dict", "builtins.list", "abc.ABC", "typing.Protocol", "typing.Generic"}
)
_PLAIN_DECORATORS = frozenset({"dataclasses.dataclass", "functools.total_ordering"})
_LONGEST_ALIAS = 4


class Holders:
    """Answers for one body."""

    def __init__(self, body: Body, taint: Taint, project: Analysis) -> None:
        self.body, self.taint, self.project = body, taint, project

    def is_outside(self, node: n.Expression, moment: Moment, depth: int = 0) -> bool:
        """Whether an object was there before the trace and is no argument: captured, global, or a default value."""
        root = node
        while isinstance(root, n.Attribute | n.Subscript):
            root = root.value
        if not isinstance(root, n.Name):
            return False
        scope = moment.scope.find(root.id)
        if scope is None:
            return bool(moment.scope.root.module.lookup(root.id))
        if not self.body.contains(scope):
            return True
        parameter = scope.parameter(root.id)
        if parameter is not None:
            return self._outlives(scope, parameter, moment, whole=root is node)
        if depth > _LONGEST_ALIAS:
            return False
        same = moment.event is not None and moment.scope.frame is scope.frame
        events = scope.bindings.get(root.id, [])
        live = reaching(events, moment.event, scope.frame) if same else events
        return bool(live) and all(
            isinstance(event.value, n.Name | n.Attribute | n.Subscript)
            and not event.part
            and self.is_outside(event.value, Moment(event.scope, event), depth + 1)
            for event in live
        )

    def _outlives(self, scope: Scope, parameter: n.Parameter, moment: Moment, *, whole: bool) -> bool:
        """Whether a parameter holds something that was not made for the call: `self`, or a mutable default."""
        del moment
        if scope is not self.body.root.function.scope:
            return parameter.name in self._held.get(scope, ())
        if self.taint.is_receiver(scope, parameter.name):
            return True
        if parameter.name in self.taint.as_is:
            return self.body.site.wrapper.framework in ("jax", "trax")
        default = isinstance(parameter.default, n.Collection) and parameter.default.kind in ("list", "dict")
        return default and whole and not is_passed(self.body, parameter, self.taint)

    @functools.cached_property
    def _held(self) -> dict[Scope, set[str]]:
        """Which parameters of the functions that the body calls hold objects from outside, worked out in passes."""
        held: dict[Scope, set[str]] = {scope: set() for scope in self.body.scopes}
        self.__dict__["_held"] = held
        grows = True
        while grows:
            grows = False
            for scope, ways in self.body.entries.items():
                for entry in ways:
                    for parameter in scope.parameters() if entry.event is not None else ():
                        if parameter.name not in held[scope] and self._gives_outside(entry, parameter):
                            held[scope].add(parameter.name)
                            grows = True
        return held

    def _gives_outside(self, entry: Entry, parameter: n.Parameter) -> bool:
        """Whether a call gives a parameter something from outside of the body."""
        assert entry.event is not None
        moment = Moment(entry.event.scope, entry.event)
        first = entry.function.scope.parameters()[0] is parameter
        given = entry.given(parameter)
        if first and entry.function.scope.owner_class is not None and entry.function.receiver is not None:
            given = entry.holder
            if _is_super(given):
                return self._is_outside_self(moment)
        return given is not None and self.is_outside(given, moment, 1)

    def _is_outside_self(self, moment: Moment) -> bool:
        """Whether `self` of the method that runs here was there before the trace."""
        parameters = next((s.parameters() for s in moment.scope.ancestors() if s.owner_class is not None), ())
        return bool(parameters) and self.is_outside(n.Name(0, parameters[0].name), moment, 1)

    def kind(self, node: n.Expression, moment: Moment, depth: int = 0) -> str:
        """Return list, dict, set, array, object, class, module or function; empty if it is not known.

        An object of a framework, or one that hangs on it, is `managed`: what a store into it does is not known.
        """
        step = node
        while isinstance(step, n.Attribute | n.Subscript):
            step = step.value
            if any(self._kind(value) == "managed" for value in self.project.evaluate(step, moment)):
                return "managed"
        kinds = [self._kind(value) for value in self.project.evaluate(node, moment)]
        found = next((kind for kind in kinds if kind), "")
        if isinstance(step, n.Name) and depth < _LONGEST_ALIAS:
            given = self._kind_of_given(step, moment, depth)
            if given == "managed" or (step is node and not found):
                return given
        return found

    def _kind_of_given(self, name: n.Name, moment: Moment, depth: int) -> str:
        """Return what kind of object the calls of the body give a parameter; the first that tells counts."""
        scope = moment.scope.find(name.id)
        parameter = scope.parameter(name.id) if scope is not None else None
        for entry in self.body.entries.get(scope, ()) if scope is not None and parameter is not None else ():
            given = entry.given(parameter) if entry.event is not None and parameter is not None else None
            if given is not None and entry.event is not None:
                kind = self.kind(given, Moment(entry.event.scope, entry.event), depth + 1)
                if kind:
                    return kind
        return ""

    def _kind(self, value: Value) -> str:
        match value:
            case Data(node=n.Collection() as made):
                return made.kind
            case Data(node=n.Comprehension() as made):
                return made.kind
            case Data(node=n.Operation() as made) if made.op in ("*", "+"):
                displays = [part for part in made.operands if isinstance(part, n.Collection)]
                return "list" if any(part.kind == "list" for part in displays) else ""
            case Result():
                return self._made_by(value)
            case Instance():
                return "object" if self._is_plain(value.cls.scope) else "managed"
            case ClassRef():
                return "class"
            case ModuleRef():
                return "module"
            case FunctionRef() | Wrapped():
                return "function"
            case Given():
                return self._annotated(value)
            case _:
                return ""

    def _made_by(self, value: Result) -> str:
        if value.dotted in _FIELDS:
            factory = keyword(value.call, "default_factory")
            name = factory.value.id if factory is not None and isinstance(factory.value, n.Name) else ""
            return name if name in ("list", "dict", "set") else ""
        return "array" if makes_traced(value.dotted) else _KINDS.get(value.dotted, "")

    def _annotated(self, value: Given) -> str:
        annotation = value.parameter.annotation
        if isinstance(annotation, n.Subscript):
            annotation = annotation.value
        if annotation is None:
            return ""
        for found in self.project.evaluate(
            annotation, Moment(value.scope.parent or value.scope, value.scope.definition)
        ):
            if isinstance(found, External):
                return _KINDS.get(found.dotted, "")
        return ""

    def _is_plain(self, cls: Scope) -> bool:
        """Whether setting an attribute does nothing more: no class of a framework, nothing frozen."""
        for step in self.project.lineage(cls):
            for base in self.project.bases(step):
                plain = isinstance(base, External) and base.dotted in _PLAIN_BASES
                if not plain and not isinstance(base, ClassRef) and not _is_generic(base):
                    return False
            if any(name in step.bindings for name in ("__setattr__", "__setitem__")):
                return False
            assert isinstance(step.node, n.Class)
            if not all(self._is_plain_decorator(decorator, step) for decorator in step.node.decorators):
                return False
        return True

    def _is_plain_decorator(self, decorator: n.Expression, cls: Scope) -> bool:
        if isinstance(decorator, n.Call):
            frozen = keyword(decorator, "frozen")
            if frozen is not None:
                return False
            decorator = decorator.func
        values = self.project.evaluate(decorator, Moment(cls.parent or cls, cls.definition))
        return all(isinstance(v, External) and v.dotted in _PLAIN_DECORATORS for v in values)


def _is_generic(base: Value) -> bool:
    """Whether a base is a subscripted one like `Generic[T]`."""
    return isinstance(base, Data) and isinstance(base.node, n.Subscript)


def _is_super(node: n.Expression | None) -> bool:
    return isinstance(node, n.Call) and isinstance(node.func, n.Name) and node.func.id == "super"
