"""Arguments that a `jit` makes static while the checkpoint next to it passes a tracer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import Invocation, invocations
from remat_lint.project.jits import JitStatics, jit_statics
from remat_lint.project.scopes import Scope
from remat_lint.project.statics import shift, static_positions
from remat_lint.project.traversal import is_name, mentions
from remat_lint.project.values import Data, Moment, WrapSite
from remat_lint.rules.traced_flags import TracedFlag, traced_uses


@dataclass(frozen=True, slots=True, eq=False)
class UntracedStatic:
    """One argument.

    Attributes:
        site: the checkpoint.
        jit: the compiled function.
        name: the parameter.
        position: its position in the signature; None if it cannot be passed by position.
        number: its number as the wrapper counts; None if it has none.
        calls: the visible calls.
        reason: what happens, as the end of a sentence.
        use: where the body needs its value, and in which function.
        certain: whether a call passes it, or must.
    """

    site: WrapSite
    jit: JitStatics
    name: str
    position: int | None
    number: int | None
    calls: tuple[Invocation, ...]
    reason: str = ""
    use: tuple[n.Expression, Scope] | None = None
    certain: bool = True

    @property
    def flag(self) -> TracedFlag:
        """The argument as the edits that make arguments static want it."""
        signature = self.jit.signature
        return TracedFlag(self.site, signature, self.name, self.position, self.number, self.calls)


def untraced_statics(site: WrapSite, project: Analysis) -> Iterator[UntracedStatic]:
    """Yield the arguments that are static for a `jit` and traced by the site, where that fails."""
    if not site.wrapper.has_static or site.spread:
        return
    calls = invocations(site, project)
    for jit in jit_statics(site, project):
        static = static_positions(site, jit.signature, project)
        found = [] if static is None else list(_of_jit(site, jit, static, calls, project))
        if found:
            yield from found
            return


def _of_jit(
    site: WrapSite, jit: JitStatics, static: frozenset[int], calls: tuple[Invocation, ...], project: Analysis
) -> Iterator[UntracedStatic]:
    names = [parameter.name for parameter in jit.signature.positional]
    offset = shift(site)
    for name in jit.names:
        position = names.index(name) if name in names else None
        if position in static or (position is None and name in jit.signature.bound):
            continue
        number = None if position is None or offset is None else position - offset
        passed = _is_passed(site, jit, name, position, calls)
        if passed is None or any(_is_string(_given(call, name, position), call, project) for call in calls):
            # A string is refused as an argument before anything else can fail: another rule tells that.
            continue
        if jit.inside:
            yield UntracedStatic(site, jit, name, position, number, calls, certain=passed)
            continue
        need = _need(site, jit, name, project)
        if need is not None:
            reason, use = need
            yield UntracedStatic(site, jit, name, position, number, calls, reason, use, passed)


def _is_passed(
    site: WrapSite, jit: JitStatics, name: str, position: int | None, calls: tuple[Invocation, ...]
) -> bool | None:
    """Whether a call passes an argument, for sure or perhaps; None if every visible call leaves it to its default."""
    parameter = jit.signature.function.scope.parameter(name)
    if parameter is None or parameter.default is None or site.wrapper.framework == "nnx":
        return True
    if not calls:
        return False
    return True if any(_given(call, name, position) is not None for call in calls) else None


def _given(call: Invocation, name: str, position: int | None) -> n.Argument | None:
    if position is not None and position < len(call.positional):
        return call.positional[position]
    return call.keywords.get(name)


def _need(
    site: WrapSite, jit: JitStatics, name: str, project: Analysis
) -> tuple[str, tuple[n.Expression, Scope]] | None:
    """Return why a tracer will not do for an argument, and where the body asks for more."""
    for traced, use in traced_uses(site, project):
        if traced.name == name and not use.maybe:
            error = f"raises {use.error}" if use.error else "fails"
            return f"{use.reason} {error}", (use.node, use.scope)
    node = jit.signature.function.scope.node
    for part in mentions(node, name) if isinstance(node, n.Function) else ():
        if isinstance(part, n.Operation) and _compares_text(part, name):
            return "a string passed as an argument raises TypeError", (part, jit.signature.function.scope)
    return None


def _is_string(given: n.Argument | None, call: Invocation, project: Analysis) -> bool:
    if given is None:
        return False
    values = project.evaluate(given.value, Moment(call.event.scope, call.event))
    return all(
        isinstance(v, Data) and isinstance(v.node, n.Constant) and isinstance(v.node.value, str)
        for v in values
    )


def _compares_text(node: n.Operation, name: str) -> bool:
    texts = [part for part in node.operands if isinstance(part, n.Constant) and isinstance(part.value, str)]
    return node.op in ("==", "!=") and bool(texts) and any(is_name(part, name) for part in node.operands)
