"""Finds imports and spellings of checkpoint names that JAX no longer has, or never had.

## What it does
Reports `import jax.checkpoint_policies`, `from jax.checkpoint import …` and the like, which take a function or a
namespace for a module; `jax.ad_checkpoint.checkpoint` and `.remat`, which are gone since JAX 0.10;
`jax.new_checkpoint`, `jax.checkpoint_name` and other names that no supported release has; and `flax.nnx.Remat`, gone
since flax 0.10.6.

## Why it is a problem
The import raises `ModuleNotFoundError` or `ImportError`, the attribute `AttributeError`: at the latest when the code is
reached.

## When to ignore it
Code that is prepared is not reported: an import in a `try` that catches the error (and the one in its handler), in a
branch that asks for a version or with `hasattr`, or in a function that does.

## Fix safety
Writing the name that exists in JAX is safe: it is what was meant. For the other libraries it is unsafe. `nnx.Remat`
wrapped a class and `nnx.remat` wraps a function, so that there is no edit for it.

## References
<https://docs.jax.dev/en/latest/changelog.html>, <https://docs.jax.dev/en/latest/_autosummary/jax.checkpoint.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.findings import Fix, Severity
from remat_lint.jaxapi.signatures import NOT_MODULES
from remat_lint.jaxapi.wrappers import RETIRED, Retired
from remat_lint.project.analysis import Analysis
from remat_lint.project.spellings import ImportUse
from remat_lint.rules.removed_spelling_examples import EXAMPLES
from remat_lint.rules.respelling import respell
from remat_lint.rules.rule import Place, Report, Rule, Silent, safe, unsafe

_NEW_FLAX = ">=0.7"
"""Releases of JAX that the releases of flax before 0.10.6 were not made for."""


class RemovedSpelling(Rule):
    """`removed-spelling`: a name that does not exist."""

    code = "RML208"
    name = "removed-spelling"
    category = "correctness"
    severity = Severity.ERROR
    subject = ImportUse
    examples = EXAMPLES

    def check(self, subject: ImportUse, project: Analysis) -> Iterator[Report | Silent]:
        """Report the spelling."""
        place = Place(subject.module, subject.at)
        if subject.is_module:
            yield Report(place, _no_module(subject), self.severity, facts=subject)
            return
        row = RETIRED[subject.dotted]
        severity = self.severity
        if row.package != "jax" and row.gone_from is not None and not project.jax.all(_NEW_FLAX):
            severity = Severity.WARNING
        versions = f">={row.gone_from}" if row.package == "jax" and row.gone_from else ""
        yield Report(place, _gone(subject, row), severity, facts=subject, versions=versions)

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Write the name that exists."""
        use: ImportUse = report.facts
        if use.dotted == "flax.nnx.Remat":
            return None
        edits = respell(use, project)
        # That another library's wrapper takes its place says nothing about what it is given.
        grade = unsafe if use.dotted in RETIRED and RETIRED[use.dotted].package != "jax" else safe
        return grade("Write the name that exists", *edits) if edits else None


def _no_module(use: ImportUse) -> str:
    what = NOT_MODULES[use.dotted]
    name = use.dotted.rpartition(".")[2]
    statement, alias = use.statement, use.alias
    assert statement is not None and alias is not None  # noqa: PT018 - both stand or fall together
    if statement.module is None and not alias.renamed:
        advice = f"`import jax` and `{use.dotted}`"
    elif statement.module is None:
        renamed = f" as {alias.bound}" if alias.bound != name else ""
        advice = f"`from jax import {name}{renamed}`"
    elif use.dotted == "jax.checkpoint_policies":
        advice = f"`from jax import {name}` and `{name}.{alias.name}`"
    else:
        advice = f"`from jax import {name}`"
    return f"`{use.dotted}` is {what}, not a module: the import raises ModuleNotFoundError on every release; write {advice}"


def _gone(use: ImportUse, row: Retired) -> str:
    error = "AttributeError" if use.node is not None else "ImportError"
    if row.gone_from is None:
        library = "JAX" if row.package == "jax" else row.package
        what = f"is in no supported release of {library}: this raises {error}"
    elif row.package == "jax":
        warned = f" (deprecated since {row.warns_from})" if row.warns_from else ""
        what = f"is gone since JAX {row.gone_from.removesuffix('.0')}{warned}: this raises {error}"
    else:
        what = f"is gone since {row.package} {row.gone_from}: this raises {error}"
    if row.spelling == "flax.nnx.Remat":
        return f"`{row.spelling}` {what}; wrap a function over the module: `nnx.remat(lambda module, x: module(x))`"
    return f"`{row.spelling}` {what}; write `{row.instead}`"
