"""Finds a checkpointed function that changes an argument in place and does not return it.

## What it does
Reports a store into an item of an argument, `del`, `+=` with a list, and the methods that change a list or a dict,
where the function does not return the changed object. Where the argument is seen to be an array, a store into an item
of it is an error.

## Why it is a problem
JAX takes the arguments of a checkpointed function apart into arrays and builds them anew for the trace. The function
changes the new object; the caller's list or dict stays as it was, without a word. Plain Python changes the caller's.
An array is immutable in a trace, so that a store into it raises `TypeError`, also where the caller gives a numpy
array.

## When to ignore it
When the object is only a scratch place. Where the function reads it again after the change, or every visible call
makes it anew, nothing is reported unless the caller uses it again. Static arguments, `self`, objects of `flax.nnx`
under `nnx.remat`, and copies are left alone.

## Fix safety
There is no automatic edit: return the changed object, and let the caller take it from there. Of an array write
`x = x.at[i].set(value)`.

## References
<https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Severity
from remat_lint.jaxapi.effects import makes_traced
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import render
from remat_lint.project.body import Body, bodies
from remat_lint.project.invocations import Invocation, invocations, signatures
from remat_lint.project.mutations import Mutation, is_array, is_container, mutations
from remat_lint.project.reliance import Flow, is_fresh, is_read_later, relies
from remat_lint.project.summaries import Effect
from remat_lint.project.values import Moment, Result, WrapSite
from remat_lint.rules import mutation_examples
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected_at_calls
from remat_lint.rules.rule import Place, Report, Rule, Silent
from remat_lint.rules.ways import inside, way

Given = tuple[n.Argument, Invocation]


class MutatedArgument(Rule):
    """`mutated-argument`: a change of an argument that nobody gets to see."""

    code = "RML105"
    name = "mutated-argument"
    category = "suspicious"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the body changes no argument, or returns what it changes"
    examples = mutation_examples.EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each change of an argument that is lost, or that raises."""
        if subject.wrapper.framework == "nnx":
            return
        for body in bodies(subject, project, Effect.WRITES):
            for mutation in mutations(body, project):
                yield self._verdict(mutation, body, project)

    def _verdict(self, mutation: Mutation, body: Body, project: Analysis) -> Report | Silent:
        site, scope = body.site, body.root.function.scope
        if expected_at_calls(site, project, "TypeError", "Exception"):
            return Silent("a test expects the error")
        given = _given(mutation, site, project)
        container = is_container(mutation, scope)
        arrays = mutation.kind == "item" and not container and mutation.call is None
        if arrays and (is_array(mutation, scope, project) or _is_given_array(given, project)):
            return self._on_array(mutation, body, project)
        if not container and not _is_change_of_container(mutation):
            return Silent("it is not known what the argument is")
        if Flow(scope, mutation.parameter.name, project).gets_back():
            return Silent("the function returns what it changes")
        if given and all(is_fresh(*one) for one in given):
            return Silent("every visible call makes the argument for itself")
        relied = any(relies(*one) for one in given)
        if is_read_later(mutation, scope) and not relied:
            return Silent("the function uses the changed object itself")
        return self._lost(mutation, body, project)

    def _lost(self, mutation: Mutation, body: Body, project: Analysis) -> Report:
        function, name = _named(body), mutation.parameter.name
        message = (
            f"{_what(mutation, body)} a copy{when(project.place(body.site))}: JAX takes the arguments of {function} apart and "
            f"builds them anew for the trace, so that the caller's `{name}` stays as it was; return `{name}` from {function}"
        )
        return self._made(message, Severity.WARNING, mutation, body)

    def _on_array(self, mutation: Mutation, body: Body, project: Analysis) -> Report:
        place = _text(mutation)
        name = mutation.parameter.name
        index = place[len(name) + 1 : -1]
        message = (
            f"`{place}` is stored in an argument of {_named(body)}{when(project.place(body.site))}, which is an immutable "
            f"array in the trace: this raises TypeError, also for a numpy array; write `{name} = {name}.at[{index}].set(…)`"
        )
        return self._made(message, Severity.ERROR, mutation, body)

    def _made(self, message: str, severity: Severity, mutation: Mutation, body: Body) -> Report:
        event = mutation.event
        return Report(Place(event.module, event.at), message, severity, way(body, event.frame))


def _named(body: Body) -> str:
    return f"`{body.name}`" if body.root.function.scope.name else "the lambda"


def _text(mutation: Mutation) -> str:
    """Return what is changed as the source spells it, if that is short."""
    event = mutation.event
    if event.target is None:
        return render(event.node)  # type: ignore[arg-type]  # a call
    text = Place(event.module, event.target.at).text
    return text if "\n" not in text else render(event.target)


def _what(mutation: Mutation, body: Body) -> str:
    event, where = mutation.event, inside(body, mutation.event.frame)
    if mutation.kind == "delete":
        return f"`{_text(mutation)}`{where} is deleted from"
    if mutation.kind == "item":
        return f"`{_text(mutation)}`{where} is stored in"
    if isinstance(event.node, n.Call):
        return f"`{render(event.node)}`{where} changes"
    return f"`{render(event.target) if event.target is not None else mutation.parameter.name} += […]`{where} changes"


def _is_change_of_container(mutation: Mutation) -> bool:
    """Whether a change is one that only a list or a dict knows, though nothing else shows what the argument is."""
    node = mutation.event.node
    if mutation.kind == "update" and isinstance(node, n.Call):
        values = [argument for argument in node.args if argument.keyword is not None]
        return bool(values) or any(isinstance(argument.value, n.Collection) for argument in node.args)
    return mutation.kind in ("popitem", "setdefault")


def _given(mutation: Mutation, site: WrapSite, project: Analysis) -> list[Given]:
    """Return what the visible calls give the changed parameter."""
    found: list[Given] = []
    for signature in signatures(site, project):
        names = [parameter.name for parameter in signature.positional]
        for call in invocations(site, project):
            name = mutation.parameter.name
            argument = call.given(signature, names.index(name)) if name in names else call.keywords.get(name)
            if argument is not None:
                found.append((argument, call))
    return found


def _is_given_array(given: list[Given], project: Analysis) -> bool:
    """Whether every visible call gives an array of JAX."""
    for argument, call in given:
        values = project.evaluate(argument.value, Moment(call.event.scope, call.event))
        if not all(isinstance(value, Result) and makes_traced(value.dotted) for value in values):
            return False
    return bool(given)
