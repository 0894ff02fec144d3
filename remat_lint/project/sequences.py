"""What lists and tuples hold: displays, what is added to them later, what a loop over them or a subscript takes out."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.lookups import MOST_VALUES, NOTHING, Lookups
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.values import (
    UNKNOWN,
    Access,
    ClassRef,
    Data,
    Instance,
    Moment,
    Result,
    Several,
    Value,
)

_SAME_ITEMS = frozenset(
    {"builtins.list", "builtins.tuple", "builtins.reversed", "builtins.sorted", "builtins.set"}
)
_ADDERS = {"append": 0, "insert": 1, "add": 0, "appendleft": 0}
_ENUMS = frozenset({"enum.Enum", "enum.StrEnum", "enum.IntEnum", "enum.Flag", "enum.IntFlag"})


class Sequences(Lookups):
    """The part of the resolver that takes values out of collections."""

    def __init__(self, project: object) -> None:
        super().__init__(project)  # type: ignore[arg-type]  # the same project; its type is named once, in Members
        self._displays: dict[Scope, dict[int, Event]] = {}
        self._added: dict[tuple[Scope, str], list[tuple[n.Expression, Event, bool]]] = {}

    def items(self, node: n.Expression, moment: Moment, position: int | None) -> tuple[Value, ...]:
        """Return what a round of a loop over `node` binds: an item, or its part at `position`."""
        if isinstance(node, n.Call) and isinstance(node.func, n.Attribute) and not node.args:
            found = self._of_dict(node.func, moment, position)
            if found:
                return found
        values: list[Value] = []
        for whole in self._wholes(node, moment):
            values += self._items_of(whole, moment, position)
        return tuple(values)

    def _of_dict(self, func: n.Attribute, moment: Moment, position: int | None) -> tuple[Value, ...]:
        """Return what a loop over the values or items of a dict written out binds."""
        values: list[Value] = []
        if func.attr in ("values", "items"):
            for base in self.evaluate(func.value, moment):
                if (
                    isinstance(base, Data)
                    and isinstance(base.node, n.Collection)
                    and base.node.kind == "dict"
                ):
                    start = 0 if func.attr == "items" and position == 0 else 1
                    if func.attr == "values" or position is not None:
                        for item in base.node.items[start::2]:
                            values += NOTHING if item is None else self.evaluate(item, base.moment)
        return tuple(values)

    def _items_of(self, whole: Value, moment: Moment, position: int | None) -> tuple[Value, ...]:
        match whole:
            case Result():
                return self._items_of_result(whole, moment, position)
            case Several():
                inner = tuple(value for item in whole.items for value in item)
                return inner if position is None else self._parts(inner, position)
            case Data():
                # A loop makes a list of itself: `xs = [*xs, x]`, `xs = xs + [x]`.
                there = whole.moment
                guard = ("items", whole.node.at, there.scope, there.event, id(there.env), position)
                if guard in self.active:
                    return NOTHING
                self.active.add(guard)
                try:
                    return self._items_of_data(whole, position)
                finally:
                    self.active.discard(guard)
        return NOTHING

    def _items_of_data(self, whole: Data, position: int | None) -> tuple[Value, ...]:
        match whole:
            case Data(node=n.Collection() as display) if display.kind != "dict":
                return self._displayed(whole, display, position)
            case Data(node=n.Operation() as sum_) if sum_.op == "+":
                return tuple(v for o in sum_.operands for v in self.items(o, whole.moment, position))
            case Data(node=n.Operation() as product) if product.op == "*":
                return self.items(product.operands[0], whole.moment, position)
            case Data(node=n.Comprehension() as made) if position is None and made.kind != "dict":
                inner_scope = whole.moment.scope.module.builder.scopes.get(made.at)
                if inner_scope is not None:
                    inside = Moment(inner_scope, whole.moment.event, whole.moment.env)
                    return self.taken(self.evaluate(made.elements[0], inside), whole)
        return NOTHING

    def _items_of_result(self, whole: Result, moment: Moment, position: int | None) -> tuple[Value, ...]:
        """Return what a loop over `zip(…)`, `enumerate(…)`, `reversed(…)` and the like binds."""
        args = whole.call.args
        index = 0
        if whole.dotted in ("builtins.zip", "builtins.enumerate"):
            if position is None:
                return NOTHING
            index, position = position - (whole.dotted == "builtins.enumerate"), None
        elif whole.dotted not in _SAME_ITEMS:
            return NOTHING
        guard = ("items", whole.call.at, whole.event, id(moment.env))
        if (
            whole.event is None
            or not 0 <= index < len(args)
            or any(a.star for a in args)
            or guard in self.active
        ):
            return NOTHING
        self.active.add(guard)
        try:
            return self.items(args[index].value, Moment(whole.event.scope, whole.event, moment.env), position)
        finally:
            self.active.discard(guard)

    def _displayed(self, whole: Data, display: n.Collection, position: int | None) -> tuple[Value, ...]:
        """Return the items of a display, and those that its list gets later."""
        values: list[Value] = []
        for item in display.items:
            if isinstance(item, n.Operation) and item.op == "star":
                values += self.items(item.operands[0], whole.moment, position)
            elif position is None:
                values += NOTHING if item is None else self.evaluate(item, whole.moment)
            elif isinstance(item, n.Collection) and item.kind == "tuple" and position < len(item.items):
                part = item.items[position]
                values += NOTHING if part is None else self.evaluate(part, whole.moment)
            else:
                values.append(UNKNOWN)
        for node, event, spread in self._additions(whole):
            there = Moment(event.scope, event, whole.moment.env)
            if spread:
                values += self.items(node, there, position)
            elif position is not None:
                values += self.part(node, there, position)
            else:
                values += self.evaluate(node, there)
        return self.taken(tuple(values), whole)

    def part(self, node: n.Expression, moment: Moment, position: int | None) -> tuple[Value, ...]:
        """Return what unpacking `node` gives the target at `position`."""
        return NOTHING if position is None else self._parts(self.evaluate(node, moment), position)

    def _parts(self, wholes: tuple[Value, ...], position: int) -> tuple[Value, ...]:
        values: list[Value] = []
        for whole in wholes:
            values += self._item_at(whole, position) or NOTHING
        return tuple(values)

    def _item_at(self, whole: Value, index: int) -> tuple[Value, ...]:
        """Return the item at a place; nothing if it is not known which one that is."""
        if isinstance(whole, Several):
            return whole.items[index] if -len(whole.items) <= index < len(whole.items) else ()
        if not isinstance(whole, Data) or not isinstance(whole.node, n.Collection):
            return ()
        items = whole.node.items
        fixed = whole.node.kind in ("tuple", "list") and not any(
            isinstance(item, n.Operation) and item.op == "star" for item in items
        )
        if not fixed or self._additions(whole):
            return self._displayed(whole, whole.node, None) if whole.node.kind != "dict" else ()
        item = items[index] if -len(items) <= index < len(items) else None
        return () if item is None else self.taken(self.evaluate(item, whole.moment), whole)

    def subscript(self, node: n.Subscript, moment: Moment) -> tuple[Value, ...]:
        """Return what `value[index]` can stand for: an item, any item if the index is not known, a member."""
        values: list[Value] = []
        for base in self._wholes(node.value, moment):
            values += self._subscripted(base, node, moment) or (Data(node, moment),)
        return tuple(values)

    def _subscripted(self, base: Value, node: n.Subscript, moment: Moment) -> tuple[Value, ...]:
        index = node.index.value if isinstance(node.index, n.Constant) else None
        if isinstance(node.index, n.Operation) and node.index.op == "-" and len(node.index.operands) == 1:
            negated = node.index.operands[0]
            if isinstance(negated, n.Constant) and isinstance(negated.value, int):
                index = -negated.value
        if isinstance(base, ClassRef):
            # A member of an enumeration by its name, or a generic class with its parameters.
            return (Instance(base),) if self.external_bases(base.scope) & _ENUMS else (base,)
        if isinstance(base, Data) and isinstance(base.node, n.Collection) and base.node.kind == "dict":
            return self._value_of(base, base.node, node.index)
        if isinstance(index, int) and not isinstance(index, bool):
            return self._item_at(base, index)
        sliced = isinstance(node.index, n.Operation) and node.index.op == "slice"
        if isinstance(node.index, n.Constant) or sliced or not _may_hold_callables(base):
            return ()
        return tuple(value for value in self._items_of(base, moment, None) if value != UNKNOWN)

    def _value_of(self, base: Data, display: n.Collection, index: n.Expression) -> tuple[Value, ...]:
        if not isinstance(index, n.Constant):
            return ()
        pairs = zip(display.items[::2], display.items[1::2], strict=True)
        hits = [v for k, v in pairs if isinstance(k, n.Constant) and k.value == index.value]
        if len(hits) != 1 or hits[0] is None:
            return ()
        return self.taken(self.evaluate(hits[0], base.moment), base)

    def _wholes(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        """Evaluate a collection; `xs += …` leaves the list that `xs` was, with more items."""
        values = self.evaluate(node, moment)
        if UNKNOWN not in values or not isinstance(node, n.Name):
            return values
        scope = moment.scope.find(node.id)
        if scope is None or scope.kind == "module":
            return values
        events = scope.bindings[node.id]
        plain = [event for event in events if not _is_extension(event)]
        if len(plain) == len(events):
            return values
        at = moment.event if scope.frame is moment.scope.frame else None
        known = [v for event in reaching(plain, at, scope.frame) for v in self.bound(event, moment.env)]
        return tuple(known)[:MOST_VALUES] or NOTHING

    # Additions

    def _additions(self, whole: Data) -> list[tuple[n.Expression, Event, bool]]:
        """Return what is added to a display after it was given to a name or an attribute: whole lists are spread."""
        frame = whole.moment.scope.frame
        event = self._display_events(frame).get(whole.node.at)
        if event is None:
            return []
        if event.kind == "bind":
            return self._added_to(frame, event.name)
        target = event.target
        cls = event.scope.owner_class
        if isinstance(target, n.Attribute) and cls is not None:
            access = self.access(target, event.scope)
            if access == Access(cls, "", ((".", target.attr),)):
                return self._added_to(cls, target.attr)
        return []

    def _display_events(self, frame: Scope) -> dict[int, Event]:
        """Return the bindings and stores of a frame that give a display whole, by the number of the display."""
        if frame not in self._displays:
            self._displays[frame] = {
                event.value.at: event
                for event in frame.events
                if event.kind in ("bind", "store")
                and not event.part
                and isinstance(event.value, n.Collection)
            }
        return self._displays[frame]

    def _added_to(self, scope: Scope, name: str) -> list[tuple[n.Expression, Event, bool]]:
        """Return what is added to the list called `name` in a frame, or kept in that attribute of a class."""
        if (scope, name) not in self._added:
            self._added[scope, name] = found = []
            if scope.kind == "class":
                scope.module.load_member(scope, name)
            frames = [scope] if scope.kind != "class" else [s for s in scope.children if s.kind == "function"]
            for frame in frames:
                for event in frame.events:
                    added = _addition(event, name, frame if scope.kind == "class" else None)
                    if added is not None:
                        found.append((added[0], event, added[1]))
        return self._added[scope, name]


def _may_hold_callables(value: Value) -> bool:
    """Whether any item may stand for a subscript that is not known: lists written out, not arrays."""
    return isinstance(value, Several) or (
        isinstance(value, Data) and isinstance(value.node, n.Collection | n.Comprehension)
    )


def _is_extension(event: Event) -> bool:
    return isinstance(event.node, n.Bind) and event.node.how == "augmented" and event.node.op == "Add"


def _addition(event: Event, name: str, method: Scope | None) -> tuple[n.Expression, bool] | None:
    """Return what an event adds to a list, and whether it is a list of its own."""
    if event.kind == "call" and isinstance(event.node, n.Call) and isinstance(event.node.func, n.Attribute):
        func, args = event.node.func, event.node.args
        if not _is_named(func.value, name, method) or any(argument.star for argument in args):
            return None
        place = _ADDERS.get(func.attr)
        if place is not None and place < len(args):
            return args[place].value, False
        return (args[0].value, True) if func.attr == "extend" and args else None
    if _is_extension(event) and isinstance(event.node, n.Bind) and event.node.value is not None:
        return (event.node.value, True) if _is_named(event.node.targets[0], name, method) else None
    if (
        event.kind == "store"
        and isinstance(event.target, n.Subscript)
        and isinstance(event.value, n.Expression)
    ):
        return (
            (event.value, False) if _is_named(event.target.value, name, method) and not event.part else None
        )
    return None


def _is_named(node: n.Expression, name: str, method: Scope | None) -> bool:
    if method is None:
        return isinstance(node, n.Name) and node.id == name
    first = method.parameters()[0].name if method.parameters() else ""
    return (
        isinstance(node, n.Attribute)
        and node.attr == name
        and isinstance(node.value, n.Name)
        and node.value.id == first
    )
