"""The static arguments that a `jax.jit` names around a checkpoint, or inside of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.decorators import applied
from remat_lint.project.invocations import Signature, signatures
from remat_lint.project.scopes import Event
from remat_lint.project.values import (
    Data,
    External,
    FunctionRef,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

_JITS = frozenset({"jax.jit", "jax.pmap", "jax.experimental.pjit.pjit"})
_OPTIONS = frozenset({"static_argnums", "static_argnames", "static_broadcasted_argnums"})


@dataclass(frozen=True, slots=True, eq=False)
class JitStatics:
    """One `jit` with static arguments.

    Attributes:
        dotted: the function that compiles.
        at: number of the expression that applies it.
        signature: the function that is compiled.
        names: its parameters that are static there.
        inside: whether the checkpoint is around the `jit`, not inside of it.
    """

    dotted: str
    at: int
    signature: Signature
    names: tuple[str, ...]
    inside: bool


def jit_statics(site: WrapSite, project: Analysis) -> Iterator[JitStatics]:
    """Yield the compiled functions with static arguments around a site's result, or directly under the wrapper."""
    known = signatures(site, project)
    for signature in known if len(known) == 1 else ():
        for dotted, call, moment, at in _around(site, project):
            names = _names(call, moment, signature, project)
            if names:
                yield JitStatics(dotted, at, signature, names, inside=False)
    for body in site.bodies:
        if isinstance(body, Transformed) and body.dotted in _JITS and len(body.inner) == 1:
            yield from _inside(site, body, project)


def _around(site: WrapSite, project: Analysis) -> Iterator[tuple[str, n.Call, Moment, int]]:
    above = True
    for decorator, dotted, moment in applied(site, project):
        above = above and decorator.at != site.at
        if above and dotted in _JITS and isinstance(decorator, n.Call):
            yield dotted, decorator, moment, decorator.at
    for event in list(project.place(site).module.builder.happened.values()):
        call = event.node
        if event.kind != "call" or not isinstance(call, n.Call) or not call.args:
            continue
        if not any(argument.keyword in _OPTIONS for argument in call.args):
            continue
        moment = Moment(event.scope, event)
        dotted = _compiles(project.evaluate(call.func, moment))
        if dotted and any(_is_result(v, site) for v in project.evaluate(call.args[0].value, moment)):
            yield dotted, call, moment, call.at


def _inside(site: WrapSite, body: Transformed, project: Analysis) -> Iterator[JitStatics]:
    inner = body.inner[0]
    if not isinstance(inner, FunctionRef):
        return
    parameters = tuple(p for p in inner.scope.parameters() if p.kind in ("positional-only", "positional"))
    rest = any(p.kind == "star" for p in inner.scope.parameters())
    signature = Signature(inner, parameters[inner.receiver is not None :], frozenset(), rest)
    for call, moment in _written(site, body, project):
        names = _names(call, moment, signature, project)
        if names:
            yield JitStatics(body.dotted, call.at, signature, names, inside=True)


def _written(site: WrapSite, body: Transformed, project: Analysis) -> Iterator[tuple[n.Call, Moment]]:
    """Yield the call in which the options of the `jit` stand."""
    made: Event | None = body.made
    if made is not None and isinstance(made.node, n.Call):
        yield made.node, Moment(made.scope, made)
        return
    for decorator, dotted, moment in applied(site, project):
        if dotted in _JITS and isinstance(decorator, n.Call) and decorator.at != site.at:
            yield decorator, moment


def _compiles(values: tuple[Value, ...]) -> str:
    targets = [value.target if isinstance(value, Partial) else value for value in values]
    names = {target.dotted if isinstance(target, External) else "" for target in targets}
    return next(iter(names)) if len(names) == 1 and names <= _JITS else ""


def _is_result(value: Value, site: WrapSite) -> bool:
    return isinstance(value, Wrapped) and value.site is site and not value.instance


def _names(call: n.Call, moment: Moment, signature: Signature, project: Analysis) -> tuple[str, ...]:
    found: list[str] = []
    count = len(signature.positional)
    for argument in call.args:
        values = project.evaluate(argument.value, moment) if argument.keyword in _OPTIONS else ()
        node = values[0].node if len(values) == 1 and isinstance(values[0], Data) else None
        for item in node.items if isinstance(node, n.Collection) else (node,):
            value = item.value if isinstance(item, n.Constant) else None
            if isinstance(value, str) and signature.function.scope.parameter(value) is not None:
                found.append(value)
            elif isinstance(value, int) and not isinstance(value, bool) and -count <= value < count:
                found.append(signature.positional[value].name)
    return tuple(dict.fromkeys(found))
