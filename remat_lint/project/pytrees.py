"""Whether objects of a class of the project can be arguments of a traced function."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Scope
from remat_lint.project.values import ClassRef, Deferred, External, Moment, Value

_PLAIN_BASES = frozenset(
    {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing_extensions.Protocol"}
)
_PLAIN_DECORATORS = frozenset(
    {"dataclasses.dataclass", "attrs.define", "attrs.frozen", "functools.total_ordering"}
)
_REGISTERING = ("register", "pytree")
_ENUMS = frozenset(f"enum.{name}" for name in ("Enum", "Flag", "StrEnum"))


def is_plain(cls: Scope, project: Analysis) -> bool:
    """Whether a class is known to be no pytree: it and its bases stand in the project, and nothing registers it."""
    for step in project.lineage(cls):
        node = step.node
        assert isinstance(node, n.Class)
        bases = project.bases(step)
        if not all(isinstance(base, ClassRef) or _dotted(base) in _PLAIN_BASES for base in bases):
            return False
        if len(bases) < sum(base.keyword is None for base in node.bases) or any(
            base.star or (base.keyword is not None and not _is_abstract(base)) for base in node.bases
        ):
            return False
        moment = Moment(step.parent or step, step.definition)
        for decorator in node.decorators:
            func = decorator.func if isinstance(decorator, n.Call) else decorator
            if not all(_dotted(value) in _PLAIN_DECORATORS for value in project.evaluate(func, moment)):
                return False
        if "__init_subclass__" in step.bindings or "__jax_array__" in step.bindings:
            return False
        if _is_registered(step, project):
            return False
    return True


def is_enum(cls: Scope, project: Analysis) -> bool:
    """Whether a class is an enumeration whose members are no numbers."""
    bases = project.external_bases(cls)
    return bool(bases) and bases <= _ENUMS


def _dotted(value: Value) -> str:
    return value.dotted if isinstance(value, External | Deferred) else ""


def _is_abstract(base: n.Argument) -> bool:
    name = getattr(base.value, "attr", getattr(base.value, "id", ""))
    return base.keyword == "metaclass" and name == "ABCMeta"


def _is_registered(cls: Scope, project: Analysis) -> bool:
    """Whether a call in the file of the class registers it: one of something that says so by its name."""
    cls.module.load_mentions(cls.name, _REGISTERING)
    for event in list(cls.module.builder.happened.values()):
        call = event.node
        if not isinstance(call, n.Call) or not _registers(call.func):
            continue
        for argument in call.args:
            values = project.evaluate(argument.value, Moment(event.scope, event))
            if any(isinstance(value, ClassRef) and value.scope is cls for value in values):
                return True
    return False


def _registers(func: n.Expression) -> bool:
    name = getattr(func, "attr", getattr(func, "id", ""))
    return any(word in name for word in _REGISTERING)
