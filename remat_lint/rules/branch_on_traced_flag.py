"""Finds Python control flow and shapes made of an argument that `jax.checkpoint` replaces by a tracer.

## What it does
Reports `if p:`, `while p:`, `a if p else b`, `p and x`, `not p`, `assert p`, `case 1:`, `range(p)`, `x.reshape(p, -1)`,
`axis=p`, `x[:p]`, `jnp.zeros(p)` and flags of layers (`deterministic=p`), where `p` is a parameter of a checkpointed
function that is not static and a bool or a number is passed through the wrapper. It is an error where a visible call
passes one, a warning where an annotation, a default or the use itself tells that one must come.

## Why it is a problem
Every argument that is not static becomes a traced array inside, also a plain `True`: what works without the
checkpoint raises `TracerBoolConversionError` and the like with it. A default that no call passes stays a Python value
and is right.

## When to ignore it
When the parameter is never passed through the wrapper, or gets None or a container wherever it is.

## Fix safety
The fix makes the parameter static with `static_argnums` and writes the argument by position at every call; it is
offered only where every visible call can be written so. It is unsafe: the function is traced again for each new
value, and a call elsewhere that passes the argument by keyword raises.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>,
<https://docs.jax.dev/en/latest/errors.html#jax.errors.TracerBoolConversionError>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.flags import FlagUse
from remat_lint.project.invocations import signatures
from remat_lint.project.jits import jit_statics
from remat_lint.project.layers import wrapped_layer_flags
from remat_lint.project.offsets import off_by_one
from remat_lint.project.scalars import scalar
from remat_lint.project.statics import shift, static_option
from remat_lint.project.values import Moment, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected_at_calls
from remat_lint.rules.flag_examples import EXAMPLES
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent
from remat_lint.rules.static_edits import make_static
from remat_lint.rules.traced_flags import (
    Evidence,
    TracedFlag,
    asks_type,
    find_use_evidence,
    is_static_elsewhere,
    is_told_apart,
    joint_uses,
    share,
)

_ERRORS = (
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "ConcretizationTypeError",
    "TypeError",
    "ValueError",
    "IndexError",
    "Exception",
)


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """A traced parameter, where its Python value is needed, and why one comes."""

    traced: TracedFlag
    use: FlagUse
    evidence: Evidence


class BranchOnTracedFlag(Rule):
    """`branch-on-traced-flag`: a Python value is needed where a tracer arrives."""

    code = "RML301"
    name = "branch-on-traced-flag"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the body needs no traced argument as a Python value"
    examples = EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report the first use of each traced parameter that gets a Python scalar."""
        if subject.wrapper.framework in ("equinox", "haliax"):
            yield Silent(f"{subject.wrapper.qualname} keeps what is no array static")
        elif "static_argnames" in subject.options:
            yield Silent("`static_argnames` is wrong here in itself")
        elif expected_at_calls(subject, project, *_ERRORS):
            yield Silent("a test expects the error")
        else:
            yield from self._layers(subject, project)
            found = list(_found(subject, project))
            for one in found:
                reason = _doubt(one, project) or _told(one, project)
                yield Silent(reason) if reason else self._report(one, found, project)

    def _report(self, found: _Found, together: list[_Found], project: Analysis) -> Report:
        traced, use, call = found.traced, found.use, found.evidence.call
        site, name = traced.site, traced.name
        home = project.place(site).module
        passed = f"`{name}`" if found.evidence.certain else f"a bool or number passed as `{name}`"
        result = f"raises {use.error}" if use.error else "fails"
        new = traced.number is not None and "static_argnums" not in site.options
        static = f" (`static_argnums=({traced.number},)`)" if new else ""
        message = (
            f"{passed} arrives as a traced array inside {site.wrapper.qualname}{when(site.event)}, so {use.reason} "
            f"{result}; make `{name}` static{static}"
        )
        notes = []
        place = Place(use.scope.module, use.node.at)
        if place.module is not home:
            notes.append(Note(place, f"`{name}` is needed as a Python value here"))
            place = Place(home, project.place(site).at)
            if call is not None:
                given = traced.given(call)
                place = Place(call.event.module, call.call.at if given is None else given.at)
        elif call is not None:
            notes.append(
                Note(Place(call.event.module, call.call.at), f"this call passes a Python value as `{name}`")
            )
        notes.append(Note(Place(site.event.module, site.at), "the function is checkpointed here"))
        severity = self.severity if found.evidence.certain else Severity.WARNING
        facts = tuple(one.traced for one in together if one.traced.signature is traced.signature)
        return Report(place, message, severity, tuple(notes), facts)

    def _layers(self, site: WrapSite, project: Analysis) -> Iterator[Report]:
        """Report flags that reach a layer of a framework which is wrapped itself."""
        if static_option(site, project) is not None or site.spread:
            return
        for flag in wrapped_layer_flags(site, project):
            if flag.event is None:
                continue
            known = scalar(flag.value, Moment(flag.event.scope, flag.event), project)
            if known is None:
                continue
            sure = known.certain and not flag.maybe
            message = (
                f"`{flag.name}` arrives as a traced array inside {site.wrapper.qualname}{when(site.event)}, and "
                f"{flag.layer} asks whether it is true, which raises TracerBoolConversionError; give `{flag.name}` "
                "where the layer is made"
            )
            notes = (Note(Place(site.event.module, site.at), "the layer is checkpointed here"),)
            severity = self.severity if sure else Severity.WARNING
            yield Report(Place(flag.event.module, flag.value.at), message, severity, notes)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Make every reported parameter of the site static where every visible call can pass it by position."""
        return make_static(report.facts, project) if report.facts else None


def _found(site: WrapSite, project: Analysis) -> Iterator[_Found]:
    """Yield for each traced parameter the use that says most: the first sure one, else the first."""
    best: dict[tuple[int, str], _Found] = {}
    for flags, use in joint_uses(site, project):
        evidence = [find_use_evidence(traced, use, project) for traced in flags]
        # What is computed from an array too stays traced, whatever else becomes static.
        for traced, one in zip(flags, evidence, strict=True) if None not in evidence else ():
            key = (id(traced.signature.function.scope), traced.name)
            if one is not None and (key not in best or one.certain > best[key].evidence.certain):
                best[key] = _Found(traced, use, one)
    yield from best.values()


def _doubt(found: _Found, project: Analysis) -> str:
    """Return why a use is not reported."""
    traced, use = found.traced, found.use
    site = traced.site
    if asks_type(traced.signature.function.scope, traced.name):
        return f"the function asks for the type of `{traced.name}`, and may treat a tracer apart"
    if any(traced.name in jit.names for jit in jit_statics(site, project)):
        return f"a `jit` around the checkpoint marks `{traced.name}` static, which is wrong in itself"
    if _is_slip(traced, project):
        return "the numbers in `static_argnums` do not fit the function"
    told_apart = use.guarded or is_told_apart(traced, use.node.at)
    if told_apart and is_static_elsewhere(traced, project):
        return f"another place wraps the function with `{traced.name}` static: it may handle both"
    return ""


def _is_slip(traced: TracedFlag, project: Analysis) -> bool:
    """Whether `static_argnums` misses the parameter by one, or names one that does not exist."""
    option, offset = static_option(traced.site, project), shift(traced.site)
    if option is None or option.indices is None or offset is None:
        return False
    known = signatures(traced.site, project)
    slip = off_by_one(traced.site, option.indices, known, offset, project)
    count = len(traced.signature.positional)
    beyond = not traced.signature.rest and any(index + offset >= count for index in option.indices)
    return beyond or (slip is not None and slip.flag == traced.name)


def _told(found: _Found, project: Analysis) -> str:
    """Return where the same use is reported: with more certainty, or with no less for an earlier site."""
    site, later = found.traced.site, False
    for other in project.wrap_sites(project.place(site).module):
        if other is site:
            later = True
            continue
        for one in _found(other, project) if share(other, site) else ():
            same = one.use.node.at == found.use.node.at and one.traced.name == found.traced.name
            more = one.evidence.certain > found.evidence.certain
            equal = not later and one.evidence.certain == found.evidence.certain
            if same and (more or equal) and not _doubt(one, project):
                return "this is reported for another place that wraps the function"
    return ""
