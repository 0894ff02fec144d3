"""Which expressions of a body hold traced values while JAX traces it.

A parameter that is not static is traced; so is what `jax.numpy` and its like return, whatever goes in. Shapes,
dtypes, lengths and numpy results are not. What an unknown call returns counts as unknown, never as traced.
"""

from __future__ import annotations

from collections.abc import Callable

from remat_lint.facts import nodes as n
from remat_lint.jaxapi import effects
from remat_lint.project import levels
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body
from remat_lint.project.callgraph import Entry
from remat_lint.project.fixpoint import Fixpoint
from remat_lint.project.levels import Level
from remat_lint.project.parameters import Given, passed_to, site_levels, untraced
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.values import (
    External,
    FunctionRef,
    Instance,
    Moment,
    Partial,
    Result,
    Transformed,
    Value,
    Wrapped,
)

_Run = tuple[Scope, tuple[tuple[str, Level], ...]]
"""A function of the project that is run in thought, and the levels of its arguments."""
DEEPEST_CALL = 3
_EAGER = "jax.ensure_compile_time_eval"
_FLATTEN = frozenset({"jax.tree.flatten", "jax.tree_util.tree_flatten", "jax.tree_flatten"})
_TREE_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})


class Taint:
    """Answers for one body."""

    def __init__(self, body: Body, project: Analysis) -> None:
        self.body, self.project = body, project
        self._values = Fixpoint()
        self._calls: tuple[_Run, ...] = ()
        self._depth = 0
        self.as_is = untraced(body, project)
        self._site = site_levels(body, self)

    def level(self, node: n.Expression, moment: Moment) -> Level:
        """Return what is known of `node`, evaluated at `moment` in the body."""
        return self._values.solve(lambda: self._level(node, moment))

    def _level(self, node: n.Expression, moment: Moment) -> Level:
        match node:
            case n.Name():
                return self._name(node, moment)
            case n.Attribute():
                return self._attribute(node, moment)
            case n.Subscript():
                return self._subscript(node, moment)
            case n.Call():
                return self._call(node, moment, ())
            case n.Collection():
                inner = max((self.level(i, moment) for i in node.items if i is not None), default=Level.NONE)
                return Level.NONE if inner is Level.ARRAY else inner
            case n.Operation():
                return levels.combine(
                    node.op, tuple(self.level(operand, moment) for operand in node.operands)
                )
            case n.Conditional():
                return max(self.level(node.body, moment), self.level(node.orelse, moment))
            case n.Bind() if node.value is not None:
                return self.level(node.value, moment)
            case n.Comprehension():
                return self._comprehension(node, moment)
            case _:
                return Level.NONE

    def is_inside(self, scope: Scope) -> bool:
        """Whether a scope's variables live in the trace."""
        return self.body.contains(scope) or any(called is scope.frame for called, _ in self._calls)

    # Names

    def _name(self, node: n.Name, moment: Moment) -> Level:
        scope = moment.scope.find(node.id)
        if scope is None or not self.is_inside(scope):
            return self._captured(node, moment)
        events = scope.bindings.get(node.id, [])
        live = self.live(events, moment, scope.frame)
        return max((self._bound(event) for event in live), default=Level.NONE)

    def live(self, events: list[Event], moment: Moment, frame: Scope) -> list[Event]:
        """Return the bindings that may hold: those before, and those later in a loop around the moment."""
        if moment.event is None or moment.scope.frame is not frame:
            return events
        live = reaching(events, moment.event, frame)
        around = moment.event.loops
        later = [
            event
            for event in events
            if event.order >= moment.event.order
            and any(loop in around for loop in event.loops)
            and event not in live
        ]
        return [*live, *later] or events

    def _bound(self, event: Event) -> Level:
        return self._value((event,), lambda: self._binding(event))

    def _value(self, key: tuple[object, ...], compute: Callable[[], Level]) -> Level:
        """Return what `compute` gives for `key` in the functions that are run in thought."""
        return self._values.value((*key, self._calls, self._depth), compute)

    def _binding(self, event: Event) -> Level:
        if isinstance(event.value, n.Parameter):
            return self._parameter(event.scope, event.value)
        return self.stored(event)

    def stored(self, event: Event) -> Level:
        """Return the level of what a binding or a store gives to its target."""
        return self._values.solve(lambda: self._stored(event))

    def _stored(self, event: Event) -> Level:
        moment = Moment(event.scope, event)
        value = event.value
        if isinstance(event.node, n.Bind) and event.node.how == "augmented":
            return self._augmented(event.node, moment)
        if value is None or isinstance(value, n.Function | n.Class | n.Import | n.Parameter):
            return Level.NONE
        match event.part:
            case "":
                return self.level(value, moment)
            case "element" | "rest":
                return self._element(value, event, moment)
            case "iteration":
                return self._iterated(value, event, moment)
            case _:
                return Level.NONE

    def _augmented(self, node: n.Bind, moment: Moment) -> Level:
        assert node.value is not None
        before, added = self.level(node.targets[0], moment), self.level(node.value, moment)
        return Level.TRACED if Level.ARRAY in (before, added) else max(before, added)

    def _element(self, value: n.Expression, event: Event, moment: Moment) -> Level:
        whole = [levels.position_of(event.target, target) for target in getattr(event.node, "targets", ())]
        path = next((p for p in whole if p is not None), ())
        return self.item(value, path, moment)

    def item(self, value: n.Expression, path: tuple[int, ...], moment: Moment) -> Level:
        """Return the level of the item at `path` of an unpacked value."""
        return self._values.solve(lambda: self._item(value, path, moment))

    def _item(self, value: n.Expression, path: tuple[int, ...], moment: Moment) -> Level:
        if path and isinstance(value, n.Collection) and value.kind in ("tuple", "list"):
            inner = value.items[path[0]] if path[0] < len(value.items) else None
            return Level.NONE if inner is None else self.item(inner, path[1:], moment)
        if isinstance(value, n.Call):
            return self._call(value, moment, path)
        level = self.level(value, moment)
        return Level.TRACED if level is Level.ARRAY and path else level

    def _iterated(self, value: n.Expression, event: Event, moment: Moment) -> Level:
        """Return the level of a loop's target: keys of a dict are Python values, rows of an array are traced."""
        target = event.node.target if isinstance(event.node, n.Loop | n.Clause) else None
        path = levels.position_of(event.target, target) or ()
        if isinstance(value, n.Call):
            dotted = self.dotted(value.func, moment)
            if dotted == "builtins.enumerate" and value.args:
                return Level.NONE if path[:1] == (0,) else self._row(value.args[0].value, moment)
            if dotted == "builtins.zip" and path and path[0] < len(value.args):
                return self._row(value.args[path[0]].value, moment)
            if isinstance(value.func, n.Attribute) and value.func.attr in ("items", "keys", "values"):
                holds = value.func.attr == "values" or (value.func.attr == "items" and path[:1] == (1,))
                return self.level(value.func.value, moment) if holds else Level.NONE
        level = self._row(value, moment)
        return Level.TRACED if path and level is Level.MAYBE else level

    def _row(self, value: n.Expression, moment: Moment) -> Level:
        level = self.level(value, moment)
        if level is Level.ARRAY:
            return Level.TRACED
        computed = isinstance(value, n.Operation | n.Call | n.Collection | n.Comprehension)
        return level if computed or level is Level.NONE else Level.MAYBE

    def _comprehension(self, node: n.Comprehension, moment: Moment) -> Level:
        inner = moment.scope.module.builder.scopes.get(node.at)
        if inner is None:
            return Level.NONE
        inside = Moment(inner, moment.event)
        level = max(self.level(element, inside) for element in node.elements)
        return Level.NONE if level is Level.ARRAY else level

    def _parameter(self, scope: Scope, parameter: n.Parameter) -> Level:
        for called, given in reversed(self._calls):
            if called is scope:
                return dict(given).get(parameter.name, Level.NONE)
        entries = self.body.entries.get(scope, ())
        found = [
            self._site
            if entry.event is None
            else passed_to(entry, Moment(entry.event.scope, entry.event), self)
            for entry in entries
        ]
        return max((given.get(parameter.name, Level.NONE) for given in found), default=Level.NONE)

    # Values from outside

    def _captured(self, node: n.Expression, moment: Moment) -> Level:
        """Return ARRAY for a value that a call of JAX made outside the body."""
        values = self.project.evaluate(node, moment)
        made = [isinstance(value, Result) and effects.makes_traced(value.dotted) for value in values]
        return Level.ARRAY if made and all(made) else Level.NONE

    def _is_captured(self, node: n.Expression, moment: Moment) -> bool:
        while isinstance(node, n.Attribute | n.Subscript):
            node = node.value
        if not isinstance(node, n.Name):
            return False
        scope = moment.scope.find(node.id)
        if scope is None or not self.is_inside(scope):
            return True
        return self.is_receiver(scope, node.id)

    def is_receiver(self, scope: Scope, name: str) -> bool:
        """Whether a name is `self` of a bound method, so that it is captured and no argument."""
        parameters = scope.parameters()
        bound = any(entry.function.receiver is not None for entry in self.body.entries.get(scope, ()))
        return bound and scope.owner_class is not None and bool(parameters) and parameters[0].name == name

    def _attribute(self, node: n.Attribute, moment: Moment) -> Level:
        if node.attr in effects.STATIC_ATTRIBUTES:
            return Level.NONE
        base = self.level(node.value, moment)
        if base is Level.NONE and self._is_captured(node, moment):
            return self._captured(node, moment)
        return levels.attribute_level(node.attr, base)

    def _subscript(self, node: n.Subscript, moment: Moment) -> Level:
        if isinstance(node.value, n.Attribute) and node.value.attr == "at":
            return self.level(node.value.value, moment)
        if isinstance(node.value, n.Collection) and isinstance(node.index, n.Constant):
            number = node.index.value
            if isinstance(number, int) and 0 <= number < len(node.value.items):
                return self.item(node.value, (number,), moment)
        base = self.level(node.value, moment)
        if base is Level.NONE and self._is_captured(node, moment):
            return self._captured(node, moment)
        return Level.TRACED if base is Level.ARRAY else base

    # Calls

    def dotted(self, func: n.Expression, moment: Moment) -> str:
        """Return the dotted name of what is called, if the project does not define it; else an empty text."""
        values = self.project.evaluate(func, moment)
        return values[0].dotted if len(values) == 1 and isinstance(values[0], External) else ""

    def _call(self, node: n.Call, moment: Moment, path: tuple[int, ...]) -> Level:
        """Return the level of a call's result, or of the item at `path` of it."""
        here = Moment(moment.scope, moment.scope.module.happened(node.at) or moment.event)
        key = (node.at, here.scope, here.event, path)
        return self._value(key, lambda: self._called(node, here, path))

    def _called(self, node: n.Call, here: Moment, path: tuple[int, ...]) -> Level:
        callees = self.project.evaluate(node.func, here)
        found = max(self._result(callee, node, here, path) for callee in callees)
        return max(found, self._method(node, here))

    def _operands(self, node: n.Call, moment: Moment) -> Level:
        return max((self.level(argument.value, moment) for argument in node.args), default=Level.NONE)

    def _method(self, node: n.Call, moment: Moment) -> Level:
        """Return the level of the result of a method of arrays or containers."""
        func = node.func
        if not isinstance(func, n.Attribute):
            return Level.NONE
        owner = func.value
        base = self.level(owner, moment)
        if (
            isinstance(owner, n.Subscript)
            and isinstance(owner.value, n.Attribute)
            and owner.value.attr == "at"
        ):
            return Level.TRACED if base is not Level.NONE else Level.NONE
        if base is not Level.NONE and func.attr in levels.ARRAY_METHODS:
            return Level.TRACED
        return base if base is not Level.ARRAY and func.attr in levels.CONTAINER_METHODS else Level.NONE

    def _result(self, callee: Value, node: n.Call, moment: Moment, path: tuple[int, ...]) -> Level:
        match callee:
            case External():
                return self._external(callee.dotted, node, moment, path)
            case Wrapped():
                outside = callee.site.wrapper.framework in ("equinox", "haliax") or not callee.site.functions
                return self._unknown(node, moment) if outside else Level.TRACED
            case Transformed():
                return Level.TRACED if callee.dotted in levels.TRANSFORMED else self._unknown(node, moment)
            case FunctionRef():
                return self._returned(callee, node, moment, path)
            case Partial() if isinstance(callee.target, External):
                return (
                    Level.TRACED
                    if effects.makes_traced(callee.target.dotted)
                    else self._unknown(node, moment)
                )
            case Result():
                unknown = self._unknown(node, moment)
                return (
                    Level.TRACED if unknown is not Level.NONE and levels.is_layer(callee.dotted) else unknown
                )
            case Instance():
                method = self.project.method(callee.cls.scope, "__call__")
                if method is None:
                    return self._unknown(node, moment)
                return self._returned(FunctionRef(method.scope, None, callee), node, moment, path)
            case _:
                return self._unknown(node, moment)

    def _unknown(self, node: n.Call, moment: Moment) -> Level:
        """An unknown call may return a shape or a name as well as an array."""
        return Level.MAYBE if self._operands(node, moment) is Level.TRACED else Level.NONE

    def _external(self, dotted: str, node: n.Call, moment: Moment, path: tuple[int, ...]) -> Level:
        bare = dotted.removeprefix("builtins.")
        if bare in effects.STATIC_CALLS or dotted.startswith(("numpy.", "math.")):
            return Level.NONE
        if effects.makes_traced(dotted):
            return self._operands(node, moment) if self._is_eager(moment) else Level.TRACED
        if dotted in _FLATTEN:
            return self._operands(node, moment) if path[:1] == (0,) else Level.NONE
        operands = self._operands(node, moment)
        if dotted in _TREE_MAPS or dotted == "functools.reduce":
            return self._mapped(node, moment)
        if effects.passes_traced(dotted) or levels.is_activation(dotted):
            return Level.MAYBE if operands is Level.ARRAY else operands
        if dotted in levels.COMPUTING:
            return Level.TRACED if operands is Level.ARRAY else operands
        if dotted in levels.CONTAINERS:
            return Level.NONE if operands is Level.ARRAY else operands
        if dotted == "typing.cast" and len(node.args) > 1:
            return self.level(node.args[1].value, moment)
        return Level.MAYBE if operands is Level.TRACED and not dotted.startswith("builtins.") else Level.NONE

    def _is_eager(self, moment: Moment) -> bool:
        """Whether `jax.ensure_compile_time_eval` makes the calls here compute at once."""
        events = [] if moment.event is None else [moment.event]
        if moment.scope.frame in self.body.entries:
            events += self.body.calls_to(moment.scope.frame)
        return any(
            isinstance(context, n.Call) and self.dotted(context.func, Moment(event.scope, event)) == _EAGER
            for event in events
            for guard in event.guards
            for context, _ in (guard.items if isinstance(guard, n.With) else ())
        )

    def _mapped(self, node: n.Call, moment: Moment) -> Level:
        """Return the level of what a function gives that is applied to the other arguments."""
        if not node.args:
            return Level.NONE
        rest = max((self.level(argument.value, moment) for argument in node.args[1:]), default=Level.NONE)
        level = Level.NONE
        for value in self.project.evaluate(node.args[0].value, moment):
            if isinstance(value, External) and effects.makes_traced(value.dotted):
                level = Level.TRACED
            elif isinstance(value, FunctionRef):
                given = dict.fromkeys((p.name for p in value.scope.parameters()), rest)
                level = max(level, self._run(value.scope, given, ()))
        return level

    def _returned(self, callee: FunctionRef, node: n.Call, moment: Moment, path: tuple[int, ...]) -> Level:
        given = passed_to(Entry(callee, moment.event, node), moment, self)
        return self._run(callee.scope, given, path)

    def _run(self, scope: Scope, given: Given, path: tuple[int, ...]) -> Level:
        """Return the level of what a function of the project returns for arguments of these levels."""
        generator = isinstance(scope.node, n.Function) and scope.node.is_generator
        if self._depth >= DEEPEST_CALL or generator:
            return Level.NONE
        before = self._calls, self._depth
        # Only a function around the called one is seen from inside of it.
        around = tuple(run for run in self._calls if run[0].encloses(scope) and run[0] is not scope)
        self._calls, self._depth = (*around, (scope, tuple(sorted(given.items())))), self._depth + 1
        try:
            return self._value((scope, path), lambda: self._returns(scope, path))
        finally:
            self._calls, self._depth = before

    def _returns(self, scope: Scope, path: tuple[int, ...]) -> Level:
        levels_of = (
            self.item(returned.value, path, Moment(returned.scope, returned))
            for returned in scope.returns
            if isinstance(returned.value, n.Expression)
        )
        return max(levels_of, default=Level.NONE)
