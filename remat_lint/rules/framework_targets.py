"""In which way a site meets a module of a framework: wrapped itself, by a method, or passed as an argument."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.frameworks import Kind
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.framework_classes import FrameworkModule
from remat_lint.project.framework_uses import Use
from remat_lint.project.invocations import Signature, invocations, signatures
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.statics import static_positions
from remat_lint.project.traversal import walk
from remat_lint.project.values import Moment, WrapSite
from remat_lint.rules.expected_errors import expected_at_calls
from remat_lint.rules.rule import Place, Report, Silent


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A module that a site meets.

    Attributes:
        module: the module.
        node: the expression that stands for it; None for `self` of a decorated method.
        scope: where that expression stands.
        text: the expression, for messages.
    """

    module: FrameworkModule
    node: n.Expression | None
    scope: Scope
    text: str


def place_of(site: WrapSite, project: Analysis) -> Place:
    """Return where a site is reported."""
    at = project.place(site).at if site.via else site.at
    return Place(project.place(site).module, at)


def wrapped_module(site: WrapSite, kind: Kind, project: Analysis) -> Target | None:
    """Return the module that is wrapped itself: `W(self.block)`."""
    if site.target is None:
        return None
    moment = Moment(site.event.scope, site.event, site.env)
    for module in project.frameworks.modules(site.target, moment):
        if module.kind == kind:
            return Target(module, site.target, site.scope, render(site.target))
    return None


def wrapped_method(site: WrapSite, kind: Kind, project: Analysis) -> Target | None:
    """Return the module whose bound method is wrapped: `W(self.block.forward)`."""
    if not isinstance(site.target, n.Attribute) or wrapped_module(site, kind, project) is not None:
        return None
    moment = Moment(site.event.scope, site.event, site.env)
    bound = all(function.receiver is not None for function in site.functions)
    for module in project.frameworks.modules(site.target.value, moment):
        if module.kind == kind and bound and (site.functions or site.target.attr == "__call__"):
            return Target(module, site.target.value, site.scope, render(site.target.value))
    return None


def passed_modules(site: WrapSite, kind: Kind, project: Analysis) -> Iterator[Target]:
    """Yield the modules that are traced arguments: `self` of a decorated method, or passed at a visible call."""
    for signature in signatures(site, project):
        static = static_positions(site, signature, project)
        if static is not None:
            yield from _passed_to(signature, static, site, kind, project)


def _passed_to(
    signature: Signature, static: frozenset[int], site: WrapSite, kind: Kind, project: Analysis
) -> Iterator[Target]:
    cls = signature.function.scope.owner_class
    decorated = site.definition is not None and _is_plain_method(site, project)
    if cls is not None and signature.is_method and 0 not in static and decorated:
        for module in project.frameworks.of_class(cls):
            if module.kind == kind:
                yield Target(module, None, cls, signature.positional[0].name)
                return
    for made in invocations(site, project):
        moment = Moment(made.event.scope, made.event)
        for index, argument in enumerate(made.positional[: len(signature.positional)]):
            if argument is not None and index not in static:
                for module in project.frameworks.modules(argument.value, moment):
                    if module.kind == kind:
                        yield Target(module, argument.value, made.event.scope, render(argument.value))


def _is_plain_method(site: WrapSite, project: Analysis) -> bool:
    return all(
        function.scope.owner_class is None or project.method_kind(function.scope) == "method"
        for function in site.functions
    )


def mentions(site: WrapSite, words: frozenset[str]) -> bool:
    """Whether the function around a site, or one of its bodies, spells one of `words`."""
    scopes = [site.scope.frame, *(function.scope for function in site.functions)]
    for scope in scopes:
        for part in walk(scope.node) if scope.node is not None else ():
            if getattr(part, "attr", getattr(part, "id", "")) in words:
                return True
    return False


def is_called_before(use: Use, site: WrapSite) -> bool:
    """Whether what a body calls was visibly called before, outside, by the same name: what it makes is there."""
    call = use.first.node
    func = call.func if isinstance(call, n.Call) else None
    if use.first is site.event:
        func = site.target
    if isinstance(func, n.Attribute) and func.attr == "__call__":
        func = func.value
    if func is None:
        return False
    text = render(func)
    for scope in (step for step in site.scope.ancestors() if step.kind == "function"):
        for event in scope.events:
            before = scope is not site.scope.frame or event.order < site.event.order
            if (
                before
                and isinstance(event.node, n.Call)
                and event.node is not call
                and "…" not in text
                and render(event.node.func) == text
                and not event.arms[len(site.event.arms) :]
            ):
                return True
    return False


def depends_on_parameter(event: Event) -> bool:
    """Whether a branch around an event tests a parameter of a function other than its first."""
    for at, _ in event.arms:
        node = event.module.builder.branches.get(at)
        tests = (
            (node.test,)
            if isinstance(node, n.Conditional)
            else tuple(arm.test for arm in node.arms)
            if node
            else ()
        )
        for part in walk(tuple(test for test in tests if test is not None)):
            if isinstance(part, n.Name):
                scope = event.scope.find(part.id)
                parameter = scope.parameter(part.id) if scope is not None else None
                if scope is not None and parameter is not None and parameter is not scope.parameters()[0]:
                    return True
    return False


def captured_name(use: Use, site: WrapSite) -> str:
    """Return the name by which a body reaches the object of a use, if it is one from outside that can be passed."""
    name = root_name(use)
    found = use.first.scope.find(name) if name else None
    inside = found is None or any(function.scope.encloses(found) for function in site.functions)
    return "" if inside else name


def root_name(use: Use) -> str:
    """Return the variable by which a body reaches the object of a use; empty if there is none."""
    node: n.Expression | None = None
    if isinstance(use.first.node, n.Call):
        node = use.first.node.func
    elif use.first.target is not None:
        node = use.first.target
    while isinstance(node, n.Attribute | n.Subscript):
        node = node.value
    return node.id if isinstance(node, n.Name) else ""


def enclosing_self(site: WrapSite, project: Analysis) -> str:
    """Return what the method of a framework's class around a site calls its object; empty if there is none."""
    if project.frameworks.around(site.scope) is None:
        return ""
    for scope in site.scope.ancestors():
        if scope.owner_class is not None and scope.parameters():
            return scope.parameters()[0].name
    return ""


def first_unless_expected(
    found: Iterator[Report], site: WrapSite, project: Analysis, errors: tuple[str, ...]
) -> Iterator[Report | Silent]:
    """Yield the first report, or why there is none if a test says that the site raises one of `errors`."""
    first = next(found, None)
    if first is not None and expects(site, project, *errors):
        yield Silent("a test expects the error")
    elif first is not None:
        yield first


def expects(site: WrapSite, project: Analysis, *errors: str) -> bool:
    """Whether a test says that the site raises, also where it only calls the class in which the site stands."""
    if expected_at_calls(site, project, *errors):
        return True
    outermost = [scope.node for scope in site.scope.ancestors() if isinstance(scope.node, n.Function)]
    for guard in walk(outermost[-1]) if outermost else ():
        if isinstance(guard, n.With):
            named = tuple(context for context, _ in guard.items)
            if any(getattr(part, "attr", getattr(part, "id", "")) in errors for part in walk(named)):
                return True
    return False
