"""What a rule is: a page, examples, a check of one subject, and perhaps a fix."""

from __future__ import annotations

import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from remat_lint.findings import Applicability, Edit, Fix, Severity, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module


@dataclass(frozen=True, slots=True)
class Place:
    """A node of a module; its span is worked out only when a finding is shown."""

    module: Module
    at: int

    @property
    def span(self) -> Span:
        """Where the node stands."""
        return self.module.span(self.at)

    @property
    def text(self) -> str:
        """The node's source text."""
        return self.module.text_at(self.at)

    def replace(self, content: str) -> Edit:
        """Return the edit that puts `content` in the node's place."""
        return Edit(self.span, content)

    def insert_before(self, content: str) -> Edit:
        """Return the edit that puts `content` in front of the node."""
        return Edit(Span(self.span.start, self.span.start), content)

    def insert_after(self, content: str) -> Edit:
        """Return the edit that puts `content` behind the node."""
        return Edit(Span(self.span.end, self.span.end), content)


@dataclass(frozen=True, slots=True)
class Note:
    """Another place that belongs to the story."""

    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    `facts` is what the rule's own `fix` needs, `span` overrides the place's. `versions` is a specifier of the JAX
    releases in which the message is true, where that is narrower than `Rule.versions`.
    """

    place: Place
    message: str
    severity: Severity
    notes: tuple[Note, ...] = ()
    facts: Any = None
    span: Span | None = None
    versions: str = ""


@dataclass(frozen=True, slots=True)
class Silent:
    """Why a check that looked closely found nothing; shown by `remat-lint sites --why`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Bad:
    """An example that must be reported.

    In `code` a comment line of carets under a line marks the expected span: `#   ^^^^`. Where the span ends on a later
    line, a comment line of tildes under that one marks its end. The lines of marks are no part of the program; each
    finding of the rule has its own, in the order of places. `fixed` is the text after the rule's fix, without marks. With `runs` the program is executed: its `owner(x)` must differ from (or raise
    where) the plain program, and after the fix agree with it.
    """

    title: str
    code: str
    fixed: str | None = None
    message: str = ""
    runs: bool = False
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Good:
    """An example about which every rule must be silent, and why it is right."""

    title: str
    code: str


@dataclass(frozen=True, slots=True)
class Miss:
    """An example that deserves a report and gets none: a known limit."""

    title: str
    code: str


class Rule(ABC):
    """One rule; its module's docstring is its page.

    What holds in some releases of JAX only is said by a specifier (`">=0.10"`, `">=0.8,<0.11"`): `versions` of the
    rule, or of one `Report`. Where the finding is made it is compared with the releases that the project may run on.
    If all of these meet it, the finding stands as the rule reports it. If some do, an error becomes a warning and
    ` (on JAX 0.10.0 and newer)` is added to the message, unless the message contains these words (those of
    `project.jax.part(spec).describe()`) already. If none does, nothing is reported. A check whose *answer* depends on
    the release asks `project.jax.all(spec)` and `project.jax.any(spec)` itself.

    Attributes:
        code: `RML` and three digits.
        name: reads well after "allow".
        category: correctness, suspicious, memory, cost, evidence or tool.
        severity: the highest severity of its findings.
        since: release that introduced it.
        versions: JAX releases for which it holds, as a specifier; empty means every supported one.
        subject: the kind of value `check` is given.
        silence: why a check that yields nothing is silent.
        examples: documentation and tests in one.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    category: ClassVar[str]
    severity: ClassVar[Severity]
    since: ClassVar[str] = "0.1.0"
    versions: ClassVar[str] = ""
    subject: ClassVar[type]
    silence: ClassVar[str] = "its condition does not hold"
    examples: ClassVar[tuple[Bad | Good | Miss, ...]] = ()

    @abstractmethod
    def check(self, subject: Any, project: Analysis) -> Iterator[Report | Silent]:
        """Yield what is wrong with `subject`, or why nothing is."""

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Return the edits that mend what `report` says; None if there is no edit that is right."""
        del report, project
        return None

    @property
    def explanation(self) -> str:
        """The rule's page, in Markdown."""
        return inspect.cleandoc(sys.modules[type(self).__module__].__doc__ or "")

    @property
    def summary(self) -> str:
        """One line that says what the rule finds."""
        return self.explanation.partition("\n")[0]

    @property
    def has_fix(self) -> bool:
        """Whether the rule may offer edits."""
        return type(self).fix is not Rule.fix


def safe(message: str, *edits: Edit) -> Fix:
    """Return a fix that `--fix` applies."""
    return Fix(Applicability.SAFE, message, edits)


def unsafe(message: str, *edits: Edit) -> Fix:
    """Return a fix that changes what the program does and needs `--unsafe-fixes`."""
    return Fix(Applicability.UNSAFE, message, edits)


def placeholder(message: str, *edits: Edit) -> Fix:
    """Return a fix with a hole to fill in, for editors."""
    return Fix(Applicability.PLACEHOLDER, message, edits)
