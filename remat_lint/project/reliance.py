"""Whether a changed argument gets back to the caller, and whether the caller counts on the change."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import Invocation
from remat_lint.project.mutations import Mutation
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import ClassRef, External, FunctionRef, Moment

_COMPUTING = ("jax.", "numpy.", "math.")
_HOLDING = frozenset(
    f"builtins.{name}"
    for name in ("dict", "list", "tuple", "zip", "map", "iter", "enumerate", "reversed", "set")
) | {"jax.tree.map", "jax.tree_util.tree_map", "copy.copy", "jax.block_until_ready", "jax.device_put"}
_DEEPEST = 2


class Flow:
    """Follows one parameter through one function, to what the function returns or puts elsewhere."""

    def __init__(self, scope: Scope, name: str, project: Analysis, depth: int = 0) -> None:
        self.scope, self.project, self.depth = scope, project, depth
        self.names = {name}
        grown = True
        while grown:
            found = {event.name for event in scope.events if event.kind == "bind" and self._passes(event)}
            grown = not found <= self.names
            self.names |= found

    def _passes(self, event: Event) -> bool:
        return isinstance(event.value, n.Expression) and event.part != "iteration" and self.holds(event.value)

    def gets_back(self) -> bool:
        """Whether the function returns the object, or something that may hold it, or stores it somewhere."""
        for event in self.scope.returns:
            if isinstance(event.value, n.Expression) and self.holds(event.value, returned=True):
                return True
        return any(
            event.kind == "store"
            and isinstance(event.value, n.Expression)
            and self.holds(event.value)
            and not self._is_own(event.target)
            for event in self.scope.events
        )

    def _is_own(self, target: n.Expression | None) -> bool:
        while isinstance(target, n.Attribute | n.Subscript):
            target = target.value
        return isinstance(target, n.Name) and target.id in self.names

    def holds(self, node: n.Expression | None, *, returned: bool = False) -> bool:
        """Whether the value of an expression may be the object, or have it inside; an item of it counts if returned."""
        match node:
            case n.Name():
                return node.id in self.names
            case n.Subscript() | n.Attribute():
                return returned and self.holds(node.value, returned=True)
            case n.Call():
                return self._call_holds(node, returned=returned)
            case n.Collection():
                return any(self.holds(item, returned=returned) for item in node.items)
            case n.Comprehension():
                return any(self.holds(clause.iter, returned=True) for clause in node.clauses) or any(
                    self.holds(element, returned=True) for element in node.elements
                )
            case n.Conditional():
                return self.holds(node.body, returned=returned) or self.holds(node.orelse, returned=returned)
            case n.Operation() if node.op in ("or", "and", "star", "|", "+"):
                return any(self.holds(operand) for operand in node.operands)
            case n.Bind():
                return self.holds(node.value, returned=returned)
            case _:
                return False

    def _call_holds(self, call: n.Call, *, returned: bool) -> bool:
        event = self.scope.module.happened(call.at)
        if event is None:
            return True
        owner = call.func.value if isinstance(call.func, n.Attribute) else None
        if owner is not None and self.holds(owner, returned=True):
            return returned or call.func.attr in ("copy", "items", "values", "pop", "get")  # type: ignore[union-attr]  # an attribute, as just seen
        given = [argument for argument in call.args if self.holds(argument.value, returned=returned)]
        if not given:
            return False
        return any(
            self._may_pass_on(value, call)
            for value in self.project.evaluate(call.func, Moment(event.scope, event))
        )

    def _may_pass_on(self, callee: object, call: n.Call) -> bool:
        if isinstance(callee, External):
            return callee.dotted in _HOLDING or not (
                callee.dotted.startswith(_COMPUTING) or callee.dotted.startswith("builtins.")
            )
        if isinstance(callee, FunctionRef) and self.depth < _DEEPEST and callee.receiver is None:
            names = [p.name for p in callee.scope.parameters() if p.kind in ("positional-only", "positional")]
            plain = [argument for argument in call.args if argument.keyword is None and not argument.star]
            pairs = [
                *zip(names, plain, strict=False),
                *((argument.keyword, argument) for argument in call.args if argument.keyword is not None),
            ]
            return any(
                self.holds(argument.value)
                and Flow(callee.scope, name, self.project, self.depth + 1).gets_back()
                for name, argument in pairs
            )
        return not isinstance(callee, ClassRef) or True


def is_read_later(mutation: Mutation, scope: Scope) -> bool:
    """Whether the function itself uses the object after the change, so that the change need not be for the caller."""
    name = mutation.parameter.name
    node = scope.node
    if not isinstance(node, n.Function):
        return True
    event = mutation.call or mutation.event
    keys = _keys(mutation)
    start = event.at if event.frame is scope else -1
    for loop in event.loops:
        start = min(start, loop.at)
    return any(
        isinstance(part, n.Name)
        and part.id == name
        and part.at > start
        and part is not event.target
        and not (mutation.call is not None and event.node in scope.module.builder.parents.chain(part.at))
        and not _is_changed_here(part, scope)
        and not _reads_another(part, scope, keys)
        for part in walk(node.body)
    )


def _keys(mutation: Mutation) -> frozenset[str]:
    """Return the names under which a change stores something; empty if they are not known."""
    index, node = mutation.index, mutation.event.node
    if not mutation.whole:
        return frozenset()
    if isinstance(index, n.Constant) and isinstance(index.value, str):
        return frozenset({index.value})
    if mutation.kind == "update" and isinstance(node, n.Call) and all(a.keyword for a in node.args):
        return frozenset(argument.keyword for argument in node.args if argument.keyword is not None)
    return frozenset()


def _reads_another(name: n.Name, scope: Scope, keys: frozenset[str]) -> bool:
    """Whether a name stands where an item is read that the change has not stored."""
    above = scope.module.builder.parents.of(name.at)
    if not keys or not isinstance(above, n.Subscript) or above.value is not name:
        return False
    index = above.index
    return isinstance(index, n.Constant) and isinstance(index.value, str) and index.value not in keys


def _is_changed_here(name: n.Name, scope: Scope) -> bool:
    """Whether a name stands where it is only changed: the target of a store, the owner of a bare call."""
    parents = scope.module.builder.parents
    step: n.Node = name
    above = parents.of(step.at)
    while isinstance(above, n.Subscript) and above.value is step:
        step, above = above, parents.of(above.at)
    if isinstance(above, n.Bind):
        stored = any(target is step for target in above.targets)
        return stored and not isinstance(step, n.Name) and above.how != "augmented"
    if isinstance(above, n.Attribute):
        call = parents.of(above.at)
        if isinstance(call, n.Call) and call.func is above:
            event = scope.module.happened(call.at)
            return event is not None and event.bare
    return False


def is_fresh(argument: n.Argument, invocation: Invocation) -> bool:
    """Whether an argument is made for the call alone, so that nobody can look at it afterwards."""
    own = any(one is argument for one in invocation.call.args)
    made = isinstance(argument.value, n.Collection | n.Comprehension | n.Call)
    return own and made


def relies(argument: n.Argument, invocation: Invocation) -> bool:
    """Whether the caller visibly uses an argument again after the call, or keeps it in an object."""
    own = any(one is argument for one in invocation.call.args)
    value = argument.value
    if not own or isinstance(value, n.Attribute | n.Subscript):
        return True
    if not isinstance(value, n.Name):
        return False
    event = invocation.event
    frame = event.frame
    bound = [one for one in frame.events if one.kind == "bind" and one.name == value.id]
    for loop in event.loops:
        if not any(loop in one.loops for one in bound):
            return True
    body = frame.node.body if isinstance(frame.node, n.Function) else _module_body(frame)
    later = [
        part
        for part in walk(body)
        if isinstance(part, n.Name)
        and part.id == value.id
        and part.at > invocation.call.at
        and not any(part is inner.value for inner in invocation.call.args)
    ]
    rebound = {one.target.at for one in bound if one.target is not None and one.order > event.order}
    return any(part.at not in rebound for part in later)


def _module_body(frame: Scope) -> tuple[n.Statement, ...]:
    return tuple(statement for body in frame.module.builder.bodies for statement in body)
