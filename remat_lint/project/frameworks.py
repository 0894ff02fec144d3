"""Which expressions stand for modules of flax, equinox or haiku: also what attributes, lists and loops hold."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.frameworks import PUBLIC
from remat_lint.project.analysis import Analysis
from remat_lint.project.fields import fields
from remat_lint.project.framework_classes import MERGES, SPLITS, FrameworkClasses, FrameworkModule
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.traversal import is_name
from remat_lint.project.values import (
    Data,
    External,
    Instance,
    Moment,
    Partial,
    Result,
    Transformed,
    Unknown,
    Value,
    Wrapped,
)

_LISTS = frozenset(
    {
        *(f"builtins.{name}" for name in ("list", "tuple", "reversed", "enumerate", "zip")),
        *(f"flax.nnx.{name}" for name in ("List", "Dict", "Sequential", "data")),
    }
)
_SEQUENCES = frozenset({"flax.linen.Sequential", "equinox.nn.Sequential", "haiku.Sequential"})
_DEEPEST = 8


class Frameworks(FrameworkClasses):
    """Answers for one project."""

    def __init__(self, project: Analysis) -> None:
        super().__init__(project)
        self._depth = 0

    def modules(self, node: n.Expression, moment: Moment) -> tuple[FrameworkModule, ...]:
        """Return the modules that an expression can stand for; nothing if none is seen."""
        if self._depth > _DEEPEST:
            return ()
        self._depth += 1
        try:
            values = self.project.force(self.project.evaluate(node, moment), moment)
            found = [made for value in values for made in self.of_value(value)]
            return tuple(found or self._by_structure(node, moment))
        finally:
            self._depth -= 1

    def values(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        """Return what an expression stands for, with the modules that only its place tells."""
        values = self.project.evaluate(node, moment)
        if all(isinstance(value, Unknown | Data) for value in values):
            made = tuple(value for module in self.modules(node, moment) for value in _as_value(module))
            return made or values
        return values

    # What the values do not tell

    def _by_structure(self, node: n.Expression, moment: Moment) -> Iterator[FrameworkModule]:
        match node:
            case n.Call():
                yield from self._called(node, moment)
            case n.Attribute():
                for base in self.modules(node.value, moment):
                    if base.cls is not None:
                        yield from self.attribute(base.cls.scope, node.attr)
            case n.Subscript():
                yield from self.items(node.value, moment)
            case n.Name():
                for event in self._bindings(node, moment):
                    yield from self._bound(event, moment)

    def _called(self, node: n.Call, moment: Moment) -> Iterator[FrameworkModule]:
        here = Moment(moment.scope, moment.scope.module.happened(node.at) or moment.event, moment.env)
        for callee in self.project.force(self.project.evaluate(node.func, here), here):
            if isinstance(callee, Transformed | Partial | Wrapped):
                yield from self.made_by(callee, node, here)
            elif isinstance(callee, External) and callee.dotted in MERGES:
                yield from self._split(node, here)

    def _bound(self, event: Event, moment: Moment) -> Iterator[FrameworkModule]:
        if isinstance(event.value, n.Expression):
            here = Moment(event.scope, event, moment.env)
            if event.part == "iteration":
                yield from self._round(event.value, event.position, here)
            elif not event.part:
                yield from self.modules(event.value, here)

    def _split(self, merge: n.Call, moment: Moment) -> Iterator[FrameworkModule]:
        """Yield the modules that the functions around a merge have split."""
        for argument in merge.args:
            self.project.evaluate(
                argument.value, moment
            )  # so that a statement of the module that binds it is parsed
        for scope in moment.scope.ancestors():
            for event in list(scope.events):
                call = event.node
                if isinstance(call, n.Call) and call.args and not call.args[0].star:
                    here = Moment(event.scope, event)
                    callees = self.project.evaluate(call.func, here)
                    if any(isinstance(v, External) and v.dotted in SPLITS for v in callees):
                        yield from self.modules(call.args[0].value, here)

    def _bindings(self, node: n.Name, moment: Moment) -> list[Event]:
        scope = moment.scope.find(node.id)
        if scope is None:
            return []
        events = scope.bindings.get(node.id, [])
        same = moment.event is not None and scope.frame is moment.scope.frame
        return reaching(events, moment.event if same else None, scope.frame) or events[-1:]

    def attribute(self, cls: Scope, name: str) -> Iterator[FrameworkModule]:
        """Yield the modules that the attribute `name` of an object of a class of the project is."""
        for step in self.project.lineage(cls):
            found = [
                made
                for event in self.project.attribute_stores(step).get(name, ())
                if isinstance(event.value, n.Expression) and not event.part
                for made in self.modules(event.value, Moment(event.scope, event))
            ]
            if found:
                yield from found
                return
        for field in fields(cls, self.project):
            if field.name == name:
                yield from self.annotated(field.annotation, field.moment)

    def _round(self, node: n.Expression, position: int | None, moment: Moment) -> Iterator[FrameworkModule]:
        """Yield what a round of a loop over `node` binds at `position` of its target."""
        if position is not None and isinstance(node, n.Call) and isinstance(node.func, n.Name):
            index = {"zip": position, "enumerate": position - 1}.get(node.func.id)
            if index is not None and 0 <= index < len(node.args):
                yield from self.items(node.args[index].value, moment)
                return
        if isinstance(node, n.Call) and isinstance(node.func, n.Attribute):
            if (node.func.attr, position) in (("items", 1), ("values", None)):
                yield from self.items(node.func.value, moment)
            return
        if position is None:
            yield from self.items(node, moment)

    def items(self, node: n.Expression, moment: Moment) -> Iterator[FrameworkModule]:
        """Yield the modules in a list, tuple or dict."""
        if self._depth > _DEEPEST:
            return
        self._depth += 1
        try:
            values = self.project.force(self.project.evaluate(node, moment), moment)
            found = [made for value in values for made in self._held(value)]
            found += self._kept(node, moment)
            yield from found
        finally:
            self._depth -= 1

    def _held(self, value: Value) -> Iterator[FrameworkModule]:
        match value:
            case Data(node=n.Collection() as made):
                parts = made.items[1::2] if made.kind == "dict" else made.items
                for part in parts:
                    if part is not None:
                        yield from self.modules(part, value.moment)
            case Data(node=n.Comprehension() as made):
                inner = value.moment.scope.module.builder.scopes.get(made.at)
                if inner is not None:
                    yield from self.modules(
                        made.elements[-1], Moment(inner, value.moment.event, value.moment.env)
                    )
            case Data(node=n.Operation(op="*" | "+") as made):
                for part in made.operands:
                    yield from self.items(part, value.moment)
            case Result() if value.event is not None and value.dotted in (_LISTS | _SEQUENCES):
                yield from self.parts(value.call, Moment(value.event.scope, value.event))

    def inner(self, module: FrameworkModule) -> Iterator[FrameworkModule]:
        """Yield the modules that a module of a library calls one after the other."""
        if module.layer == "Sequential" and module.call is not None and module.moment is not None:
            yield from self.parts(module.call, module.moment)

    def parts(self, call: n.Call, moment: Moment) -> Iterator[FrameworkModule]:
        """Yield the modules that are given to a container when it is made: one by one, or in one list."""
        for argument in call.args:
            if argument.star != "**":
                found = () if argument.star else self.modules(argument.value, moment)
                yield from found or self.items(argument.value, moment)

    def _kept(self, node: n.Expression, moment: Moment) -> Iterator[FrameworkModule]:
        """Yield the modules of a list that is filled by `append`, or that an annotation tells."""
        if isinstance(node, n.Name):
            scope = moment.scope.find(node.id)
            if scope is not None and scope.kind == "function":
                yield from self._appended(scope, "", node.id)
        elif isinstance(node, n.Attribute):
            for base in self.modules(node.value, moment):
                if base.cls is not None:
                    yield from self._kept_by(base.cls.scope, node.attr)

    def _kept_by(self, cls: Scope, name: str) -> Iterator[FrameworkModule]:
        for step in self.project.lineage(cls):
            stores = self.project.attribute_stores(step).get(
                name, ()
            )  # parses the methods that spell the name
            for method in step.children:
                if method.parameters():
                    yield from self._appended(method, method.parameters()[0].name, name)
            for event in stores:
                # What a name holds is found by the values; here it is the list that the name was before.
                if isinstance(event.value, n.Name):
                    yield from self._appended(event.frame, "", event.value.id)
        for field in fields(cls, self.project):
            if field.name == name and isinstance(field.annotation, n.Subscript):
                inner = field.annotation.index
                for part in inner.items if isinstance(inner, n.Collection) else (inner,):
                    if part is not None:
                        yield from self.annotated(part, field.moment)

    def _appended(self, scope: Scope, owner: str, name: str) -> Iterator[FrameworkModule]:
        """Yield what a function appends to the list `owner.name`, or `name` where there is no owner."""
        for event in scope.events:
            call = event.node
            if not isinstance(call, n.Call) or not isinstance(call.func, n.Attribute) or not call.args:
                continue
            holder = call.func.value
            on_owner = (
                isinstance(holder, n.Attribute) and holder.attr == name and is_name(holder.value, owner)
            )
            if call.func.attr == "append" and (on_owner if owner else is_name(holder, name)):
                yield from self.modules(call.args[0].value, Moment(event.scope, event))


def _as_value(module: FrameworkModule) -> Iterator[Value]:
    """Yield a module as what an evaluation gives."""
    if module.cls is not None:
        yield Instance(module.cls)
    elif module.call is not None and module.moment is not None:
        package = PUBLIC[module.kind] + (".nn" if module.kind == "equinox" else "")
        yield Result(f"{package}.{module.layer}", module.call, module.moment.event)
