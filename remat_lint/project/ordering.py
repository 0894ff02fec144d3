"""Orders of decorators and wrappers that do not work, found at one wrap site."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.decorators import applied
from remat_lint.project.moments import moment_of
from remat_lint.project.scopes import Scope
from remat_lint.project.statics import static_option
from remat_lint.project.values import (
    ClassRef,
    External,
    FunctionRef,
    Instance,
    Moment,
    Result,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

_CUSTOM = {
    "jax.custom_vjp": frozenset({"defvjp", "defvjps"}),
    "jax.custom_jvp": frozenset({"defjvp", "defjvps"}),
}
_COMPILED = frozenset({"lower", "trace", "eval_shape", "clear_cache"})
_DESCRIPTORS = {
    "builtins.staticmethod": "staticmethod",
    "builtins.classmethod": "classmethod",
    "builtins.property": "property",
    "functools.cached_property": "property",
}
_MAKING = frozenset({"param", "variable"})


@dataclass(frozen=True, slots=True, eq=False)
class Disorder:
    """One wrong order.

    Attributes:
        kind: staticmethod, classmethod, property, compact, custom or compiled.
        site: the wrap site.
        other: number of the decorator that stands on the wrong side, or of the attribute that is missing.
        name: what the other thing is called in the text: `jax.custom_vjp`, `lower`.
        uses: places that need the other order.
        below: whether the other decorator stands below the wrapper.
        next_to: whether nothing stands between the two.
    """

    kind: str
    site: WrapSite
    other: int
    name: str = ""
    uses: tuple[tuple[n.Attribute, Scope], ...] = ()
    below: bool = True
    next_to: bool = False


def disorders(site: WrapSite, project: Analysis) -> Iterator[Disorder]:
    """Yield the wrong orders at a site that can be read off the decorators and the attributes asked of the result."""
    yield from _descriptors(site, project)
    yield from _compact(site, project)
    yield from _custom(site, project)
    yield from _compiled(site, project)


def _descriptors(site: WrapSite, project: Analysis) -> Iterator[Disorder]:
    decorators = list(applied(site, project))
    mine = next((i for i, (d, _, _) in enumerate(decorators) if d.at == site.at), None)
    if mine is None or site.definition is None or site.definition.owner_class is None:
        return
    for index, (decorator, dotted, _) in enumerate(decorators):
        kind = _DESCRIPTORS.get(dotted, "")
        if kind and (index > mine or (kind == "classmethod" and _traces_class(site, project))):
            below = index > mine
            if kind != "classmethod" or not below or site.wrapper.framework != "linen":
                yield Disorder(kind, site, decorator.at, kind, below=below, next_to=index == mine + 1)


def _traces_class(site: WrapSite, project: Analysis) -> bool:
    """Whether a wrapper under `@classmethod` gets the class as an argument that it traces."""
    if site.wrapper.framework not in ("jax", "nnx") or site.spread:
        return False
    option = static_option(site, project)
    return option is None or (option.indices is not None and 0 not in option.indices)


def _compact(site: WrapSite, project: Analysis) -> Iterator[Disorder]:
    if site.wrapper.framework != "linen" or site.definition is None:
        return
    decorators = list(applied(site, project))
    mine = next((i for i, (d, _, _) in enumerate(decorators) if d.at == site.at), 0)
    for index, (decorator, dotted, _) in enumerate(decorators[:mine]):
        if dotted == "flax.linen.compact" and _makes_submodules(site.definition, project):
            yield Disorder("compact", site, decorator.at, "compact", below=False, next_to=index == mine - 1)


def _makes_submodules(scope: Scope, project: Analysis) -> bool:
    """Whether a method makes modules, parameters or variables in its body."""
    first = scope.parameters()[0].name if scope.parameters() else ""
    for event in scope.events:
        call = event.node
        if event.kind != "call" or not isinstance(call, n.Call):
            continue
        if _declares(call.func, first):
            return True
        if any(_is_submodule(value, project) for value in project.evaluate(call, Moment(scope, event))):
            return True
    return False


def _declares(func: n.Expression, first: str) -> bool:
    """Whether a callee is `self.param` or `self.variable`."""
    own = isinstance(func, n.Attribute) and isinstance(func.value, n.Name) and func.value.id == first
    return own and isinstance(func, n.Attribute) and func.attr in _MAKING


def _is_submodule(value: Value, project: Analysis) -> bool:
    match value:
        case Result(dotted=dotted):
            return dotted.startswith("flax.linen.") and dotted.rpartition(".")[2][:1].isupper()
        case Instance(cls=cls):
            return "flax.linen.Module" in project.external_bases(cls.scope)
        case Wrapped(instance=instance):
            return instance
    return False


def _custom(site: WrapSite, project: Analysis) -> Iterator[Disorder]:
    for body in site.bodies:
        if isinstance(body, Transformed) and body.dotted in _CUSTOM:
            uses = tuple(_asked(site, _CUSTOM[body.dotted], project))
            if uses:
                yield Disorder("custom", site, uses[0][0].at, body.dotted, uses)


def _compiled(site: WrapSite, project: Analysis) -> Iterator[Disorder]:
    if any(isinstance(body, ClassRef) for body in site.bodies) or site.wrapper.takes == "both":
        return
    jitted = all(
        isinstance(body, FunctionRef | Transformed)
        or (isinstance(body, External) and body.dotted.startswith("jax."))
        for body in site.bodies
    )
    for node, scope in _asked(site, _COMPILED, project) if jitted and site.bodies else ():
        yield Disorder("compiled", site, node.at, node.attr, ((node, scope),))


def _asked(site: WrapSite, names: frozenset[str], project: Analysis) -> Iterator[tuple[n.Attribute, Scope]]:
    """Yield the attributes with one of `names` that are asked of a site's result in its module."""
    module = project.place(site).module
    if not any(f".{name}" in module.source.text for name in names):
        return
    for node, scope in module.builder.located.attributes(names):
        moment = moment_of(node, scope)
        values = () if moment is None else project.evaluate(node.value, moment)
        if values and all(isinstance(v, Wrapped) and v.site is site and not v.instance for v in values):
            yield node, scope
