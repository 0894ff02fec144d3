"""Finds `jax.checkpoint` around an equinox module that it cannot take.

## What it does
Reports `jax.checkpoint` and `jax.remat` around an equinox module that holds arrays (`jax.checkpoint(self.mlp)`), around
a bound method of one, and where such a module is an argument, or `self` of a decorated method, although something
among its leaves cannot be traced: an activation function, a string, a flag that the body tests.

## Why it is a problem
`jax.checkpoint` looks for a kept trace by the hash of what it wraps, and a module with arrays has none: `TypeError`
(in JAX 0.4.30 not under differentiation). Passed as an argument a module is a tree, and each of its leaves is traced: a
function or a string is no array (`TypeError`), and a bool or an int is a tracer in the body
(`TracerBoolConversionError`). `eqx.filter_checkpoint` traces arrays only.

## When to ignore it
When the field is never what it is seen to be here. A module that is captured (`lambda x: self.mlp(x)`) is right, and so
is a module as an argument whose leaves are all arrays; neither is reported.

## Fix safety
Unsafe: `eqx.filter_checkpoint` is put in the place of `jax.checkpoint`; it has no `static_argnums`, since what is no
array is static there anyway.

## References
<https://docs.kidger.site/equinox/api/transformations/#equinox.filter_checkpoint>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.frameworks import EQUINOX_FLAGS
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.equinox_leaves import holds_arrays, tested_flag, untraceable_leaf
from remat_lint.project.framework_uses import uses
from remat_lint.project.values import Moment, Transformed, WrapSite
from remat_lint.rules import equinox_examples
from remat_lint.rules.conditions import when
from remat_lint.rules.framework_targets import (
    Target,
    first_unless_expected,
    passed_modules,
    place_of,
    wrapped_method,
    wrapped_module,
)
from remat_lint.rules.rewrapping import rename
from remat_lint.rules.rule import Report, Rule, Silent, unsafe

_ERRORS = ("TypeError", "TracerBoolConversionError", "ConcretizationTypeError", "Exception")
_HASHED = "equinox.filter_"


class EquinoxThroughJaxCheckpoint(Rule):
    """`equinox-through-jax-checkpoint`: jax's wrapper where equinox's is needed."""

    code = "RML503"
    name = "equinox-through-jax-checkpoint"
    category = "correctness"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "no equinox module is seen that jax.checkpoint cannot take"
    examples = equinox_examples.EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a module without a hash, or one that cannot be traced."""
        if subject.wrapper.framework != "jax":
            return
        yield from first_unless_expected(self._found(subject, project), subject, project, _ERRORS)

    def _found(self, site: WrapSite, project: Analysis) -> Iterator[Report]:
        place, condition = place_of(site, project), when(project.place(site))
        wrapper = site.wrapper.qualname
        target = wrapped_module(site, "equinox", project) or wrapped_method(site, "equinox", project)
        target = target or _transformed(site, project)
        if target is not None and holds_arrays(target.module, project):
            message = (
                f"{wrapper} needs the hash of what it wraps, and the equinox module `{target.text}` holds arrays, which "
                f"have none: the call raises TypeError{condition}; use eqx.filter_checkpoint"
            )
            mended = not isinstance(site.target, n.Call) or _mends(site, project)
            yield Report(place, message, self.severity, facts=site if mended else None, versions=">=0.6.2")
        for passed in passed_modules(site, "equinox", project):
            why = _untraceable(passed, site, project)
            if why:
                message = (
                    f"{wrapper} traces every leaf of the equinox module `{passed.text}`, {why}{condition}; use "
                    "eqx.filter_checkpoint, which traces arrays only"
                )
                yield Report(place, message, self.severity, facts=site)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put `eqx.filter_checkpoint` in the place of the wrapper."""
        if report.facts is None:
            return None
        edits = rename(report.facts, "equinox", "filter_checkpoint", project, static="drop")
        return unsafe("Use eqx.filter_checkpoint", *edits) if edits else None


def _transformed(site: WrapSite, project: Analysis) -> Target | None:
    """Return the module inside a transformation that is an equinox module, or is compared as one, itself."""
    node = site.target
    if not isinstance(node, n.Call) or not node.args:
        return None
    for value in project.evaluate(node, Moment(site.event.scope, site.event, site.env)):
        if isinstance(value, Transformed) and (value.dotted.startswith(_HASHED) or value.dotted == "jax.jit"):
            moment = Moment(site.event.scope, site.event, site.env)
            for module in project.frameworks.modules(node.args[0].value, moment):
                if module.kind == "equinox":
                    return Target(module, node, site.scope, render(node.args[0].value))
    return None


def _mends(site: WrapSite, project: Analysis) -> bool:
    """Whether filter_checkpoint takes what is wrapped: it has no hash for the result of a jit either."""
    assert site.target is not None
    values = project.evaluate(site.target, Moment(site.event.scope, site.event, site.env))
    return all(not isinstance(v, Transformed) or v.dotted == "equinox.filter_vmap" for v in values)


def _untraceable(passed: Target, site: WrapSite, project: Analysis) -> str:
    """Return why a module cannot be an argument, in words that go on a sentence."""
    leaf = untraceable_leaf(passed.module, project)
    if leaf:
        return f"and {leaf} is no array: the call raises TypeError"
    for function in site.functions:
        for parameter in function.scope.parameters()[:1]:
            flag = tested_flag(function, parameter.name, passed.module, project)
            if flag:
                return f"so that `{flag}` is a tracer where the body needs a Python value: the call raises an error"
    for use in uses(site, project):
        if use.kind == "equinox" and use.name in EQUINOX_FLAGS and use.origin == "argument":
            return f"so that eqx.nn.{use.name} tests a tracer: the call raises TracerBoolConversionError"
    return ""
