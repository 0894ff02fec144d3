"""The parameters of a checkpointed function that arrive as tracers, the tests on them, and who passes what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.flagtests import FlagTest, flag_tests
from remat_lint.project.invocations import Invocation, Signature, invocations, signatures
from remat_lint.project.scalars import annotated, is_array, scalar
from remat_lint.project.statics import shift, static_positions
from remat_lint.project.values import Moment, WrapSite


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """Why a Python scalar is expected: the call that passes it, and whether its value makes the answers differ."""

    call: Invocation | None
    certain: bool


@dataclass(frozen=True, slots=True, eq=False)
class TracedFlag:
    """A traced parameter: `position` counts in the signature (None: keyword-only), `number` as the wrapper does."""

    site: WrapSite
    signature: Signature
    name: str
    position: int | None
    number: int | None
    calls: tuple[Invocation, ...]

    def given(self, call: Invocation) -> n.Argument | None:
        """Return what a call passes as the parameter."""
        return (
            call.keywords.get(self.name)
            if self.position is None
            else call.given(self.signature, self.position)
        )


def traced_tests(site: WrapSite, project: Analysis) -> Iterator[tuple[TracedFlag, FlagTest]]:
    """Yield the tests on traced parameters in the functions of a site that stand in the file of the site."""
    if not site.wrapper.has_static:
        return
    calls = invocations(site, project)
    for signature in signatures(site, project):
        static = static_positions(site, signature, project)
        scope = signature.function.scope
        if static is not None and scope.module is project.place(site).module:
            for traced in _traced(site, signature, static, calls):
                for test in flag_tests(scope, traced.name, project):
                    yield traced, test


def _traced(
    site: WrapSite, signature: Signature, static: frozenset[int], calls: tuple[Invocation, ...]
) -> Iterator[TracedFlag]:
    """Yield the parameters that are traced."""
    first = 1 if signature.is_method or site.wrapper.framework in ("linen", "flaxformer") else 0
    offset = shift(site)
    for position, parameter in enumerate(signature.positional):
        if position >= first and position not in static and parameter.name not in signature.bound:
            number = None if offset is None else position - offset
            yield TracedFlag(site, signature, parameter.name, position, number, calls)
    for parameter in signature.function.scope.parameters():
        if parameter.kind == "keyword-only" and parameter.name not in signature.bound:
            yield TracedFlag(site, signature, parameter.name, None, None, calls)


def find_evidence(traced: TracedFlag, test: FlagTest, project: Analysis) -> Evidence | None:
    """Return why the parameter is expected to get a Python scalar for which the test can hold."""
    parameter = traced.signature.function.scope.parameter(traced.name)
    assert parameter is not None
    fits = test.admits(annotated(parameter.annotation))
    weak: Evidence | None = None
    for call in traced.calls:
        given = traced.given(call)
        if given is None:
            continue
        moment = Moment(call.event.scope, call.event)
        known = scalar(given.value, moment, project)
        if known is not None and test.admits(known.types):
            if known.certain and (known.value is None or test.differs(known.value)):
                return Evidence(call, certain=True)
            weak = weak or Evidence(call, certain=False)
        elif fits and known is None and not is_array(given.value, moment, project):
            weak = weak or Evidence(call, certain=False)
    if weak is None and not traced.calls and fits and parameter.default is None:
        return Evidence(None, certain=False)
    return weak
