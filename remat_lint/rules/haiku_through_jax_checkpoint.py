"""Finds `jax.checkpoint` around haiku modules, parameters, state or random keys.

## What it does
Reports `jax.checkpoint` and `jax.remat` around code that calls haiku modules, `hk.get_parameter`, `hk.set_state` or
`hk.next_rng_key`, also through functions of the project; and around a method of a module as a decorator.

## Why it is a problem
These functions change the frame of `hk.transform` behind the back of `jax.checkpoint`. On `init` the parameters are
made while it traces, so they are tracers, and using them raises `UnexpectedTracerError`. The state of the random keys
becomes a tracer too: the next key that is drawn raises, and a function that is traced once and called twice uses one
dropout mask twice. `hk.remat` carries all of it through.

## When to ignore it
When the parameters exist before: made by a call outside of the checkpoint under `hk.running_init()`. `jax.checkpoint`
around the `apply` of a transformed function is right and not reported.

## Fix safety
Unsafe: `hk.remat` is put in the place of `jax.checkpoint`. It must be called inside of the transformed function, so
there is no edit for decorators outside of functions.

## References
<https://dm-haiku.readthedocs.io/en/latest/api.html#haiku.remat>,
<https://dm-haiku.readthedocs.io/en/latest/notebooks/transforms.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.frameworks import HAIKU_KEYS, HAIKU_PARAMETERS
from remat_lint.project.analysis import Analysis
from remat_lint.project.framework_uses import Use, uses
from remat_lint.project.values import External, Moment, WrapSite
from remat_lint.rules import haiku_examples
from remat_lint.rules.conditions import when
from remat_lint.rules.framework_targets import (
    depends_on_parameter,
    first_unless_expected,
    is_called_before,
    mentions,
    passed_modules,
    place_of,
)
from remat_lint.rules.rewrapping import rename
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent, unsafe

_ERRORS = ("TypeError", "UnexpectedTracerError", "JaxUsageError", "Exception")
_INITIALIZES = frozenset({"running_init"})
_NORMS = frozenset({"LayerNorm", "GroupNorm", "InstanceNorm"})
_KEYS = frozenset(name.rpartition(".")[2] for name in HAIKU_KEYS)


class HaikuThroughJaxCheckpoint(Rule):
    """`haiku-through-jax-checkpoint`: jax's wrapper where haiku's is needed."""

    code = "RML504"
    name = "haiku-through-jax-checkpoint"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "no haiku module is seen to run inside jax.checkpoint"
    examples = haiku_examples.EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a module that is passed, or what a body makes or draws."""
        if subject.wrapper.framework != "jax":
            return
        yield from first_unless_expected(self._found(subject, project), subject, project, _ERRORS)

    def _found(self, site: WrapSite, project: Analysis) -> Iterator[Report]:
        place, condition = place_of(site, project), when(project.place(site))
        wrapper = site.wrapper.qualname
        for passed in passed_modules(site, "haiku", project):
            message = (
                f"{wrapper} traces the haiku module `{passed.text}` as an argument: it is no array, so the call raises "
                f"TypeError{condition}; use hk.remat inside of the transformed function, on a function that captures it"
            )
            yield Report(place, message, self.severity)
        if mentions(site, _INITIALIZES):
            return
        found = [
            use for use in uses(site, project) if use.kind == "haiku" and not is_called_before(use, site)
        ]
        making = [use for use in found if _makes(use)]
        for use in making or [use for use in found if use.name in _KEYS]:
            severity, text = self.severity, _text(use, wrapper, condition)
            if (use.name in _KEYS and not _is_drawn_again(site, project)) or depends_on_parameter(
                project.place(site)
            ):
                severity = Severity.WARNING
            notes = (Note(Place(use.event.module, use.event.at), "this runs inside the checkpoint"),)
            yield Report(place, text, severity, notes, site)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put `hk.remat` in the place of the wrapper, where that runs inside of the transformed function."""
        site: WrapSite | None = report.facts
        if site is None or site.event.frame.kind != "function":
            return None
        calls = [made for made in project.site_calls(site) if made.event.frame is site.event.frame]
        if not any(isinstance(made.call.func, n.Name) or made.call.func is site.event.node for made in calls):
            return None
        edits = rename(site, "haiku", "remat", project)
        return unsafe("Use hk.remat", *edits) if edits else None


def _makes(use: Use) -> bool:
    """Whether a use keeps something beyond the call."""
    if use.deed == "layer":
        made = use.module.call if use.module is not None else None
        return use.name in HAIKU_PARAMETERS and not (
            use.name in _NORMS and made is not None and _is_bare(made)
        )
    return use.deed == "function" and use.name not in _KEYS


def _is_bare(made: n.Call) -> bool:
    """Whether a normalization is not visibly made with a scale or an offset: it may have no parameters."""
    return not any(isinstance(a.value, n.Constant) and a.value.value is True for a in made.args)


def _text(use: Use, wrapper: str, condition: str) -> str:
    if use.name in _KEYS:
        return (
            f"hk.{use.name} changes haiku's random state while {wrapper} traces: the next key that is drawn outside "
            f"raises UnexpectedTracerError, and a call that reuses the trace draws the same key again{condition}; use "
            "hk.remat"
        )
    if use.name == "set_state":
        return (
            f"what hk.set_state keeps is a tracer of {wrapper}: using the state raises UnexpectedTracerError{condition}; "
            "use hk.remat"
        )
    what = f"what hk.{use.name} {'makes' if use.deed == 'function' else 'holds'}"
    return (
        f"{what} is made while {wrapper} traces, so on `init` it is a tracer that raises UnexpectedTracerError when it "
        f"is used{condition}; use hk.remat"
    )


def _is_drawn_again(site: WrapSite, project: Analysis) -> bool:
    """Whether another key is visibly drawn after the site, or its result is called more than once."""
    calls = project.site_calls(site)
    if len(calls) > 1 or any(made.event.loops for made in calls):
        return True
    for event in site.event.frame.events:
        if event.order > site.event.order and isinstance(event.node, n.Call):
            for callee in project.evaluate(event.node.func, Moment(event.scope, event)):
                if isinstance(callee, External) and callee.dotted in HAIKU_KEYS:
                    return True
    return False
