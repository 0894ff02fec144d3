"""Finds `static_argnums` that cannot mean what it says: wrong type, wrong number, or a call that does not fit.

## What it does
Reports `static_argnums` of `jax.checkpoint` and its relatives when
* it is a list, a set, a bool, a string or None where an int or a tuple of ints is needed;
* a number in it names no parameter of the wrapped function;
* a call passes a static argument by keyword or leaves it to its default, so that the number points past the
  positional arguments;
* it is off by one because of `self`: linen's `nn.remat`, and a decorator on a method, count `self` as 0, a bound method
  under `jax.checkpoint` and `flax.linen.partitioning.remat` do not; or it names an array of a plain function, and the
  flag beside it stays traced;
* it is negative for a wrapper that cannot count from the end (linen).

## Why it is a problem
The wrong type and the wrong number raise `TypeError` and `ValueError`, but only when the function is called. An index
that is off by one makes an array static and leaves the flag traced, so that `if flag:` raises
`TracerBoolConversionError` far away from the cause.

## When to ignore it
When the wrapped function is only called in ways that this file does not show.

## Fix safety
Writing a list or a set as a tuple is safe. Every other fix is unsafe: another argument becomes static.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>,
<https://flax.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html#flax.linen.remat>
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import Invocation, Signature, invocations, signatures
from remat_lint.project.offsets import OffByOne, off_by_one
from remat_lint.project.statics import StaticOption, shift, static_option
from remat_lint.project.values import WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected, expected_at_calls
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent, safe, unsafe
from remat_lint.rules.static_examples import EXAMPLES

_KINDS = {
    "list": "a list",
    "set": "a set",
    "dict": "a dict",
    "bool": "a bool",
    "str": "a string",
    "NoneType": "None",
}
_KINDS |= {"float": "a float", "int": "a bare int", "bytes": "bytes"}


@dataclass(frozen=True, slots=True, eq=False)
class _Mismatch:
    """What the fix needs to know: the option, and the index to write instead or the argument to pass by position."""

    option: StaticOption
    replace: tuple[int, int] | None = None
    argument: n.Argument | None = None


class StaticArgnumsMismatch(Rule):
    """`static-argnums-mismatch`: static arguments that the wrapper does not find."""

    code = "RML303"
    name = "static-argnums-mismatch"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "static_argnums is not given, or fits the signature and the visible calls"
    examples = EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report a static argument that the wrapper cannot find, most basic reason first."""
        option = static_option(subject, project)
        if option is None or not subject.wrapper.has_static:
            return
        wrong = _wrong_type(option, subject)
        if wrong:
            yield from self._typed(subject, option, wrong, project)
        elif option.indices is None:
            yield Silent("which arguments are static is not known")
        else:
            found = False
            for answer in self._indexed(subject, option, project):
                found = True
                yield answer
            if not found:
                yield from self._called(subject, option, project)

    def _typed(
        self, site: WrapSite, option: StaticOption, wrong: str, project: Analysis
    ) -> Iterator[Report | Silent]:
        if site.via or expected_at_calls(site, project, "TypeError"):
            yield Silent("a test expects the error")
            return
        wanted = "an int or a tuple of ints" if site.wrapper.integer_static else "a tuple of ints"
        message = (
            f"`static_argnums` of {site.wrapper.qualname} must be {wanted}; {wrong} raises TypeError when the function is "
            f"called{when(site.event)}"
        )
        yield Report(
            Place(option.module, option.argument.value.at), message, self.severity, facts=_Mismatch(option)
        )

    def _indexed(self, site: WrapSite, option: StaticOption, project: Analysis) -> Iterator[Report | Silent]:
        """Report numbers that name no parameter, negative ones where they cannot be, and those off by one."""
        assert option.indices is not None
        offset = shift(site)
        known = signatures(site, project)
        if not site.wrapper.negative_static and min(option.indices, default=0) < 0:
            yield from self._negative(site, option, known, project)
            return
        if offset is None or not known:
            yield Silent("what the function takes is not known")
            return
        slip = off_by_one(site, option.indices, known, offset, project)
        if slip is not None and not expected_at_calls(
            site, project, "ValueError", "TracerBoolConversionError"
        ):
            yield self._slipped(site, option, slip, known[0], project)
            return
        beyond = [
            i for i in option.indices if all(_out_of_range(i + (offset if i >= 0 else 0), s) for s in known)
        ]
        if beyond and not expected_at_calls(site, project, "ValueError"):
            yield self._beyond(site, option, beyond[0], known[0], project)

    def _negative(
        self, site: WrapSite, option: StaticOption, known: tuple[Signature, ...], project: Analysis
    ) -> Iterator[Report | Silent]:
        assert option.indices is not None
        low = [index for index in option.indices if index < 0]
        if -2 in low or expected_at_calls(site, project, "ValueError", "TracerBoolConversionError"):  # noqa: PLR2004 - see below
            # -2 means the last argument by accident: the wrapper subtracts self and adds two arguments of its own.
            yield Silent("-2 happens to mean the last argument")
            return
        count = len(known[0].positional) if len(known) == 1 and not known[0].rest else 0
        index = count + low[0] - (shift(site) or 0)
        instead = (low[0], index) if count and index > 0 else None
        advice = f"; write {instead[1]}" if instead else "; write the index from the front"
        message = (
            f"{site.wrapper.qualname} does not count from the end: it moves the index {low[0]} by the arguments that it "
            f"adds itself, and the argument that is meant stays traced{when(site.event)}{advice}"
        )
        place = self._seat(site, option, project, low[0])
        yield Report(place, message, self.severity, facts=_Mismatch(option, instead))

    def _slipped(
        self, site: WrapSite, option: StaticOption, slip: OffByOne, signature: Signature, project: Analysis
    ) -> Report:
        counts = "counts `self` as 0" if slip.step > 0 else "does not count `self`"
        what = f"the array `{slip.array}`" if slip.array else "no argument"
        why = f"{slip.subject} {counts}, so" if slip.subject else "arguments are numbered from 0, and"
        message = (
            f"static_argnums index {slip.index} means {what} here, and `{slip.flag}` stays traced: {why} `{slip.flag}` is "
            f"{slip.index + slip.step}{when(site.event)}"
        )
        notes = (_definition(signature),)
        facts = _Mismatch(option, (slip.index, slip.index + slip.step))
        severity = self.severity if slip.certain else Severity.WARNING
        return Report(self._seat(site, option, project, slip.index), message, severity, notes, facts)

    def _beyond(
        self, site: WrapSite, option: StaticOption, index: int, signature: Signature, project: Analysis
    ) -> Report:
        name = signature.function.scope.name
        count = len(signature.positional) - (shift(site) or 0)
        counted = (
            "self included"
            if signature.is_method and not shift(site)
            else "self not counted"
            if _has_self(signature)
            else ""
        )
        takes = f"`{name}` takes {count} by position" if name else f"the lambda takes {count} by position"
        result = "nothing becomes static" if shift(site) else "every call raises ValueError"
        message = (
            f"static_argnums index {index} is out of range: {takes}{f' ({counted})' if counted else ''}, numbered from 0; "
            f"{result}{when(site.event)}"
        )
        place = self._seat(site, option, project, index)
        return Report(place, message, self.severity, (_definition(signature),), _Mismatch(option))

    def _called(self, site: WrapSite, option: StaticOption, project: Analysis) -> Iterator[Report | Silent]:
        """Report calls in which a static argument is none of the positional ones."""
        known = signatures(site, project)
        offset = shift(site)
        if len(known) != 1 or offset is None or site.wrapper.framework == "nnx":
            return
        for call in invocations(site, project):
            if call.complete and not expected(call.event, project, "ValueError", "TypeError"):
                for index in option.indices or ():
                    if len(call.positional) <= index + offset < len(known[0].positional):
                        yield from self._misplaced(site, option, call, known[0], index)

    def _misplaced(
        self, site: WrapSite, option: StaticOption, call: Invocation, signature: Signature, index: int
    ) -> Iterator[Report]:
        offset = shift(site) or 0
        parameter = signature.positional[index + offset]
        name = parameter.name
        given = call.keywords.get(name)
        if given is None and (offset or parameter.default is None or name in signature.bound):
            return
        if offset:
            result = f": {site.wrapper.qualname} drops keyword arguments with no more than a RuntimeWarning"
        else:
            result = ", so the index points past the positional arguments and the call raises ValueError"
        how = "passed by keyword" if given is not None else "left to its default"
        message = f"`{name}` is static (index {index}) but is {how} here{result}{when(site.event)}; pass `{name}` by position"
        place = Place(call.event.module, call.call.at if given is None else given.at)
        note = Note(Place(option.module, option.argument.at), "the static arguments are named here")
        following = given if given is not None and index + offset == len(call.positional) else None
        yield Report(place, message, self.severity, (note,), _Mismatch(option, None, following))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Write a tuple, another index, or an argument by position."""
        del project
        facts: _Mismatch = report.facts
        if facts.argument is not None:
            return _by_position(report, facts.argument)
        node = facts.option.node
        if not facts.option.is_literal or report.place.module is not facts.option.module or node is None:
            return None
        if facts.replace is not None:
            old, new = facts.replace
            return (
                None
                if _item(facts.option, old) is None
                else unsafe(f"Write the index {new}", report.place.replace(str(new)))
            )
        if (
            isinstance(node, n.Collection)
            and node.kind in ("list", "set")
            and facts.option.indices is not None
        ):
            return _as_tuple(report, node)
        return None

    def _seat(self, site: WrapSite, option: StaticOption, project: Analysis, index: int) -> Place:
        """Return where the index stands, else the option, else the call of the factory that leads to it."""
        home = project.place(site)
        if option.module is not home.module:
            return Place(home.module, home.at)
        item = _item(option, index)
        return Place(option.module, option.argument.value.at if item is None else item.at)


def _wrong_type(option: StaticOption, site: WrapSite) -> str:
    """Return what the option is, in words, if the wrapper refuses it."""
    node = option.node
    tuples_only = not site.wrapper.integer_static
    if isinstance(node, n.Collection):
        if node.kind == "tuple":
            bad = [i for i in node.items if isinstance(i, n.Constant) and not _is_index(i)]
            return (
                ""
                if not bad or tuples_only
                else f"a tuple with {_KINDS.get(type(bad[0].value).__name__, '…')} in it"
            )
        return "" if tuples_only and node.kind in ("list", "set") else _KINDS[node.kind]
    if isinstance(node, n.Constant) and not node.kind:
        if _is_index(node):
            return _KINDS["int"] if tuples_only else ""
        if isinstance(node.value, bool) and site.wrapper.framework in ("linen", "lift") and not tuples_only:
            return ""
        if isinstance(node.value, str) and tuples_only:
            return ""
        return _KINDS.get(type(node.value).__name__, "")
    return ""


def _is_index(node: n.Constant) -> bool:
    return isinstance(node.value, int) and not isinstance(node.value, bool)


def _has_self(signature: Signature) -> bool:
    return signature.is_bound or signature.is_method


def _out_of_range(position: int, signature: Signature) -> bool:
    count = len(signature.positional)
    return not signature.rest and not -count <= position < count


def _definition(signature: Signature) -> Note:
    node = signature.function.scope.node
    assert isinstance(node, n.Function)
    return Note(Place(signature.function.scope.module, node.name_at), "the function is defined here")


def _by_position(report: Report, argument: n.Argument) -> Fix:
    place = Place(report.place.module, argument.at)
    return unsafe(
        "Pass the argument by position", place.replace(Place(report.place.module, argument.value.at).text)
    )


def _item(option: StaticOption, index: int) -> n.Constant | None:
    """Return the number `index` in the option, if it is written there."""
    node = option.node if option.is_literal else None
    items = node.items if isinstance(node, n.Collection) else (node,)
    return next((item for item in items if isinstance(item, n.Constant) and item.value == index), None)


def _as_tuple(report: Report, node: n.Collection) -> Fix:
    place = Place(report.place.module, node.at)
    source, span = place.module.source, place.span
    inside = place.text[1:-1]
    comma = "," if len(node.items) == 1 and "," not in inside.partition("#")[0] else ""
    start, end = source.offset(span.start), source.offset(span.end)
    edits = [Edit(source.span(start, start + 1), "("), Edit(source.span(end - 1, end), ")")]
    if comma and node.items[0] is not None:
        edits.append(Place(place.module, node.items[0].at).insert_after(","))
    return safe("Write a tuple", *edits)
