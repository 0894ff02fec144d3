"""Finds `jax.checkpoint` around a linen module, a method of one, or code that calls one.

## What it does
Reports `jax.checkpoint` and `jax.remat` around a flax.linen module (`jax.checkpoint(self.dense)`), a method of one
(also as a decorator), and a function inside of a module that calls submodules or makes parameters.

## Why it is a problem
A module that holds variables has no hash and is no array, so that wrapping it, or passing it as an argument, raises
`TypeError`. A function that calls it is worse: on `init` the parameters are made while `jax.checkpoint` traces, so
they are tracers, and using them raises `UnexpectedTracerError` far away. The same holds for what `self.sow` and
`self.put_variable` keep. `nn.remat` lifts the variables through the checkpoint. flax 0.8 raises `JaxTransformError`
instead.

## When to ignore it
When the parameters exist before: made by a call outside of the checkpoint on `init`, for example under
`self.is_initializing()`. `jax.checkpoint` around a pure function such as `model.apply` is right and not reported.

## Fix safety
Unsafe: `nn.remat` is put in the place of `jax.checkpoint`, and the module becomes the first argument, which
`static_argnums` counts.

## References
<https://flax.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html#flax.linen.remat>,
<https://flax.readthedocs.io/en/latest/developer_notes/lift.html>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity
from remat_lint.jaxapi.frameworks import LINEN_PARAMETERS
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword
from remat_lint.project.framework_uses import Use, uses
from remat_lint.project.values import WrapSite
from remat_lint.rules import linen_examples
from remat_lint.rules.conditions import when
from remat_lint.rules.framework_targets import (
    Target,
    captured_name,
    depends_on_parameter,
    enclosing_self,
    first_unless_expected,
    is_called_before,
    mentions,
    passed_modules,
    place_of,
    wrapped_method,
    wrapped_module,
)
from remat_lint.rules.rewrapping import add_module, open_module, rename
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent, unsafe

_ERRORS = ("TypeError", "UnexpectedTracerError", "JaxTransformError", "Exception")
_INITIALIZES = frozenset({"is_initializing", "is_mutable_collection", "has_variable"})
_NORMS = frozenset({"LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm"})


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """What the fix needs: the way in which the site meets the module, and the module."""

    site: WrapSite
    way: str
    target: Target | None = None
    use: Use | None = None


class LinenThroughJaxCheckpoint(Rule):
    """`linen-through-jax-checkpoint`: jax's wrapper where linen's is needed."""

    code = "RML501"
    name = "linen-through-jax-checkpoint"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "no linen module is seen to run inside jax.checkpoint"
    examples = linen_examples.THROUGH_CHECKPOINT

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a linen module that is wrapped, passed, or called inside."""
        if subject.wrapper.framework != "jax":
            return
        yield from first_unless_expected(self._found(subject, project), subject, project, _ERRORS)

    def _found(self, site: WrapSite, project: Analysis) -> Iterator[Report]:
        place, condition = place_of(site, project), when(project.place(site))
        wrapper = site.wrapper.qualname
        target = wrapped_module(site, "linen", project)
        if target is not None:
            inside = _is_inside(site, project)
            why = (
                "a module that holds variables has no hash, so the call raises TypeError"
                if inside
                else "outside of `apply` a module is bound to no variables, so the call raises an error"
            )
            instead = "nn.remat" if inside else f"{wrapper}({target.text}.apply)"
            message = (
                f"{wrapper} cannot wrap the linen module `{target.text}`: {why}{condition}; use {instead}"
            )
            yield Report(
                place, message, self.severity, facts=_Facts(site, "module" if inside else "", target)
            )
        for passed in passed_modules(site, "linen", project):
            way = "decorator" if passed.node is None else "argument"
            message = (
                f"{wrapper} traces the linen module `{passed.text}` as an argument: it is no array, so the call raises "
                f"TypeError{condition}; use nn.remat"
            )
            yield Report(place, message, self.severity, facts=_Facts(site, way, passed))
        yield from self._inside(site, place, condition, project)

    def _inside(self, site: WrapSite, place: Place, condition: str, project: Analysis) -> Iterator[Report]:
        if not _is_inside(site, project) or mentions(site, _INITIALIZES):
            return
        for use in uses(site, project):
            what = _kept(use)
            if use.kind != "linen" or not what or is_called_before(use, site):
                continue
            message = (
                f"{what} made while {site.wrapper.qualname} traces, so on `init` it is a tracer that raises "
                f"UnexpectedTracerError when it is used{condition}; use nn.remat, which lifts the variables of a module"
            )
            if use.deed == "method" and use.name in ("sow", "put_variable"):
                message = (
                    f"what `{use.name}` keeps is a tracer of {site.wrapper.qualname}: using it later raises "
                    f"UnexpectedTracerError{condition}; use nn.remat, which lifts the variables of a module"
                )
            severity = self.severity
            if depends_on_parameter(project.place(site)):
                severity = Severity.WARNING
            notes = (Note(Place(use.event.module, use.event.at), "this runs inside the checkpoint"),)
            method = wrapped_method(site, "linen", project)
            facts = _Facts(site, "function" if method is None else "method", method, use)
            yield Report(place, message, severity, notes, facts)
            return

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put `nn.remat` in the place of the wrapper; the module becomes the first argument."""
        facts: _Facts = report.facts
        site, static = facts.site, "keep" if facts.way in ("decorator", "argument") else "shift"
        edits = rename(site, "flax.linen", "remat", project, static=static)
        if not edits or _stands_below_compact(site, project):
            return None
        if facts.way in ("module", "method") and facts.target is not None and facts.target.node is not None:
            method = (
                f".{site.target.attr}"
                if facts.way == "method" and isinstance(site.target, n.Attribute)
                else ""
            )
            more = open_module(site, facts.target.node, method, project)
        elif facts.way == "function":
            more = _with_module(facts, project)
        else:
            first = facts.way == "decorator" or _is_first(facts, project)
            return unsafe("Use nn.remat", *edits) if first else None
        return unsafe("Use nn.remat with the module as first argument", *edits, *more) if more else None


def _is_inside(site: WrapSite, project: Analysis) -> bool:
    """Whether a site runs while a linen module is applied, as far as its place tells."""
    for scope in (site.scope, project.place(site).scope):
        around = project.frameworks.around(scope)
        if around is not None and around[1] == "linen":
            return True
    return False


def _kept(use: Use) -> str:
    """Return what a use makes that stays, as the start of a sentence; empty if it makes nothing."""
    if use.kind != "linen":
        return ""
    if use.deed == "method":
        call = use.event.node
        constant = isinstance(call, n.Call) and all(isinstance(a.value, n.Constant) for a in call.args)
        if use.name == "sow" and constant:
            return ""
        return f"what `{use.name}` makes is"
    if use.deed != "layer" or use.name not in LINEN_PARAMETERS or use.module is None:
        return ""
    made = use.module.call
    if use.name in _NORMS and made is not None and _is_off(made, "use_bias") and _is_off(made, "use_scale"):
        return ""
    return f"what `{use.name}` holds is"


def _is_off(call: n.Call, name: str) -> bool:
    given = keyword(call, name)
    return given is not None and not (isinstance(given.value, n.Constant) and given.value.value is True)


def _with_module(facts: _Facts, project: Analysis) -> tuple[Edit, ...]:
    """Return the edits that pass what the body captures: the module around it, or the one submodule that it calls."""
    site = facts.site
    found = [use for use in uses(site, project) if _kept(use)]
    names = {name for use in found if (name := captured_name(use, site))}
    own = enclosing_self(site, project)
    owner = names.pop() if len(names) == 1 else own if not names else ""
    return add_module(site, owner, owner, project) if owner else ()


def _is_first(facts: _Facts, project: Analysis) -> bool:
    """Whether the module is the first argument of every visible call: where nn.remat wants it."""
    calls = project.site_calls(facts.site)
    return bool(calls) and all(
        made.call.args and facts.target is not None and made.call.args[0].value is facts.target.node
        for made in calls
    )


def _stands_below_compact(site: WrapSite, project: Analysis) -> bool:
    """Whether another decorator stands above a decorating wrapper: `nn.compact` must be below `nn.remat`."""
    del project
    node = site.definition.node if site.definition is not None else None
    decorators = node.decorators if isinstance(node, n.Function) else ()
    return bool(decorators) and decorators[0].at != site.at
