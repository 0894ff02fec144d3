"""The statements of a body that change an argument of the wrapped function in place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.effects import makes_traced
from remat_lint.project.analysis import Analysis
from remat_lint.project.body import Body
from remat_lint.project.callgraph import Entry
from remat_lint.project.levels import ARRAY_METHODS
from remat_lint.project.parameters import untraced
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.traversal import walk
from remat_lint.project.values import External, Moment

_GROWING = frozenset({"append", "extend", "insert"})
_SHRINKING = frozenset({"pop", "popitem", "clear", "remove"})
_FILLING = frozenset({"update", "setdefault"})
_ORDERING = frozenset({"sort", "reverse"})
_ARRAY_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "T", "mT", "at"})
_ELEMENTWISE = ("jax.numpy.", "jax.nn.", "jax.lax.")
_TREES = ("jax.numpy.stack", "jax.numpy.concatenate", "jax.numpy.array", "jax.numpy.asarray")
_ARRAY_TYPES = frozenset(
    {"jax.Array", "jax.numpy.ndarray", "numpy.ndarray", "jax.typing.ArrayLike", "chex.Array"}
)


@dataclass(frozen=True, slots=True, eq=False)
class Mutation:
    """One change of an argument in place.

    Attributes:
        event: when it happens.
        parameter: the parameter of the wrapped function.
        kind: item, delete, extend (`+=` with a list), or the name of the method.
        index: what an item is stored under.
        whole: whether the argument itself is changed, rather than something inside of it.
        call: the call in the wrapped function that leads there; None if it changes the argument itself.
    """

    event: Event
    parameter: n.Parameter
    kind: str
    index: n.Expression | None = None
    whole: bool = True
    call: Event | None = None


_Held = dict[str, dict[str, tuple[n.Parameter, Event]]]
"""By a parameter of a helper: arguments of the wrapped function, and the calls that hand them on."""


def mutations(body: Body, project: Analysis) -> Iterator[Mutation]:
    """Yield the changes of the wrapped function's own arguments, in the order of the text."""
    root = body.root.function.scope
    fixed = untraced(body, project) | _passed_as_is(body)
    held = _held_by_helpers(body)
    for scope in body.scopes:
        for event in list(scope.events):
            if root.encloses(scope):
                found = _mutation(event, root)
                if found is not None and found.parameter.name not in fixed:
                    yield found
            elif held.get(scope):
                yield from _through_calls(event, scope, held[scope], fixed)


def _through_calls(event: Event, scope: Scope, held: _Held, fixed: frozenset[str]) -> Iterator[Mutation]:
    found = _mutation(event, scope)
    for parameter, call in held.get(found.parameter.name, {}).values() if found is not None else ():
        if found is not None and parameter.name not in fixed:
            yield replace(found, parameter=parameter, call=call)


def _held_by_helpers(body: Body) -> dict[Scope, _Held]:
    """Return which arguments of the wrapped function the parameters of those that it calls hold.

    Only calls whose result is thrown away count: another one may give back what it changed.
    """
    root = body.root.function.scope
    held: dict[Scope, _Held] = {}
    todo = [entry for ways in body.entries.values() for entry in ways if _is_statement(entry)]
    grows = True
    while grows:
        grows = False
        for entry in todo:
            scope = entry.function.scope
            for parameter in () if root.encloses(scope) else scope.parameters():
                given = entry.given(parameter)
                here = held.setdefault(scope, {}).setdefault(parameter.name, {})
                for source, call in _sources(given, entry, root, held) if isinstance(given, n.Name) else ():
                    grows = grows or source.name not in here
                    here.setdefault(source.name, (source, call))
    return held


def _sources(
    given: n.Name, entry: Entry, root: Scope, held: dict[Scope, _Held]
) -> Iterator[tuple[n.Parameter, Event]]:
    """Yield the arguments of the wrapped function that a call hands on, each with the call there that does."""
    assert entry.event is not None
    own = _root(given, entry.event, root)
    if own is not None:
        yield own, entry.event
    names = held.get(entry.event.frame, {})
    if names.get(given.id) and _root(given, entry.event, entry.event.frame) is not None:
        yield from tuple(names[given.id].values())


def _is_statement(entry: Entry) -> bool:
    return entry.event is not None and entry.event.bare


def _passed_as_is(body: Body) -> frozenset[str]:
    """Return the parameters that are no argument of the trace: `self`, `*args` and `**kwargs`."""
    parameters = body.root.function.scope.parameters()
    names = {p.name for p in parameters if p.kind in ("star", "double-star")}
    first = parameters[0].name if parameters else ""
    bound = body.root.function.receiver is not None or body.root.function.scope.owner_class is not None
    return frozenset(names | ({first} if bound or body.root.through == "class" else set()))


def _mutation(event: Event, root: Scope) -> Mutation | None:
    if event.kind == "store" and isinstance(event.target, n.Subscript):
        parameter = _root(event.target.value, event, root)
        how = event.node.how if isinstance(event.node, n.Bind) else ""
        if parameter is not None:
            kind = "delete" if how == "delete" else "item"
            return Mutation(event, parameter, kind, event.target.index, _is_whole(event.target.value))
    elif event.kind == "bind" and isinstance(event.node, n.Bind) and event.node.how == "augmented":
        value = event.node.value
        target = event.node.targets[0]
        grows = isinstance(value, n.Collection | n.Comprehension) and value.kind == "list"
        if grows and isinstance(target, n.Name):
            parameter = _root(target, event, root)
            return Mutation(event, parameter, "extend") if parameter is not None else None
    elif event.kind == "call" and isinstance(event.node, n.Call) and event.bare:
        func = event.node.func
        if isinstance(func, n.Attribute) and func.attr in _GROWING | _SHRINKING | _FILLING | _ORDERING:
            parameter = _root(func.value, event, root)
            if parameter is not None:
                return Mutation(event, parameter, func.attr, whole=_is_whole(func.value))
    return None


def _is_whole(node: n.Expression) -> bool:
    return isinstance(node, n.Name)


def _root(node: n.Expression, event: Event, root: Scope) -> n.Parameter | None:
    """Return the parameter of the wrapped function whose own object, or an item of it, `node` is."""
    while isinstance(node, n.Subscript):
        node = node.value
    if not isinstance(node, n.Name) or event.scope.find(node.id) is not root:
        return None
    parameter = root.parameter(node.id)
    if parameter is None:
        return None
    events = root.bindings[node.id]
    same = event.frame is root
    live = reaching(events, event, root) if same else events
    later = [one for one in events if same and any(loop in event.loops for loop in one.loops)]
    values = {id(one): one for one in (*live, *later) if one is not event}
    own = all(isinstance(one.value, n.Parameter) or _grows_itself(one) for one in values.values())
    return parameter if own and values else None


def _grows_itself(event: Event) -> bool:
    """Whether a binding is `p += [...]`, after which the name still holds the argument."""
    node = event.node
    return isinstance(node, n.Bind) and node.how == "augmented" and isinstance(node.value, n.Collection)


def is_container(mutation: Mutation, root: Scope) -> bool:
    """Whether an argument is seen to be a dict or a list, by how it is changed or what it is looked up by."""
    if mutation.kind in _GROWING | _SHRINKING | {"extend"} or not mutation.whole:
        return True
    if isinstance(mutation.index, n.Constant) and isinstance(mutation.index.value, str):
        return mutation.index.kind != "ellipsis"
    if isinstance(mutation.index, n.Operation) and mutation.index.op == "string":
        return True
    name = mutation.parameter.name
    return any(
        isinstance(part, n.Subscript)
        and isinstance(part.value, n.Name)
        and part.value.id == name
        and isinstance(part.index, n.Constant)
        and isinstance(part.index.value, str)
        and part.index.kind != "ellipsis"
        for part in _parts(root)
    )


def is_array(mutation: Mutation, root: Scope, project: Analysis) -> bool:
    """Whether an argument is seen to be an array, by its annotation or by what the function does with it."""
    if mutation.kind != "item" or not mutation.whole:
        return False
    name = mutation.parameter.name
    if _is_annotated(mutation.parameter, root, project):
        return True
    # What is written so may be a `jax.Ref`, which takes it; nothing else but its name tells.
    if "ref" in name.lower().split("_") or "refs" in name.lower().split("_"):
        return False
    if _is_array_index(mutation.index):
        return True
    if len(root.bindings[name]) > 1:
        return False
    return any(_shows_array(part, name, root, project) for part in _parts(root))


def _parts(root: Scope) -> Iterator[n.Node]:
    return walk(root.node.body if isinstance(root.node, n.Function) else ())


def _is_array_index(index: n.Expression | None) -> bool:
    """Whether an index is one that neither a dict nor a list takes: several slices, an ellipsis."""
    parts = index.items if isinstance(index, n.Collection) and index.kind == "tuple" else (index,)
    several = len(parts) > 1
    for part in parts:
        if isinstance(part, n.Constant) and part.kind == "ellipsis":
            return True
        if several and isinstance(part, n.Operation) and part.op == "slice":
            return True
    return False


def _is_annotated(parameter: n.Parameter, root: Scope, project: Analysis) -> bool:
    if parameter.annotation is None:
        return False
    values = project.evaluate(parameter.annotation, Moment(root.parent or root, root.definition))
    return any(isinstance(value, External) and value.dotted in _ARRAY_TYPES for value in values)


def _shows_array(part: n.Node, name: str, root: Scope, project: Analysis) -> bool:
    if isinstance(part, n.Attribute) and isinstance(part.value, n.Name) and part.value.id == name:
        return part.attr in _ARRAY_ATTRIBUTES or part.attr in ARRAY_METHODS - {"copy", "sort"}
    if isinstance(part, n.Operation) and part.op == "@":
        return any(isinstance(operand, n.Name) and operand.id == name for operand in part.operands)
    if isinstance(part, n.Call) and part.args:
        first = part.args[0].value
        event = root.module.happened(part.at)
        if not isinstance(first, n.Name) or first.id != name or event is None:
            return False
        values = project.evaluate(part.func, Moment(event.scope, event))
        dotted = {value.dotted for value in values if isinstance(value, External)}
        return any(
            one.startswith(_ELEMENTWISE) and one.rpartition(".")[2] in _ON_ARRAYS and makes_traced(one)
            for one in dotted
        )
    return False


_ON_ARRAYS = frozenset(
    """
    abs exp log sin cos tan tanh sqrt square negative sign maximum minimum dot matmul clip relu gelu silu softmax
    log_softmax sigmoid softplus cumsum cumprod reshape transpose where power add subtract multiply divide roll flip
    """.split()  # noqa: SIM905 - a list of words
)
"""Functions of JAX that refuse a list or a dict as their first argument."""
