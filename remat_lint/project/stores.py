"""The stores of a body that put a traced value into something outside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import STORING_METHODS
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body
from remat_lint.project.holders import Holders
from remat_lint.project.levels import Level
from remat_lint.project.scopes import Event
from remat_lint.project.taint import Taint
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, Moment

_LIST_METHODS = frozenset({"append", "appendleft", "extend", "extendleft", "insert"})
_DICT_METHODS = frozenset({"setdefault", "update"})
_TAKES_OUT = frozenset({"pop", "popleft", "popitem", "clear", "remove"})
_SETTERS = frozenset({"builtins.setattr", "builtins.object.__setattr__"})
_TRACER_TESTS = frozenset({"Tracer", "is_concrete", "trace_state_clean", "is_tracer"})
_ITEM_HOLDERS, _ATTRIBUTE_HOLDERS = ("list", "dict"), ("object", "class", "module", "function")


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """A store that outlives the trace.

    Attributes:
        event: when it happens.
        owner: the object that is changed; None for a variable.
        scope: `global` or `nonlocal` for a variable.
        key: what is stored to, for comparing stores.
    """

    event: Event
    owner: n.Expression | None
    scope: str = ""
    key: str = ""


def kept_stores(body: Body, project: Analysis) -> Iterator[Store | str]:
    """Yield the stores of traced values outside the body, or why one that looked like it is none."""
    taint = Taint(body, project)
    holders = Holders(body, taint, project)
    for scope in body.scopes:
        for event in scope.events:
            store = _store(event, body, taint, holders)
            if store is None:
                continue
            if _is_undone(store, body, taint):
                yield f"what is put into `{store.key}` is taken out again"
            elif any(map(_asks_for_tracers, (event, *body.calls_to(event.frame)))):
                yield "a test keeps tracers away from the store"
            else:
                yield store


def _store(event: Event, body: Body, taint: Taint, holders: Holders) -> Store | None:
    moment = Moment(event.scope, event)
    if event.kind == "bind" and event.name in event.scope.declared:
        home = event.scope.find(event.name)
        outside = home is not None and not body.contains(home)
        if outside and taint.stored(event) is Level.TRACED:
            return Store(event, None, event.scope.declared[event.name], event.name)
    elif event.kind == "store" and isinstance(event.target, n.Attribute | n.Subscript):
        if taint.stored(event) is Level.TRACED and _is_kept(event.target, moment, holders):
            return Store(event, event.target.value, key=render(event.target))
    elif event.kind == "call" and isinstance(event.node, n.Call):
        owner = _changed_by_call(event.node, moment, taint, holders)
        if owner is not None:
            return Store(event, owner, key=render(owner))
    return None


def _is_kept(target: n.Attribute | n.Subscript, moment: Moment, holders: Holders) -> bool:
    """Whether an attribute or item belongs to a plain object from outside."""
    owner = target.value
    if not holders.is_outside(owner, moment):
        return False
    kind = holders.kind(owner, moment)
    if isinstance(target, n.Attribute):
        return kind in _ATTRIBUTE_HOLDERS
    named = (
        isinstance(target.index, n.Constant) and isinstance(target.index.value, str) and not target.index.kind
    )
    formatted = isinstance(target.index, n.Operation) and target.index.op == "string"
    return kind in _ITEM_HOLDERS or (not kind and (named or formatted))


def _changed_by_call(call: n.Call, moment: Moment, taint: Taint, holders: Holders) -> n.Expression | None:
    """Return the outside object into which a call puts a traced value."""
    func = call.func
    if isinstance(func, n.Attribute) and func.attr in _LIST_METHODS | _DICT_METHODS:
        if not _puts_traced(func.attr, call, moment, taint) or not holders.is_outside(func.value, moment):
            return None
        kind = holders.kind(func.value, moment)
        wanted = "list" if func.attr in _LIST_METHODS else "dict"
        if kind == wanted or (
            not kind and func.attr != "update" and not _is_own_method(func, moment, holders)
        ):
            return func.value
        return None
    values = holders.project.evaluate(func, moment)
    is_setter = any(isinstance(value, External) and value.dotted in _SETTERS for value in values)
    if is_setter and len(call.args) == len(("object", "name", "value")):
        owner, _, stored = (argument.value for argument in call.args)
        if taint.level(stored, moment) is Level.TRACED and holders.is_outside(owner, moment):
            return owner if holders.kind(owner, moment) in _ATTRIBUTE_HOLDERS else None
    return None


def _puts_traced(method: str, call: n.Call, moment: Moment, taint: Taint) -> bool:
    positions = STORING_METHODS[method]
    plain = [argument for argument in call.args if argument.keyword is None and not argument.star]
    stored = [argument.value for index, argument in enumerate(plain) if index in positions]
    if method == "update":
        stored += [argument.value for argument in call.args if argument.keyword is not None]
    return any(taint.level(value, moment) is Level.TRACED for value in stored)


def _is_own_method(func: n.Attribute, moment: Moment, holders: Holders) -> bool:
    """Whether the method is one of something known, so that it need not store anything."""
    return any(isinstance(value, External) for value in holders.project.evaluate(func, moment))


def _is_undone(store: Store, body: Body, taint: Taint) -> bool:
    """Whether the body takes out again what it puts in, as a stack of contexts does."""
    for scope in body.scopes:
        for event in scope.events:
            if event.frame is store.event.frame and event.order <= store.event.order:
                continue
            if event.kind == "call" and isinstance(event.node, n.Call):
                if _takes_out(event.node, event, store, taint.project):
                    return True
            elif event.frame is store.event.frame and _overwrites(event, store):
                always = all(arm in store.event.arms for arm in event.arms)
                if always and taint.stored(event) is not Level.TRACED:
                    return True
    return False


def _takes_out(call: n.Call, event: Event, store: Store, project: Analysis) -> bool:
    if store.owner is None or not isinstance(call.func, n.Attribute) or call.func.attr not in _TAKES_OUT:
        return False
    if event.frame is store.event.frame:
        return render(call.func.value) == render(store.owner)
    way = project.access(call.func.value, event.scope)
    return way is not None and way == project.access(store.owner, store.event.scope)


def _overwrites(event: Event, store: Store) -> bool:
    if event.kind == "store" and event.target is not None:
        return render(event.target) == store.key
    return event.kind == "bind" and bool(store.scope) and event.name == store.key


def _asks_for_tracers(event: Event) -> bool:
    """Whether a branch around the store asks whether the value is a tracer."""
    for at, _ in event.arms:
        branch = event.module.builder.branches.get(at)
        if branch is None:
            continue
        tests = (
            (branch.test,) if isinstance(branch, n.Conditional) else tuple(arm.test for arm in branch.arms)
        )
        for part in walk(tests):
            name = part.attr if isinstance(part, n.Attribute) else part.id if isinstance(part, n.Name) else ""
            if name in _TRACER_TESTS:
                return True
    return False
