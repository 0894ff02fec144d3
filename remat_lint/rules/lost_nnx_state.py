"""Finds a flax.nnx module with state that runs inside `jax.checkpoint`.

## What it does
Reports `jax.checkpoint` and `jax.remat` around code that changes the state of an nnx module from outside: batch
normalization and dropout in training, random streams (`nnx.Rngs`), writes to an `nnx.Variable`, `self.sow`. The module
may be an argument, `self` of a decorated method, captured, or rebuilt inside by `nnx.merge`. A module that is captured
by a function under `nnx.remat` is reported too.

## Why it is a problem
`jax.checkpoint` knows nothing of the state of objects. A module that is an argument is a copy inside: what the layer
writes to it is lost without an error, so that running statistics never move, counters stand still, and dropout uses
the same mask at every call. Writing to a module that is captured raises `TraceContextError`. flax 0.10.7 and older
raises `TypeError` for a module as an argument. `nnx.remat` over a function that takes the module as an argument carries
the state out.

## When to ignore it
When the module only runs in evaluation (`model.eval()`), so that nothing is written. Modules without state, and bodies
that return the module or its state, are right and not reported.

## Fix safety
Unsafe: `nnx.remat` is put in the place of `jax.checkpoint`, and the module becomes an argument.

## References
<https://flax.readthedocs.io/en/latest/guides/jax_and_nnx_transforms.html>,
<https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/transforms.html#flax.nnx.remat>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity
from remat_lint.jaxapi.frameworks import NNX_STATE
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword
from remat_lint.project.framework_classes import MERGES
from remat_lint.project.framework_uses import Use, uses
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, Moment, WrapSite
from remat_lint.rules import nnx_examples
from remat_lint.rules.conditions import when
from remat_lint.rules.framework_targets import (
    captured_name,
    expects,
    mentions,
    place_of,
    root_name,
    wrapped_method,
    wrapped_module,
)
from remat_lint.rules.rewrapping import add_module, open_module, rename
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent, unsafe

_ERRORS = ("TraceContextError", "TypeError", "Exception")
_EVALUATES = frozenset({"eval", "set_attributes"})
_STATE = frozenset({"state", "split", "pop", "to_pure_dict", "to_flat_state", "pure", "as_pure"})
_OFF = {"Dropout": ("deterministic",), "BatchNorm": ("use_running_average",)}


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """What the fix needs: the site, and the use that changes state."""

    site: WrapSite
    use: Use


class LostNnxState(Rule):
    """`lost-nnx-state`: updates of an nnx module that jax.checkpoint does not carry out."""

    code = "RML502"
    name = "lost-nnx-state"
    category = "correctness"
    severity = Severity.WARNING
    subject = WrapSite
    silence = "no state of an nnx module is seen to change inside"
    examples = nnx_examples.EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report the first change of state that is lost, or that raises."""
        if subject.wrapper.framework not in ("jax", "nnx"):
            return
        for use in uses(subject, project):
            what = changed(use)
            if not what or not _is_meant(use, subject):
                continue
            if mentions(subject, _EVALUATES):
                yield Silent("the module is put into evaluation")
            elif expects(subject, project, *_ERRORS):
                yield Silent("a test expects the error")
            elif use.origin != "captured" and _returns_state(use, subject, project):
                yield Silent("the body returns the state")
            else:
                yield self._report(use, what, subject, project)
            return

    def _report(self, use: Use, what: str, site: WrapSite, project: Analysis) -> Report:
        condition, wrapper = when(project.place(site)), site.wrapper.qualname
        if use.origin == "captured":
            message = (
                f"{what}, but a module that is captured cannot change under {wrapper}: the call raises "
                f"TraceContextError{condition}; use nnx.remat over a function that takes the module as an argument"
            )
        else:
            message = (
                f"{what}, but {wrapper} works on a copy of the module: the change is lost without an error{condition}"
                f"{_consequence(use)}; use nnx.remat (flax 0.10.7 and older: the call raises TypeError)"
            )
            if use.origin == "merged":
                message = (
                    f"{what}, but the module is rebuilt inside {wrapper} and its state is not returned: the change is "
                    f"lost without an error{condition}{_consequence(use)}; return `nnx.state` of it, or use nnx.remat"
                )
        notes = (Note(Place(use.event.module, use.event.at), "this changes the state"),)
        return Report(place_of(site, project), message, self.severity, notes, _Facts(site, use))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Put `nnx.remat` in the place of the wrapper; a captured module becomes the first argument."""
        facts: _Facts = report.facts
        site, use = facts.site, facts.use
        if use.origin == "argument":
            edits = rename(site, "flax.nnx", "remat", project)
            return unsafe("Use nnx.remat", *edits) if edits else None
        if use.origin != "captured" or site.wrapper.framework != "jax":
            return None
        edits = rename(site, "flax.nnx", "remat", project, static="shift")
        more = self._with_module(site, project) if edits else ()
        return unsafe("Use nnx.remat with the module as first argument", *edits, *more) if more else None

    def _with_module(self, site: WrapSite, project: Analysis) -> tuple[Edit, ...]:
        target, bound = wrapped_module(site, "nnx", project), wrapped_method(site, "nnx", project)
        if target is not None and target.node is not None:
            return open_module(site, target.node, "", project)
        if bound is not None and bound.node is not None and isinstance(site.target, n.Attribute):
            return open_module(site, bound.node, f".{site.target.attr}", project)
        names = {
            captured_name(use, site)
            for use in uses(site, project)
            if changed(use) and use.origin == "captured"
        }
        name = names.pop() if len(names) == 1 else ""
        return add_module(site, name, name, project) if name else ()


def changed(use: Use) -> str:
    """Return what a use changes, as the start of a sentence; empty if it changes nothing."""
    if use.kind != "nnx":
        return ""
    if use.deed == "draw":
        return "a random key is drawn from nnx.Rngs"
    if use.deed == "write":
        return f"the variable `{use.name}` is written"
    if use.deed == "method":
        return "`sow` stores a value in the module" if use.name == "sow" else ""
    if use.deed != "layer" or use.name not in NNX_STATE or _is_still(use):
        return ""
    return f"nnx.{use.name} updates {NNX_STATE[use.name]}"


def _is_still(use: Use) -> bool:
    """Whether a layer is visibly made or called so that it changes nothing."""
    calls = [use.module.call if use.module is not None else None]
    calls.append(use.event.node if isinstance(use.event.node, n.Call) else None)
    for call in calls:
        if call is None:
            continue
        for name in _OFF.get(use.name, ()):
            given = keyword(call, name)
            if given is not None and isinstance(given.value, n.Constant) and given.value.value is True:
                return True
        if use.name == "Dropout" and keyword(call, "rngs") is not None and call is calls[1]:
            return True
    made = calls[0]
    if use.name != "Dropout" or made is None:
        return False
    rate = next((a.value for a in made.args if a.keyword in (None, "rate")), None)
    return isinstance(rate, n.Constant) and rate.value in (0, 0.0)


def _is_meant(use: Use, site: WrapSite) -> bool:
    """Whether the object that changes outlives the body, and is not carried out by the wrapper."""
    if site.wrapper.framework == "nnx":
        return use.origin == "captured"
    return use.origin in ("argument", "captured", "merged")


def _returns_state(use: Use, site: WrapSite, project: Analysis) -> bool:
    """Whether a body returns a module or the state of one."""
    own = root_name(use)
    for function in site.functions:
        scope = function.scope
        for event in scope.returns:
            for part in walk(event.value) if isinstance(event.value, n.Expression) else ():
                if isinstance(part, n.Call) and _gives_state(part, Moment(event.scope, event), project):
                    return True
            parts = event.value.items if isinstance(event.value, n.Collection) else (event.value,)
            for item in parts:
                if isinstance(item, n.Name) and (
                    item.id == own or _is_state(item, Moment(event.scope, event), project)
                ):
                    return True
    return False


def _gives_state(call: n.Call, moment: Moment, project: Analysis) -> bool:
    here = Moment(moment.scope, moment.scope.module.happened(call.at) or moment.event)
    for callee in project.evaluate(call.func, here):
        nnx = isinstance(callee, External) and callee.dotted.startswith(
            ("flax.nnx.", "flax.experimental.nnx.")
        )
        if nnx and callee.dotted.rpartition(".")[2] in _STATE:  # type: ignore[union-attr]  # just checked
            return True
    return False


def _is_state(item: n.Name, moment: Moment, project: Analysis) -> bool:
    """Whether a returned name is a module, or was bound to the state of one."""
    if project.frameworks.modules(item, moment):
        return True
    scope = moment.scope.find(item.id)
    for event in scope.bindings.get(item.id, ()) if scope is not None else ():
        if isinstance(event.value, n.Call) and (
            _gives_state(event.value, Moment(event.scope, event), project)
            or _merges(event.value, Moment(event.scope, event), project)
        ):
            return True
    return False


def _merges(call: n.Call, moment: Moment, project: Analysis) -> bool:
    """Whether a call rebuilds a module."""
    here = Moment(moment.scope, moment.scope.module.happened(call.at) or moment.event)
    callees = project.evaluate(call.func, here)
    return any(isinstance(callee, External) and callee.dotted in MERGES for callee in callees)


def _consequence(use: Use) -> str:
    if use.name == "Dropout" or use.deed == "draw":
        return ", and every call draws the same random numbers"
    return ", and the running statistics never move" if use.name == "BatchNorm" else ""
