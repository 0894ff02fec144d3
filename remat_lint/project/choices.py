"""What an option can be, each possibility with the place where the program text decides for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.traversal import walk
from remat_lint.project.values import Data, Moment, Value

_DEEPEST = 8
_COMPARING = frozenset({"==", "!=", "in", "not in", "is", "is not"})


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One thing that an expression can stand for.

    Attributes:
        value: what it is.
        node: the expression that gives it, wherever that stands.
        moment: when `node` is evaluated.
        place: the part of the given expression that leads there, or the argument that a caller passes on.
        module: where `place` stands.
        sure: whether nothing else is possible.
        names: the names and attributes that were followed, each with the scope in which it is read.
        table: the dict of which it is an entry, None for other choices.
        key: the entry's key.
    """

    value: Value
    node: n.Expression
    moment: Moment
    place: n.Expression
    module: Module
    sure: bool = True
    names: tuple[tuple[n.Expression, Scope], ...] = ()
    table: n.Collection | None = None
    key: n.Expression | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Way:
    """How far an expression was followed; `inside` tells that it is still a part of what was given."""

    place: n.Expression
    module: Module
    sure: bool = True
    names: tuple[tuple[n.Expression, Scope], ...] = ()
    table: n.Collection | None = None
    key: n.Expression | None = None
    inside: bool = True
    depth: int = 0

    def into(self, node: n.Expression, *, sure: bool) -> _Way:
        """Return the way that leads on into a part of an expression."""
        place = node if self.inside else self.place
        return replace(self, place=place, sure=self.sure and sure, depth=self.depth + 1)

    def through(self, name: n.Expression, scope: Scope, *, sure: bool) -> _Way:
        """Return the way that leads on through a name to what it was bound to."""
        names = (*self.names, (name, scope))
        return replace(self, sure=self.sure and sure, names=names, inside=False, depth=self.depth + 1)


class Choices:
    """Follows the expressions of one project."""

    def __init__(self, project: Analysis) -> None:
        self.project = project

    def of(self, node: n.Expression, moment: Moment) -> tuple[Choice, ...]:
        """Return what an expression can stand for at a moment."""
        return tuple(self._of(node, moment, _Way(node, moment.scope.module)))

    def _of(self, node: n.Expression, moment: Moment, way: _Way) -> Iterator[Choice]:
        if way.depth > _DEEPEST:
            return
        match node:
            case n.Conditional():
                yield from self._of(node.body, moment, way.into(node.body, sure=False))
                yield from self._of(node.orelse, moment, way.into(node.orelse, sure=False))
            case n.Operation() if node.op == "or":
                for operand in node.operands:
                    yield from self._of(operand, moment, way.into(operand, sure=False))
            case n.Operation() if node.op == "and":
                # What stands first only comes out if it is falsy, which means no policy.
                yield from self._of(node.operands[-1], moment, way.into(node.operands[-1], sure=False))
            case n.Bind() if node.value is not None:
                yield from self._of(node.value, moment, way.into(node.value, sure=True))
            case n.Name():
                yield from self._name(node, moment, way)
            case n.Subscript():
                yield from self._entries(node, node.value, node.index, moment, way)
            case n.Call() if isinstance(node.func, n.Attribute) and node.func.attr == "get" and node.args:
                yield from self._entries(node, node.func.value, node.args[0].value, moment, way)
            case _:
                yield from self._leaf(node, moment, way)

    def _leaf(self, node: n.Expression, moment: Moment, way: _Way) -> Iterator[Choice]:
        values = self.project.evaluate(node, moment)
        if isinstance(node, n.Attribute):
            way = way.through(node, moment.scope, sure=True)
        for value in values:
            data = isinstance(value, Data)
            yield Choice(
                value,
                value.node if isinstance(value, Data) else node,
                value.moment if data and isinstance(value, Data) else moment,
                way.place,
                way.module,
                way.sure and len(values) == 1,
                way.names,
                way.table,
                way.key,
            )

    def _name(self, node: n.Name, moment: Moment, way: _Way) -> Iterator[Choice]:
        live = self.live(node.id, moment)
        if any(not _is_plain(event) for event in live) or not live:
            given = self._given(node, live, moment) if len(live) == 1 else None
            if given is None:
                yield from self._mixed(node, live, moment, way)
                return
            argument, there = given
            place = argument if way.inside else way.place
            module = there.scope.module if way.inside else way.module
            caller = replace(way.through(node, moment.scope, sure=True), place=place, module=module)
            yield from self._of(argument, there, replace(caller, inside=way.inside))
            return
        for event in live:
            assert isinstance(event.value, n.Expression)
            there = Moment(event.scope, event, moment.env)
            yield from self._of(event.value, there, way.through(node, moment.scope, sure=len(live) == 1))

    def _mixed(self, node: n.Name, live: list[Event], moment: Moment, way: _Way) -> Iterator[Choice]:
        """Yield the choices of a name that is also bound by something else than a plain assignment."""
        if not live:
            yield from self._leaf(node, moment, way)
        for event in live:
            further = way.through(node, moment.scope, sure=len(live) == 1)
            if _is_plain(event) and isinstance(event.value, n.Expression):
                yield from self._of(event.value, Moment(event.scope, event, moment.env), further)
                continue
            values = self.project.bound(event, moment.env)
            for value in values:
                where = (value.node, value.moment) if isinstance(value, Data) else (node, moment)
                sure = further.sure and len(values) == 1
                yield Choice(value, *where, way.place, way.module, sure, further.names, way.table, way.key)

    def live(self, name: str, moment: Moment) -> list[Event]:
        """Return the bindings of a name that may hold at a moment; none for a name of another module."""
        scope, root = moment.scope.find(name), moment.scope.root
        if scope is None or scope is root:
            events, scope = root.module.lookup(name), root
        else:
            events = scope.bindings[name]
        same = moment.event is not None and scope.frame is moment.scope.frame
        return reaching(events, moment.event if same else None, scope.frame) or events[-1:]

    def _given(self, node: n.Name, live: list[Event], moment: Moment) -> tuple[n.Expression, Moment] | None:
        """Return the argument that the imagined call around passes for a parameter."""
        event, env = live[0], moment.env
        if not isinstance(event.value, n.Parameter) or env is None or not env.via:
            return None
        if env.get(event.scope, node.id) is None:
            return None
        call = env.via[-1].node
        names = [p.name for p in event.scope.parameters() if p.kind in ("positional-only", "positional")]
        if not isinstance(call, n.Call) or any(argument.star for argument in call.args):
            return None
        there = Moment(env.via[-1].scope, env.via[-1])
        for argument in call.args:
            if argument.keyword == node.id:
                return argument.value, there
        positional = [argument.value for argument in call.args if argument.keyword is None]
        if not any(getattr(v, "scope", None) is event.scope for v in self.project.evaluate(call.func, there)):
            return None
        shift = 1 if event.scope.owner_class is not None and isinstance(call.func, n.Attribute) else 0
        index = names.index(node.id) - shift if node.id in names else len(positional)
        return (positional[index], there) if 0 <= index < len(positional) else None

    def _entries(
        self, node: n.Expression, table: n.Expression, index: n.Expression, moment: Moment, way: _Way
    ) -> Iterator[Choice]:
        """Yield what an item of a dict can be; of an item with a known key only that one."""
        tables = [
            value
            for value in self.project.evaluate(table, moment)
            if isinstance(value, Data) and isinstance(value.node, n.Collection) and value.node.kind == "dict"
        ]
        if len(tables) != 1 or not isinstance(tables[0].node, n.Collection):
            yield from self._leaf(node, moment, way)
            return
        shown = tables[0].node
        pairs = list(zip(shown.items[::2], shown.items[1::2], strict=True))
        if isinstance(index, n.Constant):
            pairs = [p for p in pairs if isinstance(p[0], n.Constant) and p[0].value == index.value][-1:]
        sure = len(pairs) == 1
        step = way.through(index, moment.scope, sure=sure)
        if not isinstance(table, n.Collection):
            step = replace(step.through(table, moment.scope, sure=sure), depth=step.depth)
        for key, value in pairs:
            if value is not None:
                yield from self._of(value, tables[0].moment, replace(step, table=shown, key=key))
        if isinstance(node, n.Call) and len(node.args) > 1 and isinstance(node.args[1].value, n.Constant):
            otherwise = node.args[1].value
            yield from self._of(otherwise, moment, way.into(otherwise, sure=False))


def _is_plain(event: Event) -> bool:
    """Whether a binding gives its name the whole of an expression."""
    return event.part == "" and not isinstance(
        event.value, n.Import | n.Parameter | n.Function | n.Class | None
    )


def is_tested(target: n.Expression, scope: Scope) -> bool:
    """Whether the function around compares `target`, or asks a function about it: it may then be replaced or turned away."""
    text = render(target)
    if "…" in text:
        return True
    frame = scope.frame
    if isinstance(frame.node, n.Function):
        nodes = walk(frame.node.body)
    else:
        # A function that tests a variable of the same name means another one, or runs at another time.
        nodes = walk(tuple(frame.module.builder.bodies), lambda node: not isinstance(node, n.Function))
    return any(
        (isinstance(node, n.Branch) and node.subject is not None and render(node.subject) == text)
        or any(_asks(test, text) for test in _tests(node))
        for node in nodes
    )


def _tests(node: n.Node) -> tuple[n.Expression, ...]:
    """Return what a statement or expression decides by."""
    match node:
        case n.Branch():
            found = (node.subject, *(arm.test for arm in node.arms))
        case n.Conditional() | n.Loop():
            found = (node.test,)
        case n.Return() if node.how == "assert":
            found = node.values
        case _:
            return ()
    return tuple(test for test in found if test is not None)


def _asks(test: n.Expression, text: str) -> bool:
    """Whether a test compares something, or hands it to a function; whether it is true or None does not count."""
    for node in walk(test):
        parts: tuple[n.Expression, ...] = ()
        if isinstance(node, n.Operation) and _COMPARING.intersection(node.op.split(",")):
            parts = node.operands
            if any(isinstance(part, n.Constant) and part.value is None for part in parts):
                continue
        elif isinstance(node, n.Call):
            parts = tuple(argument.value for argument in node.args)
            if isinstance(node.func, n.Attribute):
                parts = (*parts, node.func.value)
        if any(render(part) == text for part in parts):
            return True
    return False
