"""Writes that only prepare an object: first fills, registrations, helpers of constructors.

Such a write happens before the first call that matters, so no trace can hold an older value.
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import Access
from remat_lint.project.writes import Write

MAKERS = frozenset(
    {
        "__init__",
        "__new__",
        "__post_init__",
        "__attrs_post_init__",
        "__setstate__",
        "__init_subclass__",
        "setup",
    }
)
_MAKING = ("init", "build", "setup", "configure", "create", "make", "load", "restore", "from_", "reset_param")
_ABSENT = frozenset({"AttributeError", "KeyError", "NameError", "IndexError", "LookupError"})
_LEAVING = frozenset({"return", "raise", "continue"})
HIGHEST = 4


def is_maker(scope: Scope) -> bool:
    """Whether a function lies in one that runs before its object is used."""
    return any(step.name in MAKERS for step in scope.ancestors())


def is_named_as_maker(scope: Scope) -> bool:
    """Whether the name of a function says that it prepares: `_build_table`, `load`, `init_weights`."""
    return scope.name.lstrip("_").startswith(_MAKING)


def changing(writes: list[Write], project: Analysis) -> list[Write]:
    """Return the writes that can change what was there before.

    A fill under `if self.table is None` changes nothing, unless something else empties the place again.
    """
    kept = [write for write in writes if not _registers(write)]
    fills = [write for write in kept if _is_fill(write, project)]
    if any(_empties(write) for write in kept if write not in fills):
        return kept
    return [write for write in kept if write not in fills]


def _registers(write: Write) -> bool:
    """Whether a function stores its parameter and returns it too, as decorators do that register a function."""
    value, frame = write.event.value, write.event.frame
    if not isinstance(value, n.Name) or frame.parameter(value.id) is None:
        return False
    if write.access.scope.frame is frame or len(frame.bindings.get(value.id, ())) > 1:
        return False
    returned = [event.value for event in frame.returns]
    return bool(returned) and all(isinstance(one, n.Name) and one.id == value.id for one in returned)


def _empties(write: Write) -> bool:
    """Whether a write takes away what a fill has put there, after the place was made."""
    event = write.event
    emptied = isinstance(event.value, n.Constant) and event.value.value is None
    if isinstance(event.node, n.Bind) and event.node.how == "delete":
        emptied = True
    if event.kind == "call":
        emptied = True
    at_home = event.frame is write.access.scope.frame and write.access.name and not event.loops
    return emptied and not at_home and not is_maker(event.frame)


def _is_fill(write: Write, project: Analysis) -> bool:
    """Whether a write happens only while nothing is there yet."""
    event = write.event
    builder = event.module.builder
    chain = list(builder.parents.chain(event.at))
    for above in chain:
        if isinstance(above, n.Try) and _in_handler(above, event):
            return True
    for branch_at, number in event.arms:
        branch = builder.branches.get(branch_at)
        if isinstance(branch, n.Branch) and branch.subject is None:
            tests = [arm.test for arm in branch.arms]
            if _says(tests[number], write, project, missing=True):
                return True
            if any(_says(test, write, project, missing=False) for test in tests[:number]):
                return True
        if isinstance(branch, n.Conditional) and _says(branch.test, write, project, missing=number == 0):
            return True
    return any(_says(test, write, project, missing=False) for test in _left_before(event, chain))


def _in_handler(guard: n.Try, event: Event) -> bool:
    """Whether an event lies in a handler of what a missing attribute, item or name raises."""
    for number, handler in enumerate(guard.handlers, 1):
        if (guard.at, number) in event.arms:
            types = handler.type.items if isinstance(handler.type, n.Collection) else (handler.type,)
            return any(isinstance(kind, n.Name) and kind.id in _ABSENT for kind in types)
    return False


def _left_before(event: Event, chain: list[n.Node]) -> Iterator[n.Expression]:
    """Yield the tests under which the function is left before an event is reached."""
    builder = event.module.builder
    around = {node.at for node in chain}
    for branch in builder.branches.values():
        if isinstance(branch, n.Branch) and branch.at < event.at and branch.at not in around:
            above = builder.parents.of(branch.at)
            first = branch.arms[0]
            leaves = bool(first.body) and isinstance(first.body[-1], n.Return)
            if above is not None and above.at in around and leaves and first.test is not None:
                last = first.body[-1]
                if isinstance(last, n.Return) and last.how in _LEAVING:
                    yield first.test


def _says(test: n.Expression | None, write: Write, project: Analysis, *, missing: bool) -> bool:
    """Whether a test holds only while what is written is `missing`, or only while it is there."""
    if isinstance(test, n.Operation):
        operands = test.operands
        if test.op in ("and", "or"):
            return any(_says(operand, write, project, missing=missing) for operand in operands)
        if test.op == "not":
            return _says(operands[0], write, project, missing=not missing)
        if test.op in ("is", "==", "is not", "!="):
            nothing = isinstance(operands[1], n.Constant) and operands[1].value is None
            return nothing and (test.op in ("is", "==")) is missing and _is_it(operands[0], write, project)
        if test.op in ("in", "not in") and len(operands) == 2:  # noqa: PLR2004 - an item and its container
            inside = project.access(operands[1], write.event.scope)
            return (test.op == "not in") is missing and inside is not None and _holds(inside, write.access)
        return False
    if isinstance(test, n.Call):
        named = isinstance(test.func, n.Name) and test.func.id == "hasattr" and len(test.args) == 2  # noqa: PLR2004 - an object and a name
        inside = project.access(test.args[0].value, write.event.scope) if named else None
        return not missing and inside is not None and _holds(inside, write.access)
    return not missing and test is not None and _is_it(test, write, project)


def _is_it(node: n.Expression, write: Write, project: Analysis) -> bool:
    return project.access(node, write.event.scope) == write.access


def _holds(container: Access, access: Access) -> bool:
    """Whether `access` is directly inside of `container`."""
    return (
        container.scope is access.scope
        and container.name == access.name
        and container.steps == access.steps[: len(container.steps)]
        and len(access.steps) == len(container.steps) + 1
    )
