"""The check that a function computes the same with its checkpoints as without them.

A stage is the way in which both sides run. Eager comes first: there plain Python runs the body of every checkpointed
function at every call, so a value that a kept trace has frozen shows as a difference, and a Python flag is seen as it
was given. A second eager call with other values meets what the first one left behind. The compiled stage follows,
where rounding is alike on both sides. Inside a stage the order is: raised, tree, shapes and dtypes, finiteness, noise
of the plain side, values, gradients.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import jax

from . import inputs
from .comparison import (
    compare_form,
    compare_leaves,
    measure_drift,
    require_finite,
    require_repeatable,
    require_substance,
)
from .jaxprs import applies_remat
from .modules import Target, find_target, load_fresh
from .outcomes import Evidence, Mismatch, NotVerified
from .plain import UnsupportedJax, count_applied, no_remat
from .tolerance import RULE, Widening
from .trees import Observation, observe

Arguments = tuple[Sequence[Any], Mapping[str, Any]]
observers: list[Callable[[Evidence], None]] = []


@dataclass(frozen=True)
class _Raised:
    """A run that ended in an exception, before the function was there to be called or later."""

    error: Exception
    loaded: bool = True

    def __str__(self) -> str:
        text = str(self.error).strip().splitlines()
        return f"{type(self.error).__name__}: {text[0]}" if text else type(self.error).__name__


_Runs = Sequence[Observation | _Raised]


@dataclass(frozen=True)
class _Subject:
    """What is run: a function found anew for each side, or one given function with the state it has."""

    target: Target | None
    function: Callable[..., Any] | None
    args: Any
    kwargs: Mapping[str, Any]
    differentiate: bool = True

    @contextmanager
    def open(self) -> Iterator[tuple[Any, Callable[..., Any]]]:
        """Gives the module, if there is one, and the function, both loaded for this run."""
        if self.target is None:
            assert self.function is not None
            yield None, self.function
            return
        with load_fresh(self.target) as loaded:
            yield loaded

    def _arguments(self, module: Any) -> Arguments:
        args = self.args(module) if callable(self.args) else self.args
        built_args, built_kwargs = inputs.build((tuple(args), dict(self.kwargs)))
        return built_args, built_kwargs

    def run(
        self,
        *,
        plain: bool,
        compiled: bool = False,
        change: Callable[[Any], Any] | None = None,
        twice: bool = False,
    ) -> list[Observation | _Raised]:
        """Runs one side: loads it, calls it once or twice, and keeps what came out or was raised."""
        runs: list[Observation | _Raised] = []
        loaded = False
        observe_here = partial(observe, compiled=compiled, differentiate=self.differentiate)
        try:
            with no_remat() if plain else nullcontext(), self.open() as (module, function):
                loaded = True
                arguments = self._arguments(module)
                given = arguments if change is None else change(arguments)
                runs.append(observe_here(function, *given))
                if twice:
                    runs.append(observe_here(function, *inputs.vary(given)))
        except UnsupportedJax:
            raise
        except Exception as error:  # noqa: BLE001 - the user's program may raise anything, and that is a result
            runs.append(_Raised(error, loaded))
        return runs

    def find_line(self, error: Exception) -> str:
        """Where in the file under test an exception came from, in words; empty if that is not known."""
        file = str(self.target.file) if self.target is not None else ""
        rows = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        return f", in line {rows[-1]}" if rows else ""

    def applies_remat(self) -> bool:
        """Whether a checkpoint stands in the program, for a function whose traces were made by earlier calls."""
        if self.function is None:
            return False
        try:
            args, kwargs = self._arguments(None)
            return applies_remat(self.function, args, kwargs)
        except TypeError:
            return False


class _Check:
    """One comparison of both sides, stage by stage."""

    def __init__(self, subject: _Subject, evidence: Evidence, widening: Widening | None) -> None:
        self._subject, self._evidence, self._widening = subject, evidence, widening

    def run(self) -> None:
        """Judges all stages.

        Raises:
            Mismatch: at the first stage and leaf that differs.
            NotVerified: if no verdict is possible.
        """
        first = self._run_eager()
        self._run_compiled()
        if any(str(leaf.dtype) in ("float16", "bfloat16") for leaf in first.gradients.values()):
            self._run_widened()

    def _run_eager(self) -> Observation:
        plain = self._subject.run(plain=True, twice=True)
        if isinstance(plain[0], _Raised) and isinstance(plain[0].error, jax.errors.JAXTypeError):
            self._subject = replace(self._subject, differentiate=False)
            self._evidence.notes.append(f"no gradients: the plain side raised {plain[0]} when differentiated")
            plain = self._subject.run(plain=True, twice=True)
        first = plain[0]
        if isinstance(first, _Raised) and not first.loaded:
            place = self._subject.find_line(first.error)
            raise NotVerified(
                f"{self._evidence.target} cannot be loaded: {first}{place}; nothing was compared"
            ) from first.error
        if isinstance(first, _Raised):
            raise NotVerified(
                f"[eager] the plain side raised {first}: the example inputs do not fit, or the program fails "
                "without checkpoints too"
            ) from first.error
        before = count_applied()
        other = self._subject.run(plain=False, twice=True)
        self._evidence.applied = count_applied() - before
        if not self._evidence.applied and not self._subject.applies_remat():
            raise NotVerified("no checkpoint was applied during the run, so both sides are the same program")
        again = self._subject.run(plain=True, twice=True)

        @cache
        def drift() -> Mapping[str, float]:
            compiled = self._subject.run(plain=True, compiled=True)[0]
            return measure_drift(first, compiled) if isinstance(compiled, Observation) else {}

        self._evidence.gradients = len(first.gradients)
        self._judge("eager", first, other[0], again[0], drift)
        require_substance(first)
        if not first.gradients and self._subject.differentiate:
            self._evidence.notes.append("no gradients: no argument is an array of floats")
        self._judge_second(plain[1:], other[1:], again[1:], drift)
        return first

    def _judge_second(
        self, plain: _Runs, other: _Runs, again: _Runs, drift: Callable[[], Mapping[str, float]]
    ) -> None:
        """Judges the second call, where the plain side can make one."""
        stage = "eager, second call"
        if not plain or isinstance(plain[0], _Raised):
            why = plain[0] if plain else "it was not reached"
            self._evidence.notes.append(f"[{stage}] left out, the plain side raised {why}")
            return
        if not again or not other:
            return
        try:
            self._judge(stage, plain[0], other[0], again[0], drift)
        except NotVerified as reason:
            self._evidence.notes.append(f"{reason}; this stage was left out")

    def _run_compiled(self) -> None:
        plain, again = (self._subject.run(plain=True, compiled=True)[0] for _ in range(2))
        if isinstance(plain, _Raised):
            self._evidence.notes.append(f"[jit] left out, the plain side raised {plain}")
            return
        other = self._subject.run(plain=False, compiled=True)[0]
        self._judge("jit", plain, other, again, dict)

    def _run_widened(self) -> None:
        """Runs 16-bit inputs as float32 too, where an error of one percent is not hidden by rounding."""
        plain, again = (
            self._subject.run(plain=True, compiled=True, change=inputs.widen)[0] for _ in range(2)
        )
        if isinstance(plain, _Raised):
            self._evidence.notes.append(f"[jit, float32] left out, the plain side raised {plain}")
            return
        other = self._subject.run(plain=False, compiled=True, change=inputs.widen)[0]
        self._judge("jit, float32", plain, other, again, dict)

    def _judge(
        self,
        stage: str,
        plain: Observation,
        other: Observation | _Raised,
        again: Observation | _Raised,
        drift: Callable[[], Mapping[str, float]],
    ) -> None:
        if isinstance(other, _Raised):
            raise Mismatch(
                f"[{stage}] the checkpointed side raised {other}; the plain side returned"
            ) from other.error
        if isinstance(again, _Raised):
            raise NotVerified(f"[{stage}] the plain side ran once and then raised {again}") from again.error
        require_finite(stage, plain)
        require_repeatable(stage, plain, again)
        compare_form(stage, plain, other)
        errors = compare_leaves(plain, other, {}, self._widening)
        if not all(error.passed for error in errors):
            errors = compare_leaves(plain, other, drift(), self._widening)
        self._evidence.stages[stage] = errors
        failed = [error for error in errors if not error.passed]
        if failed:
            raise Mismatch(f"[{stage}] {failed[0].describe()}; {len(failed)} of {len(errors)} leaves differ")


def _judge(check: _Check, evidence: Evidence) -> None:
    """Run a check, note its verdict and tell the observers."""
    try:
        check.run()
        evidence.verdict = "verified"
    except (Mismatch, NotVerified) as outcome:
        evidence.verdict = "mismatch" if isinstance(outcome, Mismatch) else "not verified"
        evidence.reason = str(outcome)
        raise
    finally:
        for observer in observers:
            observer(evidence)


def check_equivalence(
    target: str | Callable[..., Any],
    args: Sequence[Any] | Callable[[Any], Sequence[Any]] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    tol: float | None = None,
    why: str = "",
) -> Evidence:
    """Checks that a function computes the same outputs and gradients with its checkpoints as without them.

    Args:
        target: `path/to/file.py:owner`, relative to the test's folder or one above it, or `pkg.mod:owner`. Each side
            loads the module, and the modules of its project, anew. A function object is taken as it is, with the
            state that earlier calls left.
        args: positional arguments: values, or descriptions made by `array` and `key`; or a function that is given
            the freshly loaded module and returns them.
        kwargs: keyword arguments, of the same kind.
        tol: a relative limit in place of 16 eps; needs `why`.
        why: the reason for `tol`, which stands in the report.

    Returns:
        What was compared, with errors and limits.

    Raises:
        Mismatch: the sides differ; the message names stage, leaf, error, limit and where the limit comes from.
        NotVerified: no verdict is possible; test runners show a skip.
        LookupError: the target cannot be found.
        ValueError: `tol` without `why`.
        UnsupportedJax: checkpoints cannot be switched off in the installed JAX.
    """
    if tol is not None and not why:
        raise ValueError("a wider tolerance needs its reason: check_equivalence(..., tol=..., why='...')")
    widening = Widening(tol, why) if tol is not None else None
    if isinstance(target, str):
        start = Path(sys._getframe(1).f_code.co_filename).parent  # noqa: SLF001 - the folder of the calling test
        subject = _Subject(find_target(target, start), None, args, kwargs or {})
        evidence = Evidence(target, tolerance=RULE)
    else:
        subject = _Subject(None, target, args, kwargs or {})
        evidence = Evidence(getattr(target, "__qualname__", repr(target)), tolerance=RULE)
    _judge(_Check(subject, evidence, widening), evidence)
    return evidence
