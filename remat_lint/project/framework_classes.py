"""Which classes and values are modules of flax, equinox or haiku: by inheritance, construction and annotation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.frameworks import Kind, layer_kind
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Scope
from remat_lint.project.values import (
    ClassRef,
    Data,
    External,
    Given,
    Instance,
    Moment,
    Partial,
    Result,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

if TYPE_CHECKING:
    from remat_lint.project.framework_uses import Use

_NNX = ("flax.nnx.", "flax.experimental.nnx.")
_VARIABLES = frozenset(
    f"{prefix}{name}"
    for prefix in _NNX
    for name in ("Variable", "Param", "BatchStat", "Cache", "Intermediate", "Perturbation")
)
_STREAMS = frozenset(f"{prefix}{name}" for prefix in _NNX for name in ("Rngs", "RngStream"))
MERGES = frozenset(f"{prefix}merge" for prefix in (*_NNX, "flax.nnx.graph."))
SPLITS = frozenset(f"{prefix}split" for prefix in (*_NNX, "flax.nnx.graph."))
_OPTIONAL = frozenset({"typing.Optional", "typing.Final", "typing.Annotated", "dataclasses.InitVar"})


@dataclass(frozen=True, slots=True, eq=False)
class FrameworkModule:
    """A module of a framework.

    Attributes:
        kind: the framework.
        layer: last part of the name of a class outside of the project; empty for a class of the project.
        cls: a class of the project.
        call: the call that made it, if that is seen; `moment` is when.
    """

    kind: Kind
    layer: str = ""
    cls: ClassRef | None = None
    call: n.Call | None = None
    moment: Moment | None = None

    @property
    def name(self) -> str:
        """The name of its class."""
        return self.layer or (self.cls.scope.name if self.cls is not None else "")


class FrameworkClasses:
    """Answers for one project."""

    def __init__(self, project: Analysis) -> None:
        self.project = project
        self.uses: dict[WrapSite, tuple[Use, ...]] = {}
        self._classes: dict[Scope, Kind | None] = {}

    def kind(self, cls: Scope) -> Kind | None:
        """Return the framework from whose modules a class of the project derives."""
        if cls not in self._classes:
            self._classes[cls] = None
            kinds = [
                self._base_kind(base, cls)
                for step in self.project.lineage(cls)
                for base in self.project.bases(step)
            ]
            self._classes[cls] = next((kind for kind in kinds if kind is not None), None)
        return self._classes[cls]

    def of_class(self, cls: Scope) -> Iterator[FrameworkModule]:
        """Yield an object of a class of the project as a module, if it is one."""
        kind = self.kind(cls)
        if kind is not None:
            yield FrameworkModule(kind, "", ClassRef(cls))

    def _base_kind(self, base: Value, cls: Scope) -> Kind | None:
        match base:
            case External():
                return layer_kind(base.dotted)
            case Data(node=n.Subscript() as node):
                found = self.project.evaluate(node.value, base.moment)
                return next((self._base_kind(v, cls) for v in found if not isinstance(v, Data)), None)
            case _:
                return None

    def around(self, scope: Scope) -> tuple[Scope, Kind] | None:
        """Return the innermost class of a framework in whose method something stands."""
        for step in scope.ancestors():
            kind = self.kind(step) if step.kind == "class" else None
            if kind is not None:
                return step, kind
        return None

    def of_value(self, value: Value) -> Iterator[FrameworkModule]:
        """Yield the modules that a value is."""
        match value:
            case Instance():
                kind = self.kind(value.cls.scope)
                if kind is not None:
                    made = value.made
                    call = made.node if made is not None and isinstance(made.node, n.Call) else None
                    moment = Moment(made.scope, made) if made is not None and call is not None else None
                    yield FrameworkModule(kind, "", value.cls, call, moment)
            case Result():
                kind = layer_kind(value.dotted)
                if kind is not None and value.event is not None:
                    layer = value.dotted.rpartition(".")[2]
                    yield FrameworkModule(
                        kind, layer, None, value.call, Moment(value.event.scope, value.event)
                    )
            case Wrapped() if value.instance:
                for body in value.site.bodies:
                    yield from self.made_by(body, None, None)
            case Given():
                annotation = value.parameter.annotation
                if annotation is not None:
                    outer = value.scope.parent or value.scope
                    yield from self.annotated(annotation, Moment(outer, value.scope.definition))

    def made_by(self, callee: Value, call: n.Call | None, moment: Moment | None) -> Iterator[FrameworkModule]:
        """Yield the module that calling a class gives, also a transformed or partially applied one."""
        match callee:
            case ClassRef() if self.kind(callee.scope) is not None:
                yield FrameworkModule(self.kind(callee.scope), "", callee, call, moment)  # type: ignore[arg-type]  # not None
            case External():
                kind = layer_kind(callee.dotted)
                if kind is not None:
                    yield FrameworkModule(kind, callee.dotted.rpartition(".")[2], None, call, moment)
            case Partial():
                yield from self.made_by(callee.target, callee.call, callee.moment)
            case Transformed():
                for inner in callee.inner:
                    yield from self.made_by(inner, call, moment)
            case Wrapped() if not callee.instance:
                for inner in callee.site.bodies:
                    yield from self.made_by(inner, call, moment)

    def annotated(self, node: n.Expression, moment: Moment) -> Iterator[FrameworkModule]:
        """Yield the modules that something annotated so is."""
        if isinstance(node, n.Constant) and isinstance(node.value, str):
            quoted = _parse(node.value)
            if quoted is None:
                return
            node = quoted
        if isinstance(node, n.Operation) and node.op == "|":
            for operand in node.operands:
                yield from self.annotated(operand, moment)
        elif isinstance(node, n.Subscript):
            wrappers = self.project.evaluate(node.value, moment)
            if any(isinstance(v, External) and v.dotted in _OPTIONAL for v in wrappers):
                inner = node.index
                yield from self.annotated(
                    inner.items[0] if isinstance(inner, n.Collection) and inner.items[0] else inner, moment
                )
        elif isinstance(node, n.Name | n.Attribute):
            for value in self.project.force(self.project.evaluate(node, moment), moment):
                yield from self.made_by(value, None, None)

    def is_variable(self, node: n.Expression, moment: Moment) -> bool:
        """Whether an expression visibly holds a variable of nnx."""
        return self._is_of(node, moment, _VARIABLES)

    def is_stream(self, node: n.Expression, moment: Moment) -> bool:
        """Whether an expression visibly holds the random streams of nnx."""
        return self._is_of(node, moment, _STREAMS)

    def _is_of(self, node: n.Expression, moment: Moment, names: frozenset[str]) -> bool:
        for value in self.project.evaluate(node, moment):
            match value:
                case Result():
                    found: frozenset[str] = frozenset({value.dotted})
                case Instance():
                    found = self.project.external_bases(value.cls.scope)
                case Given() if value.parameter.annotation is not None:
                    outer = Moment(value.scope.parent or value.scope, value.scope.definition)
                    classes = self.project.evaluate(value.parameter.annotation, outer)
                    found = frozenset(c.dotted for c in classes if isinstance(c, External))
                case _:
                    continue
            if found & names:
                return True
        return False


def _parse(text: str) -> n.Expression | None:
    """Return the expression of a quoted annotation that is a dotted name."""
    words = text.strip().split(".")
    if not all(word.isidentifier() for word in words):
        return None
    node: n.Expression = n.Name(-1, words[0])
    for word in words[1:]:
        node = n.Attribute(-1, node, word)
    return node
