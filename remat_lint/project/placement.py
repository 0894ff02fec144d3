"""Where the result of a wrap site, or a function, is used: called, differentiated, run by a loop of XLA, handed on.

Everything is read from the module in which the user sees the site, so that the answers are the same whichever files
are linted besides. What is handed on to something unknown is unclear, and so is a function that nobody visibly uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import SCANS, lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import function_arguments
from remat_lint.project.modules import Module
from remat_lint.project.parents import inside
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    ClassRef,
    External,
    FunctionRef,
    Given,
    Instance,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

DERIVATIVES = frozenset(
    f"{package}{name}"
    for package, names in (
        ("jax.", ("grad", "value_and_grad")),
        ("flax.nnx.", ("grad", "value_and_grad")),
        ("equinox.filter_", ("grad", "value_and_grad")),
        ("haiku.", ("grad", "value_and_grad")),
    )
    for name in names
)
"""Transformations that run the function and its backward pass in one go."""

_OTHER_DERIVATIVES = frozenset(
    {
        *(f"jax.{name}" for name in ("vjp", "jvp", "linearize", "hessian", "jacfwd", "jacrev", "jacobian")),
        *(f"flax.nnx.{name}" for name in ("vjp", "jvp", "custom_vjp")),
        *(f"equinox.filter_{name}" for name in ("vjp", "jvp", "hessian", "jacfwd", "jacrev", "custom_vjp")),
        *(f"flax.linen.{name}" for name in ("vjp", "jvp", "grad", "value_and_grad", "custom_vjp")),
        *(f"jax.{name}" for name in ("custom_vjp", "custom_jvp", "custom_gradient")),
        "jax.test_util.check_grads",
    }
)
_HIGHEST = 12
_PASSED_ON = frozenset({"transform", "cached", "partial"})
Subject = WrapSite | Scope | n.Parameter
"""What can be used: the result of a site, a function, or what a parameter of a function is given."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """One use of a site's result or of a function.

    Attributes:
        how: call; new (a wrapped class is instantiated); grad (given to `jax.grad` and its like); derivative (to another derivative); loop (run by a loop of
            XLA); now (by something else that calls it at once); made (a transformation is put around it); passed (to
            a function of the project); unclear.
        event: when it happens.
        dotted: the function that it is given to; empty for calls.
        call: the call that gives it, or the call itself.
        parameter: the parameter that it is passed to.
    """

    how: str
    event: Event
    dotted: str = ""
    call: n.Call | None = None
    parameter: n.Parameter | None = None


@dataclass(eq=False, slots=True)
class Contexts:
    """What surrounds the calls of a site's result, outwards up to where a derivative is taken.

    Attributes:
        loops: uses in which a loop of XLA runs it, directly or through the functions that call it.
        grads: uses in which a function around it is differentiated as a whole.
        derivatives: uses in which it is differentiated in another way.
        rounds: calls in a Python loop below the derivative.
        calls: calls of the result itself.
        is_handed_on: whether the result itself is handed on to something unknown, or never seen to be used.
        reaches_top: whether statements of the module itself reach it without a derivative.
    """

    loops: list[Use] = field(default_factory=list)
    grads: list[Use] = field(default_factory=list)
    derivatives: list[Use] = field(default_factory=list)
    rounds: list[Use] = field(default_factory=list)
    calls: list[Use] = field(default_factory=list)
    is_handed_on: bool = False
    reaches_top: bool = False


class Placement:
    """Answers for one module."""

    def __init__(self, module: Module, project: Analysis) -> None:
        self.module, self.project = module, project
        self._uses: dict[int, list[Use]] = {}
        self._sites: dict[Scope, list[WrapSite]] = {}
        for site in project.wrap_sites(module):
            for function in site.functions:
                self._sites.setdefault(function.scope, []).append(site)
        self._surveyed: set[int] = set()
        for event in module.calls():
            self._survey(event)
        self._survey_definitions()
        self._mentions = _Mentions(module)

    def uses(self, subject: Subject) -> tuple[Use, ...]:
        """Return the uses of a site's result, or of a function."""
        return tuple(self._uses.get(id(subject), ()))

    def contexts(self, subject: Subject) -> Contexts:
        """Return what surrounds a site's result, or a function."""
        found = Contexts()
        self._climb(subject, found, {id(subject)}, 0)
        return found

    def is_handed_on(self, subject: Subject) -> bool:
        """Whether a name of the subject is used for more than calls and what is known to call it."""
        if isinstance(subject, n.Parameter):
            return False
        if isinstance(subject, Scope):
            home = subject.parent
            return bool(subject.name) and home is not None and self._is_read(subject.name, home)
        home = self.project.place(subject).scope
        return any(self._is_read(name, home) for name in self._names(subject))

    def _is_read(self, name: str, home: Scope) -> bool:
        binder = home.find(name) if home.kind != "class" else None
        return self._mentions.is_handed_on(name, binder)

    def _names(self, site: WrapSite) -> Iterator[str]:
        """Yield the names, and the attributes, that the result of a site is bound to."""
        place = self.project.place(site)
        if site.definition is not None and not site.via:
            yield site.definition.name
        at = place.at if site.via else site.at
        above = self.module.builder.parents.of(at)
        while isinstance(above, n.Conditional):
            above = self.module.builder.parents.of(above.at)
        if isinstance(above, n.Bind):
            for target in above.targets:
                name = getattr(target, "id", "") or getattr(target, "attr", "")
                if name:
                    yield name

    # Climbing

    def _climb(self, subject: Subject, found: Contexts, seen: set[int], height: int) -> None:
        uses = self.uses(subject)
        working = [use for use in uses if use.how not in ("made", "new")]
        if isinstance(subject, Scope):
            for site in self._sites.get(subject, ()):
                if id(site) not in seen:
                    seen.add(id(site))
                    self._climb(site, found, seen, height + 1)
                working += self.uses(site)
        lost = not working or height > _HIGHEST or any(use.how == "unclear" for use in working)
        if height == 0 and (lost or self.is_handed_on(subject)):
            found.is_handed_on = True
        for use in uses:
            self._sort(use, found, direct=height == 0)
            if use.parameter is not None and id(use.parameter) not in seen:
                seen.add(id(use.parameter))
                self._climb(use.parameter, found, seen, height + 1)
            if use.how in ("call", "now"):
                frame = use.event.frame
                if frame.kind == "module":
                    found.reaches_top = True
                elif id(frame) not in seen:
                    seen.add(id(frame))
                    self._climb(frame, found, seen, height + 1)

    def _sort(self, use: Use, found: Contexts, *, direct: bool) -> None:
        match use.how:
            case "loop":
                found.loops.append(use)
            case "grad":
                found.grads.append(use)
            case "derivative":
                found.derivatives.append(use)
            case "call" | "now":
                if direct:
                    found.calls.append(use)
                if use.event.loops and use.event.frame.kind != "module":
                    found.rounds.append(use)

    # The survey

    def _survey(self, event: Event) -> None:
        call = event.node
        if event.kind != "call" or not isinstance(call, n.Call) or event.at in self._surveyed:
            return
        self._surveyed.add(event.at)
        moment = Moment(event.scope, event)
        callees = self.project.evaluate(call.func, moment)
        if isinstance(call.func, n.Attribute) and call.func.attr == "apply":
            # A linen module runs its `__call__` through `apply`.
            for owner in self.project.evaluate(call.func.value, moment):
                if isinstance(owner, Wrapped) and owner.instance:
                    self._note(owner, "call", event, call, "")
        for callee in callees:
            makes = isinstance(callee, Wrapped) and not callee.instance and _wraps_class(callee.site)
            self._note(callee, "new" if makes else "call", event, call, "")
            target = callee.target if isinstance(callee, Partial) else callee
            if isinstance(target, External):
                self._survey_external(target.dotted, event, call)
            elif isinstance(target, FunctionRef):
                self._survey_project(
                    target, event, call, (callee.call.args[1:] if isinstance(callee, Partial) else ())
                )
            elif not isinstance(target, Wrapped | Instance):
                self._survey_passed(call.args, event, call)

    def _survey_external(self, dotted: str, event: Event, call: n.Call) -> None:
        receiver = lookup_receiver(dotted)
        if receiver is None:
            known = dotted.startswith(("builtins.", "functools."))
            self._survey_passed(() if known else call.args, event, call)
            return
        how = _kind_of(dotted, receiver.kind)
        for argument in function_arguments(receiver, call):
            for value in self.project.evaluate(argument, Moment(event.scope, event)):
                self._note(value, how, event, call, dotted)

    def _survey_passed(self, arguments: tuple[n.Argument, ...], event: Event, call: n.Call) -> None:
        for argument in arguments:
            if isinstance(argument.value, n.Name | n.Attribute | n.Function | n.Call):
                for value in self.project.evaluate(argument.value, Moment(event.scope, event)):
                    self._note(value, "unclear", event, call, "")

    def _survey_project(
        self, callee: FunctionRef, event: Event, call: n.Call, before: tuple[n.Argument, ...]
    ) -> None:
        """Note what a call gives to the parameters of a function of the project."""
        parameters = [p for p in callee.scope.parameters() if p.kind in ("positional-only", "positional")]
        named = {parameter.name: parameter for parameter in callee.scope.parameters()}
        waiting = parameters[(callee.receiver is not None) + sum(a.keyword is None for a in before) :]
        for argument in call.args:
            parameter = named.get(argument.keyword) if argument.keyword else None
            if argument.keyword is None and not argument.star and waiting:
                parameter = waiting.pop(0)
            if not isinstance(argument.value, n.Name | n.Attribute | n.Function | n.Call):
                continue
            for value in self.project.evaluate(argument.value, Moment(event.scope, event)):
                self._note(value, "unclear" if parameter is None else "passed", event, call, "", parameter)
                if isinstance(value, Wrapped | FunctionRef | Transformed | Partial):
                    self._survey_inside(callee.scope)

    def _survey_inside(self, scope: Scope) -> None:
        """Survey what a function of this module does with what it is given."""
        if scope.module is self.module:
            for event in list(scope.events):
                self._survey(event)
            for child in list(scope.children):
                self._survey_inside(child)

    def _survey_definitions(self) -> None:
        for scope in list(self.module.builder.scopes.values()):
            definition = scope.definition
            if not isinstance(scope.node, n.Function) or not scope.node.decorators or definition is None:
                continue
            for bound in scope.parent.bindings.get(scope.name, ()) if scope.parent is not None else ():
                if bound.inner is scope:
                    for value in self.project.bound(bound, None):
                        if isinstance(value, Transformed):
                            how = _kind_of(value.dotted, value.kind)
                            for inner in value.inner:
                                self._note(inner, how, definition, None, value.dotted)

    def _note(  # noqa: PLR0913, PLR0917 - what a use says
        self,
        value: Value,
        how: str,
        event: Event,
        call: n.Call | None,
        dotted: str,
        parameter: n.Parameter | None = None,
    ) -> None:
        use = Use(how, event, dotted, call, parameter)
        match value:
            case Wrapped():
                self._add(value.site, use)
            case FunctionRef():
                self._add(value.scope, use)
            case Given():
                self._add(value.parameter, use)
            case Partial():
                self._note(value.target, how, event, call, dotted, parameter)
            case Instance():
                method = self.project.method(value.cls.scope, "__call__")
                if method is not None:
                    self._add(method.scope, use)
            case Transformed():
                self._note_transformed(value, use)
            case ClassRef() if how in ("loop", "unclear", "passed"):
                self._note_class(value, use)

    def _note_transformed(self, value: Transformed, use: Use) -> None:
        own = _kind_of(value.dotted, value.kind)
        how = use.how if own == "made" else own
        if own == "grad" and use.how in ("grad", "derivative"):
            how = "derivative"
        dotted = use.dotted if how == use.how else value.dotted
        for inner in value.inner:
            self._note(inner, how, use.event, use.call, dotted, use.parameter)

    def _note_class(self, cls: ClassRef, use: Use) -> None:
        for name in ("__call__", "setup"):
            method = self.project.method(cls.scope, name)
            if method is not None:
                self._add(method.scope, use)

    def _add(self, subject: Subject, use: Use) -> None:
        known = self._uses.setdefault(id(subject), [])
        if not any(
            one.event is use.event and one.how == use.how and one.parameter is use.parameter for one in known
        ):
            known.append(use)


def _wraps_class(site: WrapSite) -> bool:
    return any(isinstance(body, ClassRef) for body in site.bodies)


def is_derivative(dotted: str) -> bool:
    """Whether `dotted` takes a derivative of what it is given."""
    return dotted in DERIVATIVES or (dotted in _OTHER_DERIVATIVES and "custom" not in dotted)


def _kind_of(dotted: str, kind: str) -> str:
    """Return how something is used that is given to `dotted`."""
    if dotted in DERIVATIVES:
        return "grad"
    if dotted in _OTHER_DERIVATIVES:
        return "derivative"
    if dotted in SCANS:
        return "loop"
    if kind in _PASSED_ON:
        return "made"
    return "now" if kind in ("now", "now-cached") else "unclear"


class _Mentions:
    """The reads of every name and attribute of a module, by what they are called."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._found: dict[str, list[n.Name | n.Attribute]] = {}
        todo: list[n.Node] = [statement for body in module.builder.bodies for statement in body]
        while todo:
            node = todo.pop()
            if isinstance(node, n.Name | n.Attribute):
                name = node.id if isinstance(node, n.Name) else node.attr
                self._found.setdefault(name, []).append(node)
            todo += inside(node)

    def is_handed_on(self, name: str, binder: Scope | None) -> bool:
        """Whether a name that `binder` binds is read for anything but a call: returned, stored, put into a container."""
        return any(
            self._is_handed_on(node)
            for node in self._found.get(name, ())
            if isinstance(node, n.Attribute) or binder is None or self._scope_of(node).find(name) is binder
        )

    def _scope_of(self, node: n.Node) -> Scope:
        for above in self.module.builder.parents.chain(node.at):
            scope = self.module.builder.scopes.get(above.at)
            if scope is not None:
                return scope
        return self.module.scope

    def _is_handed_on(self, node: n.Name | n.Attribute) -> bool:
        step: n.Node = node
        above = self.module.builder.parents.of(step.at)
        while isinstance(above, n.Conditional) or (
            isinstance(above, n.Operation) and above.op in ("or", "and")
        ):
            step, above = above, self.module.builder.parents.of(above.at)
        if isinstance(above, n.Bind):
            bound = any(target is step for target in above.targets)
            return not bound and not all(isinstance(target, n.Name) for target in above.targets)
        if isinstance(above, n.Function):
            return not any(decorator is step for decorator in above.decorators)
        return isinstance(above, n.Return | n.Collection | n.Comprehension | n.Operation)
