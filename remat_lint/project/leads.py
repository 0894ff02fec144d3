"""What a call leads to: the functions that it runs, the wrap sites among them, the transformations around them.

Every call in a function counts as made, in whichever branch it stands; a function that is handed over as an argument
counts as called.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.jaxapi.wrappers import lookup
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.placement import is_derivative
from remat_lint.project.scopes import Scope
from remat_lint.project.values import (
    ClassRef,
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

_DEEPEST = 20
_COMPILERS = frozenset({"jax.jit", "jax.pmap", "flax.nnx.jit", "flax.nnx.pmap", "equinox.filter_jit"})
_CALLABLE = (n.Name, n.Attribute, n.Call, n.Function, n.Conditional)


@dataclass(frozen=True, slots=True)
class Lead:
    """Where a call leads.

    Attributes:
        sites: the wrap sites whose results it runs.
        functions: the functions and classes of the project that it runs, those inside of sites among them.
        derives: whether a derivative is taken on the way.
    """

    sites: frozenset[WrapSite] = frozenset()
    functions: frozenset[Scope] = frozenset()
    derives: bool = False

    def __or__(self, other: Lead) -> Lead:
        return Lead(self.sites | other.sites, self.functions | other.functions, self.derives or other.derives)


_NOWHERE = Lead()
_known: weakref.WeakKeyDictionary[Analysis, dict[tuple[Scope, int], tuple[FunctionRef, Lead]]] = (
    weakref.WeakKeyDictionary()
)
"""What is known of functions, by scope and imagined call; the function is kept so that its call lives on."""


def lead_of(call: n.Call, moment: Moment, project: Analysis, depth: int = 0) -> Lead:
    """Return where a call leads, by what it calls and by the functions that it is given."""
    callees = project.evaluate(call.func, moment)
    home = moment.scope.module if depth else None
    found = lead_of_values(callees, project, depth, home)
    if isinstance(call.func, n.Attribute) and call.func.attr == "apply":
        # A linen module runs its `__call__` through `apply`.
        found |= lead_of_values(project.evaluate(call.func.value, moment), project, depth, home)
    for argument in call.args:
        if isinstance(argument.value, _CALLABLE) and not any(_only_makes(callee) for callee in callees):
            values = project.evaluate(argument.value, moment)
            found |= lead_of_values(values, project, depth, home, called=False)
    return found


def _only_makes(callee: Value) -> bool:
    """Whether calling something external only makes a function of those that it is given."""
    receiver = lookup_receiver(callee.dotted) if isinstance(callee, External) else None
    wrapper = lookup(callee.dotted) if isinstance(callee, External) else None
    return wrapper is not None or (receiver is not None and receiver.kind not in ("now", "now-cached"))


def lead_of_values(
    values: Iterable[Value],
    project: Analysis,
    depth: int = 0,
    home: Module | None = None,
    *,
    called: bool = True,
) -> Lead:
    """Return where calling one of `values` leads; an object that is only an argument leads nowhere.

    Functions of other files than `home` are named but not gone into: a file sees one step beyond itself.
    """
    found = _NOWHERE
    for value in values:
        if called or not isinstance(value, Instance | ClassRef):
            found |= _lead_of_value(value, project, depth, home)
    return found


def _lead_of_value(value: Value, project: Analysis, depth: int, home: Module | None) -> Lead:
    match value:
        case Wrapped():
            inside = lead_of_values(value.site.bodies, project, depth, home)
            return inside | Lead(frozenset({value.site}))
        case Transformed():
            inside = lead_of_values(value.inner, project, depth, home)
            return inside | Lead(derives=is_derivative(value.dotted))
        case External():
            return Lead(derives=is_derivative(value.dotted))
        case Partial():
            return _lead_of_value(value.target, project, depth, home)
        case FunctionRef():
            found = Lead(functions=frozenset({value.scope}))
            is_near = home is None or value.scope.module is home
            return found | _lead_of_frame(value, project, depth) if is_near else found
        case ClassRef():
            return _lead_of_class(value, project, depth, home)
        case Instance():
            return _lead_of_class(value.cls, project, depth, home)
    return _NOWHERE


def _lead_of_class(cls: ClassRef, project: Analysis, depth: int, home: Module | None) -> Lead:
    found = Lead(functions=frozenset({cls.scope}))
    for name in ("__call__", "setup"):
        method = project.method(cls.scope, name)
        if method is not None:
            found |= _lead_of_value(method, project, depth, home)
    return found


def _lead_of_frame(function: FunctionRef, project: Analysis, depth: int) -> Lead:
    """Return where the calls in a function lead."""
    known = _known.setdefault(project, {})
    key = (function.scope, id(function.env))
    if key not in known and depth < _DEEPEST and function.scope.module.matters:
        known[key] = (function, _NOWHERE)  # what it finds on a way back to itself
        found = _NOWHERE
        for event in list(function.scope.events):
            if isinstance(event.node, n.Call):
                found |= lead_of(event.node, Moment(event.scope, event, function.env), project, depth + 1)
        known[key] = (function, found)
    return known[key][1] if key in known else _NOWHERE


def compiled_by(values: Iterable[Value]) -> bool:
    """Whether each of `values` is compiled as a whole when it is first called."""
    known = tuple(values)
    return bool(known) and all(
        isinstance(value, Transformed) and (value.dotted in _COMPILERS or compiled_by(value.inner))
        for value in known
    )
