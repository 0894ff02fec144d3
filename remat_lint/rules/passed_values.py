"""What a value that becomes an argument of a checkpointed function must be there: traced, static, or neither.

An argument is traced, so that shapes, tests and formats cannot use it; a static one must be hashable. Where the text
does not tell which of the two is right, the answer is None.
"""

from __future__ import annotations

from collections.abc import Iterable

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import STATIC_ATTRIBUTES
from remat_lint.project.analysis import Analysis
from remat_lint.project.purity import METHODS
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    Access,
    ClassRef,
    External,
    FunctionRef,
    Instance,
    Member,
    Moment,
    Partial,
    Result,
    Transformed,
    Value,
    Wrapped,
)

_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**", "@", "<", ">", "<=", ">=", "==", "!="})
_TESTING = frozenset({"not", "and", "or", "in", "not in", "slice", "string"})
_LENIENT = frozenset(
    f"builtins.{name}" for name in ("abs", "sum", "list", "tuple", "dict", "zip", "enumerate", "pow")
)
_SHAPING = frozenset(
    """
    ones zeros full empty arange eye identity linspace reshape broadcast_to tile repeat split array_split roll flip
    swapaxes moveaxis rollaxis transpose expand_dims squeeze tri tril triu one_hot einsum astype
    """.split()  # noqa: SIM905 - a list of words
)
_DEEPEST = 6


class PassedValue:
    """Judges one way that a function reads, for passing what is there as an argument.

    Args:
        access: the way.
        reads: the expressions in the function that read it.
        scope: the scope of the function.
        project: tells what is written there, and what reads it.
    """

    def __init__(
        self, access: Access, reads: Iterable[n.Expression], scope: Scope, project: Analysis
    ) -> None:
        self.access, self.reads, self.scope, self.project = access, tuple(reads), scope, project
        self.parents = scope.module.builder.parents
        self._active: set[str] = set()

    def is_static(self) -> bool | None:
        """Whether it must be a static argument; None if neither is known to be right."""
        kinds = frozenset(kind for event, steps in self._events() for kind in self._of_event(event, steps, 0))
        kinds -= {"neutral"}
        needs = {self._needs(read) for read in self.reads}
        if "object" in kinds and kinds | needs != {"object", "called"}:
            return None
        if "called" in needs:
            return True if kinds and kinds <= {"function", "object"} else None
        if "static" in kinds or (needs - {""} and kinds == {"number"}):
            return True if kinds <= {"static", "number"} else None
        if "function" in kinds or "python" in needs or ("unclear" in needs and kinds != {"array"}):
            return None
        return False

    def _events(self) -> Iterable[tuple[Event, tuple[tuple[str, str | int | None], ...] | None]]:
        """Yield what writes there, with the steps from what is written to what is read; None: something inside."""
        for write in self.project.staleness.writes.to(self.access):
            longer = len(write.access.steps) > len(self.access.steps)
            yield write.event, None if longer else self.access.steps[len(write.access.steps) :]

    # What it is

    def _of_event(
        self, event: Event, steps: tuple[tuple[str, str | int | None], ...] | None, depth: int
    ) -> frozenset[str]:
        if steps is None or (isinstance(event.node, n.Bind) and event.node.how in ("augmented", "delete")):
            return frozenset()
        value = event.value
        if not isinstance(value, n.Expression) or isinstance(value, n.Function):
            return frozenset({"function" if isinstance(value, n.Function) else "other"})
        if event.part == "iteration":
            return self._of_items(value, event, depth) if not steps else frozenset({"other"})
        if event.part not in ("", "element"):
            return frozenset({"other"})
        if event.part == "element":
            shape = isinstance(value, n.Attribute) and value.attr in STATIC_ATTRIBUTES
            return frozenset({"static" if shape and not steps else "other"})
        for kind, step in steps:
            value = _item(value, step) if kind == "[]" else None
            if value is None:
                return frozenset({"other"})
        return self._of(value, event, depth)

    def _of_items(self, node: n.Expression, event: Event, depth: int) -> frozenset[str]:
        values = self.project.evaluate(node, Moment(event.scope, event))
        dotted = values[0].dotted if len(values) == 1 and isinstance(values[0], Result) else ""
        if dotted == "builtins.range" or (dotted == "builtins.enumerate" and event.position == 0):
            return frozenset({"static"})
        if isinstance(node, n.Name) and depth < _DEEPEST:
            holder = event.scope.find(node.id)
            bound = holder.bindings[node.id] if holder is not None else []
            if len(bound) == 1 and isinstance(bound[0].value, n.Collection) and not bound[0].part:
                return self._of_items(bound[0].value, event, depth + 1)
        if isinstance(node, n.Collection) and node.kind != "dict" and node.items:
            found: frozenset[str] = frozenset()
            for item in node.items:
                part = item
                if event.position is not None:
                    part = _item(item, event.position) if item is not None else None
                found |= self._of(part, event, depth + 1) if part is not None else {"other"}
            return found
        return frozenset({"other"})

    def _of(self, node: n.Expression, event: Event, depth: int) -> frozenset[str]:
        """Return what kinds of value an expression has, at the place of an event."""
        if depth > _DEEPEST:
            return frozenset({"other"})
        match node:
            case n.Constant():
                if node.value is None:
                    return frozenset({"neutral"})
                return frozenset({"number" if isinstance(node.value, float | complex) else "static"})
            case n.Attribute() if node.attr in STATIC_ATTRIBUTES:
                return frozenset({"static"})
            case n.Subscript() if (
                isinstance(node.value, n.Attribute) and node.value.attr in STATIC_ATTRIBUTES
            ):
                return frozenset({"static"})
            case n.Operation() if node.op in _ARITHMETIC:
                kinds = frozenset(k for part in node.operands for k in self._of(part, event, depth + 1))
                strongest = [kind for kind in ("array", "number") if kind in kinds and "other" not in kinds]
                return frozenset(strongest[:1]) or kinds
            case n.Collection():
                items = [item for item in node.items if item is not None]
                values = items[1::2] if node.kind == "dict" else items
                kinds = frozenset(k for item in values for k in self._of(item, event, depth + 1))
                return kinds if kinds <= {"array", "number", "other"} else frozenset({"object"})
            case n.Name():
                return self._of_name(node, event, depth)
        return frozenset(self._of_value(v) for v in self.project.evaluate(node, Moment(event.scope, event)))

    def _of_name(self, node: n.Name, event: Event, depth: int) -> frozenset[str]:
        holder = event.scope.find(node.id)
        if node.id in self._active:
            return frozenset({"neutral"})
        self._active.add(node.id)
        found: frozenset[str] = frozenset()
        for bound in holder.bindings[node.id] if holder is not None else ():
            plain = isinstance(bound.value, n.Expression) and not isinstance(bound.value, n.Function)
            if not plain or bound.part not in ("", "iteration"):
                values = self.project.bound(bound, None)
                found |= {self._of_value(value) for value in values}
            else:
                found |= self._of_event(bound, (), depth + 1)
        self._active.discard(node.id)
        return found or frozenset({"function"})

    def _of_value(self, value: Value) -> str:
        match value:
            case FunctionRef() | Transformed() | Wrapped() | Partial() | ClassRef() | External():
                return "function"
            case Instance():
                return "object"
            case Result():
                if value.dotted in ("builtins.int", "builtins.len", "builtins.str", "builtins.bool"):
                    return "static"
                if value.dotted == "builtins.float":
                    return "number"
                return "array" if value.dotted.startswith(("jax.", "numpy.", "builtins.")) else "object"
            case Member():
                is_array = value.base.dotted.startswith(("jax.", "numpy.")) and value.attr in METHODS
                return "array" if is_array else "other"
        return "other"

    # What it is used for

    def _needs(self, read: n.Expression) -> str:
        """Return how a read uses the value: `called`, as a value of `python`, `unclear`, or "" for computing."""
        step: n.Node = read
        for above in self.parents.chain(read.at):
            match above:
                case n.Operation() if above.op in _TESTING or above.op.startswith("yield"):
                    return "python"
                case n.Operation() if above.op in _ARITHMETIC:
                    if any(self._is_traced(part) for part in above.operands if part is not step):
                        return "python" if _tests(above, self.parents.of(above.at)) else ""
                case n.Operation() | n.Collection() | n.Attribute() | n.Return():
                    return ""
                case n.Call():
                    return "called" if above.func is step else self._needs_of_call(above, step)
                case n.Subscript():
                    return "python" if above.index is step else ""
                case _:
                    return "unclear" if isinstance(above, n.Bind) else "python"
            step = above
        return ""

    def _is_traced(self, node: n.Expression) -> bool:
        return isinstance(node, n.Name) and self.scope.parameter(node.id) is not None

    def _needs_of_call(self, call: n.Call, step: n.Node) -> str:
        event = self.scope.module.happened(call.at)
        callees = self.project.evaluate(call.func, Moment(event.scope, event)) if event is not None else ()
        named = any(argument.value is step and argument.keyword is not None for argument in call.args)
        if not callees or not all(isinstance(callee, External) for callee in callees):
            attr = call.func.attr if isinstance(call.func, n.Attribute) else ""
            return "python" if attr in METHODS else "unclear"
        for callee in callees:
            assert isinstance(callee, External)
            shaping = callee.dotted.rpartition(".")[2] in _SHAPING
            if not callee.dotted.startswith("jax.") or named or shaping:
                return "" if callee.dotted in _LENIENT else "python"
        return ""


def _tests(node: n.Operation, above: n.Node | None) -> bool:
    """Whether an operation is what a branch, a loop or an assertion tests."""
    return isinstance(above, n.Branch | n.Loop | n.Conditional) and node.op in _ARITHMETIC


def _item(node: n.Expression, step: str | int | None) -> n.Expression | None:
    """Return an item of a display."""
    if not isinstance(node, n.Collection) or step is None:
        return None
    if node.kind == "dict":
        if None in node.items:
            return None
        pairs = zip(node.items[::2], node.items[1::2], strict=True)
        hits = [v for k, v in pairs if isinstance(k, n.Constant) and k.value == step]
        return hits[0] if len(hits) == 1 else None
    if isinstance(step, int) and -len(node.items) <= step < len(node.items):
        return node.items[step]
    return None
