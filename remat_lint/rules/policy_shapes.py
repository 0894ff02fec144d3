"""Whether a function of the project can be a policy: what it takes, and what it returns."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.policies import lookup_policy
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    ClassRef,
    Data,
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Result,
    Value,
)

_MATCHES = frozenset({"re.match", "re.search", "re.fullmatch", "re.findall"})
_TESTS = frozenset({"not", "is", "is not", "in", "not in"})


def unfit(value: Value, project: Analysis) -> str:
    """Return why a callable of the project is no policy, with what to do behind a semicolon; empty if it may be one."""
    before, named = 0, set()
    while isinstance(value, Partial):
        if any(argument.star for argument in value.call.args):
            return ""
        before += sum(argument.keyword is None for argument in value.call.args[1:])
        named |= {argument.keyword for argument in value.call.args[1:] if argument.keyword is not None}
        value = value.target
    match value:
        case ClassRef():
            return "" if before or named else _class(value, project)
        case Instance():
            return _object(value, project)
        case FunctionRef():
            return _signature(value, before, named, project) or _answers(value.scope, project)
        case _:
            return ""


def _class(value: ClassRef, project: Analysis) -> str:
    plain = all(
        not step.node.bases and "__new__" not in step.bindings
        for step in project.lineage(value.scope)
        if isinstance(step.node, n.Class)
    )
    if not plain or project.method(value.scope, "__call__") is None:
        return ""
    return "is a class: each operation makes an object of it and no bool; give an object of it"


def _object(value: Instance, project: Analysis) -> str:
    call = project.method(value.cls.scope, "__call__")
    if call is not None:
        bound = FunctionRef(call.scope, call.made, value)
        return _signature(bound, 0, set(), project) or _answers(call.scope, project)
    whole = all(
        isinstance(base, ClassRef)
        for step in project.lineage(value.cls.scope)
        for base in project.bases(step)
    )
    known = not any(
        "__call__" in step.bindings or _is_decorated(step) for step in project.lineage(value.cls.scope)
    )
    return "has no `__call__`" if whole and known else ""


def _is_decorated(cls: Scope) -> bool:
    return isinstance(cls.node, n.Class) and any(base.keyword for base in cls.node.bases)


def _signature(value: FunctionRef, before: int, named: set[str], project: Analysis) -> str:
    """Return what is wrong with the parameters; JAX gives an operation, its operands, and its parameters by name."""
    scope = value.scope
    kinds = [parameter.kind for parameter in scope.parameters()]
    own = scope.owner_class is not None and project.method_kind(scope) != "staticmethod"
    if own and value.receiver is None:
        return ""
    taken = before + (1 if own else 0)
    positional = [p for p in scope.parameters() if p.kind in ("positional-only", "positional")][taken:]
    positional = [p for p in positional if p.name not in named]
    required = [p for p in positional if p.default is None]
    if "double-star" not in kinds:
        if "star" not in kinds and not positional and not before:
            return "takes no operation; if it makes a policy, call it"
        return "takes no `**params`: JAX passes the parameters of each operation by keyword"
    if "star" not in kinds and len(positional) <= 2:  # noqa: PLR2004 - the operation and one operand
        most = "no operand" if len(positional) <= 1 else "one operand"
        return f"takes {most} of the operation, and many operations have more"
    if len(required) > 2:  # noqa: PLR2004 - the operation and one operand
        return f"needs {len(required) - 1} operands, and many operations have one"
    return ""


def _answers(scope: Scope, project: Analysis) -> str:
    """Return what is wrong with the value; JAX wants a bool, or one of its own marks."""
    function = scope.node
    if not isinstance(function, n.Function):
        return ""
    if function.is_async:
        return "is asynchronous, and a coroutine is no answer"
    if function.is_generator:
        return "is a generator, and that is no answer"
    for event in scope.returns:
        if event.value is None:
            return "returns None in one place"
        found = _no_bool(event.value, event, project) if isinstance(event.value, n.Expression) else ""
        if found:
            return f"returns {found}"
    if not function.is_lambda and not _is_stub(function) and _falls_through(function.body):
        return "returns None where it ends without `return`"
    return ""


def _no_bool(node: n.Expression, event: Event, project: Analysis) -> str:
    """Return what an expression gives instead of a bool; empty if it may give one."""
    match node:
        case n.Constant():
            return "" if isinstance(node.value, bool) else _kind_of(node)
        case n.Conditional():
            return _no_bool(node.body, event, project) or _no_bool(node.orelse, event, project)
        case n.Collection() | n.Comprehension():
            return f"a {node.kind}"
        case n.Function():
            return "a function"
        case n.Operation() if node.op == "string":
            return "a string"
        case n.Name() | n.Attribute() | n.Call():
            values = project.evaluate(node, Moment(event.scope, event))
            kinds = [_no_bool_value(value, event, project) for value in values]
            return kinds[0] if all(kinds) else ""
        case _:
            return ""


def _no_bool_value(value: Value, event: Event, project: Analysis) -> str:
    match value:
        case External():
            return "a policy and does not ask it" if lookup_policy(value.dotted) is not None else ""
        case Result():
            policy = lookup_policy(value.dotted)
            if policy is not None:
                return "a policy and does not ask it" if policy.kind != "policy" else ""
            return "a match or None" if value.dotted in _MATCHES else ""
        case FunctionRef() | Partial():
            return "a function"
        case Data() if isinstance(value.node, n.Constant | n.Collection):
            return _no_bool(value.node, event, project)
        case _:
            return ""


def _kind_of(node: n.Constant) -> str:
    if node.value is None:
        return "None"
    if isinstance(node.value, str):
        return "" if node.kind else "a string"
    return "a number" if isinstance(node.value, int | float | complex) else ""


def _is_stub(function: n.Function) -> bool:
    """Whether a function has no body of its own yet: a docstring, `...` or `pass`."""
    return all(
        (isinstance(s, n.Evaluate) and isinstance(s.value, n.Constant))
        or (isinstance(s, n.Return) and s.how == "pass")
        for s in function.body
    )


def _falls_through(body: tuple[n.Statement, ...]) -> bool:
    """Whether the end of a block can be reached, as far as that is plain."""
    if not body:
        return True
    last = body[-1]
    match last:
        case n.Return():
            return last.how in ("pass", "assert")
        case n.Branch() if last.subject is None:
            complete = last.arms[-1].test is None
            return not complete or any(_falls_through(arm.body) for arm in last.arms)
        case n.Loop():
            return last.test is None and not last.orelse
        case n.Branch() | n.Try() | n.With():
            return False
        case _:
            return True
