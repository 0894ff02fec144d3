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
from remat_lint.rules.arguments_to_wrapper_examples import EXAMPLES
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected
from remat_lint.rules.rule import Place, Report, Rule, Silent, safe, unsafe
from remat_lint.rules.splitting import is_harmless, split_call

_LONGEST = 40


@dataclass(frozen=True, slots=True, eq=False)
class _Extra:
    """What the fix needs to know; `swapped` tells that a policy stands where the function is due."""

    site: WrapSite
    call: n.Call
    target: n.Argument | None
    extra: tuple[n.Argument, ...]
    policy: bool
    swapped: bool = False


class ArgumentsToWrapper(Rule):
    """`arguments-to-wrapper`: more than the function, by position."""

    code = "RML202"
    name = "arguments-to-wrapper"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the wrapper is given nothing but its function by position"
    examples = EXAMPLES

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
            swapped = target is not None and len(extra) == 1 and _is_policy(target, site, project)
            return _Extra(site, made, target, extra, policy and len(extra) == 1, swapped)
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
        if found.policy and found.call.at == found.site.at and found.site.form != "partial-call":
            return None if "policy" in keywords else safe("Name the policy", first.insert_before("policy="))
        if found.target is None or found.site.form != "call" or found.swapped:
            return None
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
    named = call.args[0].value if site.form == "partial-decorator" and call.args else call.func
    func = site.wrapper.qualname if isinstance(named, n.Call) else render(named)
    short = text if len(text) <= _LONGEST and "\n" not in text else "…"
    if 1 + len(site.extra) <= site.wrapper.positional:
        return (
            f"the second positional parameter of `{func}` is `variables`, so the policy there raises "
            f"InvalidFilterError when the module is used{when(site.event)}; write `policy={short}`"
        )
    if found.policy:
        advice = f"write `policy={short}`"
    elif isinstance(found.extra[0].value, n.Constant) and isinstance(found.extra[0].value.value, bool):
        advice = "options are keywords"
    elif site.form == "partial-decorator":
        advice = "the decorated function comes behind it, and options are keywords"
    elif found.swapped:
        advice = f"the function comes first: `{func}({short}, policy={_short(site)})`"
    else:
        advice = f"the arguments go to the function it returns: `{func}({_short(site)})({short})`"
    what = f"`{short}` raises" if short != "…" else "what follows it raises"
    return f"`{func}` takes the function as its only positional argument, so {what} TypeError{when(site.event)}; {advice}"


def _short(site: WrapSite) -> str:
    """Return what is wrapped as it is written, if that fits a message."""
    text = "" if site.target is None else Place(site.scope.module, site.target.at).text
    return text if text and len(text) <= _LONGEST and "\n" not in text else "…"


def _is_wrapper(value: Value) -> bool:
    if isinstance(value, Partial):
        value = value.target
    return isinstance(value, External) and wrappers.lookup(value.dotted) is not None


def _is_policy(argument: n.Argument, site: WrapSite, project: Analysis) -> bool:
    """Whether an argument is a member of `jax.checkpoint_policies` or made by one."""
    values = project.evaluate(argument.value, Moment(site.scope, site.event))
    names = [value.dotted for value in values if isinstance(value, External | Result)]
    return len(names) == len(values) and all(lookup_policy(name) is not None for name in names)
