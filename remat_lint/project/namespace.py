"""Where code asks `jax.checkpoint_policies` for a member, whether there is such a member or not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.policies import NAMESPACES
from remat_lint.project.analysis import Analysis
from remat_lint.project.choices import Choice, Choices
from remat_lint.project.modules import Module
from remat_lint.project.parents import inside
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import Data, External, Given, Moment, Result, Value


@dataclass(frozen=True, slots=True, eq=False)
class MemberUse:
    """A place that asks the namespace of policies for a member by its name, whether it has one or not.

    Attributes:
        module: where it stands.
        name: the member's name.
        at: number of the whole expression, or of the imported name.
        form: attribute, getattr or import.
        called: whether what it gives is called at once.
        moment: when it happens.
        default: whether `getattr` has a default.
        names: what was followed to find the name, each with the scope in which it is read.
    """

    module: Module
    name: str
    at: int
    form: str
    called: bool
    moment: Moment
    default: bool = False
    names: tuple[tuple[n.Expression, Scope], ...] = ()


def member(value: Value, project: Analysis) -> Value:
    """Return what `getattr` of the namespace gives, by a literal name that it has; any other value as it is."""
    if not isinstance(value, Result) or value.dotted != "builtins.getattr" or value.event is None:
        return value
    moment = Moment(value.event.scope, value.event)
    args = value.call.args
    if len(args) < 2 or any(argument.star or argument.keyword for argument in args):  # noqa: PLR2004 - object and name
        return value
    name = args[1].value
    if not isinstance(name, n.Constant) or not isinstance(name.value, str):
        return value
    for base in project.evaluate(args[0].value, moment):
        if isinstance(base, External) and base.dotted in NAMESPACES:
            return External(f"{base.dotted}.{name.value}")
    return value


def member_uses(module: Module, project: Analysis) -> tuple[MemberUse, ...]:
    """Return the places in a module that ask the namespace for a member."""
    return (*_attributes(module, project), *_lookups(module, project), *_imported(module))


def _attributes(module: Module, project: Analysis) -> Iterator[MemberUse]:
    for scope, node, called in _walk(module):
        if _may_be_namespace(node.value, scope):
            moment = Moment(scope, None)
            for value in project.evaluate(node.value, moment):
                if isinstance(value, External) and value.dotted in NAMESPACES:
                    yield MemberUse(module, node.attr, node.at, "attribute", called, moment)
                    break


def _may_be_namespace(node: n.Expression, scope: Scope) -> bool:
    """Whether it is worth asking what an expression is: a name that is bound to something plain, or an attribute."""
    if not scope.module.leading.may_lead(node, scope):
        return False
    if isinstance(node, n.Attribute):
        return node.attr == "checkpoint_policies" or _is_self(node)
    if not isinstance(node, n.Name):
        return False
    found = scope.find(node.id)
    events = (found or scope.root).bindings.get(node.id, ())
    return any(
        isinstance(event.value, n.Import | n.Attribute | n.Name) and not isinstance(event.value, n.Parameter)
        for event in events
    )


def _is_self(node: n.Attribute) -> bool:
    return isinstance(node.value, n.Name) and node.value.id in ("self", "cls") and "polic" in node.attr


def _walk(module: Module) -> Iterator[tuple[Scope, n.Attribute, bool]]:
    """Yield the attributes in a module, each with its scope and whether it is called."""
    scopes = module.builder.scopes
    todo: list[tuple[Scope, n.Node, bool]] = [
        (module.scope, statement, False) for body in module.builder.bodies for statement in body
    ]
    while todo:
        scope, node, called = todo.pop()
        if isinstance(node, n.Attribute):
            yield scope, node, called
        below = (
            scopes.get(node.at, scope) if isinstance(node, n.Function | n.Class | n.Comprehension) else scope
        )
        outer = (*node.decorators,) if isinstance(node, n.Function | n.Class) else ()
        for child in inside(node):
            here = scope if any(child is decorator for decorator in outer) else below
            todo.append((here, child, isinstance(node, n.Call) and child is node.func))


def _lookups(module: Module, project: Analysis) -> Iterator[MemberUse]:
    follow = Choices(project)
    parents = module.builder.parents
    for event in list(module.builder.happened.values()):
        call = event.node
        if not isinstance(call, n.Call) or not isinstance(call.func, n.Name) or call.func.id != "getattr":
            continue
        if len(call.args) < 2 or any(argument.star or argument.keyword for argument in call.args):  # noqa: PLR2004 - object and name
            continue
        moment = Moment(event.scope, event)
        bases = project.evaluate(call.args[0].value, moment)
        if not any(isinstance(base, External) and base.dotted in NAMESPACES for base in bases):
            continue
        above = parents.of(call.at)
        called = isinstance(above, n.Call) and above.func is call
        default = len(call.args) > 2  # noqa: PLR2004 - object, name and default
        for choice in follow.of(call.args[1].value, moment):
            text = _text(choice)
            if text is not None and choice.module is module:
                yield MemberUse(
                    module, text, choice.place.at, "getattr", called, moment, default, choice.names
                )


def _text(choice: Choice) -> str | None:
    """Return the string that a choice is, or that a parameter is by default."""
    node = choice.node
    if isinstance(choice.value, Given):
        default = choice.value.parameter.default
        return default.value if isinstance(default, n.Constant) and isinstance(default.value, str) else None
    if isinstance(choice.value, Data) and isinstance(node, n.Constant) and isinstance(node.value, str):
        return node.value if not node.kind else None
    return None


def _imported(module: Module) -> Iterator[MemberUse]:
    for event in module_events(module):
        match event.value, event.node:
            case n.Import(module=str(source), level=0), n.Alias(name=name) if (
                name != "*" and source in NAMESPACES
            ):
                moment = Moment(event.scope, event)
                yield MemberUse(module, name, event.node.at, "import", called=False, moment=moment)


def module_events(module: Module) -> Iterator[Event]:
    """Yield the events of a module in no particular order, those of its functions included."""
    yield from list(module.scope.events)
    for scope in list(module.builder.scopes.values()):
        yield from list(scope.events)
