"""Finds functions and classes that no checkpoint wrapper can run: generators, coroutines, classes, wrong results.

## What it does
Reports what is wrapped and cannot work: a generator or an `async def`; a plain class; a function that returns a string,
a function, a set, a generator, a dict view, a dtype, an object of a plain class or another value that is neither an
array, a number or None nor a container of these; and a bound method of an nnx module under `nnx.remat`.

## Why it is a problem
JAX traces the function and takes what it returns apart into arrays. Anything else raises `TypeError: … returned a value
of type … which is not a valid JAX type` at the first call. `nnx.remat` refuses bound methods with `ValueError` (flax
0.12; older ones fail later, or work where the module has no state).

## When to ignore it
Never, outside of a test that expects the error. `equinox.filter_checkpoint` lets such results through and is not
reported.

## Fix safety
There is no fix: what the function should return instead is not known.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>, <https://docs.jax.dev/en/latest/pytrees.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.outputs import unfit_outputs
from remat_lint.project.pytrees import is_plain
from remat_lint.project.scopes import Scope
from remat_lint.project.values import (
    ClassRef,
    FunctionRef,
    Instance,
    Member,
    Moment,
    Partial,
    Result,
    Value,
    WrapSite,
)
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected_at_calls
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent
from remat_lint.rules.unsupported_examples import EXAMPLES

_LENIENT = frozenset({"equinox", "haliax"})
_LONGEST = 40


class UnsupportedCallable(Rule):
    """`unsupported-callable`: what is wrapped cannot be traced, or gives back what is no array."""

    code = "RML207"
    name = "unsupported-callable"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "nothing is wrapped that the wrapper cannot run, as far as can be seen"
    examples = EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report what is wrong with each thing that a site wraps."""
        if subject.wrapper.framework in _LENIENT:
            yield Silent(f"{subject.wrapper.qualname} lets any result through")
            return
        found = list(self._bound(subject, project)) if subject.wrapper.framework == "nnx" else []
        if not found:
            reports = [(body, list(self._body(body, subject, project))) for body in subject.bodies]
            sure = all(of_body for _, of_body in reports)
            found = [r for body, of_body in reports if sure or not _is_made_by_call(body) for r in of_body]
        if found and expected_at_calls(subject, project, "TypeError", "ValueError"):
            yield Silent("a test expects the error")
            return
        yield from found

    def _body(self, body: Value, site: WrapSite, project: Analysis) -> Iterator[Report]:
        while isinstance(body, Partial):
            body = body.target
        match body:
            case FunctionRef():
                yield from self._function(body.scope, site, project)
            case ClassRef() if site.wrapper.takes == "both":
                method = project.method(body.scope, "__call__") if "methods" not in site.options else None
                if method is not None:
                    yield from self._function(method.scope, site, project)
            case ClassRef() if is_plain(body.scope, project):
                yield self._class(body.scope, site)

    def _function(self, scope: Scope, site: WrapSite, project: Analysis) -> Iterator[Report]:
        node = scope.node
        assert isinstance(node, n.Function)
        kind = "a coroutine" if node.is_async else "a generator" if node.is_generator else ""
        name = f"`{node.name}`" if node.name else "the lambda"
        notes = (Note(Place(site.event.module, site.at), "it is checkpointed here"),)
        if kind:
            others = [decorator for decorator in node.decorators if decorator.at != site.at]
            if not others:
                message = (
                    f"calling {name} gives {kind}, which is no array: `{site.wrapper.qualname}` raises TypeError when it is "
                    f"called{when(site.event)}"
                )
                yield Report(Place(scope.module, node.name_at), message, self.severity, notes)
            return
        for unfit in unfit_outputs(scope, project):
            place = Place(unfit.moment.scope.module, unfit.node.at)
            text = place.text
            shown = f"`{text}`" if len(text) <= _LONGEST and "\n" not in text else "this part"
            event = unfit.moment.event
            message = (
                f"{name} returns {unfit.what}: `{site.wrapper.qualname}` raises TypeError, because {shown} is no array, "
                f"number or None{when(site.event) or (when(event) if event is not None else '')}"
            )
            yield Report(place, message, self.severity, notes)

    def _class(self, cls: Scope, site: WrapSite) -> Report:
        message = (
            f"`{site.wrapper.qualname}` of the class `{cls.name}` gives back an object of it, which is no array: the call "
            f"raises TypeError{when(site.event)}; wrap a function or a method"
        )
        at = site.at if site.target is None else site.target.at
        return Report(Place(site.scope.module, at), message, self.severity)

    def _bound(self, site: WrapSite, project: Analysis) -> Iterator[Report]:
        """Report a bound method of a module; an object that is called itself is fine."""
        if site.target is None:
            return
        values = project.evaluate(site.target, Moment(site.scope, site.event, site.env))
        owners = [_bound_to_module(value, project) for value in values]
        if not all(owners):
            return
        message = (
            f"`{site.wrapper.qualname}` refuses bound methods, and this one belongs to {owners[0]}: it raises ValueError"
            f"{when(site.event)} (flax 0.12); wrap a function over the module: `lambda module, x: …`"
        )
        yield Report(Place(site.scope.module, site.target.at), message, self.severity)


def _is_made_by_call(body: Value) -> bool:
    """Whether a call gives the function: of several results, the arguments may rule out this one unseen."""
    while isinstance(body, Partial):
        body = body.target
    return isinstance(body, FunctionRef) and body.env is not None and bool(body.env.via)


def _bound_to_module(body: Value, project: Analysis) -> str:
    """Return to which nnx module a method is bound, in words; empty if it is not."""
    while isinstance(body, Partial):
        body = body.target
    match body:
        case FunctionRef(receiver=Instance(cls=cls)) if project.method_kind(body.scope) == "method":
            bases = project.external_bases(cls.scope)
            return f"an object of `{cls.scope.name}`" if "flax.nnx.Module" in bases else ""
        case Member(base=Result(dotted=dotted), attr=attr):
            kind = dotted.removeprefix("flax.nnx.")
            known = dotted != kind and kind[:1].isupper() and "." not in kind
            return f"an `nnx.{kind}`" if known and (attr == "__call__" or attr.islower()) else ""
    return ""
