"""Finds decorators and wrappers in an order that does not work.

## What it does
Reports a checkpoint wrapper

* above `@staticmethod`, `@classmethod` or `@property`, or below `@classmethod`;
* around a `jax.custom_vjp` or `jax.custom_jvp` function whose rules are defined on the wrapped result;
* below linen's `@nn.compact`;
* inside a `jax.jit` that makes an argument static which the checkpoint traces, or around one;
* around a `jax.jit` whose `.lower` and the like are asked of the result.

## Why it is a problem
A wrapper around a descriptor turns it into a plain function: `@jax.checkpoint @property` makes a method of a property
without an error, the others raise `TypeError` when called. The wrapper's result has none of the attributes of what is
inside, so that `.defvjp` and `.lower` raise `AttributeError`. Under `@nn.compact` the wrapped method is no compact one
any more: `AssignSubModuleError`. A flag that is static for `jit` alone arrives as a tracer in the body
(`TracerBoolConversionError`), and in the other order `jit` gets a tracer for a static argument (`ValueError`).

## When to ignore it
Never, outside of a test that expects the error.

## Fix safety
Exchanging the decorators is safe for `@staticmethod` and `@nn.compact`: the program raised before. Naming the static
arguments in the checkpoint too is safe where every visible call passes them by position, else unsafe. Wrapping a
`custom_vjp` function behind its rules is unsafe. For `@classmethod`, `@property` and `.lower` there is no fix.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>,
<https://flax.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html#flax.linen.remat>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.ordering import Disorder, disorders
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.decorator_order_examples import EXAMPLES
from remat_lint.rules.expected_errors import expected, expected_at_calls
from remat_lint.rules.reordering import behind_rules, exchange, static_in_both
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent
from remat_lint.rules.untraced_statics import UntracedStatic, untraced_statics

_ERRORS = ("TypeError", "AttributeError", "ValueError", "TracerBoolConversionError", "AssignSubModuleError")


class DecoratorOrder(Rule):
    """`decorator-order`: a wrapper on the wrong side of something else."""

    code = "RML206"
    name = "decorator-order"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "nothing else stands on the wrong side of the wrapper"
    examples = EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each wrong order at a site."""
        if subject.via:
            return
        found = list(disorders(subject, project))
        statics = [] if found else list(untraced_statics(subject, project))
        if (found or statics) and expected_at_calls(subject, project, *_ERRORS):
            yield Silent("a test expects the error")
            return
        for disorder in found:
            yield from self._disorder(disorder, project)
        if statics:
            yield self._statics(statics)

    def _disorder(self, found: Disorder, project: Analysis) -> Iterator[Report | Silent]:
        site = found.site
        module = site.event.module
        place = Place(module, found.other if found.kind == "compact" else site.at)
        notes: tuple[Note, ...] = ()
        if found.kind == "compact":
            notes = (Note(Place(module, site.at), "this is applied first"),)
        if found.uses:
            node, scope = found.uses[0]
            there = Place(scope.module, node.at)
            event = scope.module.happened(node.at)
            if event is not None and expected(event, project, "AttributeError"):
                yield Silent("a test expects the error")
                return
            if found.kind == "compiled":
                place, there = there, place
            note = (
                "the function is wrapped here"
                if found.kind == "compiled"
                else f"`.{node.attr}` is asked for here"
            )
            notes = (Note(there, note),)
        yield Report(place, _text(found), self.severity, notes, facts=found)

    def _statics(self, found: list[UntracedStatic]) -> Report:
        first = found[0]
        site = first.site
        jit = first.jit
        names = ", ".join(f"`{one.name}`" for one in found)
        wanted = tuple(one.number for one in found if one.number is not None)
        listed = ", ".join(map(str, wanted)) + ("," if len(wanted) == 1 else "")
        advice = f"; name it here too: `static_argnums=({listed})`" if wanted else "; make it static here too"
        if jit.inside:
            what = (
                f"{names} {'is' if len(found) == 1 else 'are'} static for the `{jit.dotted}` inside, which gets a tracer "
                f"from this checkpoint: the call raises ValueError"
            )
        else:
            what = (
                f"`{jit.dotted}` marks {names} static, and the checkpoint inside of it traces it all the same: "
                f"{first.reason}"
            )
        notes = [
            Note(
                Place(site.event.module, jit.at), f"{names} {'is' if len(found) == 1 else 'are'} static here"
            )
        ]
        if first.use is not None:
            notes.append(
                Note(Place(first.use[1].module, first.use[0].at), f"the value of {names} is needed here")
            )
        severity = self.severity if all(one.certain for one in found) else Severity.WARNING
        message = f"{what}{when(site.event)}{advice}"
        return Report(Place(site.event.module, site.at), message, severity, tuple(notes), facts=found)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Exchange decorators, wrap behind the rules, or name the static arguments twice."""
        facts = report.facts
        if isinstance(facts, list):
            return static_in_both(facts, project)
        assert isinstance(facts, Disorder)
        if facts.kind in ("staticmethod", "compact") and facts.next_to:
            return exchange(facts)
        return behind_rules(facts) if facts.kind == "custom" else None


def _text(found: Disorder) -> str:
    site = found.site
    wrapper = site.wrapper.qualname
    condition = when(site.event)
    name = "" if site.definition is None else site.definition.name
    match found.kind:
        case "staticmethod" if site.wrapper.framework in ("jax", "haiku", "trax"):
            return (
                f"`{wrapper}` above `@staticmethod` wraps the static method object, so that calling `{name}` raises "
                f"TypeError{condition}; put `@staticmethod` on top"
            )
        case "staticmethod":
            return (
                f"`{wrapper}` above `@staticmethod` makes an ordinary method of `{name}`: a call through an instance passes "
                f"the instance too{condition}; put `@staticmethod` on top"
            )
        case "classmethod":
            why = "wraps the class method object" if found.below else "gets the class as an argument to trace"
            return (
                f"`{wrapper}` {'above' if found.below else 'below'} `@classmethod` {why}: calling `{name}` raises TypeError"
                f"{condition}; wrap a function that the class method calls"
            )
        case "property":
            return (
                f"`{wrapper}` above `@property` makes a method of `{name}`: reading it gives a bound method and not the "
                f"value, without an error{condition}; wrap a function that the property calls"
            )
        case "compact":
            return (
                f"`@nn.compact` above `{wrapper}` does not reach the method inside, so that making a submodule or a parameter "
                f"in it fails{condition}; put `@nn.compact` below"
            )
        case "custom":
            attr = found.uses[0][0].attr
            return (
                f"`{wrapper}` returns a plain function, which has no `.{attr}`: defining the rules of the "
                f"`{found.name}` function on it raises AttributeError{condition}; wrap it after the rules are defined"
            )
    base = render(found.uses[0][0].value)
    shown = base if "…" not in base else "…"
    return (
        f"`{wrapper}` returns a plain function, which has no `.{found.name}`: this raises AttributeError; compile what "
        f"the checkpoint returns, `jax.jit({shown}).{found.name}`"
    )
