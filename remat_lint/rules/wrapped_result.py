"""Finds `jax.checkpoint(f(x))`: the result of a call is wrapped instead of the function.

## What it does
Reports a wrapper around a value that is no function: the result of a call of a function that is known to return arrays
(`jax.checkpoint(layer(w, x))`), an expression, a tuple. Functions that return functions are followed and are right.
It also reports a wrapper around a function that takes functions: `jax.checkpoint(jax.lax.scan)(body, …)`.

## Why it is a problem
The wrapper does not look at what it is given and returns a function. Calling that raises
`TypeError: unhashable type: 'ArrayImpl'`, and so does using it as an array. All arguments of a checkpointed function are
traced, so that `jax.lax.scan` under a checkpoint gets its body as an argument that cannot be traced: `TypeError`.

## When to ignore it
Never, outside of a test that expects the error. `equinox.filter_checkpoint` can run functions that take functions.

## Fix safety
Unsafe: `jax.checkpoint(f(x))` becomes `jax.checkpoint(f)(x)`, and `jax.checkpoint(jax.lax.scan)(body, …)` becomes
`jax.lax.scan(jax.checkpoint(body), …)`, which is nearly always what was meant.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity, Span
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.results import is_value, takes_functions
from remat_lint.project.values import Moment, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected_at_calls
from remat_lint.rules.rule import Place, Report, Rule, Silent, unsafe
from remat_lint.rules.wrapped_result_examples import EXAMPLES

_LONGEST = 40


@dataclass(frozen=True, slots=True, eq=False)
class _Target:
    """What is wrapped; `taking` names the function that takes functions, if it is one."""

    site: WrapSite
    node: n.Expression
    taking: str = ""


class WrappedResult(Rule):
    """`wrapped-result`: no function is wrapped, or one that cannot get its arguments."""

    code = "RML203"
    name = "wrapped-result"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "what is wrapped may be a function"
    examples = EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a wrapped value, and a wrapped function that takes functions."""
        if subject.target is None or subject.extra:
            return
        taking = takes_functions(subject)
        if not taking and not wraps_value(subject, project):
            return
        if expected_at_calls(subject, project, "TypeError", "ValueError", "AttributeError"):
            yield Silent("a test expects the error")
            return
        place = Place(subject.scope.module, subject.target.at)
        if subject.via:
            event = project.place(subject)
            place = Place(event.module, event.at)
        facts = _Target(subject, subject.target, taking)
        message = _taking(subject, taking) if taking else _wrapped(subject, place)
        yield Report(place, message, self.severity, facts=facts)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put the wrapper around the function, or around the function that is given to the other one."""
        del project
        found: _Target = report.facts
        site, call = found.site, found.site.event.node
        if site.via or site.form != "call" or site.spread or not isinstance(call, n.Call):
            return None
        if call.args[0].value is not found.node or call.args[0].keyword is not None:
            return None
        edits = _around_argument(found, call) if found.taking else _around_function(found, call)
        return unsafe("Wrap the function", *edits) if edits else None


def wraps_value(site: WrapSite, project: Analysis) -> bool:
    """Whether what a site wraps is surely no function."""
    target = site.target
    if target is None or isinstance(target, n.Constant) or not site.bodies:
        return False
    if site.via and not _is_parameter(target, site):
        # The value is made in the helper itself, whoever calls it.
        return False
    return is_value(target, Moment(site.scope, site.event, site.env), project)


def _is_parameter(target: n.Expression, site: WrapSite) -> bool:
    """Whether what a helper wraps is what its caller gives it."""
    holder = site.scope.find(target.id) if isinstance(target, n.Name) else None
    return holder is not None and isinstance(target, n.Name) and holder.parameter(target.id) is not None


def _wrapped(site: WrapSite, place: Place) -> str:
    func = render(site.event.node.func) if isinstance(site.event.node, n.Call) else site.wrapper.qualname
    text = place.text
    shown = f"`{text}`" if len(text) <= _LONGEST and "\n" not in text else "a value"
    if site.via:
        return (
            f"{shown} hands a value to `{site.wrapper.qualname}`, not a function: what comes back can neither be called "
            f"nor used as an array{when(site.event)}"
        )
    target = site.target
    start = "the result of " if isinstance(target, n.Call) else ""
    advice = ""
    if isinstance(target, n.Call):
        inner = render(target.func)
        advice = (
            f"; write `{func}({inner})(…)`" if "…" not in inner else "; wrap the function and call the result"
        )
    return (
        f"`{func}` wraps {start}{shown}, not a function: what it returns can neither be called nor used as an array"
        f"{when(site.event)}{advice}"
    )


def _taking(site: WrapSite, name: str) -> str:
    func = render(site.event.node.func) if isinstance(site.event.node, n.Call) else site.wrapper.qualname
    error = "raises TypeError" if site.wrapper.framework == "jax" else "fails"
    inner = render(site.target)
    return (
        f"`{name}` takes a function as an argument, and `{func}` traces every argument: the call {error}"
        f"{when(site.event)}; write `{inner}({func}(…), …)`"
    )


def _around_function(found: _Target, call: n.Call) -> tuple[Edit, ...]:
    """Turn `W(f(x), k=v)` into `W(f, k=v)(x)`."""
    module, target = found.site.scope.module, found.node
    above = module.builder.parents.of(call.at)
    if not isinstance(target, n.Call) or (isinstance(above, n.Call) and above.func is call):
        return ()
    inner, whole = Place(module, target.at).span, Place(module, call.at).span
    name = Place(module, target.func.at).span
    arguments = module.source.slice(Span(name.end, inner.end))
    if "#" in arguments or not arguments.startswith("("):
        return ()
    return Edit(Span(name.end, inner.end), ""), Edit(Span(whole.end, whole.end), arguments)


def _around_argument(found: _Target, call: n.Call) -> tuple[Edit, ...]:
    """Turn `W(scan, k=v)(body, x)` into `scan(W(body, k=v), x)`."""
    module = found.site.scope.module
    above = module.builder.parents.of(call.at)
    row = lookup_receiver(found.taking)
    if not isinstance(above, n.Call) or above.func is not call or row is None or row.functions != (0,):
        return ()
    if row.kind not in ("now", "now-cached") or not above.args or above.args[0].keyword or above.args[0].star:
        return ()
    whole, inner = Place(module, call.at).span, Place(module, found.node.at).span
    before = module.source.slice(Span(whole.start, inner.start))
    after = module.source.slice(Span(inner.end, whole.end))
    body = Place(module, above.args[0].at)
    if "#" in before + after or found.site.options.keys() & {"static_argnums"}:
        return ()
    return (
        Edit(Span(whole.start, inner.start), ""),
        Edit(Span(inner.end, whole.end), ""),
        body.insert_before(before),
        body.insert_after(after),
    )
