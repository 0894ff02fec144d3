"""Which argument of a call of a checkpointed function reaches which of its parameters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event
from remat_lint.project.values import (
    ClassRef,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

_SAME = ("jit", "grad", "value_and_grad", "vmap")
_ALIGNED = frozenset(
    {
        *(
            f"jax.{name}"
            for name in (*_SAME, "pmap", "hessian", "jacfwd", "jacrev", "jacobian", "named_call")
        ),
        *(f"equinox.filter_{name}" for name in _SAME),
        *(f"flax.nnx.{name}" for name in _SAME),
        *(f"haiku.{name}" for name in (*_SAME, "named_call")),
        "jax.experimental.pjit.pjit",
    }
)
"""Transformations whose result takes the arguments of the function they are given."""

_BY_KEY = frozenset({"init", "apply", "init_with_output"})
"""Methods of a linen module that pass what follows their first argument on to `__call__`."""


@dataclass(frozen=True, slots=True, eq=False)
class Signature:
    """The parameters of what runs inside a site, as a call of the site's result fills them.

    Attributes:
        function: the function that runs.
        positional: parameters that positional arguments reach; the instance of a bound method and what a `partial`
            fills are left out, an unbound `self` stands first.
        bound: names that a `partial` fills by keyword.
        rest: whether `*args` takes more.
    """

    function: FunctionRef
    positional: tuple[n.Parameter, ...]
    bound: frozenset[str]
    rest: bool

    @property
    def is_method(self) -> bool:
        """Whether the function is a method whose `self` is among the parameters."""
        return self.function.scope.owner_class is not None and self.function.receiver is None

    @property
    def is_bound(self) -> bool:
        """Whether the function is a method bound to its instance."""
        return self.function.receiver is not None


@dataclass(frozen=True, slots=True, eq=False)
class Invocation:
    """A call of a site's result.

    Attributes:
        site: the site.
        event: when it happens.
        call: the call.
        positional: arguments by position as the signature counts them; None for an instance that is passed by itself.
        keywords: arguments by keyword.
        complete: whether no `*` or `**` hides arguments.
    """

    site: WrapSite
    event: Event
    call: n.Call
    positional: tuple[n.Argument | None, ...]
    keywords: Mapping[str, n.Argument] = field(default_factory=dict)
    complete: bool = True

    def given(self, signature: Signature, index: int) -> n.Argument | None:
        """Return the argument that reaches the parameter with number `index`."""
        if index < len(self.positional):
            return self.positional[index]
        return self.keywords.get(signature.positional[index].name)


def signatures(site: WrapSite, project: Analysis) -> tuple[Signature, ...]:
    """Return the signature of each thing that a site can wrap; nothing if one of them is unknown."""
    found = [_signature(body, site, project) for body in site.bodies]
    return () if any(one is None for one in found) else tuple(one for one in found if one is not None)


def _signature(body: Value, site: WrapSite, project: Analysis) -> Signature | None:
    before, bound = 0, set()
    while isinstance(body, Partial):
        for argument in body.call.args[1:]:
            if argument.star:
                return None
            if argument.keyword is None:
                before += 1
            else:
                bound.add(argument.keyword)
        body = body.target
    if isinstance(body, ClassRef) and site.wrapper.takes == "both" and "methods" not in site.options:
        body = project.method(body.scope, "__call__") or body
    if not isinstance(body, FunctionRef):
        return None
    parameters = [p for p in body.scope.parameters() if p.kind in ("positional-only", "positional")]
    if body.receiver is not None:
        before += 1
    rest = any(p.kind == "star" for p in body.scope.parameters())
    # What a partial fills by keyword, and all behind it, can only come by keyword.
    reached = tuple(itertools.takewhile(lambda p: p.name not in bound, parameters[before:]))
    return Signature(body, reached, frozenset(bound), rest)


def invocations(site: WrapSite, project: Analysis) -> tuple[Invocation, ...]:
    """Return the calls of a site's result in the file where the user sees the site."""
    home = project.place(site).module
    found: dict[int, Invocation] = {}
    for call in project.site_calls(site):
        if call.event.module is home and call.call.at not in found:
            for one in _aligned(site, call.event, call.call, project):
                found[call.call.at] = one
    if any(isinstance(body, ClassRef) for body in site.bodies):
        for event in list(home.builder.happened.values()):
            if (
                isinstance(event.node, n.Call)
                and isinstance(event.node.func, n.Attribute)
                and event.node.func.attr in _BY_KEY
            ):
                for one in _through_apply(site, event, event.node, event.node.func, project):
                    found[event.node.at] = one
    return tuple(found.values())


def _aligned(site: WrapSite, event: Event, call: n.Call, project: Analysis) -> Iterator[Invocation]:
    for value in project.evaluate(call.func, Moment(event.scope, event)):
        before: list[n.Argument] = []
        step: Value = value
        while True:
            if isinstance(step, Partial):
                before = [*step.call.args[1:], *before]
                step = step.target
            elif isinstance(step, Transformed) and step.dotted in _ALIGNED and len(step.inner) == 1:
                step = step.inner[0]
            else:
                break
        if isinstance(step, Wrapped) and step.site is site:
            classes = any(isinstance(body, ClassRef) for body in site.bodies)
            if classes and not step.instance:
                continue
            own = classes or _bound_by_access(call.func, event, project)
            yield _invocation(site, event, call, (*before, *call.args), own=own)


def _bound_by_access(func: n.Expression, event: Event, project: Analysis) -> bool:
    """Whether the call reaches a function kept on a class through an instance, which becomes the first argument."""
    if not isinstance(func, n.Attribute):
        return False
    for base in project.evaluate(func.value, Moment(event.scope, event)):
        if isinstance(base, Instance):
            return not any(
                func.attr in project.attribute_stores(cls) for cls in project.lineage(base.cls.scope)
            )
    return False


def _through_apply(
    site: WrapSite, event: Event, call: n.Call, func: n.Attribute, project: Analysis
) -> Iterator[Invocation]:
    if any(argument.keyword == "method" for argument in call.args):
        return
    for value in project.evaluate(func.value, Moment(event.scope, event)):
        if isinstance(value, Wrapped) and value.site is site and value.instance and call.args:
            yield _invocation(site, event, call, call.args[1:], own=True)


def _invocation(
    site: WrapSite, event: Event, call: n.Call, args: tuple[n.Argument, ...], *, own: bool
) -> Invocation:
    positional: list[n.Argument | None] = [None] if own else []
    complete = not any(argument.star for argument in args)
    for argument in args:
        if argument.star == "*":
            break
        if argument.keyword is None and not argument.star:
            positional.append(argument)
    keywords = {argument.keyword: argument for argument in args if argument.keyword is not None}
    return Invocation(site, event, call, tuple(positional), keywords, complete)
