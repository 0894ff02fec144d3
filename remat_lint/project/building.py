"""The pass over a module's nodes that makes its scopes and events."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from remat_lint.facts import nodes as n
from remat_lint.project.located import Located
from remat_lint.project.parents import Parents, inside
from remat_lint.project.scopes import ArmKey, Event, LoopNode, Scope


@dataclass(slots=True)
class _Around:
    """What surrounds the statement being built."""

    scope: Scope
    frame: Scope
    loops: tuple[LoopNode, ...] = ()
    arms: tuple[ArmKey, ...] = ()
    guards: tuple[n.With | n.Try, ...] = ()
    leaves: bool = False

    def inside(
        self,
        *,
        loop: LoopNode | None = None,
        arm: ArmKey | None = None,
        guard: n.With | n.Try | None = None,
    ) -> _Around:
        """Return the surroundings of a block below this statement."""
        return _Around(
            self.scope,
            self.frame,
            self.loops if loop is None else (*self.loops, loop),
            self.arms if arm is None else (*self.arms, arm),
            self.guards if guard is None else (*self.guards, guard),
        )


class Builder:
    """Builds the scopes below one module scope; `happened`, `scopes` and `branches` index what was met by number."""

    def __init__(self, root: Scope) -> None:
        self.root = root
        self.order = 0
        self.happened: dict[int, Event] = {}
        self.scopes: dict[int, Scope] = {}
        self.bodies: list[tuple[n.Statement, ...]] = []
        self.parents = Parents()
        self.located = Located(self.scopes)
        self.branches: dict[int, n.Branch | n.Conditional] = {}

    def build(self, body: tuple[n.Statement, ...]) -> None:
        """Add statements of the module to its scope."""
        if body:
            insort(self.bodies, body, key=_first)
            self.parents.add(body)
            self.located.add(body, self.root)
            self._block(body, _Around(self.root, self.root))

    def extend(self, scope: Scope, body: tuple[n.Statement, ...]) -> None:
        """Add statements to a class of the module that was built without them."""
        assert isinstance(scope.node, n.Class)
        # The one node that changes: what refers to the class is to see all of it, whenever a method is asked for.
        whole = tuple(sorted((*scope.node.body, *body), key=_number))
        object.__setattr__(scope.node, "body", whole)
        self.parents.add(body, scope.node)
        self.located.add(body, scope)
        self._block(body, _Around(scope, scope.frame))

    def _event(self, around: _Around, kind: str, node: n.Node, **more: object) -> Event:
        self.order += 1
        event = Event(
            kind,
            node,
            around.scope,
            around.frame,
            self.order,
            around.loops,
            around.arms,
            around.guards,
            around.leaves,
        )
        for key, value in more.items():
            setattr(event, key, value)
        _insert(around.frame.events, event)
        if kind in ("call", "define"):
            self.happened[node.at] = event
        return event

    # Statements

    def _block(self, body: tuple[n.Statement, ...], around: _Around) -> None:
        ends = bool(body) and isinstance(body[-1], n.Return) and body[-1].how in ("return", "raise", "break")
        inner = _Around(around.scope, around.frame, around.loops, around.arms, around.guards, ends)
        for statement in body:
            _STATEMENTS[type(statement)](self, statement, inner)

    def _evaluate(self, node: n.Evaluate, around: _Around) -> None:
        self._expression(node.value, around)
        if isinstance(node.value, n.Call):
            self.happened[node.value.at].bare = True

    def _bind_statement(self, node: n.Bind, around: _Around) -> None:
        if node.value is not None:
            self._expression(node.value, around)
        if node.annotation is not None:
            self._expression(node.annotation, around)
        if node.how == "annotated" and node.value is None:
            return
        for target in node.targets:
            self._target(target, node, node.value if node.how != "augmented" else None, around)

    def _target(  # noqa: PLR0913, PLR0917 - what an assignment says
        self,
        target: n.Expression,
        node: n.Node,
        value: n.Expression | None,
        around: _Around,
        part: str = "",
        position: int | None = None,
    ) -> None:
        """Bind or store one target; `part` and `position` say how the target relates to `value`."""
        if isinstance(target, n.Name):
            self._bind(target.id, node, around, value=value, part=part, target=target, position=position)
        elif isinstance(target, n.Attribute | n.Subscript):
            self._expression(target.value, around)
            if isinstance(target, n.Subscript):
                self._expression(target.index, around)
            self._event(around, "store", node, value=value, part=part, target=target, position=position)
        elif isinstance(target, n.Collection):
            items: tuple[n.Expression | None, ...] = (None,) * len(target.items)
            if isinstance(value, n.Collection) and not part and len(value.items) == len(target.items):
                items = value.items
            for index, (element, item) in enumerate(zip(target.items, items, strict=True)):
                if element is not None:
                    self._target(
                        element, node, item or value, around, part if item else part or "element", index
                    )
        elif isinstance(target, n.Operation) and target.op == "star":
            self._target(target.operands[0], node, value, around, "rest")

    def _bind(self, name: str, node: n.Node, around: _Around, **more: object) -> Event:
        event = self._event(around, "bind", node, name=name, **more)
        scope = around.scope
        if scope.declared.get(name) == "global":
            scope = self.root
        elif scope.declared.get(name) == "nonlocal" and scope.parent is not None:
            scope = scope.parent.find(name) or scope.parent.frame
        _insert(scope.bindings.setdefault(name, []), event)
        return event

    def _import(self, node: n.Import, around: _Around) -> None:
        for alias in node.names:
            self._bind(alias.bound, alias, around, value=node)

    def _function(self, node: n.Function, around: _Around) -> None:
        for decorator in node.decorators:
            self._expression(decorator, around)
        self._defaults(node, around)
        inner = self._define(node, around)
        self._bind(node.name, node, around, value=node, inner=inner)
        self._body(node, inner)

    def _defaults(self, node: n.Function, around: _Around) -> None:
        for parameter in node.parameters:
            if parameter.default is not None:
                self._expression(parameter.default, around)

    def _define(self, node: n.Function | n.Class, around: _Around) -> Scope:
        kind = "class" if isinstance(node, n.Class) else "function"
        inner = Scope(kind, node, around.scope, self.root.module)
        inner.definition = self._event(around, "define", node, inner=inner)
        insort(around.scope.children, inner, key=_made)
        self.scopes[node.at] = inner
        return inner

    def _body(self, node: n.Function, inner: Scope) -> None:
        _declare(node.body, inner)
        around = _Around(inner, inner)
        for parameter in node.parameters:
            self._bind(parameter.name, parameter, around, value=parameter, part=parameter.kind)
        self._block(node.body, around)

    def _class(self, node: n.Class, around: _Around) -> None:
        for decorator in node.decorators:
            self._expression(decorator, around)
        for base in node.bases:
            self._expression(base.value, around)
        inner = self._define(node, around)
        self._block(node.body, _Around(inner, around.frame, around.loops, around.arms, around.guards))
        self._bind(node.name, node, around, value=node, inner=inner)

    def _return(self, node: n.Return, around: _Around) -> None:
        leaving = _Around(around.scope, around.frame, around.loops, around.arms, around.guards, leaves=True)
        for value in node.values:
            self._expression(value, leaving if node.how in ("return", "raise") else around)
        if node.how == "return":
            around.frame.returns.append(
                self._event(leaving, "return", node, value=next(iter(node.values), None))
            )

    def _declaration(self, node: n.Declare, around: _Around) -> None:
        for name in node.names:
            around.scope.declared[name] = node.how

    def _branch(self, node: n.Branch, around: _Around) -> None:
        self.branches[node.at] = node
        if node.subject is not None:
            self._expression(node.subject, around)
        if node.arms and node.arms[-1].test is None and (node.subject is None or not node.arms[-1].pattern):
            around.frame.complete[node.at] = len(node.arms)
        for number, arm in enumerate(node.arms):
            below = around.inside(arm=(node.at, number))
            for value in arm.pattern:
                self._expression(value, around)
            for name in arm.binds:
                self._bind(name.id, name, below, value=node.subject, part="element")
            if arm.test is not None:
                self._expression(arm.test, around)
            self._block(arm.body, below)

    def _loop(self, node: n.Loop, around: _Around) -> None:
        below = around.inside(loop=node, arm=(node.at, 0))
        if node.iter is not None and node.target is not None:
            self._expression(node.iter, around)
            self._target(node.target, node, node.iter, below, "iteration")
        if node.test is not None:
            self._expression(node.test, below)
        self._block(node.body, below)
        self._block(node.orelse, around)

    def _try(self, node: n.Try, around: _Around) -> None:
        attempt = around.inside(arm=(node.at, 0), guard=node)
        around.frame.complete[node.at] = 1 + len(node.handlers)
        self._block(node.body, attempt)
        for number, handler in enumerate(node.handlers, 1):
            below = around.inside(arm=(node.at, number))
            if handler.type is not None:
                self._expression(handler.type, around)
            if handler.name is not None:
                self._bind(handler.name.id, handler.name, below)
            self._block(handler.body, below)
        self._block(node.orelse, around.inside(arm=(node.at, 0)))
        self._block(node.final, around)

    def _with(self, node: n.With, around: _Around) -> None:
        below = around.inside(guard=node)
        for context, target in node.items:
            self._expression(context, around)
            if target is not None:
                self._target(target, node, context, below, "entered")
        self._block(node.body, below)

    # Expressions

    def _expression(self, node: n.Expression, around: _Around) -> None:
        handler = _EXPRESSIONS.get(type(node))
        if handler is not None:
            handler(self, node, around)
            return
        for child in inside(node):
            self._expression(child, around)  # inside an expression are expressions

    def _call(self, node: n.Call, around: _Around) -> None:
        self._expression(node.func, around)
        for argument in node.args:
            self._expression(argument.value, around)
        self._event(around, "call", node)

    def _lambda(self, node: n.Function, around: _Around) -> None:
        self._defaults(node, around)
        self._body(node, self._define(node, around))

    def _walrus(self, node: n.Bind, around: _Around) -> None:
        if node.value is not None:
            self._expression(node.value, around)
        holder = around.scope
        while holder.kind == "comprehension" and holder.parent is not None:
            holder = holder.parent
        place = _Around(holder, around.frame, around.loops, around.arms, around.guards)
        self._target(node.targets[0], node, node.value, place)

    def _conditional(self, node: n.Conditional, around: _Around) -> None:
        self._expression(node.test, around)
        around.frame.complete[node.at] = 2
        self.branches[node.at] = node
        self._expression(node.body, around.inside(arm=(node.at, 0)))
        self._expression(node.orelse, around.inside(arm=(node.at, 1)))

    def _comprehension(self, node: n.Comprehension, around: _Around) -> None:
        inner = Scope("comprehension", node, around.scope, self.root.module)
        inner.definition = self._event(around, "define", node, inner=inner)
        insort(around.scope.children, inner, key=_made)
        self.scopes[node.at] = inner
        below = _Around(
            inner, around.frame, (*around.loops, node), (*around.arms, (node.at, 0)), around.guards
        )
        for number, clause in enumerate(node.clauses):
            outside = around if number == 0 else below
            self._expression(clause.iter, outside)
            self._target(clause.target, clause, clause.iter, below, "iteration")
            for condition in clause.conditions:
                self._expression(condition, below)
        for element in node.elements:
            self._expression(element, below)


def _insert(events: list[Event], event: Event) -> None:
    """Put an event where it belongs; chunks are built in the order in which somebody asks for them."""
    if events and events[-1].order > event.order:
        insort(events, event, key=_order)
    else:
        events.append(event)


def _order(event: Event) -> int:
    return event.order


def _made(scope: Scope) -> int:
    return scope.definition.order if scope.definition is not None else 0


def _number(statement: n.Statement) -> int:
    return statement.at


def _first(body: tuple[n.Statement, ...]) -> int:
    return body[0].at


def _declare(body: tuple[n.Statement, ...], scope: Scope) -> None:
    """Note `global` and `nonlocal` of a function before its statements: they hold for the whole body."""
    for statement in body:
        match statement:
            case n.Declare():
                for name in statement.names:
                    scope.declared[name] = statement.how
            case n.Branch():
                for arm in statement.arms:
                    _declare(arm.body, scope)
            case n.Loop():
                _declare(statement.body + statement.orelse, scope)
            case n.With():
                _declare(statement.body, scope)
            case n.Try():
                handlers = tuple(s for handler in statement.handlers for s in handler.body)
                _declare(statement.body + handlers + statement.orelse + statement.final, scope)


_STATEMENTS: dict[type, Callable[[Builder, Any, _Around], None]] = {
    n.Evaluate: Builder._evaluate,
    n.Bind: Builder._bind_statement,
    n.Import: Builder._import,
    n.Function: Builder._function,
    n.Class: Builder._class,
    n.Return: Builder._return,
    n.Declare: Builder._declaration,
    n.Branch: Builder._branch,
    n.Loop: Builder._loop,
    n.Try: Builder._try,
    n.With: Builder._with,
}

_EXPRESSIONS: dict[type, Callable[[Builder, Any, _Around], None]] = {
    n.Call: Builder._call,
    n.Function: Builder._lambda,
    n.Comprehension: Builder._comprehension,
    n.Bind: Builder._walrus,
    n.Conditional: Builder._conditional,
}
