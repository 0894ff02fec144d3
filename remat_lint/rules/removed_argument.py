"""Finds keyword arguments that a checkpoint wrapper does not have, no longer has, or ignores.

## What it does
Reports keywords that the wrapper does not take: `concrete`, which is gone since JAX 0.10; `static_argnames`, which
`jax.checkpoint` takes and ignores and which no other wrapper has; `static_argnums` of `equinox.filter_checkpoint`;
keywords that belong to `jax.jit`, to `torch.utils.checkpoint` or to the wrapper of another library; and misspelt ones.
Keywords in a `functools.partial` and in a dict behind `**` are seen where the dict is visible and never changed.

## Why it is a problem
An unknown keyword raises `TypeError` when the wrapper is called. `concrete=True` raises `NotImplementedError` up to JAX
0.10 and `TypeError` after; `concrete=False` was let through before 0.10. `jax.checkpoint(f, static_argnames=…)` raises
nothing from JAX 0.10 on and makes nothing static: the argument arrives traced, and `if flag:` in the body raises
`TracerBoolConversionError`.

## When to ignore it
Code that is prepared for the error is not reported: a `try` that catches it, a branch that asks for the release.
`static_argnames` works where the experimental setting `jax_remat3` is on; a file that names it is not reported.

## Fix safety
Dropping `concrete=False`, `use_reentrant` and `preserve_rng_state` is safe: none of them can have an effect here.
Every other fix is unsafe: it drops or renames an option that was meant to do something, or writes `static_argnums` for
`static_argnames` and passes the arguments by position.

## References
<https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>, <https://docs.jax.dev/en/latest/changelog.html>
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Fix, Severity
from remat_lint.jaxapi import signatures
from remat_lint.jaxapi.wrappers import WRAPPERS, Wrapper
from remat_lint.project.analysis import Analysis
from remat_lint.project.keywords import Keyword, keywords
from remat_lint.project.modules import Module
from remat_lint.project.named_statics import NamedStatics, named_statics
from remat_lint.project.spellings import asks_release
from remat_lint.project.values import Data, WrapSite
from remat_lint.rules.conditions import when
from remat_lint.rules.expected_errors import expected, is_tried
from remat_lint.rules.removal import remove_argument
from remat_lint.rules.removed_argument_examples import EXAMPLES
from remat_lint.rules.rule import Place, Report, Rule, Silent, safe, unsafe

_ERRORS = ("TypeError", "NotImplementedError")
_WITHOUT_EFFECT = frozenset({"use_reentrant", "preserve_rng_state"})
_ALIKE = 0.7


@dataclass(frozen=True, slots=True, eq=False)
class _Wrong:
    """What is wrong with one keyword.

    Attributes:
        keyword: the keyword.
        site: where it is given.
        problem: what happens, as the end of a sentence that begins with the wrapper's name.
        advice: what to do instead.
        versions: specifier of the releases for which this holds.
        rename: name to write instead.
        harmless: whether dropping it changes nothing.
        statics: for `static_argnames`, how to say it by position.
    """

    keyword: Keyword
    site: WrapSite
    problem: str
    advice: str
    versions: str = ""
    rename: str = ""
    harmless: bool = False
    statics: NamedStatics | None = None


class RemovedArgument(Rule):
    """`removed-argument`: a keyword that the wrapper does not have."""

    code = "RML205"
    name = "removed-argument"
    category = "correctness"
    severity = Severity.ERROR
    subject = WrapSite
    silence = "the wrapper has all the keywords that it is given"
    examples = EXAMPLES

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report each keyword that is wrong."""
        for keyword in keywords(subject, project):
            wrong = _judge(keyword, subject, project)
            if wrong is None:
                continue
            if expected(subject.event, project, *_ERRORS) or is_tried(subject.event, *_ERRORS):
                yield Silent("the error is expected")
                return
            if asks_release(subject.at, subject.scope, project):
                yield Silent("the code asks for the release before")
                return
            name = subject.wrapper.qualname
            message = f"`{name}` {wrong.problem}{when(subject.event)}{wrong.advice}"
            place = Place(keyword.moment.scope.module, keyword.at)
            yield Report(place, message, self.severity, facts=wrong, versions=wrong.versions)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Drop the keyword, rename it, or say by position what it says by name."""
        del project
        wrong: _Wrong = report.facts
        keyword, module = wrong.keyword, report.place.module
        if wrong.statics is not None:
            edits = wrong.statics.edits(keyword)
            return unsafe("Make the arguments static by position", *edits) if edits else None
        if keyword.call is None or keyword.argument is None:
            return None
        if wrong.rename:
            start = module.source.offset(report.place.span.start)
            name = module.source.span(start, start + len(keyword.name))
            return unsafe(f"Write {wrong.rename}", Edit(name, wrong.rename))
        edits = _without(wrong)
        grade = safe if wrong.harmless else unsafe
        return grade(f"Drop {keyword.name}", *edits) if edits else None


def _without(wrong: _Wrong) -> tuple[Edit, ...]:
    """Return the edits that drop a keyword; a `partial` that then holds nothing becomes the wrapper itself."""
    keyword, site = wrong.keyword, wrong.site
    assert keyword.call is not None and keyword.argument is not None  # noqa: PT018 - both stand or fall together
    module = keyword.moment.scope.module
    call = keyword.call
    if site.form == "partial-decorator" and call.at == site.at and len(call.args) == 2:  # noqa: PLR2004 - the wrapper and this
        if "#" in Place(module, call.at).text:
            return ()
        return (Place(module, call.at).replace(Place(module, call.args[0].at).text),)
    return remove_argument(call, keyword.argument, module)


def _judge(keyword: Keyword, site: WrapSite, project: Analysis) -> _Wrong | None:
    wrapper = site.wrapper
    like = signatures.LIKE.get(wrapper.qualname, wrapper.qualname)
    own = keyword.name == wrapper.target
    if keyword.name == "concrete" and (like in ("jax.checkpoint", "jax.remat") or _has_concrete(wrapper)):
        return _concrete(keyword, site, project)
    if keyword.name == "static_argnames" and like == "jax.checkpoint":
        return _static_argnames(keyword, site, project)
    if own or (keyword.name in wrapper.accepts and keyword.name != "static_argnames"):
        return None
    return _unknown(keyword, site, project)


def _has_concrete(wrapper: Wrapper) -> bool:
    return wrapper.framework in ("linen", "lift") and "concrete" in wrapper.accepts


def _concrete(keyword: Keyword, site: WrapSite, project: Analysis) -> _Wrong | None:
    values = project.evaluate(keyword.value, keyword.moment)
    nodes = [value.node for value in values if isinstance(value, Data)]
    constants = [node.value for node in nodes if isinstance(node, n.Constant)]
    known = constants[0] if len(constants) == len(values) == 1 else None
    advice = "; arguments that control flow depends on go into `static_argnums`"
    if known is True:
        late = site.wrapper.framework in ("linen", "lift")
        error = "NotImplementedError" if late or not project.jax.all(">=0.11") else "TypeError"
        also = (
            ""
            if late or project.jax.all(">=0.11") or not project.jax.any(">=0.11")
            else " (TypeError from JAX 0.11 on)"
        )
        moment = " when the module is used" if late else ""
        return _Wrong(keyword, site, f"no longer has `concrete`: `True` gives {error}{also}{moment}", advice)
    if site.wrapper.framework in ("linen", "lift"):
        return None
    value = "`concrete=False`" if known is False else "`concrete`"
    problem = f"no longer takes {value}: NotImplementedError in JAX 0.10, TypeError from 0.11 on"
    advice = "; drop it, it has no effect" if known is False else advice
    return _Wrong(keyword, site, problem, advice, signatures.CONCRETE_SINCE, harmless=known is False)


def _static_argnames(keyword: Keyword, site: WrapSite, project: Analysis) -> _Wrong | None:
    if _is_switched_on(keyword.moment.scope.module):
        return None
    statics = named_statics(keyword, site, project)
    if statics is not None and not statics.names:
        return None
    names = "the arguments stay" if statics is None else statics.describe()
    since = signatures.STATIC_ARGNAMES_SINCE
    if not project.jax.any(since):
        problem = "has no parameter `static_argnames` before JAX 0.10, so the call raises TypeError"
    else:
        before = "" if project.jax.all(since) else " (before JAX 0.10 it is a TypeError)"
        problem = f"accepts `static_argnames` and ignores it{before}: {names} traced"
    wanted = "" if statics is None else statics.option
    advice = (
        f"; write `{wanted}` and pass by position"
        if wanted
        else "; use `static_argnums` and pass by position"
    )
    return _Wrong(keyword, site, problem, advice, statics=statics)


def _is_switched_on(module: Module) -> bool:
    """Whether a file names the setting with which `static_argnames` works, outside of its comments."""
    switch = signatures.STATIC_ARGNAMES_SWITCH
    text = module.source.text.lower()
    if switch not in text:
        return False
    comments = [comment.text.lower() for chunk in module.chunks for comment in chunk.comments]
    return text.count(switch) > sum(comment.count(switch) for comment in comments)


def _unknown(keyword: Keyword, site: WrapSite, project: Analysis) -> _Wrong:
    name, wrapper = keyword.name, site.wrapper
    problem = f"has no parameter `{name}`, so the call raises TypeError"
    if name == "static_argnames":
        statics = named_statics(keyword, site, project) if wrapper.has_static else None
        wanted = statics.option if statics is not None else ""
        if not wrapper.has_static:
            advice = "; what is no array is static by itself"
        else:
            advice = f"; write `{wanted or 'static_argnums'}` and pass by position"
        return _Wrong(keyword, site, problem, advice, statics=statics)
    if name == "static_argnums" and wrapper.framework == "equinox":
        return _Wrong(keyword, site, problem, "; what is no array is static by itself")
    if name == "concrete":
        return _Wrong(keyword, site, problem, "; drop it", harmless=_is_false(keyword))
    if name in signatures.CALLABLE_KEYWORDS and not _has_target(keyword, site):
        return _Wrong(keyword, site, problem, f"; the function is `{wrapper.target}`", rename=wrapper.target)
    owner = signatures.FOREIGN_KEYWORDS.get(name)
    if name in _WITHOUT_EFFECT:
        advice = f"; it belongs to {owner}, and recomputation here needs no such switch"
        return _Wrong(keyword, site, problem, advice, harmless=True)
    known = sorted((wrapper.accepts | {wrapper.target}) - {"concrete", "static_argnames"})
    if owner is None:
        owner = next((row.qualname for row in WRAPPERS.values() if name in row.accepts), None)
    close = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
    if owner is None and close and close[0] not in site.options:
        return _Wrong(keyword, site, problem, f"; did you mean `{close[0]}`?", rename=close[0])
    listed = ", ".join(f"`{word}`" for word in known if word != wrapper.target)
    advice = f"; it belongs to {owner}" if owner else f"; it takes {listed}"
    return _Wrong(keyword, site, problem, advice)


def _has_target(keyword: Keyword, site: WrapSite) -> bool:
    """Whether the function is given otherwise."""
    return site.target is not None and site.target is not keyword.value


def _is_false(keyword: Keyword) -> bool:
    return isinstance(keyword.value, n.Constant) and keyword.value.value is False
