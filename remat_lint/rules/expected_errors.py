"""Tests that expect an error: what raises there is meant to raise."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import invocations
from remat_lint.project.scopes import Event, Scope
from remat_lint.project.values import External, FunctionRef, Moment, WrapSite


def expected(event: Event, project: Analysis, *errors: str) -> bool:
    """Whether a test says that what happens at `event` raises.

    That is so inside `assertRaises*` and `pytest.raises`, in a function given to one of them, and in a test file
    inside a `try` with a handler for one of `errors`.
    """
    step: Event | None = event
    while step is not None:
        if any(_guards(guard, step, project, errors) for guard in step.guards):
            return True
        scope = step.frame
        if scope.kind != "function" or scope.definition is None:
            return False
        if _handed_over(scope, scope.definition, project):
            return True
        step = scope.definition
    return False


def expected_at_calls(site: WrapSite, project: Analysis, *errors: str) -> bool:
    """Whether a test says that the site, or one of the calls of its result, raises."""
    if expected(site.event, project, *errors):
        return True
    events = [one.event for one in project.site_calls(site)] + [
        one.event for one in invocations(site, project)
    ]
    return any(expected(event, project, *errors) for event in events)


def is_tried(event: Event, *errors: str) -> bool:
    """Whether a `try` around `event` names one of `errors`: the code finds out what works."""
    tries = [guard for guard in event.guards if isinstance(guard, n.Try)]
    return any(
        name in errors for guard in tries for handler in guard.handlers for name in _caught(handler.type)
    )


def _guards(guard: n.With | n.Try, event: Event, project: Analysis, errors: tuple[str, ...]) -> bool:
    if isinstance(guard, n.With):
        return any(_asserts(context, event, project) for context, _ in guard.items)
    if not _is_test(event):
        return False
    return any(name in errors for handler in guard.handlers for name in _caught(handler.type))


def _asserts(context: n.Node, event: Event, project: Analysis) -> bool:
    if not isinstance(context, n.Call):
        return False
    func = context.func
    if isinstance(func, n.Attribute) and func.attr.startswith("assertRaises"):
        return True
    values = project.evaluate(func, Moment(event.scope, event))
    return any(isinstance(value, External) and value.dotted == "pytest.raises" for value in values)


def _handed_over(scope: Scope, definition: Event, project: Analysis) -> bool:
    """Whether a function is an argument of an assertion that it raises."""
    for event in list(definition.frame.events):
        for argument in event.node.args if isinstance(event.node, n.Call) else ():
            given = argument.value
            named = isinstance(given, n.Name) and given.id == scope.name
            if (given is scope.node or named) and _asserts(event.node, event, project):
                if not named:
                    return True
                values = project.evaluate(given, Moment(event.scope, event))
                if any(isinstance(value, FunctionRef) and value.scope is scope for value in values):
                    return True
    return False


def _caught(kind: n.Expression | None) -> Iterator[str]:
    if isinstance(kind, n.Collection):
        for item in kind.items:
            yield from _caught(item)
    elif isinstance(kind, n.Name):
        yield kind.id
    elif isinstance(kind, n.Attribute):
        yield kind.attr


def in_test_file(event: Event) -> bool:
    """Whether something stands in a file of tests, where checkpoints are made to compare values."""
    return _is_test(event)


def _is_test(event: Event) -> bool:
    path = event.module.path
    return path.stem.startswith("test_") or path.stem.endswith("_test") or "tests" in path.parts
