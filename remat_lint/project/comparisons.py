"""Comparisons of what plain and checkpointed functions compute, and the tests that make them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.leads import lead_of, lead_of_values
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.sides import Side, side_of
from remat_lint.project.traversal import walk
from remat_lint.project.values import Data, External, Moment, Value

_SPELLED = re.compile(r"close|assert|array_equ|\bapprox\b")
_COMPARING = frozenset(
    {
        *(
            f"{package}.{name}"
            for package in ("numpy", "jax.numpy")
            for name in ("allclose", "isclose", "array_equal", "array_equiv")
        ),
        *(
            f"numpy.testing.assert_{name}"
            for name in ("allclose", "equal", "array_equal", "almost_equal", "array_almost_equal")
        ),
        *(
            f"chex.assert_{name}"
            for name in (
                "trees_all_close",
                "trees_all_equal",
                "tree_all_close",
                "equal",
                "trees_all_close_ulp",
            )
        ),
        "math.isclose",
        "jax.test_util.check_close",
    }
)
_ASSERTING = frozenset(
    """
    assertAllClose assertArraysAllClose assertArraysEqual assertAlmostEqual assertEqual assertTrees assertTreesAllClose
    assertTreesAllEqual assertArraysAlmostEqual assert_allclose assert_array_equal assert_trees_all_close
    """.split()  # noqa: SIM905 - a list of words
)
_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map", "jax.tree_multimap"})
_SIZES = frozenset(
    f"{package}.{name}"
    for package in ("numpy", "jax.numpy", "builtins", "numpy.linalg", "jax.numpy.linalg")
    for name in ("abs", "absolute", "norm")
)
_TOLERANCES = {"rtol": 2, "atol": 3}


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """A comparison in which something checkpointed takes part.

    Attributes:
        event: the call that compares.
        node: the expression that compares: the call, or the operation in it.
        operands: the two expressions that are compared.
        sides: what they were computed by.
        is_mixed: whether one side is plain and the other one computes the same with a checkpoint.
        tolerances: tolerances that are numbers in sight, with the expression that gives them; the name is empty for
            a bound of a difference.
    """

    event: Event
    node: n.Expression
    operands: tuple[n.Expression, n.Expression]
    sides: tuple[Side, Side]
    is_mixed: bool
    tolerances: tuple[tuple[str, float, n.Expression], ...]


@dataclass(frozen=True, slots=True, eq=False)
class TestFunction:
    """A test that compares something checkpointed; `derives` tells whether a derivative is taken anywhere in it."""

    __test__ = False  # no test itself, whatever it is called

    scope: Scope
    comparisons: tuple[Comparison, ...]
    derives: bool


def comparisons(module: Module, project: Analysis) -> tuple[Comparison, ...]:
    """Return the comparisons of a module in which something checkpointed takes part."""
    if _SPELLED.search(module.source.text) is None or not project.wrap_sites(module):
        return ()
    found = [
        comparison
        for event in module.calls()
        if isinstance(event.node, n.Call)
        for node, one, other in _compared(event, event.node, project)
        if (comparison := _comparison(event, node, one, other, project)) is not None
    ]
    return tuple(sorted(found, key=lambda comparison: comparison.node.at))


def tests_of(compared: tuple[Comparison, ...], project: Analysis) -> tuple[TestFunction, ...]:
    """Return the tests in which comparisons stand."""
    by_test: dict[Scope, list[Comparison]] = {}
    for comparison in compared:
        test = _test_around(comparison.event.scope)
        if test is not None:
            by_test.setdefault(test, []).append(comparison)
    return tuple(TestFunction(test, tuple(found), _derives(test, project)) for test, found in by_test.items())


def is_derived_in_another_test(test: TestFunction, project: Analysis) -> bool:
    """Whether another test of the file takes a derivative and runs something checkpointed."""
    scopes = [scope for scope in list(test.scope.module.builder.scopes.values()) if _is_test(scope)]
    return any(
        scope is not test.scope and _runs_site(scope, project) and _derives(scope, project)
        for scope in scopes
    )


def _is_test(scope: Scope) -> bool:
    return scope.kind == "function" and scope.name.startswith("test")


def _runs_site(scope: Scope, project: Analysis) -> bool:
    """Whether a function, or one defined in it, runs something checkpointed or names what is."""
    for event in list(scope.events):
        moment = Moment(event.scope, event)
        if isinstance(event.node, n.Call) and lead_of(event.node, moment, project).sites:
            return True
        if isinstance(event.value, n.Collection | n.Name | n.Call) and _names_site(
            event.value, moment, project
        ):
            return True
    return any(_runs_site(child, project) for child in list(scope.children))


def _names_site(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    names = [part for part in walk(node) if isinstance(part, n.Name)]
    return any(lead_of_values(project.evaluate(name, moment), project, called=False).sites for name in names)


def _test_around(scope: Scope) -> Scope | None:
    return next((one for one in scope.ancestors() if _is_test(one)), None)


def _derives(scope: Scope, project: Analysis) -> bool:
    """Whether a derivative is taken in a function, in those defined in it, or in what they call."""
    for event in list(scope.events):
        if (
            isinstance(event.node, n.Call)
            and lead_of(event.node, Moment(event.scope, event), project).derives
        ):
            return True
    return any(_derives(child, project) for child in list(scope.children) if child.kind != "comprehension")


def _comparison(
    event: Event, node: n.Expression, one: n.Expression, other: n.Expression, project: Analysis
) -> Comparison | None:
    moment = Moment(event.scope, event)
    sides = (side_of(one, moment, project), side_of(other, moment, project))
    sites = sides[0].lead.sites | sides[1].lead.sites
    if not sites:
        return None
    tolerances = (*_tolerances(event, project), *_bound(node, event, project))
    return Comparison(event, node, (one, other), sides, _is_mixed(sides, project), tolerances)


def _is_mixed(sides: tuple[Side, Side], project: Analysis) -> bool:
    one, other = (side.lead for side in sides)
    plain, checked = (other, one) if one.sites else (one, other)
    if plain.sites:
        return False
    wrapped = [lead_of_values(site.bodies, project).functions for site in checked.sites]
    return any(not functions.isdisjoint(plain.functions) for functions in wrapped)


def _compared(
    event: Event, call: n.Call, project: Analysis
) -> Iterator[tuple[n.Expression, n.Expression, n.Expression]]:
    """Yield what a call compares: its arguments, the trees that it maps a comparison over, a difference, an equality."""
    moment = Moment(event.scope, event)
    values = project.evaluate(call.func, moment)
    names = {value.dotted for value in values if isinstance(value, External)}
    plain = [argument.value for argument in call.args if argument.keyword is None and not argument.star]
    method = call.func.attr if isinstance(call.func, n.Attribute) else ""
    if (names & _COMPARING or (method in _ASSERTING and not names)) and len(plain) > 1:
        yield call, plain[0], plain[1]
    elif names & _MAPS and len(plain) > 2 and _is_comparing(plain[0], moment, project):  # noqa: PLR2004 - a function and two trees
        yield call, plain[1], plain[2]
    elif names & _SIZES and plain and isinstance(plain[0], n.Operation) and plain[0].op == "-":
        if len(plain[0].operands) == 2:  # noqa: PLR2004 - binary
            yield call, plain[0].operands[0], plain[0].operands[1]
    else:
        receiver = call.func.value if isinstance(call.func, n.Attribute) else None
        for part in (receiver, *plain, _equality_around(event)):
            if isinstance(part, n.Operation) and part.op == "==":
                yield part, part.operands[0], part.operands[1]


def _equality_around(event: Event) -> n.Node | None:
    """Return the equality whose left side a call is."""
    above = event.module.builder.parents.of(event.at)
    is_left = isinstance(above, n.Operation) and above.operands[0] is event.node
    return above if is_left else None


def _is_comparing(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    """Whether a function compares its two arguments: one that is known, or a lambda around one."""
    called = node
    if isinstance(node, n.Function) and node.is_lambda:
        body = node.body[0]
        value = body.values[0] if isinstance(body, n.Return) and body.values else None
        called = value.func if isinstance(value, n.Call) else node
        event = moment.scope.module.happened(value.at) if isinstance(value, n.Call) else None
        moment = moment if event is None else Moment(event.scope, event)
    values: tuple[Value, ...] = project.evaluate(called, moment)
    return any(isinstance(value, External) and value.dotted in _COMPARING for value in values)


def _bound(node: n.Expression, event: Event, project: Analysis) -> Iterator[tuple[str, float, n.Expression]]:
    """Yield the number below which the size of a difference is to stay, under an empty name."""
    parents, step = event.module.builder.parents, node
    for above in parents.chain(node.at) if not _is_comparing_call(event, node, project) else ():
        if isinstance(above, n.Operation) and above.op in ("<", "<=") and above.operands[0] is step:
            for value in project.evaluate(above.operands[1], Moment(event.scope, event))[:1]:
                number = _number(value)
                if number is not None:
                    yield "", number, above.operands[1]
            return
        if not isinstance(above, n.Call | n.Attribute):
            return
        step = above


def _is_comparing_call(event: Event, node: n.Expression, project: Analysis) -> bool:
    if not isinstance(node, n.Call):
        return True
    values = project.evaluate(node.func, Moment(event.scope, event))
    return not any(isinstance(value, External) and value.dotted in _SIZES for value in values)


def _number(value: Value) -> float | None:
    node = value.node if isinstance(value, Data) else None
    number = node.value if isinstance(node, n.Constant) else None
    return float(number) if isinstance(number, int | float) and not isinstance(number, bool) else None


def _tolerances(event: Event, project: Analysis) -> Iterator[tuple[str, float, n.Expression]]:
    """Yield the tolerances of a call that are numbers in sight."""
    call = event.node
    assert isinstance(call, n.Call)
    position = 0
    for argument in call.args:
        if argument.star:
            return
        name = argument.keyword or next((k for k, index in _TOLERANCES.items() if index == position), "")
        position += argument.keyword is None
        if name in (*_TOLERANCES, "decimal", "places", "delta"):
            for value in project.evaluate(argument.value, Moment(event.scope, event))[:1]:
                number = _number(value)
                if number is not None:
                    yield name, number, argument.value
