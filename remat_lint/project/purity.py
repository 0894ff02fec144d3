"""Which calls give the same value for the same arguments, as far as reading the project tells."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import Data, External, FunctionRef, Member, Moment, Value

_PACKAGES = ("jax.", "numpy.", "builtins.", "math.")
_DRAWING = (
    "numpy.random.",
    "jax.experimental.",
    "builtins.next",
    "builtins.input",
    "builtins.open",
    "builtins.iter",
)
METHODS = frozenset(
    """
    astype reshape ravel flatten squeeze transpose swapaxes copy view dot sum mean max min prod std var all any argmax
    argmin item tolist get keys values items format split join lower upper strip index count
    """.split()  # noqa: SIM905 - a list of words
)
_DEEPEST = 3


def is_pure(call: n.Call, frame: Scope, project: Analysis, depth: int = 0) -> bool:
    """Whether a call that stands in `frame` has a value that only its arguments decide."""
    event = frame.module.happened(call.at)
    if event is None:
        return False
    if isinstance(call.func, n.Attribute) and call.func.attr == "get" and not call.args:
        return False  # of a queue, not of a dict
    values = project.evaluate(call.func, Moment(event.scope, event))
    return all(_is_pure(value, project, depth) for value in values)


def _is_pure(value: Value, project: Analysis, depth: int) -> bool:
    match value:
        case External():
            return value.dotted.startswith(_PACKAGES) and not value.dotted.startswith(_DRAWING)
        case Member():
            return value.attr in METHODS and _is_pure(External(value.base.dotted), project, depth)
        case Data():
            return isinstance(value.node, n.Attribute) and value.node.attr in METHODS
        case FunctionRef():
            return value.receiver is None and depth < _DEEPEST and _computes(value, project, depth)
    return False


def _computes(function: FunctionRef, project: Analysis, depth: int) -> bool:
    """Whether a function of the project reads nothing that is ever written and calls only what is pure."""
    node = function.scope.node
    if not isinstance(node, n.Function) or node.is_async or node.is_generator:
        return False
    writes = project.staleness.writes
    if any(len(writes.to(read.access)) > 1 for read in project.captures.reads(function)):
        return False
    return all(
        is_pure(event.node, event.frame, project, depth + 1)
        for event in _events(function.scope)
        if isinstance(event.node, n.Call)
    )


def _events(scope: Scope) -> Iterator[Event]:
    yield from scope.events
    for child in scope.children:
        if child.kind == "function":
            yield from _events(child)
