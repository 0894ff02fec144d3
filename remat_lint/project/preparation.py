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
_HASATTR = 2
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
    func = event.node.func if event.kind == "call" and isinstance(event.node, n.Call) else None
    if isinstance(func, n.Attribute) and func.attr in ("clear", "pop", "popitem"):
        emptied = True
    return emptied and not _is_at_home(write) and not is_maker(event.frame)


def _is_at_home(write: Write) -> bool:
    """Whether a write stands where its variable is made."""
    event = write.event
    return event.frame is write.access.scope.frame and bool(write.access.name) and not event.loops


def _is_fill(write: Write, project: Analysis) -> bool:
    """Whether a write happens only while nothing is there yet, by its own place or by the places of its calls."""
    event = write.event
    func = event.node.func if event.kind == "call" and isinstance(event.node, n.Call) else None
    if isinstance(func, n.Attribute) and func.attr == "setdefault":
        return True
    if _is_guarded(event, write.access, project):
        return True
    where = event.frame
    runs = [one.event for one in project.activations(where) if not where.encloses(one.event.frame)]
    return bool(runs) and all(is_maker(run.frame) or _is_guarded(run, write.access, project) for run in runs)


def _is_guarded(event: Event, access: Access, project: Analysis) -> bool:
    """Whether an event happens only while a place is empty."""
    builder = event.module.builder
    chain = list(builder.parents.chain(event.at))
    for above in chain:
        if isinstance(above, n.Try) and _in_handler(above, event):
            return True
    guard = _Guard(access, event.scope, project)
    for branch_at, number in event.arms:
        branch = builder.branches.get(branch_at)
        if isinstance(branch, n.Branch) and branch.subject is None:
            tests = [arm.test for arm in branch.arms]
            if guard.says(tests[number], missing=True):
                return True
            if any(guard.says(test, missing=False) for test in tests[:number]):
                return True
        if isinstance(branch, n.Conditional) and guard.says(branch.test, missing=number == 0):
            return True
    return any(guard.says(test, missing=False) for test in _left_before(event, chain))


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


class _Guard:
    """Reads the tests in one scope that speak of one place."""

    def __init__(self, access: Access, scope: Scope, project: Analysis) -> None:
        self.access, self.scope, self.project = access, scope, project

    def says(self, test: n.Expression | None, *, missing: bool) -> bool:
        """Whether a test holds only while the place is empty (`missing`), or only while it is not."""
        if isinstance(test, n.Operation):
            return self._says(test, missing=missing)
        if isinstance(test, n.Call):
            named = isinstance(test.func, n.Name) and test.func.id == "hasattr" and len(test.args) == _HASATTR
            return not missing and named and self._holds(test.args[0].value)
        return not missing and test is not None and (self._is_it(test) or self._is_switch(test))

    def _says(self, test: n.Operation, *, missing: bool) -> bool:
        operands = test.operands
        if test.op in ("and", "or"):
            return any(self.says(operand, missing=missing) for operand in operands)
        if test.op == "not":
            return self.says(operands[0], missing=not missing)
        if test.op in ("is", "==", "is not", "!="):
            nothing = isinstance(operands[1], n.Constant) and operands[1].value is None
            return nothing and (test.op in ("is", "==")) is missing and self._is_it(operands[0])
        return test.op in ("in", "not in") and (test.op == "not in") is missing and self._holds(operands[1])

    def _is_it(self, node: n.Expression) -> bool:
        return self.project.access(node, self.scope) == self.access

    def _holds(self, node: n.Expression) -> bool:
        """Whether the place is directly inside of what `node` is."""
        container = self.project.access(node, self.scope)
        return (
            container is not None
            and container.scope is self.access.scope
            and container.name == self.access.name
            and container.steps == self.access.steps[: len(container.steps)]
            and len(self.access.steps) == len(container.steps) + 1
        )

    def _is_switch(self, node: n.Expression) -> bool:
        """Whether a flag is set once and for all: `self.built`, to which nothing but True is ever written later."""
        access = self.project.access(node, self.scope)
        if access is None:
            return False
        later = [
            write
            for write in self.project.staleness.writes.to(access)
            if not is_maker(write.event.frame) and not _is_at_home(write)
        ]
        return bool(later) and all(
            isinstance(write.event.value, n.Constant) and write.event.value.value is True for write in later
        )
