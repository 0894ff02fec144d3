"""What stands among the leaves of an equinox module: arrays, functions, strings, and the flags that a method tests."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import makes_traced
from remat_lint.jaxapi.frameworks import EQUINOX_ARRAYS, EQUINOX_FUNCTIONS
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword
from remat_lint.project.fields import Field, fields
from remat_lint.project.framework_classes import FrameworkModule
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import (
    ClassRef,
    Data,
    External,
    FunctionRef,
    Moment,
    Result,
    Transformed,
    Value,
)

_ARRAYS = frozenset({"jax.Array", "jax.numpy.ndarray", "jax.typing.ArrayLike", "numpy.ndarray"})
_FIELDS = frozenset({"equinox.field", "equinox.static_field", "equinox._module.field", "dataclasses.field"})
_FUNCTIONS = ("jax.nn.", "jax.numpy.", "jax.lax.")
_DEEPEST = 4


def holds_arrays(module: FrameworkModule, project: Analysis, depth: int = 0) -> bool:
    """Whether a module visibly has an array among its leaves."""
    if module.layer:
        parts = project.frameworks.inner(module)
        return module.layer in EQUINOX_ARRAYS or any(holds_arrays(p, project, depth + 1) for p in parts)
    if module.cls is None or depth > _DEEPEST:
        return False
    cls = module.cls.scope
    for field in _fields(cls, project):
        if _is_annotated(field, project, _ARRAYS, "jaxtyping."):
            return True
        if any(holds_arrays(inner, project, depth + 1) for inner in _modules(cls, field, project)):
            return True
        for value, _ in _stored(cls, field.name, project):
            if isinstance(value, Result) and makes_traced(value.dotted):
                return True
    return False


def untraceable_leaf(module: FrameworkModule, project: Analysis, depth: int = 0) -> str:
    """Return what cannot be traced among the leaves of a module, in words; empty if nothing of the kind is seen."""
    if module.layer:
        if module.layer in EQUINOX_FUNCTIONS:
            return f"the function in eqx.nn.{module.layer}"
        found = [untraceable_leaf(part, project, depth + 1) for part in project.frameworks.inner(module)]
        return next((one for one in found if one), "")
    if module.cls is None or depth > _DEEPEST:
        return ""
    cls = module.cls.scope
    for field in _fields(cls, project):
        if _is_annotated(field, project, frozenset({"builtins.str"})):
            return f"the string `{field.name}`"
        if any(_is_function(value) for value in _held(cls, field, module, project)):
            return f"the function `{field.name}`"
        for inner in _modules(cls, field, project):
            found_inside = untraceable_leaf(inner, project, depth + 1)
            if found_inside:
                return found_inside
    return ""


def tested_flag(function: FunctionRef, name: str, module: FrameworkModule, project: Analysis) -> str:
    """Return the flag of a module that a function over it, called `name` there, uses as a Python value."""
    if module.cls is None or function.scope.node is None:
        return ""
    flags = {
        field.name
        for field in _fields(module.cls.scope, project)
        if _is_annotated(field, project, frozenset({"builtins.bool", "builtins.int"}))
    }
    for part in walk(function.scope.node):
        for test in _tests(part):
            owner = test.value
            if test.attr in flags and isinstance(owner, n.Name) and owner.id == name:
                return test.attr
    return ""


def _tests(part: n.Node) -> Iterator[n.Attribute]:
    """Yield the attributes whose truth, or whose value as a length, a node asks for."""
    tests: list[n.Expression | None] = []
    if isinstance(part, n.Branch):
        tests += [arm.test for arm in part.arms]
    elif isinstance(part, n.Conditional | n.Loop):
        tests.append(part.test)
    elif isinstance(part, n.Call) and isinstance(part.func, n.Name) and part.func.id == "range":
        tests += [argument.value for argument in part.args]
    while tests:
        test = tests.pop()
        if isinstance(test, n.Attribute):
            yield test
        elif isinstance(test, n.Operation) and test.op in ("not", "and", "or"):
            tests += test.operands


def _fields(cls: Scope, project: Analysis) -> Iterator[Field]:
    """Yield the fields of a class that are no static ones."""
    return (field for field in fields(cls, project) if not _is_static(field, project))


def _is_static(field: Field, project: Analysis) -> bool:
    call = field.default
    if not isinstance(call, n.Call):
        return False
    callees = project.evaluate(call.func, field.moment)
    if any(isinstance(v, External) and v.dotted == "equinox.static_field" for v in callees):
        return True
    static = keyword(call, "static")
    return static is not None and not (isinstance(static.value, n.Constant) and not static.value.value)


def _is_annotated(field: Field, project: Analysis, names: frozenset[str], prefix: str = "\0") -> bool:
    node = field.annotation.value if isinstance(field.annotation, n.Subscript) else field.annotation
    return any(
        isinstance(value, External) and (value.dotted in names or value.dotted.startswith(prefix))
        for value in project.evaluate(node, field.moment)
    )


def _modules(cls: Scope, field: Field, project: Analysis) -> Iterator[FrameworkModule]:
    yield from project.frameworks.attribute(cls, field.name)
    for step in project.lineage(cls):
        for event in project.attribute_stores(step).get(field.name, ()):
            if isinstance(event.value, n.Collection | n.Comprehension):
                yield from project.frameworks.items(event.value, Moment(event.scope, event))


def _stored(cls: Scope, name: str, project: Analysis) -> Iterator[tuple[Value, Event]]:
    for step in project.lineage(cls):
        for event in project.attribute_stores(step).get(name, ()):
            if isinstance(event.value, n.Expression) and not event.part:
                for value in project.evaluate(event.value, Moment(event.scope, event)):
                    yield value, event


def _held(cls: Scope, field: Field, module: FrameworkModule, project: Analysis) -> Iterator[Value]:
    """Yield what a field is given: in a method, by default, or where an object is made in the file of the class."""
    for value, _ in _stored(cls, field.name, project):
        yield value
        yield from _listed(value, project)
    if field.default is not None:
        for value in project.evaluate(field.default, field.moment):
            if isinstance(value, Result) and value.dotted in _FIELDS:
                default = keyword(value.call, "default")
                if default is not None:
                    yield from project.evaluate(default.value, field.moment)
            else:
                yield value
    if project.method(cls, "__init__") is None:
        order = [one.name for one in fields(cls, project)]
        for call, moment in _constructions(cls, module, project):
            place = order.index(field.name)
            given = keyword(call, field.name) or (
                call.args[place] if place < len(call.args) and not call.args[place].keyword else None
            )
            if given is not None and not any(a.star for a in call.args):
                yield from project.evaluate(given.value, moment)


def _listed(value: Value, project: Analysis) -> Iterator[Value]:
    """Yield the items of a list that a field is given."""
    if isinstance(value, Data) and isinstance(value.node, n.Collection):
        for item in value.node.items:
            if item is not None:
                yield from project.evaluate(item, value.moment)


def _constructions(cls: Scope, module: FrameworkModule, project: Analysis) -> Iterator[tuple[n.Call, Moment]]:
    if module.call is not None and module.moment is not None:
        yield module.call, module.moment
        return
    cls.module.load_mentions(cls.name)
    for event in list(cls.module.builder.happened.values()):
        call = event.node
        if isinstance(call, n.Call) and isinstance(call.func, n.Name) and call.func.id == cls.name:
            moment = Moment(event.scope, event)
            if any(isinstance(v, ClassRef) and v.scope is cls for v in project.evaluate(call.func, moment)):
                yield call, moment


def _is_function(value: Value) -> bool:
    match value:
        case External():
            return value.dotted.startswith(_FUNCTIONS) and value.dotted.rpartition(".")[2][:1].islower()
        case FunctionRef() | Transformed():
            return True
        case Data(node=n.Function()):
            return True
        case _:
            return False
