"""Finds `nn.remat` of something that linen cannot wrap.

## What it does
Reports flax.linen's `nn.remat` (`nn.checkpoint`, `nn.remat_scan`, `flax.linen.partitioning.remat`) of
* a module object (`nn.remat(nn.Dense(4))`) instead of its class;
* a bound method, or a function whose first parameter is not a module;
* a function of arrays, such as `nn.relu` or `model.apply`;
and `methods=` that holds functions instead of names, is a string, or names a method that the class does not have.

## Why it is a problem
`nn.remat` takes a module class, or a function whose first argument is a module, because it lifts that module's variables.
An object raises `TransformTargetError`; with another function the first argument is taken for the module, and the call
raises `AttributeError: … has no attribute '_state'`.

## When to ignore it
When the object is seen wrongly, for example where a field that is annotated as a module holds a class.

## Fix safety
Unsafe: the object becomes the first argument of a function, the module around becomes the first argument of a function
without one (which `static_argnums` counts), functions in `methods` become their names.

## References
<https://flax.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html#flax.linen.remat>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.traversal import is_name, walk
from remat_lint.project.values import (
    ClassRef,
    Data,
    External,
    FunctionRef,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)
from remat_lint.rules import linen_target_examples
from remat_lint.rules.conditions import when
from remat_lint.rules.framework_targets import (
    enclosing_self,
    first_unless_expected,
    place_of,
    wrapped_method,
    wrapped_module,
)
from remat_lint.rules.rewrapping import add_module, open_module
from remat_lint.rules.rule import Place, Report, Rule, Silent, unsafe

_WRAPPERS = frozenset(
    {
        "flax.linen.remat",
        "flax.linen.partitioning.remat",
        "flax.linen.remat_scan",
        "flaxformer.components.transforms.remat",
    }
)
_ERRORS = ("TransformTargetError", "AttributeError", "TypeError", "ValueError", "Exception")
_FUNCTIONS = ("jax.nn.", "jax.numpy.", "jax.lax.", "flax.linen.", "flax.linen.activation.")
_PURE = frozenset({"apply", "init", "init_with_output"})
_USES_ARRAYS = frozenset({"shape", "ndim", "dtype", "T", "astype", "reshape", "sum", "mean", "at"})
_BINARY = frozenset({"+", "-", "*", "/", "@", "**", "//", "%"})


@dataclass(frozen=True, slots=True, eq=False)
class _Facts:
    """What the fix needs: what the site wraps, or the edits of `methods`."""

    site: WrapSite
    owner: n.Expression | None = None
    method: str = ""
    edits: tuple[Edit, ...] = ()


class LinenRematTarget(Rule):
    """`linen-remat-target`: nn.remat of what is neither a class nor a function over a module."""

    code = "RML505"
    name = "linen-remat-target"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "what is wrapped is a class or a function over a module, or is not known"
    examples = linen_target_examples.REMAT_TARGET

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a target that linen refuses."""
        if subject.wrapper.qualname not in _WRAPPERS:
            return
        yield from first_unless_expected(self._found(subject, project), subject, project, _ERRORS)

    def _found(self, site: WrapSite, project: Analysis) -> Iterator[Report]:
        yield from self._methods(site, project)
        place, condition = place_of(site, project), when(project.place(site))
        name = _spelled(site)
        target = wrapped_module(site, "linen", project)
        certain = target is not None and (target.module.call is not None or is_name(target.node, "self"))
        if target is not None and certain and not _may_be_class(site, project):
            message = (
                f"{name} takes a module class, and `{target.text}` is an object: the call raises TransformTargetError"
                f"{condition}; wrap the class, or a function that takes the module as its first argument"
            )
            yield Report(place, message, self.severity, facts=_Facts(site, target.node))
        method = wrapped_method(site, "linen", project)
        if method is not None and isinstance(site.target, n.Attribute):
            message = (
                f"{name} takes the first argument of the function that it wraps for the module, and "
                f"`{render(site.target)}` is bound to its module already: the call raises AttributeError{condition}"
            )
            yield Report(
                place, message, self.severity, facts=_Facts(site, method.node, f".{site.target.attr}")
            )
        elif _is_pure(site, project) or (site.bodies and all(_is_plain(body) for body in site.bodies)):
            what = render(site.target) if site.target is not None else "the function"
            message = (
                f"{name} takes the first argument of the function that it wraps for the module, and `{what}` has "
                f"none: the call raises AttributeError{condition}; use jax.checkpoint for a function of arrays"
            )
            yield Report(place, message, self.severity)
        else:
            yield from self._function(site, place, condition, project)

    def _function(self, site: WrapSite, place: Place, condition: str, project: Analysis) -> Iterator[Report]:
        known = [body for body in site.bodies if isinstance(body, FunctionRef)]
        if len(known) != len(site.bodies) or not known:
            return
        for function in known:
            if function.scope.owner_class is not None or function.receiver is not None:
                return
            first = next(iter(function.scope.parameters()), None)
            if first is not None and not _is_array(function, first, site, project):
                return
        function = known[0]
        named = f"`{function.scope.name}`" if function.scope.name else "the lambda"
        takes = f"for the module, and `{first.name}` is none" if first is not None else "for the module"
        why = "the call raises AttributeError" if first is not None else "the call raises TypeError"
        message = (
            f"{_spelled(site)} takes the first argument of {named} {takes}: {why}{condition}; take the module as the "
            "first parameter and pass it"
        )
        yield Report(place, message, self.severity, facts=_Facts(site))

    def _methods(self, site: WrapSite, project: Analysis) -> Iterator[Report]:
        argument, moment = site.options.get("methods"), site.option_moments.get("methods")
        if argument is None or moment is None or site.via:
            return
        for value in project.evaluate(argument.value, moment):
            node = value.node if isinstance(value, Data) else None
            place = Place(moment.scope.module, argument.value.at)
            if isinstance(node, n.Constant) and isinstance(node.value, str):
                edits = (place.replace(f"[{place.text}]"),) if node is argument.value else ()
                message = (
                    f"`methods` of {_spelled(site)} is a string: it raises ValueError; write a list of names"
                )
                yield Report(place, message, self.severity, facts=_Facts(site, edits=edits))
            elif isinstance(value, FunctionRef):
                edits = (place.replace(f'["{value.scope.name}"]'),) if value.scope.name else ()
                message = f"`methods` of {_spelled(site)} is a function: it raises ValueError; write a list of names"
                yield Report(place, message, self.severity, facts=_Facts(site, edits=edits))
            elif isinstance(node, n.Collection) and isinstance(value, Data):
                yield from self._listed(site, node, value.moment, project)

    def _listed(
        self, site: WrapSite, node: n.Collection, moment: Moment, project: Analysis
    ) -> Iterator[Report]:
        keys = node.items[::2] if node.kind == "dict" else node.items
        functions = [
            item for item in keys if item is not None and _method_name(item, moment, project) is not None
        ]
        module = moment.scope.module
        if functions:
            edits = tuple(
                Place(module, item.at).replace(f'"{_method_name(item, moment, project)}"')
                for item in functions
            )
            message = f"`methods` of {_spelled(site)} takes names: the function `{render(functions[0])}` raises TypeError"
            yield Report(
                Place(module, functions[0].at), message, self.severity, facts=_Facts(site, edits=edits)
            )
        elif node.kind == "set":
            message = f"`methods` of {_spelled(site)} is a set: it raises ValueError; write a list"
            yield Report(Place(module, node.at), message, self.severity)
        else:
            yield from self._absent(site, keys, moment, project)

    def _absent(
        self, site: WrapSite, keys: tuple[n.Expression | None, ...], moment: Moment, project: Analysis
    ) -> Iterator[Report]:
        """Report a name that the wrapped class and its bases do not have."""
        for body in site.bodies:
            if not isinstance(body, ClassRef) or project.external_bases(body.scope) - {"flax.linen.Module"}:
                return
            if any(not isinstance(base, ClassRef | External) for base in project.bases(body.scope)):
                return
            for key in keys:
                if not isinstance(key, n.Constant) or not isinstance(key.value, str):
                    continue
                if not any(key.value in step.bindings for step in project.lineage(body.scope)):
                    message = (
                        f"`methods` of {_spelled(site)} names `{key.value}`, which `{body.scope.name}` does not have: it "
                        "raises AttributeError"
                    )
                    yield Report(Place(moment.scope.module, key.at), message, self.severity)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Wrap a function over the module, pass the module, or write names."""
        facts: _Facts | None = report.facts
        if facts is None:
            return None
        if facts.edits:
            return unsafe("Write the names of the methods", *facts.edits)
        if facts.site.options.keys() & {"static_argnums", "methods"} or facts.site.via:
            return None
        if facts.owner is not None:
            edits = open_module(facts.site, facts.owner, facts.method, project)
            return unsafe("Wrap a function over the module", *edits) if edits else None
        name = enclosing_self(facts.site, project)
        edits = add_module(facts.site, name, name, project) if name else ()
        return unsafe("Pass the module as first argument", *edits) if edits else None


def _spelled(site: WrapSite) -> str:
    return site.wrapper.qualname.replace("flax.linen.remat", "nn.remat")


def _may_be_class(site: WrapSite, project: Analysis) -> bool:
    """Whether what is wrapped may also be a class, in another branch."""
    if site.target is None:
        return True
    values = project.evaluate(site.target, Moment(site.event.scope, site.event, site.env))
    return any(isinstance(v, ClassRef | External | Transformed | Partial | Wrapped) for v in values)


def _is_plain(value: Value) -> bool:
    """Whether something is a function of arrays of JAX or linen."""
    if not isinstance(value, External) or not value.dotted.startswith(_FUNCTIONS):
        return False
    return value.dotted.rpartition(".")[2][:1].islower()


def _is_pure(site: WrapSite, project: Analysis) -> bool:
    """Whether the target is `apply` or `init` of a module."""
    target = site.target
    if not isinstance(target, n.Attribute) or target.attr not in _PURE:
        return False
    moment = Moment(site.event.scope, site.event, site.env)
    return any(m.kind == "linen" for m in project.frameworks.modules(target.value, moment))


def _is_array(function: FunctionRef, first: n.Parameter, site: WrapSite, project: Analysis) -> bool:
    """Whether the first parameter of a function is used as an array, and never as a module."""
    if first.kind not in ("positional", "positional-only") or first.name in ("self", "mdl", "module"):
        return False
    scope, used = function.scope, False
    for event in scope.events:
        call = event.node
        if not isinstance(call, n.Call):
            continue
        if is_name(call.func, first.name):
            return False
        given = any(is_name(argument.value, first.name) for argument in call.args)
        if given:
            moment = Moment(event.scope, event)
            layer = any(m.kind == "linen" for m in project.frameworks.modules(call.func, moment))
            callees = project.evaluate(call.func, moment)
            used = used or layer or any(_is_plain(callee) for callee in callees)
    for part in walk(scope.node.body) if isinstance(scope.node, n.Function) else ():
        if isinstance(part, n.Attribute) and is_name(part.value, first.name):
            if part.attr not in _USES_ARRAYS:
                return False
            used = True
        elif isinstance(part, n.Operation) and part.op in _BINARY:
            used = used or any(is_name(operand, first.name) for operand in part.operands)
    return used and not _is_given_module(site, project)


def _is_given_module(site: WrapSite, project: Analysis) -> bool:
    """Whether a visible call passes a module first."""
    for made in project.site_calls(site):
        for argument in made.call.args[:1]:
            moment = Moment(made.event.scope, made.event)
            if argument.star or project.frameworks.modules(argument.value, moment):
                return True
    return False


def _method_name(item: n.Expression, moment: Moment, project: Analysis) -> str | None:
    """Return the name of the method that an entry of `methods` is; None if it is no function."""
    if not isinstance(item, n.Attribute | n.Name):
        return None
    values = project.evaluate(item, moment)
    if any(isinstance(value, FunctionRef) for value in values):
        return item.attr if isinstance(item, n.Attribute) else item.id
    owners = project.evaluate(item.value, moment) if isinstance(item, n.Attribute) else ()
    if isinstance(item, n.Attribute) and any(isinstance(owner, ClassRef) for owner in owners):
        method = any(isinstance(o, ClassRef) and project.method(o.scope, item.attr) for o in owners)
        return item.attr if method else None
    return None
