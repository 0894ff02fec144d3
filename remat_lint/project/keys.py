"""Whether two calls of a checkpointed function can share a trace: its cache key, as far as text shows it.

The key is (function object, static arguments, tree, shapes and dtypes); a Python number counts as weakly typed.
"""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.scopes import Event, LoopNode, Scope, reaching
from remat_lint.project.values import External, Moment, WrapSite
from remat_lint.project.writes import changes_in, varies, walk

_SHAPED = frozenset(
    f"{package}.{name}"
    for package in ("jax.numpy", "numpy")
    for name in ("ones", "zeros", "empty", "full", "arange", "linspace", "eye", "identity")
)


def static_positions(site: WrapSite) -> frozenset[int]:
    """Return the positions of literal `static_argnums`, as they are written."""
    option = site.options.get("static_argnums")
    items: tuple[n.Expression | None, ...] = ()
    if option is not None:
        items = option.value.items if isinstance(option.value, n.Collection) else (option.value,)
    return frozenset(
        item.value for item in items if isinstance(item, n.Constant) and isinstance(item.value, int)
    )


def differ(
    one: tuple[WrapSite, n.Call], other: tuple[WrapSite, n.Call], project: Analysis, frame: Scope
) -> bool:
    """Whether two calls visibly have different keys."""
    (_, first), (_, second) = one, other
    if any(argument.star for argument in (*first.args, *second.args)):
        return False
    if [argument.keyword for argument in first.args] != [argument.keyword for argument in second.args]:
        return True
    static = static_positions(one[0])
    for position, (mine, theirs) in enumerate(zip(first.args, second.args, strict=True)):
        if position in static:
            if _constant(mine.value) is not None and _constant(mine.value) != _constant(theirs.value):
                return True
            continue
        kinds = (_kind(mine.value, frame, project), _kind(theirs.value, frame, project))
        if "" not in kinds and kinds[0] != kinds[1]:
            return True
        forms = (_form(mine.value), _form(theirs.value))
        if forms[0][0] and forms[0][0] == forms[1][0] and forms[0] != forms[1]:
            return True
    return False


def _form(node: n.Expression) -> tuple[str, object]:
    """Return the name that an array is derived from, and what of the derivation shows in its shape or dtype."""
    if isinstance(node, n.Name):
        return node.id, "itself"
    if isinstance(node, n.Subscript) and isinstance(node.value, n.Name):
        if isinstance(node.index, n.Operation) and node.index.op == "slice":
            bounds = [b.value if isinstance(b, n.Constant) else "?" for b in node.index.operands]
            lower, upper = bounds[0] or 0, bounds[1]
            if isinstance(lower, int) and isinstance(upper, int) and (lower < 0) == (upper < 0):
                return node.value.id, ("length", upper - lower)
            return ("", None) if "?" in bounds else (node.value.id, tuple(bounds))
        if isinstance(node.index, n.Constant) and node.index.value is None:
            return node.value.id, "one axis more"
    method = node.func if isinstance(node, n.Call) and isinstance(node.func, n.Attribute) else None
    if method is not None and isinstance(method.value, n.Name) and method.attr in ("astype", "reshape"):
        assert isinstance(node, n.Call)
        return method.value.id, (method.attr, *(render(argument.value) for argument in node.args))
    return "", None


def _constant(node: n.Expression) -> tuple[str, object] | None:
    return (type(node.value).__name__, node.value) if isinstance(node, n.Constant) else None


def _kind(node: n.Expression, frame: Scope, project: Analysis) -> str:
    """Return a word for type and shape of a value, where they can be read off; empty if not."""
    if isinstance(node, n.Constant):
        return type(node.value).__name__
    if isinstance(node, n.Collection):
        return f"{node.kind}{len(node.items)}"
    if isinstance(node, n.Name):
        source = _source(node.id, frame)
        return _kind(source, frame, project) if source is not None else ""
    if isinstance(node, n.Call):
        dotted = _dotted(node, frame, project)
        if dotted in _SHAPED:
            shape = node.args[0].value if node.args else None
            return f"array {_spell(shape)} {_dtype(node)}" if _spell(shape) else ""
        if dotted.startswith(
            ("jax.numpy.float", "jax.numpy.int", "jax.numpy.bfloat", "numpy.float", "numpy.int")
        ):
            return f"array () {dotted.rpartition('.')[2]}"
    return ""


def _dtype(call: n.Call) -> str:
    values = [argument.value for argument in call.args if argument.keyword == "dtype"]
    return values[0].attr if values and isinstance(values[0], n.Attribute) else ""


def _spell(node: n.Expression | None) -> str:
    if isinstance(node, n.Constant):
        return f"({node.value!r},)"
    if isinstance(node, n.Collection) and all(isinstance(item, n.Constant) for item in node.items):
        return str(tuple(item.value for item in node.items if isinstance(item, n.Constant)))
    return ""


def _source(name: str, frame: Scope) -> n.Expression | None:
    """Return the one expression that a local name holds."""
    events = frame.bindings.get(name, ())
    if len(events) == 1 and isinstance(events[0].value, n.Expression) and not events[0].part:
        return events[0].value
    return None


def _dotted(call: n.Call, frame: Scope, project: Analysis) -> str:
    event = frame.module.happened(call.at)
    if event is None:
        return ""
    values = project.evaluate(call.func, Moment(event.scope, event))
    return values[0].dotted if len(values) == 1 and isinstance(values[0], External) else ""


def varies_with(site: WrapSite, call: n.Call, loop: LoopNode, event: Event, project: Analysis) -> str:
    """Return why each round of `loop` has a key of its own, or nothing if it may have the same."""
    frame = event.frame
    static = static_positions(site)
    if site.options.get("static_argnums") is not None and not static:
        return "static arguments are chosen elsewhere"
    for position, argument in enumerate(call.args):
        if argument.keyword is None and (position in static or position - len(call.args) in static):
            comes_again = isinstance(argument.value, n.Name) and _comes_again(argument.value.id, loop, frame)
            if varies(argument.value, loop, frame, project) and not comes_again:
                return "a static argument is another one in each round"
        elif _shape_varies(argument.value, loop, event, project, 0):
            return "the shape or type of an argument is another one in each round"
    return ""


def _comes_again(name: str, loop: LoopNode, frame: Scope) -> bool:
    """Whether a loop over literal values visibly gives its variable one of them twice."""
    for event in frame.bindings.get(name, ()):
        if loop in event.loops and event.part == "iteration" and isinstance(event.value, n.Collection):
            parts = [
                item.items[event.position]
                if isinstance(item, n.Collection)
                and event.position is not None
                and event.position < len(item.items)
                else item
                for item in event.value.items
            ]
            values = [part.value for part in parts if isinstance(part, n.Constant)]
            return len(values) > len(set(values))
    return False


def _shape_varies(node: n.Expression, loop: LoopNode, event: Event, project: Analysis, depth: int) -> bool:
    frame = event.frame
    if isinstance(node, n.Name) and depth < 3:  # noqa: PLR2004 - a name that holds a name that holds the array
        live = reaching(frame.bindings.get(node.id, []), event, frame)
        if any(_grows(node.id, loop, frame) for _ in live[:1]):
            return True
        return any(
            loop in bound.loops
            and isinstance(bound.value, n.Expression)
            and not bound.part
            and _shape_varies(bound.value, loop, bound, project, depth + 1)
            for bound in live
        )
    for part in walk(node):
        if isinstance(part, n.Call):
            dotted = _dotted(part, frame, project)
            method = part.func.attr if isinstance(part.func, n.Attribute) else ""
            shaped = dotted in _SHAPED or dotted.startswith("jax.random.") or method in ("astype", "reshape")
            sizes = part.args[1:] if dotted.startswith("jax.random.") else part.args
            if shaped and any(varies(argument.value, loop, frame, project) for argument in sizes):
                return True
        if isinstance(part, n.Subscript) and isinstance(part.index, n.Operation) and part.index.op == "slice":
            lower, upper, _ = part.index.operands
            moving = [not _is_none(bound) and varies(bound, loop, frame, project) for bound in (lower, upper)]
            if moving.count(True) == 1:
                return True
    return False


def _is_none(node: n.Expression) -> bool:
    return isinstance(node, n.Constant) and node.value is None


def _grows(name: str, loop: LoopNode, frame: Scope) -> bool:
    """Whether a list is appended to inside the loop, so that its tree is another one in each round."""
    return not changes_in(name, loop, frame) and any(
        event.kind == "call"
        and loop in event.loops
        and isinstance(event.node, n.Call)
        and isinstance(event.node.func, n.Attribute)
        and event.node.func.attr in ("append", "extend", "insert")
        and isinstance(event.node.func.value, n.Name)
        and event.node.func.value.id == name
        for event in frame.events
    )
