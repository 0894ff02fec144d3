"""What a place holds at a call, as far as the writes before it tell: changed for changed back is no change.

A content is known by a key: equal keys mean equal values. `VARYING` stands for another value at each time.
"""

from __future__ import annotations

from collections.abc import Iterable

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import ArmKey, Event, LoopNode, exclusive
from remat_lint.project.timeline import Occurrence
from remat_lint.project.values import SLICE, Access, External, FunctionRef, Moment
from remat_lint.project.writes import Write, varies, walk

Seen = tuple[Write, Occurrence]
Key = tuple[object, ...]
VARYING: Key = ("varying",)
BEFORE: Key = ("before",)
_SETATTR = 3


def held(at: Occurrence, read: Access, writes: Iterable[Seen], project: Analysis) -> frozenset[Key]:
    """Return what the place `read`, as its frame spells it, can hold at `at`."""
    keys, settled = _back([one for one in writes if one[1].precedes(at)], at, read, None, project)
    return frozenset(key for key, _ in keys) | (frozenset() if settled else {BEFORE})


def is_constant(keys: frozenset[Key]) -> bool:
    """Whether contents are one constant."""
    return len(keys) == 1 and all(key[0] == "constant" for key in keys)


def change_in(
    loop: LoopNode, at: Occurrence, read: Access, writes: list[Seen], project: Analysis
) -> Seen | None:
    """Return a write in `loop` by which the place `read` holds something else at `at` in another round."""
    inside = [one for one in writes if loop in one[1].loops]
    before = [one for one in inside if one[1].precedes(at)]
    keys, settled = _back(before, at, read, loop, project)
    if not settled:
        after, _ = _back([one for one in inside if one not in before], at, read, loop, project)
        keys += after
        first = [one for one in writes if one[1].precedes(at) and loop not in one[1].loops]
        start, known = _back(first, at, read, None, project)
        if after or keys:
            keys += [(key, keys[0][1]) for key, _ in start]
            keys += [] if known and start else [(BEFORE, keys[0][1])]
    for key, write in keys:
        if key is VARYING:
            return write
    return keys[0][1] if len({key for key, _ in keys}) > 1 else None


def _back(
    writes: list[Seen], at: Occurrence, read: Access, loop: LoopNode | None, project: Analysis
) -> tuple[list[tuple[Key, Seen]], bool]:
    """Go back from `at` through writes; return what they put there, and whether one of them surely did."""
    keys: list[tuple[Key, Seen]] = []
    for one in sorted(writes, key=lambda one: (one[1].order, one[1].origin.order), reverse=True):
        write, seen = one
        if exclusive(seen.arms, at.arms):
            continue
        keys.append((_key(write, seen, loop, project), one))
        if _covers(seen.seen(write.access), read, writes) and _always(seen, at, loop, project):
            return keys, True
    return keys, False


def _covers(written: Access, read: Access, writes: list[Seen]) -> bool:
    """Whether a write gives the whole place anew, or is the one way in which it is ever written."""
    if any(kind == "*" or (kind == "[]" and step in {None, SLICE}) for kind, step in written.steps):
        return False
    return len(written.steps) <= len(read.steps) or all(s.seen(w.access) == written for w, s in writes)


def _always(seen: Occurrence, at: Occurrence, loop: LoopNode | None, project: Analysis) -> bool:
    """Whether what is seen happens whenever its block runs; in every round of a loop or in none is enough."""
    beside = set(seen.arms) - set(at.arms)
    if beside and not (loop is not None and all(_is_steady(arm, loop, seen, project) for arm in beside)):
        return False
    return not seen.lifted or (not seen.origin.arms and _calling(seen, project) is not None)


def _is_steady(arm: ArmKey, loop: LoopNode, seen: Occurrence, project: Analysis) -> bool:
    """Whether each round of a loop takes the same arm of a branch."""
    branch = seen.frame.module.builder.branches.get(arm[0])
    if isinstance(branch, n.Conditional):
        return not varies(branch.test, loop, seen.frame, project)
    if branch is None or branch.subject is not None:
        return False
    tests = [one.test for one in branch.arms[: arm[1] + 1] if one.test is not None]
    return not any(varies(test, loop, seen.frame, project) for test in tests)


def _calling(seen: Occurrence, project: Analysis) -> FunctionRef | None:
    """Return the function that the event of a lifted occurrence calls, if it is where the origin lies."""
    for activation in project.activations(seen.origin.frame):
        if activation.event is seen.event:
            return activation.function
    return None


def _key(write: Write, seen: Occurrence, loop: LoopNode | None, project: Analysis) -> Key:
    event = write.event
    value = _written(event)
    if value is None:
        return VARYING
    if isinstance(value, n.Constant):
        return ("constant", type(value.value).__name__, value.value)
    if seen.lifted:
        return _key_from_call(value, seen, loop, project)
    if loop is not None:
        return VARYING if varies(value, loop, event.frame, project) else ("expression", id(event))
    if isinstance(value, n.Name):
        scope = event.scope.find(value.id)
        if scope is not None and len(scope.bindings.get(value.id, ())) == 1:
            return ("name", id(scope), value.id)
    return ("write", id(event))


def _written(event: Event) -> n.Expression | None:
    """Return the expression whose value is written as it is."""
    if event.kind == "call" and isinstance(event.node, n.Call):
        named = isinstance(event.node.func, n.Name) and event.node.func.id == "setattr"
        return event.node.args[2].value if named and len(event.node.args) == _SETATTR else None
    if isinstance(event.node, n.Bind) and event.node.how in ("augmented", "delete"):
        return None
    if event.part in ("", "element") and isinstance(event.value, n.Expression):
        return event.value
    return None


def _key_from_call(value: n.Expression, seen: Occurrence, loop: LoopNode | None, project: Analysis) -> Key:
    """Return the key of what a called function writes: a parameter is what the call passes."""
    origin = seen.origin
    if isinstance(value, n.Name) and origin.frame.parameter(value.id) is not None:
        given = _argument(value.id, seen, project)
        if isinstance(given, n.Constant):
            return ("constant", type(given.value).__name__, given.value)
        if given is not None and loop is not None and not varies(given, loop, seen.frame, project):
            return ("expression", id(origin), id(given))
        return VARYING
    for part in walk(value):
        if isinstance(part, n.Function):
            return VARYING
        if isinstance(part, n.Name) and project.access(part, origin.scope) is not None:
            return VARYING
        if isinstance(part, n.Call):
            callees = project.evaluate(part.func, Moment(origin.scope, origin))
            if not all(isinstance(one, External) and one.dotted.startswith("jax.") for one in callees):
                return VARYING
    return ("expression", id(origin))


def _argument(name: str, seen: Occurrence, project: Analysis) -> n.Expression | None:
    """Return what the call behind a lifted occurrence gives a parameter of the called function."""
    function, call = _calling(seen, project), seen.event.node
    if function is None or not isinstance(call, n.Call) or any(argument.star for argument in call.args):
        return None
    parameters = list(seen.origin.frame.parameters())
    if function.receiver is not None and seen.origin.frame.owner_class is not None:
        parameters = parameters[1:]
    for argument in call.args:
        if argument.keyword == name:
            return argument.value
    names = [parameter.name for parameter in parameters]
    position = names.index(name) if name in names else len(names)
    plain = [argument.value for argument in call.args if argument.keyword is None]
    if position < len(plain):
        return plain[position]
    return parameters[position].default if position < len(names) else None
