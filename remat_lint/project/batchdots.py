"""Products with a batch dimension, as far as the text of a checkpointed function shows them.

Known only by the text: an `einsum` whose letters tell, and a product of two parameters that a `jax.vmap` maps both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import bodies
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import Data, External, FunctionRef, Moment, Transformed, WrapSite

_EINSUM = frozenset({"jax.numpy.einsum", "numpy.einsum"})
_PRODUCTS = frozenset({"jax.numpy.dot", "jax.numpy.matmul", "jax.lax.dot"})
_TERMS = re.compile(r"\s*([A-Za-z]+)\s*,\s*([A-Za-z]+)\s*->\s*([A-Za-z]*)\s*")
_TWO = 2


@dataclass(frozen=True, slots=True, eq=False)
class BatchDot:
    """A product: where it stands, and in words why it has a batch dimension."""

    module: Module
    at: int
    why: str


def batch_dots(site: WrapSite, project: Analysis) -> Iterator[BatchDot]:
    """Yield the products with a batch dimension that run inside of a site."""
    for body in bodies(site, project):
        for scope in body.scopes:
            for event in list(scope.events):
                if isinstance(event.node, n.Call):
                    yield from _einsum(event, event.node, project)
    for function, mapped in _mapped(site, project):
        yield from _mapped_products(function, mapped, project)


def _einsum(event: Event, call: n.Call, project: Analysis) -> Iterator[BatchDot]:
    moment = Moment(event.scope, event)
    if not _is_call_of(call, moment, _EINSUM, project) or len(call.args) != _TWO + 1:
        return
    for value in project.evaluate(call.args[0].value, moment)[:1]:
        text = value.node.value if isinstance(value, Data) and isinstance(value.node, n.Constant) else None
        terms = _TERMS.fullmatch(text) if isinstance(text, str) else None
        if terms is not None:
            shared = [letter for letter in terms[1] if letter in terms[2] and letter in terms[3]]
            if shared:
                yield BatchDot(event.module, call.at, f"`{shared[0]}` is in both operands and in the result")


def _mapped(site: WrapSite, project: Analysis) -> Iterator[tuple[FunctionRef, n.Call]]:
    """Yield the functions of a site that a `jax.vmap` maps, from outside or inside, with its call."""
    for body in site.bodies:
        if isinstance(body, Transformed) and body.dotted == "jax.vmap" and body.made is not None:
            for inner in body.inner:
                if isinstance(inner, FunctionRef) and isinstance(body.made.node, n.Call):
                    yield inner, body.made.node
    for use in project.placement(site).uses(site):
        if use.how == "made" and use.dotted == "jax.vmap" and use.call is not None:
            for function in site.functions:
                yield function, use.call


def _mapped_products(function: FunctionRef, mapped: n.Call, project: Analysis) -> Iterator[BatchDot]:
    scope = function.scope
    names = [p.name for p in scope.parameters() if p.kind in ("positional-only", "positional")]
    if function.receiver is not None:
        names = names[1:]
    axes = _axes(mapped, len(names))
    batched = {name for name, axis in zip(names, axes, strict=True) if axis}
    if not isinstance(scope.node, n.Function):
        return
    for node in walk(scope.node.body, lambda one: not isinstance(one, n.Function)):
        operands = _operands(node, scope, project)
        if len(operands) == _TWO and all(
            isinstance(one, n.Name) and one.id in batched and len(scope.bindings.get(one.id, ())) == 1
            for one in operands
        ):
            yield BatchDot(scope.module, node.at, "`jax.vmap` maps both operands")


def _operands(node: n.Node, scope: Scope, project: Analysis) -> tuple[n.Expression, ...]:
    if isinstance(node, n.Operation) and node.op == "@":
        return node.operands
    event = scope.module.happened(node.at) if isinstance(node, n.Call) else None
    if isinstance(node, n.Call) and event is not None:
        moment = Moment(event.scope, event)
        if _is_call_of(node, moment, _PRODUCTS, project):
            return tuple(argument.value for argument in node.args if argument.keyword is None)
    return ()


def _axes(mapped: n.Call, count: int) -> list[bool]:
    """Return which of `count` arguments a `jax.vmap` maps; none where that is not sure."""
    given = next((one.value for one in mapped.args if one.keyword == "in_axes"), None)
    positional = [one.value for one in mapped.args if one.keyword is None]
    given = positional[1] if given is None and len(positional) > 1 else given
    if given is None or (isinstance(given, n.Constant) and isinstance(given.value, int)):
        return [True] * count
    if isinstance(given, n.Collection) and len(given.items) == count:
        return [isinstance(item, n.Constant) and isinstance(item.value, int) for item in given.items]
    return [False] * count


def _is_call_of(call: n.Call, moment: Moment, names: frozenset[str], project: Analysis) -> bool:
    values = project.evaluate(call.func, moment)
    return bool(values) and all(isinstance(value, External) and value.dotted in names for value in values)
