"""Tests of a parameter that a traced array answers otherwise than a Python bool or number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.scopes import Scope
from remat_lint.project.traversal import is_name, mentions
from remat_lint.project.values import External, Moment

_SCALARS: dict[str, type] = {
    "builtins.bool": bool,
    "builtins.int": int,
    "builtins.float": float,
    "numbers.Number": float,
    "numbers.Real": float,
    "numbers.Integral": int,
}
_NEUTRAL = frozenset({"builtins.complex", "numbers.Complex", "builtins.str", "builtins.bytes"})
_BARE_CASE = re.compile(r"case\s*[\s(]*(True|False|None)(\s*\|\s*(True|False|None))*[\s)]*(if\b|as\b|:)")


@dataclass(frozen=True, slots=True)
class FlagTest:
    """One test.

    Attributes:
        at: number of the tested expression or pattern.
        text: the test as it may be shown.
        outcome: what it does on a traced array.
        wanted: what a traced array never is.
        types: the Python types for which the test can hold.
        singleton: the object an identity test asks for; None for a test of the type.
        exact: whether the type itself is asked for, which a bool meets as no int.
    """

    at: int
    text: str
    outcome: str
    wanted: str
    types: frozenset[type]
    singleton: bool | None = None
    exact: bool = False

    def admits(self, types: frozenset[type]) -> bool:
        """Whether the test can hold for a value of one of `types`."""
        if self.exact:
            return not types.isdisjoint(self.types)
        return any(issubclass(kind, wanted) for kind in types for wanted in self.types)

    def differs(self, value: object) -> bool:
        """Whether the test holds for the Python value, which it never does for a traced array."""
        if self.exact:
            return type(value) in self.types
        return value is self.singleton if self.singleton is not None else isinstance(value, tuple(self.types))


def flag_tests(scope: Scope, name: str, project: Analysis) -> Iterator[FlagTest]:
    """Yield the identity and type tests on a parameter of a function that is bound only once."""
    function = scope.node
    if not isinstance(function, n.Function) or len(scope.bindings.get(name, ())) != 1:
        return
    converted: set[int] = set()
    for node in mentions(function, name):
        match node:
            case n.Conditional() if _converts(node, name, scope, project):
                converted.add(node.test.at)
            case n.Operation(op="is" | "is not", operands=(left, right)):
                value = right if is_name(left, name) else left if is_name(right, name) else None
                if isinstance(value, n.Constant) and isinstance(value.value, bool):
                    yield _identity(node, name, value.value)
                else:
                    yield from _exact_type(node, name, scope, project)
            case n.Operation(op="==" | "!="):
                yield from _exact_type(node, name, scope, project)
            case n.Branch() if node.subject is not None and is_name(node.subject, name):
                yield from _cases(node, scope)
            case n.Call():
                types = _scalar_types(node, name, scope, project)
                if types and node.at not in converted:
                    yield _type_test(node, types)


def _converts(node: n.Conditional, name: str, scope: Scope, project: Analysis) -> bool:
    """Whether an expression only makes an array of what is none yet: `jnp.asarray(p) if isinstance(p, float) else p`."""
    if not is_name(node.orelse, name) or not isinstance(node.body, n.Call) or len(node.body.args) == 0:
        return False
    values = project.evaluate(node.body.func, Moment(scope, None))
    library = all(isinstance(value, External) and value.dotted.startswith("jax.numpy.") for value in values)
    return library and is_name(node.body.args[0].value, name)


def _identity(node: n.Operation, name: str, value: bool) -> FlagTest:  # noqa: FBT001 - the constant of the test
    outcome = "is always false" if node.op == "is" else "is always true"
    return FlagTest(
        node.at, f"{name} {node.op} {value}", outcome, f"the object {value}", frozenset({bool}), value
    )


def _cases(node: n.Branch, scope: Scope) -> Iterator[FlagTest]:
    for arm in node.arms:
        for value in arm.pattern:
            if isinstance(value, n.Constant) and isinstance(value.value, bool) and _is_bare(arm, scope):
                text, wanted = f"case {value.value}", f"the object {value.value}"
                yield FlagTest(value.at, text, "never matches", wanted, frozenset({bool}), value.value)


def _is_bare(arm: n.Arm, scope: Scope) -> bool:
    """Whether a case consists of constants only, not of constants inside a sequence or mapping pattern."""
    return _BARE_CASE.match(scope.module.text_at(arm.at)) is not None


def _scalar_types(node: n.Call, name: str, scope: Scope, project: Analysis) -> frozenset[type]:
    """Return the Python scalar types that `isinstance(name, …)` asks for; none if it asks for others too."""
    if not isinstance(node.func, n.Name) or node.func.id != "isinstance" or len(node.args) != 2:  # noqa: PLR2004 - its arity
        return frozenset()
    if not is_name(node.args[0].value, name):
        return frozenset()
    asked = [part for part in _alternatives(node.args[1].value) if part is not None]
    found: set[type] = set()
    for part in asked:
        for value in project.evaluate(part, Moment(scope, None)):
            dotted = value.dotted if isinstance(value, External) else ""
            if dotted in _SCALARS:
                found.add(_SCALARS[dotted])
            elif dotted not in _NEUTRAL and not dotted.startswith("numpy."):
                return frozenset()
    return frozenset(found)


def _exact_type(node: n.Operation, name: str, scope: Scope, project: Analysis) -> Iterator[FlagTest]:
    """Yield the test `type(name) is bool`, with whatever operator compares the two."""
    if len(node.operands) != 2:  # noqa: PLR2004 - one comparison
        return
    call, kind = node.operands
    if not isinstance(call, n.Call) or not isinstance(call.func, n.Name) or call.func.id != "type":
        return
    if len(call.args) != 1 or not is_name(call.args[0].value, name):
        return
    for value in project.evaluate(kind, Moment(scope, None)):
        found = _SCALARS.get(value.dotted) if isinstance(value, External) else None
        if found is not None and value.dotted.startswith("builtins."):  # type: ignore[union-attr]  # just checked
            outcome = "is always false" if node.op in ("is", "==") else "is always true"
            text = f"type({name}) {node.op} {found.__name__}"
            article = "an" if found is int else "a"
            yield FlagTest(
                node.at, text, outcome, f"{article} {found.__name__}", frozenset({found}), exact=True
            )


def _alternatives(node: n.Expression) -> tuple[n.Expression | None, ...]:
    if isinstance(node, n.Collection) and node.kind == "tuple":
        return node.items
    if isinstance(node, n.Operation) and node.op == "|":
        return tuple(part for operand in node.operands for part in _alternatives(operand))
    return (node,)


def _type_test(node: n.Call, types: frozenset[type]) -> FlagTest:
    wanted = sorted(kind.__name__ for kind in types)
    names = " or ".join(wanted)
    return FlagTest(
        node.at, render_test(node), "is always false", f"{'an' if names[0] == 'i' else 'a'} {names}", types
    )


def render_test(node: n.Call) -> str:
    """Return the text of an isinstance test for a message."""
    kind = node.args[1].value
    shown = kind.id if isinstance(kind, n.Name) else "…"
    return f"isinstance({render(node.args[0].value)}, {shown})"


def uses_as_flag(function: n.Function, name: str) -> bool:
    """Whether a function decides by a parameter: asks if it is true, or hands it on under the name of a flag."""
    return any(is_name(part, name) for node in mentions(function, name) for part in _decided(node))


FLAG_NAMES = frozenset(
    {"deterministic", "train", "training", "is_training", "use_running_average", "eval_mode"}
)
"""Keywords of layers of flax and haiku that must be Python bools."""


def _decided(node: Any) -> Iterator[n.Expression]:
    """Yield what a node asks to be true or false."""
    match node:
        case n.Arm() if node.test is not None:
            yield from _truths(node.test)
        case n.Conditional():
            yield from _truths(node.test)
        case n.Loop() if node.test is not None:
            yield from _truths(node.test)
        case n.Operation(op="not" | "and" | "or"):
            yield from _truths(node)
        case n.Operation(op="is" | "is not", operands=(left, n.Constant(value=True | False))):
            yield left
        case n.Argument() if node.keyword in FLAG_NAMES:
            yield from _truths(node.value)


def _truths(node: n.Expression) -> Iterator[n.Expression]:
    if isinstance(node, n.Operation) and node.op in ("not", "and", "or"):
        for operand in node.operands:
            yield from _truths(operand)
    else:
        yield node
