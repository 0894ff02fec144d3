"""Finds arguments of a checkpointed function that are no arrays and not static.

## What it does
Reports a string, a function, a dtype, a class, an enum member or a plain object passed to the result of
`jax.checkpoint` where the argument is not static, and the decorator on a method of a plain class, whose `self` is such
an argument.

## Why it is a problem
Every argument that is not static is traced: it must be an array or a number, or a tree (tuple, list, dict, registered
class) of these. The call raises `TypeError`, also where the function never looks at the argument. A default that no
call passes is no argument and is right.

## When to ignore it
When the class is registered as a pytree in another file.

## Fix safety
The fix makes the argument static with `static_argnums` and writes it by position at every call; it is offered only
where every visible call can be written so. It is unsafe: a static object is known again by its identity or its hash,
so a new lambda or object is traced anew, and a changed one is not.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>,
<https://docs.jax.dev/en/latest/working-with-pytrees.html>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import Invocation, invocations, signatures
from remat_lint.project.nonarrays import NonArray, non_array
from remat_lint.project.pytrees import is_plain
from remat_lint.project.results import takes_functions
from remat_lint.project.scopes import Scope
from remat_lint.project.statics import StaticOption, shift, static_option, static_positions
from remat_lint.project.values import Moment, WrapSite
from remat_lint.rules.argument_examples import EXAMPLES
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected, expected_at_calls
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent
from remat_lint.rules.static_edits import make_static
from remat_lint.rules.traced_flags import traced_flags

_OF_APPLY = frozenset({"rngs", "method", "mutable", "capture_intermediates"})
_MODULE_FIRST = ("linen", "flaxformer")


@dataclass(frozen=True, slots=True, eq=False)
class _Passed:
    """An argument that cannot be traced; `index` counts as the call does, None for a keyword."""

    call: Invocation
    argument: n.Argument
    index: int | None
    kind: NonArray


class NonArrayArgument(Rule):
    """`non-array-argument`: something that cannot be traced."""

    code = "RML305"
    name = "non-array-argument"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "every argument of the visible calls may be an array"
    examples = EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each argument of a visible call that is no array, or the `self` of a plain class."""
        if subject.wrapper.framework in ("equinox", "haliax"):
            yield Silent(f"{subject.wrapper.qualname} keeps what is no array static")
        elif not subject.wrapper.has_static or "static_argnames" in subject.options:
            yield Silent("which arguments are traced is not known")
        elif takes_functions(subject):
            yield Silent("a function that takes functions is wrapped, which is wrong in itself")
        elif expected_at_calls(subject, project, "TypeError"):
            yield Silent("a test expects the error")
        else:
            method = _plain_method(subject, project)
            if method is not None:
                yield self._decorated(subject, method)
                return
            found = list(_passed(subject, project))
            for one in found:
                yield self._report(subject, one, found, project)

    def _report(self, site: WrapSite, one: _Passed, found: list[_Passed], project: Analysis) -> Report:
        names = {_name(site, other, project) for other in found}
        flags = [flag for flag in traced_flags(site, project) if flag.name in names]
        mine = next((flag for flag in flags if flag.name == _name(site, one, project)), None)
        what = f"`{mine.name}` gets" if mine is not None else "this argument is"
        new = mine is not None and mine.number is not None and static_option(site, project) is None
        static = f" (`static_argnums=({mine.number},)`)" if mine is not None and new else ""
        message = (
            f"{what} {one.kind.what}, but what {site.wrapper.qualname} passes on must be an array or a tree of arrays: "
            f"the call raises TypeError{when(site.event)}; make the argument static{static}, or bind it with "
            "functools.partial before wrapping"
        )
        place = Place(one.call.event.module, one.argument.value.at)
        notes = (Note(Place(site.event.module, site.at), "the function is checkpointed here"),)
        severity = self.severity if one.kind.certain else Severity.WARNING
        facts = tuple(flags) if mine is not None and len(names) == len(flags) else ()
        return Report(place, message, severity, notes, facts)

    def _decorated(self, site: WrapSite, cls: Scope) -> Report:
        message = (
            f"{site.wrapper.qualname} traces `self` like every argument, and `{cls.name}` is no pytree: calling this "
            "method raises TypeError; wrap the bound method where it is called, or a function of the arrays"
        )
        assert isinstance(cls.node, n.Class)
        notes = (Note(Place(cls.module, cls.node.name_at), "the class is defined here"),)
        return Report(Place(site.event.module, site.at), message, self.severity, notes)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Make the reported arguments of the site static where every visible call can pass them by position."""
        return make_static(report.facts, project) if report.facts else None


def _passed(site: WrapSite, project: Analysis) -> Iterator[_Passed]:
    """Yield the arguments of the visible calls that are traced and are no arrays."""
    option, offset = static_option(site, project), shift(site)
    if offset is None or (option is None and site.spread) or (option is not None and option.indices is None):
        return
    if site.wrapper.takes != "function" and not signatures(site, project):
        # What is called may be a class, whose instances are made with any arguments.
        return
    for call in invocations(site, project):
        moment = Moment(call.event.scope, call.event)
        if expected(call.event, project, "TypeError"):
            continue
        for index, argument in _traced_arguments(site, call, option, offset):
            kind = non_array(argument.value, moment, project) or _dtype_of(argument.value, call)
            if kind is not None:
                yield _Passed(call, argument, index, kind)


def _dtype_of(node: n.Expression, call: Invocation) -> NonArray | None:
    """Return what `x.dtype` is where `x` is an argument too; elsewhere it may be an option that is None."""
    if not isinstance(node, n.Attribute) or node.attr != "dtype" or not isinstance(node.value, n.Name):
        return None
    names = [getattr(argument.value, "id", "") for argument in call.positional if argument is not None]
    return NonArray("a dtype") if node.value.id in names else None


def _traced_arguments(
    site: WrapSite, call: Invocation, option: StaticOption | None, offset: int
) -> Iterator[tuple[int | None, n.Argument]]:
    count = len(call.positional)
    indices = option.indices if option is not None and option.indices is not None else ()
    static = {index + offset if index >= 0 else index + count for index in indices}
    first = 1 if site.wrapper.framework in _MODULE_FIRST else 0
    for index, argument in enumerate(call.positional):
        if argument is not None and index >= first and index not in static and not argument.star:
            yield index, argument
    if offset or (site.wrapper.framework == "nnx" and option is not None):
        # The one drops keyword arguments, the other finds static ones by name.
        return
    of_apply = getattr(call.call.func, "attr", "") in ("init", "apply", "init_with_output")
    for name, argument in call.keywords.items():
        if not (of_apply and name in _OF_APPLY):
            yield None, argument


def _name(site: WrapSite, one: _Passed, project: Analysis) -> str:
    """Return the parameter that an argument reaches; empty if that is not known."""
    if one.index is None:
        return one.argument.keyword or ""
    known = signatures(site, project)
    inside = len(known) == 1 and one.index < len(known[0].positional)
    return known[0].positional[one.index].name if inside else ""


def _plain_method(site: WrapSite, project: Analysis) -> Scope | None:
    """Return the plain class of a method that the site decorates and whose `self` is traced."""
    definition = site.definition
    cls = definition.owner_class if definition is not None else None
    if definition is None or cls is None or site.wrapper.framework in _MODULE_FIRST:
        return None
    if project.method_kind(definition) != "method" or not is_plain(cls, project):
        return None
    for signature in signatures(site, project):
        static = static_positions(site, signature, project)
        return cls if signature.is_method and static is not None and 0 not in static else None
    return None
