"""The keyword arguments that reach a wrapper, wherever they are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.scopes import Event
from remat_lint.project.values import Access, Data, Environment, Given, Moment, Partial, Result, WrapSite


@dataclass(frozen=True, slots=True, eq=False)
class Keyword:
    """One keyword argument of a wrapper.

    Attributes:
        name: its name.
        value: the expression that gives its value.
        at: number of the node that stands for it: the argument, or the key in a dict.
        moment: when `value` is evaluated.
        call: the call in which it is an argument of its own; None for an entry of a dict.
        argument: that argument.
    """

    name: str
    value: n.Expression
    at: int
    moment: Moment
    call: n.Call | None = None
    argument: n.Argument | None = None


def keywords(site: WrapSite, project: Analysis) -> Iterator[Keyword]:
    """Yield the keyword arguments of a site, those of a `partial` and of visible dicts behind `**` included."""
    for call, moment, first in _calls(site, project):
        for argument in call.args[first:]:
            if argument.keyword is not None:
                yield Keyword(argument.keyword, argument.value, argument.at, moment, call, argument)
            elif argument.star == "**":
                yield from _spread(argument.value, moment, site, project)


def are_all_visible(site: WrapSite, project: Analysis) -> bool:
    """Whether each `**` of a site stands for a dict in which every key can be read."""
    for call, moment, first in _calls(site, project):
        for argument in call.args[first:]:
            if argument.star == "*" or (argument.star and not _is_readable(argument.value, moment, project)):
                return False
    return True


def _is_readable(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    values = project.evaluate(node, moment)
    if len(values) != 1 or not _is_left_alone(node, moment, project):
        return False
    match values[0]:
        case Data(node=n.Collection(kind="dict", items=items)):
            return all(isinstance(key, n.Constant) for key in items[::2])
        case Result(dotted="builtins.dict", call=call):
            return all(argument.keyword is not None for argument in call.args)
    return False


def _calls(site: WrapSite, project: Analysis) -> Iterator[tuple[n.Call, Moment, int]]:
    """Yield the calls in which arguments of the wrapper stand, each with the number of the first one."""
    if site.form == "decorator":
        return
    if site.form == "partial-decorator":
        decorators = () if site.definition is None else getattr(site.definition.node, "decorators", ())
        for decorator in decorators:
            if decorator.at == site.at:
                for value in project.evaluate(decorator, Moment(site.scope, site.event, site.env)):
                    yield from _of_partial(value)
        return
    call = site.event.node
    if not isinstance(call, n.Call):
        return
    moment = Moment(site.scope, site.event, site.env)
    if site.form == "partial-call":
        for value in project.evaluate(call.func, moment):
            yield from _of_partial(value)
    yield call, moment, 0


def _of_partial(value: object) -> Iterator[tuple[n.Call, Moment, int]]:
    if isinstance(value, Partial):
        yield value.call, value.moment, 1


def _spread(node: n.Expression, moment: Moment, site: WrapSite, project: Analysis) -> Iterator[Keyword]:
    values = project.evaluate(node, moment)
    if len(values) != 1 or not _is_left_alone(node, moment, project):
        return
    match values[0]:
        case Data(node=n.Collection(kind="dict", items=items), moment=inside):
            for key, value in zip(items[::2], items[1::2], strict=True):
                if isinstance(key, n.Constant) and isinstance(key.value, str) and value is not None:
                    yield Keyword(key.value, value, key.at, inside)
        case Result(dotted="builtins.dict", call=call, event=Event() as event):
            for argument in call.args:
                if argument.keyword is not None:
                    inside = Moment(event.scope, event)
                    yield Keyword(argument.keyword, argument.value, argument.at, inside, call, argument)
        case Given(parameter=n.Parameter(kind="double-star")) as given:
            yield from _passed_on(given, moment.env, site)


def _passed_on(given: Given, env: Environment | None, site: WrapSite) -> Iterator[Keyword]:
    """Yield what the call of a function of the project puts into its `**` parameter."""
    named = {parameter.name for parameter in given.scope.parameters()}
    while env is not None:
        extra = {name for scope, name in env.values if scope is given.scope} - named
        for event in reversed(site.via):
            if isinstance(event.node, n.Call) and extra:
                for argument in event.node.args:
                    if argument.keyword in extra:
                        moment = Moment(event.scope, event)
                        yield Keyword(
                            argument.keyword, argument.value, argument.at, moment, event.node, argument
                        )
                        extra.discard(argument.keyword)
        env = env.outer


def _is_left_alone(node: n.Expression, moment: Moment, project: Analysis) -> bool:
    """Whether nothing but its binding writes to the dict that `node` names."""
    access = project.access(node, moment.scope)
    if access is None:
        return not isinstance(node, n.Name | n.Attribute | n.Subscript)
    whole = Access(access.scope, access.name, access.steps)
    writes = project.staleness.writes.to(whole)
    return len(writes) <= 1 and all(write.access == whole for write in writes)
