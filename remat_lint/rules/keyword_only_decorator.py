"""Finds `@jax.checkpoint(policy=…)`: a wrapper called with options and without a function.

## What it does
Reports a call of `jax.checkpoint`, `jax.remat`, linen's `nn.remat` or another wrapper without a keyword-only form
that gets no function to wrap, most often as a decorator: `@jax.checkpoint(policy=…)`, `@jax.checkpoint()`.

## Why it is a problem
These wrappers take the function as a required positional argument, so the call raises
`TypeError: checkpoint() missing 1 required positional argument: 'fun'` on every JAX release. (`jax.jit` has a
keyword-only form; `jax.checkpoint` has not.)

## When to ignore it
Never for these wrappers. `flax.nnx.remat(policy=…)` and `equinox.filter_checkpoint(policy=…)` do return a decorator
and are not reported, and neither is a call in a test that expects the error.

## Fix safety
The fix writes `functools.partial(jax.checkpoint, policy=…)`, or drops empty parentheses. It is safe: the program
raised before.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity, Span
from remat_lint.jaxapi import wrappers
from remat_lint.jaxapi.signatures import CALLABLE_KEYWORDS
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.keywords import are_all_visible, keywords
from remat_lint.project.values import External, Moment, Partial, Value, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, safe

_OPENING = re.compile(r"[ \t]*\(")


class KeywordOnlyDecorator(Rule):
    """`keyword-only-decorator`: a wrapper that is given options only."""

    code = "RML201"
    name = "keyword-only-decorator"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the wrapper is given a function"
    examples = (
        Bad(
            "a decorator with a policy",
            """
import jax

@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)
#^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def layer(w, x):
    return x @ w

def owner(x):
    return layer(x, x)
""",
            fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def layer(w, x):
    return x @ w

def owner(x):
    return layer(x, x)
""",
            message=(
                "`jax.checkpoint` needs the function as its first argument: called with options only it raises "
                "TypeError (missing 1 required positional argument: 'fun') on every release; write "
                "`functools.partial(jax.checkpoint, …)`"
            ),
            runs=True,
        ),
        Bad(
            "empty parentheses, through an alias and on a nested function",
            """
from jax import remat as rm

def owner(x):
    @rm()
#    ^^^^
    def block(h):
        return h * h
    return block(x)
""",
            fixed="""
from jax import remat as rm

def owner(x):
    @rm
    def block(h):
        return h * h
    return block(x)
""",
            message=(
                "`rm` needs the function as its first argument: called without one it raises TypeError (missing 1 "
                "required positional argument: 'fun') on every release; drop the parentheses"
            ),
            runs=True,
        ),
        Bad(
            "linen, over several lines, on a class with an accented name",
            """
from functools import partial
import flax.linen as nn

@nn.remat(  # la mémoire d'abord
#^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    prevent_cse=False,
  )
# ~
class Étage(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)
""",
            fixed="""
from functools import partial
import flax.linen as nn

@partial(nn.remat,  # la mémoire d'abord
    prevent_cse=False,
  )
class Étage(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)
""",
            message=(
                "`nn.remat` needs the module class or function as its first argument: called with options only it "
                "raises TypeError (missing 1 required positional argument: 'target') on every release; write "
                "`functools.partial(nn.remat, …)`"
            ),
        ),
        Bad(
            "a method, made in a branch",
            """
import functools
from jax import ad_checkpoint, checkpoint

def build(use_remat):
    wrap = lambda f: f
    if use_remat:
        wrap = checkpoint(prevent_cse=False)
#              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return wrap
""",
            fixed="""
import functools
from jax import ad_checkpoint, checkpoint

def build(use_remat):
    wrap = lambda f: f
    if use_remat:
        wrap = functools.partial(checkpoint, prevent_cse=False)
    return wrap
""",
            message=(
                "`checkpoint` needs the function as its first argument: called with options only it raises TypeError "
                "(missing 1 required positional argument: 'fun') on every release when `use_remat`; write "
                "`functools.partial(checkpoint, …)`"
            ),
        ),
        Bad(
            "options in a dict behind two stars",
            """
import jax

OPTIONS = {"prevent_cse": False}

@jax.remat(**OPTIONS)
#^^^^^^^^^^^^^^^^^^^^
def layer(x):
    return x * x

def owner(x):
    return layer(x)
""",
            fixed="""
import functools
import jax

OPTIONS = {"prevent_cse": False}

@functools.partial(jax.remat, **OPTIONS)
def layer(x):
    return x * x

def owner(x):
    return layer(x)
""",
            message=(
                "`jax.remat` needs the function as its first argument: called with options only it raises TypeError "
                "(missing 1 required positional argument: 'fun') on every release; write "
                "`functools.partial(jax.remat, …)`"
            ),
            runs=True,
        ),
        Good(
            "the function is in the dict too",
            """
import jax

OPTIONS = {"fun": lambda x: x * x, "prevent_cse": False}
layer = jax.checkpoint(**OPTIONS)
""",
        ),
        Good(
            "partial puts the options in and leaves the function out",
            """
from functools import partial
import jax

@partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
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
        Good(
            "filter_checkpoint has one too, here on a method",
            """
import equinox as eqx

class Block(eqx.Module):
    @eqx.filter_checkpoint(policy=None)
    def __call__(self, x):
        return x * 2
""",
        ),
        Good(
            "the function may come by keyword",
            """
import jax

layer = jax.checkpoint(fun=lambda x: x * x, prevent_cse=False)
""",
        ),
        Good(
            "a test of the error",
            """
import jax
import pytest

def test_decorator_form_raises():
    with pytest.raises(TypeError):
        jax.checkpoint(prevent_cse=False)
""",
        ),
        Miss(
            "options that come from elsewhere behind two stars",
            """
import jax
from settings import options

@jax.checkpoint(**options())
def layer(x):
    return x
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a wrapper call without a target."""
        call = subject.event.node
        if subject.via or not isinstance(call, n.Call) or not _lacks_target(subject, call, project):
            return
        name = subject.wrapper.qualname
        if not CALLABLE_KEYWORDS.isdisjoint(subject.options):
            yield Silent("the function is given by a keyword")
        elif subject.wrapper.keyword_only_form:
            yield Silent(f"{name} may be called with options only and then returns a decorator")
        elif not all(_refuses(v) for v in project.evaluate(call.func, Moment(subject.scope, subject.event))):
            yield Silent(f"{render(call.func)} may be something else than a wrapper that needs its function")
        elif expected(subject.event, project, "TypeError"):
            yield Silent("a test expects the error")
        else:
            yield Report(
                Place(subject.scope.module, subject.at), _message(subject, call), self.severity, facts=call
            )

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put `functools.partial(` before the wrapper, or drop empty parentheses."""
        call: n.Call = report.facts
        module = report.place.module
        func = Place(module, call.func.at).span
        whole = report.place.span
        source = module.source
        after = source.slice(Span(func.end, whole.end))
        opening = _OPENING.match(after)
        if opening is None or func.start != whole.start:
            return None
        if not call.args and "#" not in after:
            return safe("Drop the parentheses", Edit(Span(func.end, whole.end), ""))
        partial, edits = spell(module, "functools", "partial", project)
        comma = "" if not call.args else "," if after[opening.end()] in " \t\r\n#" else ", "
        end = source.position(source.offset(func.end) + opening.end())
        before = Edit(Span(func.start, func.start), f"{partial}(")
        return safe("Wrap the call in functools.partial", before, Edit(Span(func.end, end), comma), *edits)


def _lacks_target(site: WrapSite, call: n.Call, project: Analysis) -> bool:
    """Whether a call gives no function, not even in a dict behind `**`."""
    if site.form == "keyword-only":
        return True
    if site.form != "call" or site.target is not None or not call.args:
        return False
    if any(argument.keyword is None and argument.star != "**" for argument in call.args):
        return False
    names = {keyword.name for keyword in keywords(site, project)}
    return are_all_visible(site, project) and CALLABLE_KEYWORDS.isdisjoint(names)


def _refuses(value: Value) -> bool:
    """Whether a callee raises when it gets options only."""
    if isinstance(value, Partial):
        value = value.target
    wrapper = wrappers.lookup(value.dotted) if isinstance(value, External) else None
    return wrapper is not None and not wrapper.keyword_only_form


def _message(site: WrapSite, call: n.Call) -> str:
    func = render(call.func)
    what = "the module class or function" if site.wrapper.takes == "both" else "the function"
    how = "called with options only" if call.args else "called without one"
    advice = f"write `functools.partial({func}, …)`" if call.args else "drop the parentheses"
    return (
        f"`{func}` needs {what} as its first argument: {how} it raises TypeError (missing 1 required positional "
        f"argument: '{site.wrapper.target}') on every release{when(site.event)}; {advice}"
    )
