"""Which returns of a function an imagined call can reach, as far as what it was given as a function decides."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import (
    ClassRef,
    Data,
    Environment,
    External,
    FunctionRef,
    Partial,
    Transformed,
    Value,
    Wrapped,
)

SPREAD = "*"
"""What an environment holds a value for, beside the parameters, if a call spreads arguments: defaults may not hold."""

_EMPTY = frozenset({"is", "=="})
_FULL = frozenset({"is not", "!="})


def reached_returns(scope: Scope, env: Environment) -> list[Event]:
    """Return the returns that a call may come to.

    Decorators that also work without arguments are told apart by this: `if fn is None: return decorate`.
    """
    found = []
    for event in scope.returns:
        taken = [_takes(at, number, scope, env) for at, number in event.arms]
        if False in taken:
            continue
        found.append(event)
        if all(taken) and not event.loops and not event.guards:
            break
    return found


def _takes(at: int, number: int, scope: Scope, env: Environment) -> bool | None:
    """Whether a branch takes an arm; None if that is not known."""
    node = scope.module.builder.branches.get(at)
    if not isinstance(node, n.Branch) or node.subject is not None:
        return None
    verdicts = [
        None if arm.test is None else _decide(arm.test, scope, env) for arm in node.arms[: number + 1]
    ]
    if True in verdicts[:-1] or verdicts[-1] is False:
        return False
    certain = all(verdict is False for verdict in verdicts[:-1])
    return True if certain and (verdicts[-1] or node.arms[number].test is None) else None


def takes_body(node: n.Conditional, scope: Scope, env: Environment | None) -> bool | None:
    """Return whether a conditional expression comes to its body; None if that is not known."""
    return _decide(node.test, scope, env)


def _decide(test: n.Expression, scope: Scope, env: Environment | None) -> bool | None:
    """Return what a test of a parameter that takes a function comes to; None if that is not known."""
    match test:
        case n.Operation(op="not", operands=(operand,)):
            verdict = _decide(operand, scope, env)
            return None if verdict is None else not verdict
        case n.Operation(op=op, operands=(n.Name() as name, n.Constant(value=None))):
            given = _is_given(name.id, scope, env)
            if given is not None and op in _EMPTY | _FULL:
                return given is (op in _FULL)
        case n.Call(func=n.Name(id="callable"), args=(n.Argument(value=n.Name() as name),)):
            return _is_given(name.id, scope, env)
        case n.Name():
            return _is_given(test.id, scope, env)
    return None


def _is_given(name: str, scope: Scope, env: Environment | None) -> bool | None:
    """Whether a parameter got a function rather than None; None if that is not known, or if it is re-bound."""
    owner = scope.find(name)
    events = () if owner is None else owner.bindings.get(name, ())
    if env is None or owner is None or len(events) != 1 or not isinstance(events[0].value, n.Parameter):
        return None
    if env.get(owner, SPREAD) is not None:
        return None
    values = env.get(owner, name) or ()
    kinds = {_is_function(value) for value in values}
    verdict = kinds.pop() if len(kinds) == 1 else None
    # None for another parameter, as a policy, tells what this call does, and not what the author wants of the branch.
    leads = name == next((p.name for p in owner.parameters() if p.name not in ("self", "cls")), None)
    return verdict if verdict or leads else None


def _is_function(value: Value) -> bool | None:
    match value:
        case FunctionRef() | ClassRef() | Partial() | Transformed() | Wrapped(instance=False):
            return True
        case External(dotted=dotted):
            return None if dotted.startswith("builtins.") else True
        case Data(node=n.Constant(value=None)):
            return False
    return None
