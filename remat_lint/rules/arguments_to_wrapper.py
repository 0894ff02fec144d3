"""Finds `jax.checkpoint(f, x)`: arguments of the call, or options, given to the wrapper by position.

## What it does
Reports positional arguments of `jax.checkpoint`, `jax.remat` and the other wrappers that follow the function: the
function's own arguments (`jax.checkpoint(f, x)`) or an option without its keyword (`jax.checkpoint(f, policy)`).

## Why it is a problem
The wrappers take the function as their only positional argument and return a function. Anything more raises
`TypeError: checkpoint() takes 1 positional argument but 2 were given`. Linen's `nn.remat` takes more, but its second
positional parameter is `variables`: a policy there raises `InvalidFilterError`.

## When to ignore it
Never, outside of a test that expects the error.

## Fix safety
Naming a policy (`policy=…`) is safe. Splitting the call, `jax.checkpoint(f)(x)`, is safe where none of the arguments
can be a module of a framework and none is a bare bool: an `nnx` module that goes through `jax.checkpoint` loses its
state updates without an error, and a bool arrives traced. Otherwise the fix is unsafe.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity, Span
from remat_lint.jaxapi import wrappers
from remat_lint.jaxapi.policies import lookup_policy
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.values import External, Moment, Partial, Result, Value, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.rule import Bad, Good, Miss, Place, Report, Rule, Silent, safe, unsafe
from remat_lint.rules.splitting import is_harmless, split_call


@dataclass(frozen=True, slots=True, eq=False)
class _Extra:
    """What the fix needs to know."""

    site: WrapSite
    call: n.Call
    target: n.Argument | None
    extra: tuple[n.Argument, ...]
    policy: bool


class ArgumentsToWrapper(Rule):
    """`arguments-to-wrapper`: more than the function, by position."""

    code = "RML202"
    name = "arguments-to-wrapper"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the wrapper is given nothing but its function by position"
    examples = (
        Bad(
            "the function's arguments",
            """
import jax

def layer(w, x):
    return x * w

def owner(x):
    return jax.checkpoint(layer, x, x)
#                                ^^^^
""",
            fixed="""
import jax

def layer(w, x):
    return x * w

def owner(x):
    return jax.checkpoint(layer)(x, x)
""",
            message=(
                "`jax.checkpoint` takes the function as its only positional argument, so `x, x` raises TypeError; the "
                "arguments go to the function it returns: `jax.checkpoint(layer)(x, x)`"
            ),
            runs=True,
        ),
        Bad(
            "a policy without its keyword, through aliases and on one branch",
            """
from jax import checkpoint_policies as cp, remat as rm

def build(layer, use_remat):
    if use_remat:
        layer = rm(layer, cp.dots_saveable)  # mémoire
#                         ^^^^^^^^^^^^^^^^
    return layer

def owner(x):
    return build(lambda h: h * h, True)(x)
""",
            fixed="""
from jax import checkpoint_policies as cp, remat as rm

def build(layer, use_remat):
    if use_remat:
        layer = rm(layer, policy=cp.dots_saveable)  # mémoire
    return layer

def owner(x):
    return build(lambda h: h * h, True)(x)
""",
            message=(
                "`rm` takes the function as its only positional argument, so `cp.dots_saveable` raises TypeError when "
                "`use_remat`; write `policy=cp.dots_saveable`"
            ),
            runs=True,
        ),
        Bad(
            "a module that is called, with options behind",
            """
import jax

class Net:
    def __call__(self, block, x):
        return jax.checkpoint(lambda b, h: b(h), block, x, prevent_cse=False)
#                                                ^^^^^^^^
""",
            fixed="""
import jax

class Net:
    def __call__(self, block, x):
        return jax.checkpoint(lambda b, h: b(h), prevent_cse=False)(block, x)
""",
            message=(
                "`jax.checkpoint` takes the function as its only positional argument, so `block, x` raises TypeError; "
                "the arguments go to the function it returns: `jax.checkpoint(lambda)(block, x)`"
            ),
        ),
        Bad(
            "a bool that is meant as prevent_cse",
            """
import jax

@jax.jit
def step(x):
    return jax.checkpoint(lambda h: h * h, False)(x)
#                                          ^^^^^
""",
            fixed="""
import jax

@jax.jit
def step(x):
    return jax.checkpoint(lambda h: h * h, prevent_cse=False)(x)
""",
            message=(
                "`jax.checkpoint` takes the function as its only positional argument, so `False` raises TypeError; "
                "options are keywords"
            ),
        ),
        Bad(
            "a policy in the place of linen's `variables`",
            """
import jax
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

Block_ck = nn.remat(Block, jax.checkpoint_policies.dots_saveable)
#                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
            fixed="""
import jax
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

Block_ck = nn.remat(Block, policy=jax.checkpoint_policies.dots_saveable)
""",
            message=(
                "the second positional parameter of `nn.remat` is `variables`, so the policy there raises "
                "InvalidFilterError when the module is used; write `policy=jax.checkpoint_policies.dots_saveable`"
            ),
        ),
        Good(
            "the call is split",
            """
import jax

def layer(w, x):
    return x * w

def owner(x):
    return jax.checkpoint(layer, policy=None)(x, x)
""",
        ),
        Good(
            "a helper of the project takes arguments and splits the call itself",
            """
import jax

def checkpoint(fn, *args, policy=None):
    return jax.checkpoint(fn, policy=policy)(*args)

def loss(w, x):
    return checkpoint(lambda a, b: a * b, w, x)
""",
        ),
        Good(
            "linen takes its options by position",
            """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

Block_ck = nn.remat(Block, True, True, False, False)
""",
        ),
        Good(
            "other functions called checkpoint",
            """
from torch.utils.checkpoint import checkpoint
import jax

def run(block, x):
    return checkpoint(block, x, use_reentrant=False)
""",
        ),
        Good(
            "a test of the error",
            """
import jax
import jax.numpy as jnp
import unittest

class WrapperTest(unittest.TestCase):
    def test_arguments_are_refused(self):
        with self.assertRaises(TypeError):
            jax.checkpoint(jnp.sin, 1.0)
        self.assertRaises(TypeError, lambda: jax.checkpoint(jnp.sin, 1.0))
""",
        ),
        Miss(
            "arguments behind a star",
            """
import jax

def run(f, *args):
    return jax.checkpoint(f, *args)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report positional arguments behind the wrapped function."""
        if not subject.extra or subject.via:
            return
        extra = tuple(argument for argument in subject.extra if not argument.star)
        if len(extra) < len(subject.extra):
            yield Silent("arguments hidden behind a star are not followed")
            return
        found = self._find(subject, extra, project)
        if found is None:
            yield Silent("this wrapper takes that many positional arguments")
        elif expected(subject.event, project, "TypeError", "InvalidFilterError"):
            yield Silent("a test expects the error")
        else:
            module = subject.scope.module
            first, last = Place(module, found.extra[0].at), Place(module, found.extra[-1].at)
            inside = all(any(argument is other for other in found.call.args) for argument in found.extra)
            place = first if inside else Place(module, subject.at)
            span = Span(first.span.start, last.span.end) if inside else place.span
            yield Report(
                place, _message(found, module.source.slice(span)), self.severity, facts=found, span=span
            )

    def _find(self, site: WrapSite, extra: tuple[n.Argument, ...], project: Analysis) -> _Extra | None:
        call = site.event.node
        if isinstance(call, n.Call) and site.form != "partial-decorator":
            callees = project.evaluate(call.func, Moment(site.scope, site.event))
            if not all(_is_wrapper(callee) for callee in callees):
                return None
        decorators = () if site.definition is None else getattr(site.definition.node, "decorators", ())
        made = next((d for d in decorators if d.at == site.at), call)
        if not isinstance(made, n.Call):
            return None
        target = next((a for a in made.args if a.value is site.target), None)
        policy = _is_policy(extra[0], site, project)
        if 1 + len(extra) > site.wrapper.positional:
            return _Extra(site, made, target, extra, policy and len(extra) == 1)
        if (
            policy
            and site.wrapper.framework in ("linen", "flaxformer")
            and "lengths" not in site.wrapper.accepts
        ):
            return _Extra(site, made, target, extra[:1], policy=True)
        return None

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Name the policy, or split the call."""
        found: _Extra = report.facts
        module = report.place.module
        keywords = {argument.keyword for argument in found.call.args}
        first = Place(module, found.extra[0].at)
        if found.target is None or found.site.form != "call":
            return None
        if found.policy:
            return None if "policy" in keywords else safe("Name the policy", first.insert_before("policy="))
        value = found.extra[0].value
        if len(found.extra) == 1 and isinstance(value, n.Constant) and isinstance(value.value, bool):
            named = first.insert_before("prevent_cse=")
            return None if "prevent_cse" in keywords else unsafe("Name the option", named)
        assert report.span is not None
        edits = split_call(found.call, found.target, report.span, module)
        if not edits:
            return None
        grade = safe if is_harmless(found.site, found.extra, project) else unsafe
        return grade("Call the function that the wrapper returns", *edits)


def _message(found: _Extra, text: str) -> str:
    site, call = found.site, found.call
    func = render(call.func)
    short = text if len(text) <= 40 and "\n" not in text else "…"  # noqa: PLR2004 - what fits a message
    if 1 + len(site.extra) <= site.wrapper.positional:
        return (
            f"the second positional parameter of `{func}` is `variables`, so the policy there raises "
            f"InvalidFilterError when the module is used{when(site.event)}; write `policy={short}`"
        )
    if found.policy:
        advice = f"write `policy={short}`"
    elif isinstance(found.extra[0].value, n.Constant) and isinstance(found.extra[0].value.value, bool):
        advice = "options are keywords"
    else:
        wrapped = "…" if site.target is None else render(site.target)
        advice = f"the arguments go to the function it returns: `{func}({wrapped})({short})`"
    what = f"`{short}` raises" if short != "…" else "what follows it raises"
    return f"`{func}` takes the function as its only positional argument, so {what} TypeError{when(site.event)}; {advice}"


def _is_wrapper(value: Value) -> bool:
    if isinstance(value, Partial):
        value = value.target
    return isinstance(value, External) and wrappers.lookup(value.dotted) is not None


def _is_policy(argument: n.Argument, site: WrapSite, project: Analysis) -> bool:
    """Whether an argument is a member of `jax.checkpoint_policies` or made by one."""
    values = project.evaluate(argument.value, Moment(site.scope, site.event))
    names = [value.dotted for value in values if isinstance(value, External | Result)]
    return len(names) == len(values) and all(lookup_policy(name) is not None for name in names)
