"""Whether the code of a timed region may wait for the results that JAX computes in the background.

JAX returns from a call before the computation has ended. `block_until_ready` waits, and so does whatever needs the
numbers: printing, `float`, numpy, a branch. What is not known may wait too.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.timing import CLOCKS, TimedCall
from remat_lint.project.traversal import walk
from remat_lint.project.values import (
    Configured,
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
)

_DEEPEST = 3
_WAITING = frozenset({"block_until_ready", "device_get", "effects_barrier", "item", "tolist", "copy_to_host"})
_LAZY_PACKAGES = ("jax.", "functools.")
_WAITING_PACKAGES = ("jax.experimental.", "jax.debug.", "jax.test_util.", "jax.profiler.")
_LAZY_BUILTINS = frozenset(
    {"range", "len", "enumerate", "zip", "list", "tuple", "dict", "isinstance", "reversed"}
)
_COLLECTING = frozenset({"append", "extend", "add", "insert", "update"})
_LAZY_METHODS = frozenset(
    """
    append apply astype at clear extend get items keys mean pop reshape split squeeze sum transpose update values
    """.split()  # noqa: SIM905 - a list of words
)


Results = frozenset[str | int]
"""The names that hold what the checkpointed calls gave or something made of it, and the numbers of these calls."""


def may_wait(region: TimedCall, project: Analysis) -> bool:
    """Whether something between the two readings may wait for what the checkpointed calls compute."""
    results = _results(region)
    if any(_needs_numbers(node, results) for node in _nodes(region)):
        return True
    if any(_waits(timed.event, results, project) for timed in region.calls):
        return True
    return any(_touches(event.node, results) and _waits(event, results, project) for event in region.others)


def _nodes(region: TimedCall) -> Iterator[n.Node]:
    """Yield the nodes between the two readings, and those of the loops that are gone through again."""
    node = region.frame.node
    bodies = node.body if isinstance(node, n.Function) else tuple(region.frame.module.builder.bodies)
    for one in walk(bodies):
        if region.start.at < one.at < region.stop.at:
            yield one
    for loop in region.loops:
        yield from walk(loop)


def _results(region: TimedCall) -> Results:
    nodes = list(_nodes(region))
    found: set[str | int] = {timed.call.at for timed in region.calls}
    size = -1
    while len(found) != size:
        size = len(found)
        for node in nodes:
            if isinstance(node, n.Bind) and node.value is not None and _touches(node.value, found):
                found |= {part.id for part in walk(node.targets) if isinstance(part, n.Name)}
            elif isinstance(node, n.Call) and _word(node.func) in _COLLECTING and _touches(node.args, found):
                found |= {part.id for part in walk(node.func) if isinstance(part, n.Name)}
    return frozenset(found)


def _touches(node: object, results: AbstractSet[str | int]) -> bool:
    """Whether an expression is made of a result."""
    return any(
        part.id in results if isinstance(part, n.Name) else part.at in results
        for part in walk(node)
        if isinstance(part, n.Name | n.Call)
    )


def _needs_numbers(node: n.Node, results: Results) -> bool:
    """Whether a statement or a field of a text needs the value of a result."""
    match node:
        case n.Format():
            return _touches(node.value, results)
        case n.Arm() | n.Loop() | n.Conditional():
            return node.test is not None and _touches(node.test, results)
        case n.Return():
            return node.how == "assert" and _touches(node.values, results)
    return False


def _waits(event: Event, results: Results, project: Analysis, depth: int = 0) -> bool:
    """Whether a call that is given a result may wait for it."""
    call = event.node
    assert isinstance(call, n.Call)
    if any(_word(part) in _WAITING for part in walk(call)):
        return True
    values = project.evaluate(call.func, Moment(event.scope, event))
    return any(_value_waits(value, call, results, project, depth) for value in values)


def _word(node: object) -> str:
    return node.attr if isinstance(node, n.Attribute) else node.id if isinstance(node, n.Name) else ""


def _value_waits(value: Value, call: n.Call, results: Results, project: Analysis, depth: int) -> bool:
    match value:
        case Wrapped() | Transformed() | Configured():
            return False
        case External():
            return _external_waits(value.dotted, call, results)
        case Partial():
            return _value_waits(value.target, call, results, project, depth)
        case FunctionRef():
            return _frame_waits(value.scope, project, depth)
        case Instance():
            method = project.method(value.cls.scope, "__call__")
            return method is None or _frame_waits(method.scope, project, depth)
    if isinstance(call.func, n.Attribute) and call.func.attr in _LAZY_METHODS:
        return False
    return _touches(call.args, results) or _touches(call.func, results)


def _external_waits(dotted: str, call: n.Call, results: Results) -> bool:
    bare = dotted.removeprefix("builtins.")
    if dotted in CLOCKS or bare in _LAZY_BUILTINS:
        return False
    if dotted.startswith(_WAITING_PACKAGES):
        return True
    if dotted.startswith(_LAZY_PACKAGES):
        return False
    return any(_touches(argument.value, results) for argument in call.args)


def _frame_waits(scope: Scope, project: Analysis, depth: int) -> bool:
    """Whether a function of the project may wait, by its own calls; what it is given may be a result."""
    node = scope.node
    if depth > _DEEPEST or not isinstance(node, n.Function) or node.is_async or node.is_generator:
        return True
    results: Results = frozenset(scope.bindings)
    if any(_needs_numbers(one, results) for one in walk(node.body)):
        return True
    return any(
        _waits(event, results, project, depth + 1)
        for event in list(scope.events)
        if isinstance(event.node, n.Call)
    )
