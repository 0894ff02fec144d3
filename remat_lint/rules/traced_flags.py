"""The parameters of a checkpointed function that arrive as tracers, what the body asks of them, and who passes what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body, bodies
from remat_lint.project.flags import Flags, FlagUse
from remat_lint.project.flagtests import FLAG_NAMES, FlagTest, flag_tests
from remat_lint.project.invocations import Invocation, Signature, invocations, signatures
from remat_lint.project.origins import Origins
from remat_lint.project.scalars import annotated, is_array, scalar
from remat_lint.project.scopes import Scope
from remat_lint.project.statics import shift, static_positions
from remat_lint.project.traversal import is_name, mentions, walk
from remat_lint.project.values import Data, Moment, WrapSite
from remat_lint.project.visits import Visit


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

    @property
    def parameter(self) -> n.Parameter:
        """The parameter itself."""
        parameter = self.signature.function.scope.parameter(self.name)
        assert parameter is not None
        return parameter

    def given(self, call: Invocation) -> n.Argument | None:
        """Return what a call passes as the parameter."""
        return (
            call.keywords.get(self.name)
            if self.position is None
            else call.given(self.signature, self.position)
        )


def traced_flags(site: WrapSite, project: Analysis) -> Iterator[TracedFlag]:
    """Yield the traced parameters of the functions of a site."""
    if not site.wrapper.has_static:
        return
    calls = invocations(site, project)
    for signature in signatures(site, project):
        static = static_positions(site, signature, project)
        if static is not None:
            yield from _traced(site, signature, static, calls)


def traced_tests(site: WrapSite, project: Analysis) -> Iterator[tuple[TracedFlag, FlagTest]]:
    """Yield the tests on traced parameters in the functions of a site, and in helpers that get them."""
    flags = list(traced_flags(site, project))
    for traced in flags:
        for test in flag_tests(traced.signature.function.scope, traced.name, project):
            yield traced, test
    for body in bodies(site, project) if flags else ():
        root = body.root.function.scope
        mine = _of_body(flags, body)
        helpers = [scope for scope in body.scopes if not root.encloses(scope)]
        origins = Origins(body, project) if helpers and mine else None
        for helper in helpers if origins is not None else ():
            for parameter in helper.parameters():
                names = origins.of_parameter(helper, parameter) if origins is not None else frozenset()
                for test in flag_tests(helper, parameter.name, project) if names else ():
                    for name in sorted(names & mine.keys()):
                        yield mine[name], test


def traced_uses(site: WrapSite, project: Analysis) -> Iterator[tuple[TracedFlag, FlagUse]]:
    """Yield the traced parameters of which the functions of a site need the Python value, with each use."""
    for flags, use in joint_uses(site, project):
        yield from ((traced, use) for traced in flags)


def joint_uses(site: WrapSite, project: Analysis) -> Iterator[tuple[tuple[TracedFlag, ...], FlagUse]]:
    """Yield what the functions of a site need Python values for, with the traced parameters that these come from."""
    flags = list(traced_flags(site, project))
    for body in bodies(site, project) if flags else ():
        if body.root.through in ("", "class"):
            mine = _of_body(flags, body)
            for use in Flags(body, project).uses() if mine else ():
                if not use.names.isdisjoint(mine):
                    yield tuple(mine[name] for name in sorted(use.names) if name in mine), use


def traced_uses_in_tries(
    body: Body, project: Analysis
) -> Iterator[tuple[tuple[TracedFlag, ...], FlagUse, Visit]]:
    """Yield the same for what stands inside a `try` of one body, with where it stands."""
    mine = _of_body(list(traced_flags(body.site, project)), body)
    for use, visit in Flags(body, project).in_tries() if mine else ():
        if not use.names.isdisjoint(mine):
            yield tuple(mine[name] for name in sorted(use.names) if name in mine), use, visit


def _of_body(flags: list[TracedFlag], body: Body) -> dict[str, TracedFlag]:
    """Return the flags of the wrapped function of a body by name."""
    root = body.root.function.scope
    return {flag.name: flag for flag in flags if flag.signature.function.scope is root}


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
    parameter = traced.parameter
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


def find_use_evidence(traced: TracedFlag, use: FlagUse, project: Analysis) -> Evidence | None:
    """Return why the parameter is expected to get a Python scalar where the body needs one."""
    parameter = traced.parameter
    flag = isinstance(parameter.default, n.Constant) and isinstance(parameter.default.value, bool)
    named = use.truth and traced.name in FLAG_NAMES
    likely = bool(annotated(parameter.annotation)) or flag or named or not use.truth
    weak: Evidence | None = None
    for call in traced.calls:
        given = traced.given(call)
        if given is None or _is_dropped(traced.site, given):
            continue
        moment = Moment(call.event.scope, call.event)
        known = scalar(given.value, moment, project)
        if _is_shape(given.value, moment, project) and use.reason.endswith("a shape"):
            return Evidence(call, certain=True)
        if known is not None:
            if known.certain and not use.maybe:
                return Evidence(call, certain=True)
            weak = weak or Evidence(call, certain=False)
        elif (
            likely
            and not is_array(given.value, moment, project)
            and not _is_other(given.value, moment, project)
        ):
            weak = weak or Evidence(call, certain=False)
    if weak is None and not traced.calls and likely and parameter.default is None:
        return Evidence(None, certain=False)
    return weak


def _is_dropped(site: WrapSite, given: n.Argument) -> bool:
    """Whether a wrapper that drops keyword arguments leaves the parameter to its default."""
    return given.keyword is not None and bool(shift(site))


def _is_other(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    """Whether a value is known to be None, a string or a container: none of them is traced as a number."""
    return any(
        isinstance(value, Data)
        and isinstance(value.node, n.Constant | n.Collection | n.Comprehension | n.Function)
        for value in project.evaluate(node, moment)
    )


def _is_shape(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    """Whether an expression is a tuple of Python numbers, each of which is traced."""
    if isinstance(node, n.Attribute) and node.attr == "shape":
        return True
    items = node.items if isinstance(node, n.Collection) and node.kind in ("tuple", "list") else ()
    known = [scalar(item, moment, project) for item in items if item is not None]
    return bool(known) and all(one is not None and one.certain for one in known)


def share(one: WrapSite, other: WrapSite) -> bool:
    """Whether two sites may wrap the same function."""
    scopes = {id(getattr(body, "scope", None)) for body in one.bodies} - {id(None)}
    return any(id(getattr(body, "scope", None)) in scopes for body in other.bodies)


def is_static_elsewhere(traced: TracedFlag, project: Analysis) -> bool:
    """Whether the file also wraps the same function with the parameter static."""
    site, scope = traced.site, traced.signature.function.scope
    for other in project.wrap_sites(project.place(site).module):
        if other is not site and traced.position is not None and share(other, site):
            for signature in signatures(other, project):
                static = static_positions(other, signature, project)
                if signature.function.scope is scope and traced.position in (static or ()):
                    return True
    return False


def is_told_apart(traced: TracedFlag, at: int) -> bool:
    """Whether a test stands under a condition on another parameter, which may tell if the flag is static."""
    scope = traced.signature.function.scope
    others = {p.name for p in scope.parameters()} - {traced.name}
    parents = scope.module.builder.parents
    step = at
    for above in parents.chain(at):
        tests: list[n.Expression] = []
        if isinstance(above, n.Operation) and above.op in ("and", "or"):
            tests = [part for part in above.operands if part.at != step]
        elif isinstance(above, n.Branch):
            tests = [arm.test for arm in above.arms if arm.test is not None and arm.test.at != step]
        elif isinstance(above, n.Conditional):
            tests = [above.test] if above.test.at != step else []
        if any(isinstance(part, n.Name) and part.id in others for test in tests for part in walk(test)):
            return True
        step = above.at
    return False


def asks_type(scope: Scope, name: str) -> bool:
    """Whether a function asks for the type of a parameter, and so may treat a tracer apart."""
    asking = ("isinstance", "type", "hasattr", "callable", "is_traced")
    return isinstance(scope.node, n.Function) and any(
        isinstance(node, n.Call)
        and getattr(node.func, "id", "") in asking
        and any(is_name(argument.value, name) for argument in node.args)
        for node in mentions(scope.node, name)
    )
