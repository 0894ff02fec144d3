"""What the engine does with one file that may hold a wrap site: analyse it, ask the rules, take back what is suppressed.

Kept apart from `engine`, because it brings in the rules and the analysis, which most files never need.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from remat_lint import rules
from remat_lint.config import ALWAYS_SELECTED, Settings
from remat_lint.config.selectors import best
from remat_lint.findings import Finding, Position, Related, Severity, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.comparisons import Comparison, TestFunction, comparisons, tests_of
from remat_lint.project.idle import IdleIgnore
from remat_lint.project.modules import Module, Project
from remat_lint.project.names import NameUse, name_uses
from remat_lint.project.namespace import MemberUse, member_uses
from remat_lint.project.policies import PolicyOption, PolicyUse, policy_options, policy_uses
from remat_lint.project.spellings import ImportUse, import_uses
from remat_lint.project.timing import TimedCall, timed_calls
from remat_lint.project.values import WrapSite
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent
from remat_lint.source.patterns import fits
from remat_lint.suppressions import Scope as SuppressionScope
from remat_lint.suppressions import Suppressions, unused

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule says of one site, for `sites --why`."""

    rule: Rule
    report: Report | None
    reason: str


class Inspector:
    """Inspects modules of one project with one set of settings.

    Args:
        settings: the resolved configuration.
        project: its modules.
    """

    def __init__(self, settings: Settings, project: Project) -> None:
        self.settings = settings
        self.project = project
        self.analysis = Analysis(self.project, settings.jax_version)
        self.selected = tuple(
            rule
            for rule in rules.registry().values()
            if settings.is_selected(rule.code, rule.name, rule.category)
        )

    def inspect(self, module: Module) -> tuple[list[Finding], list[str]]:
        """Return the findings of a module, and remarks about statements that were left out."""
        found: list[Finding] = []
        subjects: Mapping[type, Sequence[Any]] = {Module: (module,)}
        with self._isolated(rules.registry()["RML900"], module, found):
            subjects = self.subjects(module)
        for rule in self.selected_in(module):
            if WrapSite not in subjects and rule.code not in ALWAYS_SELECTED:
                continue  # what the analysis could not do, it cannot do for one rule either
            for subject in subjects.get(rule.subject, ()):
                with self._isolated(rule, module, found):
                    answers = (self._on_project(rule, a) for a in rule.check(subject, self.analysis))
                    found += [
                        self._finding(rule, a, subject, module) for a in answers if isinstance(a, Report)
                    ]
        kept = self._take_back(module, subjects.get(WrapSite, ()), found)
        remarks = [f"{module.path}: {fault.message}" for fault in module.faults if not fault.syntax]
        return kept, remarks

    def _take_back(
        self, module: Module, sites: Sequence[WrapSite], found: Sequence[Finding]
    ) -> list[Finding]:
        """Return the findings that no comment takes back, and those about comments that take none back."""
        comments = [comment for chunk in module.chunks for comment in chunk.comments]
        suppressions = Suppressions.from_comments(comments, module.source, suppression_scopes(module, sites))
        filtered = suppressions.split(found)
        more: list[Finding] = []
        rule = rules.registry()["RML002"]
        ran = {name for one in self.selected_in(module) for name in (one.code, one.name)} - {
            rule.code,
            rule.name,
        }
        failed = module.faults or any(finding.code == "RML900" for finding in found)
        if rule in self.selected_in(module) and not failed:
            with self._isolated(rule, module, more):
                for comment, ignore, idle in unused(comments, suppressions, filtered.used):
                    named = tuple(one for one in idle if one.name in ran)
                    subject = IdleIgnore(module, comment, ignore, named)
                    more += [
                        self._finding(rule, a, subject, module)
                        for a in rule.check(subject, self.analysis)
                        if isinstance(a, Report)
                    ]
        return [*filtered.kept, *suppressions.split(more).kept]

    def selected_in(self, module: Module) -> tuple[Rule, ...]:
        """Return the rules that run on a module: the selected ones without those left out in files like it."""
        settings = self.settings
        left_out = [
            selector
            for pattern, selectors in settings.per_file_ignores
            if fits(pattern, module.path, settings.pattern_root)
            for selector in selectors
        ]
        return tuple(
            rule
            for rule in self.selected
            if rule.code in ALWAYS_SELECTED or not best(left_out, rule.code, rule.name, rule.category)
        )

    def shows(self, finding: Finding) -> bool:
        """Whether a finding is shown, or only counted."""
        category = rules.registry()[finding.code].category
        return self.settings.shows(finding.severity, finding.code, finding.name, category)

    def verdicts(self, site: WrapSite) -> Iterator[Verdict]:
        """Yield what each rule about wrap sites says of one site, silence with its reason."""
        for rule in self.selected:
            if rule.subject is WrapSite:
                answered = False
                for answer in (self._on_project(rule, a) for a in rule.check(site, self.analysis)):
                    answered = True
                    reason = answer.reason if isinstance(answer, Silent) else answer.message
                    yield Verdict(rule, None if isinstance(answer, Silent) else answer, reason)
                if not answered:
                    yield Verdict(rule, None, rule.silence)

    def subjects(self, module: Module) -> Mapping[type, Sequence[Any]]:
        """Return what rules are asked about in a module, by kind."""
        sites = self.analysis.wrap_sites(module)
        compared = comparisons(module, self.analysis)
        return {
            Module: (module,),
            WrapSite: sites,
            PolicyUse: policy_uses(module, sites, self.analysis),
            PolicyOption: policy_options(module, sites, self.analysis),
            MemberUse: member_uses(module, self.analysis),
            NameUse: name_uses(module, self.analysis),
            ImportUse: import_uses(module, self.analysis),
            TimedCall: timed_calls(module, self.analysis),
            Comparison: compared,
            IdleIgnore: (),  # they are known once the other rules have spoken
            TestFunction: tests_of(compared, self.analysis),
        }

    @contextlib.contextmanager
    def _isolated(self, rule: Rule, module: Module, found: list[Finding]) -> Iterator[None]:
        """Turn an exception of a rule, or of the analysis, into a finding: the run goes on."""
        try:
            yield
        except Exception as error:  # a defect of one rule must not cost the other findings
            log.debug("%s failed on %s", rule.code, module.path, exc_info=True)
            found.append(_crash(rule, error, module))

    def _on_project(self, rule: Rule, answer: Report | Silent) -> Report | Silent:
        """Make an answer true of the releases of JAX that the project may run on; `Rule` tells how."""
        spec = (answer.versions or rule.versions) if isinstance(answer, Report) else ""
        if not spec or isinstance(answer, Silent) or self.analysis.jax.all(spec):
            return answer
        part, whole = self.analysis.jax.part(spec), self.analysis.jax
        if not part.releases:
            return Silent(f"this holds in JAX {spec} only, and the project runs on {whole.describe()}")
        severity = Severity.WARNING if answer.severity is Severity.ERROR else answer.severity
        said = "" if part.describe() in answer.message else f" (on {part.describe()})"
        return replace(answer, severity=severity, message=answer.message + said)

    def _finding(self, rule: Rule, report: Report, subject: object, module: Module) -> Finding:
        """Make the finding of a report.

        What lies in another file is told at the wrap site in this one, so that the findings of a file are the same
        whichever paths are named.
        """
        notes = report.notes
        place, fix = report.place, None
        if place.module is module:
            fix = rule.fix(report, self.analysis)
        elif isinstance(subject, WrapSite):
            happens = Note(place, "it happens here")
            place = Place(module, self.analysis.place(subject).at if subject.via else subject.at)
            notes = (*(note for note in notes if note.place != place), happens)
        related = tuple(Related(str(n.place.module.path), n.place.span, n.message) for n in notes)
        span = report.span or place.span
        path = str(place.module.path)
        severity = self.settings.severity_of(report.severity, rule.code, rule.name, rule.category)
        return Finding(rule.code, rule.name, severity, report.message, path, span, fix, related)


def _crash(rule: Rule, error: Exception, module: Module) -> Finding:
    start = Position(1, 1)
    what = "the analysis of this file" if rule.code == "RML900" else f"rule {rule.code} ({rule.name})"
    text = f"{what} failed with {type(error).__name__}: {error}; please report it"
    return Finding("RML900", "internal-error", Severity.ERROR, text, str(module.path), Span(start, start))


def suppression_scopes(module: Module, sites: Sequence[WrapSite]) -> Iterator[SuppressionScope]:
    """Yield what a suppression on a header line covers: each function and class, and each wrap call as a whole."""
    for scope in list(module.builder.scopes.values()):
        if scope.node is None or scope.kind == "comprehension" or not scope.name:
            continue
        span = module.span(scope.node.at)
        decorators = getattr(scope.node, "decorators", ())
        first = min([span.start.row, *(module.span(decorator.at).start.row for decorator in decorators)])
        body = getattr(scope.node, "body", ())
        last_header = max(module.span(body[0].at).start.row - 1, span.start.row) if body else span.start.row
        yield SuppressionScope(frozenset(range(first, last_header + 1)), first, span.end.row)
    for site in sites:
        if site.event.module is module:
            span = module.span(site.at)
            yield SuppressionScope(frozenset({span.start.row}), span.start.row, span.end.row)
