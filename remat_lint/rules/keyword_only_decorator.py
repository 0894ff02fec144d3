"""Finds `@jax.checkpoint(policy=…)`: a wrapper called with options and without a function.

## What it does
Reports a call of `jax.checkpoint`, `jax.remat` or another wrapper without a keyword-only form that gets options but
no function to wrap, most often as a decorator.

## Why it is a problem
These wrappers take the function as a required positional argument, so the call raises
`TypeError: checkpoint() missing 1 required positional argument: 'fun'` on every JAX release. (`jax.jit` has a
keyword-only form; `jax.checkpoint` has not.)

## When to ignore it
Never for these wrappers. `flax.nnx.remat(policy=…)` and `equinox.filter_checkpoint(policy=…)` do return a decorator
and are not reported.

## Fix safety
The fix writes `functools.partial(jax.checkpoint, policy=…)`, which is safe: the program raised before.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.values import WrapSite
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Bad, Good, Place, Report, Rule, Silent, safe


class KeywordOnlyDecorator(Rule):
    """`keyword-only-decorator`: a wrapper that is given options only."""

    code = "RML201"
    name = "keyword-only-decorator"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    examples = (
        Bad(
            "a decorator with a policy",
            """
import jax

@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)
#^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def layer(w, x):
    return x @ w
""",
            fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def layer(w, x):
    return x @ w
""",
        ),
        Good(
            "nnx.remat has a keyword-only form",
            """
import jax
from flax import nnx

@nnx.remat(policy=jax.checkpoint_policies.dots_saveable)
def forward(model, x):
    return model(x)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a wrapper call without a target."""
        del project
        if subject.form != "keyword-only":
            return
        name = subject.wrapper.qualname
        if subject.wrapper.keyword_only_form:
            yield Silent(f"{name} may be called with options only and then returns a decorator")
            return
        call = subject.event.node
        if isinstance(call, n.Call):
            short = name.rpartition(".")[2]
            message = (
                f"`{render(call.func)}` needs the function as its first argument, so this call raises TypeError "
                f"({short}() missing 1 required positional argument); write `functools.partial({render(call.func)}, …)`"
            )
            yield Report(Place(subject.scope.module, subject.at), message, self.severity, facts=call)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put `functools.partial(` before the wrapper."""
        call: n.Call = report.facts
        module = report.place.module
        partial, edits = spell(module, "functools", "partial", project)
        func = Place(module, call.func.at)
        inside = [argument for argument in call.args]
        opening = f"{partial}({func.text}" + (", " if inside else "")
        tail = Edit(
            type(func.span)(func.span.start, Place(module, inside[0].at).span.start if inside else report.place.span.end),
            opening if inside else f"{opening})",
        )
        return safe("Wrap the call in functools.partial", tail, *edits)
