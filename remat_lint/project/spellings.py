"""Where a module imports or spells a name that JAX, or a library on top of it, does not have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.signatures import NOT_MODULES
from remat_lint.jaxapi.wrappers import RETIRED
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Scope
from remat_lint.project.traversal import walk
from remat_lint.project.values import Data, External, Moment

_LAST = frozenset(spelling.rpartition(".")[2] for spelling in RETIRED)
_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"})
_ASKING = frozenset({"hasattr", "find_spec", "getattr", "importorskip"})


@dataclass(frozen=True, slots=True, eq=False)
class ImportUse:
    """One spelling.

    Attributes:
        module: where it stands.
        dotted: the name that does not exist, in full.
        at: number of the node that spells it: an import or one alias of it, or an attribute.
        scope: the scope in which it stands.
        statement: the import, None for an attribute.
        alias: the imported name, None for an attribute.
        node: the attribute, None for an import.
        is_module: whether the import takes an attribute of `jax` for a module.
    """

    module: Module
    dotted: str
    at: int
    scope: Scope
    statement: n.Import | None = None
    alias: n.Alias | None = None
    node: n.Attribute | None = None
    is_module: bool = False


def import_uses(module: Module, project: Analysis) -> tuple[ImportUse, ...]:
    """Return the spellings in a module that are not prepared for the name to be absent, in the order of places."""
    found: list[ImportUse] = []
    for node, scope in module.builder.located.everything():
        if isinstance(node, n.Import):
            found += _imported(node, scope, module)
    for attribute, scope in module.builder.located.attributes(_LAST):
        found += _spelled(attribute, scope, module, project)
    return tuple(use for use in sorted(found, key=_number) if not _is_prepared(use, project))


def _number(use: ImportUse) -> int:
    return use.at


def _imported(node: n.Import, scope: Scope, module: Module) -> Iterator[ImportUse]:
    if node.level:
        return
    for alias in node.names:
        named = alias.name if node.module is None else node.module
        whole = next((m for m in NOT_MODULES if named == m or named.startswith(f"{m}.")), None)
        own = module.project.find(module.path, whole or named, 0) is not None
        if whole is not None and not own:
            yield ImportUse(module, whole, node.at, scope, node, alias, is_module=True)
            return
        if node.module is not None and f"{node.module}.{alias.name}" in RETIRED and not own:
            yield ImportUse(module, f"{node.module}.{alias.name}", alias.at, scope, node, alias)


def _spelled(node: n.Attribute, scope: Scope, module: Module, project: Analysis) -> Iterator[ImportUse]:
    values = project.evaluate(node, Moment(scope, None))
    dotted = {value.dotted if isinstance(value, External) else "" for value in values}
    if len(dotted) == 1 and not dotted.isdisjoint(RETIRED):
        yield ImportUse(module, dotted.pop(), node.at, scope, node=node)


# Code that knows of other releases


def _is_prepared(use: ImportUse, project: Analysis) -> bool:
    """Whether the code around asks for the release or the name, or catches its absence."""
    module = use.module
    start = use.at if use.statement is None else use.statement.at
    if any(_tells(above, use, project) for above in module.builder.parents.chain(start)):
        return True
    frame = use.scope.frame.node
    if isinstance(frame, n.Function):
        branches = (part for part in walk(frame.body) if isinstance(part, n.Branch))
        return any(_asks(arm.test, use.scope, project) for branch in branches for arm in branch.arms)
    return False


def asks_release(at: int, scope: Scope, project: Analysis) -> bool:
    """Whether what stands at `at` is reached only after a test that asks for a release or for a name."""
    for above in scope.module.builder.parents.chain(at):
        if isinstance(above, n.Branch) and any(_asks(arm.test, scope, project) for arm in above.arms):
            return True
        if isinstance(above, n.Conditional) and _asks(above.test, scope, project):
            return True
    return False


def _tells(above: n.Node, use: ImportUse, project: Analysis) -> bool:
    match above:
        case n.Try():
            return _is_caught(above, use.at)
        case n.Branch():
            return any(_asks(arm.test, use.scope, project) for arm in above.arms)
        case n.Conditional():
            return _asks(above.test, use.scope, project)
        case n.Operation(op="and" | "or"):
            return _asks(above, use.scope, project)
        case n.With():
            return any(_swallows(context) for context, _ in above.items)
    return False


def _is_caught(node: n.Try, at: int) -> bool:
    """Whether a `try` catches the absence of what stands at `at`, or `at` is what it does then."""
    before = [handler for handler in node.handlers if handler.at < at]
    if before:
        return _catches(before[-1])
    return any(_catches(handler) for handler in node.handlers)


def _catches(handler: n.Handler) -> bool:
    kinds = handler.type.items if isinstance(handler.type, n.Collection) else (handler.type,)
    return any(kind is None or _last(kind) in _CAUGHT for kind in kinds)


def _last(node: n.Expression) -> str:
    return node.id if isinstance(node, n.Name) else node.attr if isinstance(node, n.Attribute) else ""


def _swallows(context: n.Expression) -> bool:
    if not isinstance(context, n.Call):
        return False
    name = _last(context.func)
    if name == "suppress":
        return any(_last(argument.value) in _CAUGHT for argument in context.args)
    return name == "raises" or name.startswith("assertRaises")


def _asks(test: n.Expression | None, scope: Scope, project: Analysis, depth: int = 0) -> bool:
    """Whether a test asks for a release or for a name; a name that holds such a test counts."""
    for part in walk(test) if test is not None else ():
        word = _last(part) if isinstance(part, n.Name | n.Attribute) else ""
        if "version" in word.lower() or word in _ASKING or word == "TYPE_CHECKING":
            return True
        if isinstance(part, n.Name) and depth == 0:
            for value in project.evaluate(part, Moment(scope, None)):
                if isinstance(value, Data) and _asks(value.node, value.moment.scope, project, 1):
                    return True
    return False
