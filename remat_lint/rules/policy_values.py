"""What stands where a policy is due and is none, in words for a message; and how a file spells the policies."""

from __future__ import annotations

from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit
from remat_lint.jaxapi.policies import NAMESPACES
from remat_lint.project.analysis import Analysis
from remat_lint.project.choices import Choice
from remat_lint.project.values import Data, External, Given, Moment, Result
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Place

_UNHASHABLE = frozenset({"list", "set", "dict", "types.SimpleNamespace"})
_COMPARES = frozenset({"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in", "not"})
_MAKERS = {
    "builtins.str": "str",
    "builtins.bool": "bool",
    "builtins.int": "int",
    "builtins.float": "float",
    "builtins.list": "list",
    "builtins.sorted": "list",
    "builtins.tuple": "tuple",
    "builtins.set": "set",
    "builtins.dict": "dict",
    "os.getenv": "str",
    "os.environ.get": "str",
}
_ANNOTATIONS = frozenset({"str", "bool", "int", "float", "list", "tuple", "set", "dict"})
_ARTICLES = {"int": "an int", "str": "a string"}
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Kind:
    """A value that is no policy.

    Attributes:
        words: what it is.
        type: name of its Python type.
        falsy: whether it is known to be false, and how: JAX takes that as no policy if it can hash it.
    """

    words: str
    type: str
    falsy: bool = False

    @property
    def refused(self) -> str:
        """What Python says where it is called, in brackets for a message."""
        return f" ('{self.type}' object is not callable)"

    @property
    def result(self) -> str:
        """What becomes of a checkpoint that has it as its policy."""
        if self.type in _UNHASHABLE:
            return f"`jit` and differentiation raise TypeError (unhashable type: '{self.type}')"
        return f"the forward pass works, but differentiation raises TypeError{self.refused}"


def kind_of(choice: Choice) -> Kind | None:
    """Return what a choice is, if it is known to be no policy."""
    match choice.value:
        case Data():
            kind = _literal(choice.node)
            return kind if kind is None or _is_fixed(choice, kind) else None
        case Given() if choice.sure and isinstance(choice.node, n.Name):
            # Where the name is bound again on some way, what is done there is what the parameter needs.
            return _parameter(choice.value)
        case Result() if choice.value.dotted in _MAKERS:
            name = _MAKERS[choice.value.dotted]
            return Kind(_ARTICLES.get(name, f"a {name}"), name)
        case External() if choice.value.dotted in NAMESPACES:
            return Kind("the namespace of policies, and not one of them", "types.SimpleNamespace")
        case _:
            return None


def _literal(node: n.Expression) -> Kind | None:
    match node:
        case n.Constant():
            return _constant(node)
        case n.Collection():
            items = [item for item in node.items if item is not None]
            # An empty list or set is refused before anybody asks whether it is true.
            return Kind(f"a {node.kind}", node.kind, falsy=not items and node.kind in ("tuple", "dict"))
        case n.Comprehension():
            return Kind(f"a {node.kind}", node.kind)
        case n.Operation() if node.op == "string":
            return Kind("a string", "str")
        case n.Operation() if _COMPARES.issuperset(node.op.split(",")):
            return Kind("a bool", "bool")
        case _:
            return None


def _constant(node: n.Constant) -> Kind | None:
    value = node.value
    if value is None or node.kind:
        return None
    name = type(value).__name__
    if isinstance(value, str):
        shown = repr(value) if len(value) <= _LONGEST else "…"
        return Kind(f"the string {shown}" if value else "an empty string", name, falsy=not value)
    return Kind(f"`{value!r}`", name, falsy=not value)


def _is_fixed(choice: Choice, kind: Kind) -> bool:
    """Whether a value cannot be another one: the default of a field can, unless it is annotated as what it is."""
    if not isinstance(choice.value, Data) or choice.value.moment.scope.kind != "class":
        return True
    event = choice.value.moment.event
    bind = event.node if event is not None else None
    return isinstance(bind, n.Bind) and annotated(bind.annotation) == kind.type


def _parameter(value: Given) -> Kind | None:
    """Return what a parameter is that no visible call gives: its default, or what its annotation says."""
    parameter = value.parameter
    if parameter.kind not in ("positional", "positional-only", "keyword-only"):
        return None
    default = None if parameter.default is None else _literal(parameter.default)
    if default is not None and not default.falsy:
        return Kind(f"{default.words} by default", default.type)
    name = annotated(parameter.annotation)
    return Kind(f"{_ARTICLES.get(name, f'a {name}')} by its annotation", name) if name else None


def annotated(node: n.Expression | None) -> str:
    """Return the one builtin type, no policy, that an annotation admits besides None; empty for all others."""
    match node:
        case n.Name():
            name = node.id if node.id in _ANNOTATIONS else node.id.lower()
            return name if name in _ANNOTATIONS and node.id in (name, name.title()) else ""
        case n.Constant() if isinstance(node.value, str):
            words = [word.strip() for word in node.value.split("|")]
            words = [word for word in words if word != "None"]
            return words[0] if len(words) == 1 and words[0] in _ANNOTATIONS else ""
        case n.Operation() if node.op == "|":
            parts = [p for p in node.operands if not (isinstance(p, n.Constant) and p.value is None)]
            names = {annotated(part) for part in parts}
            return names.pop() if len(names) == 1 else ""
        case n.Subscript():
            base = node.value.attr if isinstance(node.value, n.Attribute) else getattr(node.value, "id", "")
            if base == "Optional":
                return annotated(node.index)
            return base.lower() if base.lower() in _ANNOTATIONS else ""
        case _:
            return ""


def namespace_text(place: Place, project: Analysis) -> tuple[str, tuple[Edit, ...]]:
    """Return how the file of a place spells the namespace of policies, with the import that this needs."""
    module = place.module
    for name, events in module.scope.bindings.items():
        if len(events) != 1 or events[0].arms or events[0].part:
            continue
        if not isinstance(events[0].value, n.Import | n.Attribute | n.Name):
            continue
        values = project.name(name, Moment(module.scope, None))
        known = len(values) == 1 and isinstance(values[0], External) and values[0].dotted in NAMESPACES
        if known and module.span(events[0].at).end.row < place.span.start.row:
            return name, ()
    return spell(module, "jax", "checkpoint_policies", project)
