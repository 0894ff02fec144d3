"""Where the function that a wrapper returns is used as if it were the function's result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import makes_traced
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.moments import moment_of
from remat_lint.project.scopes import Scope
from remat_lint.project.values import (
    ClassRef,
    External,
    FunctionRef,
    Moment,
    Partial,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)

_ARITHMETIC = frozenset({"+", "-", "*", "/", "//", "%", "**", "@", "<", ">", "<=", ">=", "~", "&", "^"})
_ARRAY_ATTRIBUTES = frozenset(
    """
    shape ndim dtype size T mT at sum mean max min prod std var reshape astype transpose flatten ravel squeeze dot
    argmax argmin block_until_ready item tolist swapaxes clip
    """.split()  # noqa: SIM905 - a list of words
)
_BUILTINS = frozenset(
    f"builtins.{name}" for name in ("sum", "float", "int", "len", "abs", "complex", "round")
)
_LAX = frozenset(
    f"jax.lax.{name}"
    for name in (
        *("stop_gradient", "exp", "log", "tanh", "sin", "cos", "add", "mul", "sub", "div"),
        *("rsqrt", "sqrt", "square", "neg", "abs", "select", "concatenate", "psum", "pmean", "pmax", "pmin"),
    )
)
_TAKING_FUNCTIONS = frozenset(
    f"jax.numpy.{name}"
    for name in (
        *(
            "fromfunction",
            "apply_along_axis",
            "apply_over_axes",
            "piecewise",
            "vectorize",
            "frompyfunc",
            "ufunc",
        ),
        *("fromfile", "fromiter"),
    )
)
_OF_SEVERAL = frozenset(
    """
    add subtract multiply divide true_divide matmul dot vdot inner outer where maximum minimum power mul sub div
    """.split()  # noqa: SIM905 - a list of words
)
"""Functions whose further arguments by position are arrays too; elsewhere these may be options."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueUse:
    """One use of a function as a value.

    Attributes:
        site: the wrapper that returned the function.
        node: the expression that is used.
        scope: where it stands.
        how: what is done with it, as the beginning of a sentence.
        error: the exception that this raises.
    """

    site: WrapSite
    node: n.Expression
    scope: Scope
    how: str
    error: str


def value_uses(module: Module, project: Analysis) -> Iterator[ValueUse]:
    """Yield the uses in a module, in no particular order."""
    sites = project.wrap_sites(module)
    names = _names(sites, module)
    calls = {site.at for site in sites if site.form in ("call", "partial-call") and not site.via}
    if not names and not calls:
        return
    parents = module.builder.parents
    located = module.builder.located
    called = ((node, scope) for node, scope in located.everything() if node.at in calls)
    for node, scope in (*located.names(names), *called):
        above = parents.of(node.at)
        if above is None or not isinstance(node, n.Name | n.Call):
            continue
        found = _use(node, above, scope, project)
        if found is None or (isinstance(above, n.Bind) and any(node is target for target in above.targets)):
            continue
        moment = moment_of(node, scope)
        site = None if moment is None else _only_functions(project.evaluate(node, moment))
        if site is not None and (not found[2] or not _wraps_class(site)):
            yield ValueUse(site, node, scope, found[0], found[1])


def _names(sites: tuple[WrapSite, ...], module: Module) -> set[str]:
    """Return the names that the results of wrappers are bound to."""
    found: set[str] = set()
    for site in sites:
        if site.definition is not None:
            found.add(site.definition.name)
        above = module.builder.parents.of(site.at)
        while isinstance(above, n.Conditional):
            above = module.builder.parents.of(above.at)
        if isinstance(above, n.Bind):
            found |= {target.id for target in above.targets if isinstance(target, n.Name)}
    return found


def _only_functions(values: tuple[Value, ...]) -> WrapSite | None:
    """Return the site of a wrapper's result if nothing but functions is possible besides it."""
    sites = [value.site for value in values if isinstance(value, Wrapped) and not value.instance]
    functions = (Wrapped, FunctionRef, Partial, Transformed, ClassRef)
    return sites[0] if sites and all(isinstance(value, functions) for value in values) else None


def _wraps_class(site: WrapSite) -> bool:
    return site.wrapper.takes == "both"


def _use(node: n.Expression, above: n.Node, scope: Scope, project: Analysis) -> tuple[str, str, bool] | None:
    """Return what is done with an expression, the error, and whether classes allow it."""
    match above:
        case n.Operation(op=op, operands=operands) if _ARITHMETIC.issuperset(op.split(",")):
            if op == "%" and operands[0] is not node and _is_text(operands[0]):
                return None
            return f"`{op}` gets", "TypeError", op in ("&", "^")
        case n.Subscript() if above.value is node:
            return "`[…]` is applied to", "TypeError", True
        case n.Attribute(attr=attr) if attr in _ARRAY_ATTRIBUTES:
            return f"`.{attr}` is asked of", "AttributeError", True
        case n.Bind() if above.value is node:
            how = _assigned(above)
            return (how, "TypeError", False) if how else None
        case n.Loop() if above.iter is node:
            return "the loop gets", "TypeError", False
        case n.Call():
            return _argument(node, above, scope, project)
        case n.Collection(kind="list" | "tuple"):
            outer = scope.module.builder.parents.of(above.at)
            if isinstance(outer, n.Call) and outer.args and outer.args[0].value is above:
                return _argument(above, outer, scope, project)
    return None


def _is_text(node: n.Expression) -> bool:
    return (isinstance(node, n.Constant) and isinstance(node.value, str)) or (
        isinstance(node, n.Operation) and node.op == "string"
    )


def _assigned(node: n.Bind) -> str:
    """Return what an assignment does with its value besides keeping it."""
    if node.how == "augmented":
        return "the augmented assignment gets"
    unpacks = any(isinstance(target, n.Collection) for target in node.targets)
    return "an unpacking assignment gets" if unpacks else ""


def _argument(
    node: n.Expression, call: n.Call, scope: Scope, project: Analysis
) -> tuple[str, str, bool] | None:
    """Return the use as an argument by position of a function that takes arrays."""
    given = next((argument for argument in call.args if argument.value is node), None)
    event = scope.module.happened(call.at)
    if given is None or given.keyword is not None or event is None:
        return None
    if given.star:
        return ("`*` spreads", "TypeError", False) if given.star == "*" else None
    values = project.evaluate(call.func, Moment(event.scope, event))
    names = {value.dotted if isinstance(value, External) else "" for value in values}
    name = next(iter(names))
    several = name.rpartition(".")[2] in _OF_SEVERAL
    if len(names) != 1 or not _takes_arrays(name) or (call.args[0] is not given and not several):
        return None
    return f"`{name.removeprefix('builtins.')}` gets", "TypeError", False


def _takes_arrays(dotted: str) -> bool:
    if dotted in _BUILTINS or dotted in _LAX:
        return True
    numeric = dotted.startswith(("jax.numpy.", "jax.nn.")) and dotted not in _TAKING_FUNCTIONS
    return numeric and makes_traced(dotted) and lookup_receiver(dotted) is None
