"""The pipeline: files in, findings out. A rule that crashes costs its findings on one file, never the run."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from remat_lint import rules
from remat_lint.config import Settings
from remat_lint.findings import Finding, Position, Related, Severity, Span
from remat_lint.jaxapi.wrappers import FRAMEWORK_WORDS, SPELLING_WORDS
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module, Project
from remat_lint.project.policies import PolicyUse, policy_uses
from remat_lint.project.values import WrapSite
from remat_lint.rules.rule import Note, Place, Report, Rule, Silent
from remat_lint.source.discovery import DiscoveredFiles, discover
from remat_lint.source.prefilter import mentions
from remat_lint.source.text import SourceError, SourceText, decode, read_bytes
from remat_lint.suppressions import Scope as SuppressionScope
from remat_lint.suppressions import Suppressions

log = logging.getLogger(__name__)
_WORDS = tuple(word.encode() for word in SPELLING_WORDS)
_FRAMEWORKS = tuple(word.encode() for word in FRAMEWORK_WORDS)


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found.

    Attributes:
        findings: what is shown, sorted by file and place.
        files: number of files looked at.
        hidden: number of notes that a selection would show.
        crashed: whether a rule failed somewhere.
        sources: text of every file with a finding, by path.
        problems: sentences about folders and paths that could not be read.
        remarks: sentences about statements that were left out.
    """

    findings: tuple[Finding, ...] = ()
    files: int = 0
    hidden: int = 0
    crashed: bool = False
    sources: Mapping[str, SourceText] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one rule says of one subject, for `sites --why`."""

    rule: Rule
    report: Report | None
    reason: str


class Engine:
    """Lints files of one project with one set of settings.

    Args:
        settings: the resolved configuration.
        overlays: text of unsaved files by absolute path.
        whole: parse every statement of the files that matter, to compare with.
    """

    def __init__(
        self, settings: Settings, *, overlays: Mapping[Path, str] | None = None, whole: bool = False
    ) -> None:
        self.settings = settings
        self.project = Project(settings.root, SPELLING_WORDS, overlays, whole=whole)
        self.analysis = Analysis(self.project)
        self.selected = tuple(
            rule
            for rule in rules.registry().values()
            if settings.is_selected(rule.code, rule.name, rule.category)
        )

    def discover(self, paths: Sequence[Path]) -> DiscoveredFiles:
        """Return the files below `paths` that the settings do not exclude."""
        return discover(
            paths,
            root=self.settings.pattern_root,
            exclude=self.settings.exclude,
            respect_gitignore=self.settings.respect_gitignore,
        )

    def check_paths(
        self, paths: Sequence[Path], progress: Callable[[int, int], None] | None = None
    ) -> Result:
        """Lint every file below `paths`; `progress` is told how many of how many files are done.

        Raises:
            UsageError: a path does not exist.
        """
        files = self.discover(paths)
        collected = _Collected(self.settings)
        for number, path in enumerate(files.files):
            self._check_file(path, collected)
            if progress is not None:
                progress(number + 1, len(files.files))
        problems = tuple(f"{problem.path}: {problem.reason}" for problem in files.problems)
        return collected.result(len(files.files), problems)

    def check_text(self, text: str, path: Path) -> Result:
        """Lint one text as if it were the file `path`."""
        collected = _Collected(self.settings)
        self.project.overlays[path] = text
        if self._matters(text.encode("utf-8", "surrogatepass")):
            self._check_source(SourceText(path, text), collected)
        return collected.result(1, ())

    def sites(self, paths: Sequence[Path]) -> Iterator[tuple[Module, WrapSite]]:
        """Yield the wrap sites of every file below `paths`."""
        for path in self.discover(paths).files:
            module = self._open(path)
            if module is not None:
                for site in self.analysis.wrap_sites(module):
                    yield module, site

    def sites_text(self, text: str, path: Path) -> tuple[Module, tuple[WrapSite, ...]]:
        """Return the wrap sites of one text as if it were the file `path`."""
        self.project.overlays[path] = text
        module = self.project.add(SourceText(path, text))
        return module, self.analysis.wrap_sites(module) if self._matters(
            text.encode("utf-8", "surrogatepass")
        ) else ()

    def verdicts(self, site: WrapSite) -> Iterator[Verdict]:
        """Yield what each rule about wrap sites says of one site, silence with its reason."""
        for rule in self.selected:
            if rule.subject is WrapSite:
                answered = False
                for answer in rule.check(site, self.analysis):
                    answered = True
                    reason = answer.reason if isinstance(answer, Silent) else answer.message
                    yield Verdict(rule, None if isinstance(answer, Silent) else answer, reason)
                if not answered:
                    yield Verdict(rule, None, "its condition does not hold")

    def _matters(self, data: bytes) -> bool:
        return mentions(data, _WORDS) and mentions(data, _FRAMEWORKS)

    def _open(self, path: Path) -> Module | None:
        """Return the module of a file that may hold a site; None if it cannot."""
        if path in self.project.overlays:
            data = self.project.overlays[path].encode("utf-8", "surrogatepass")
        else:
            data = read_bytes(path)
        if not self._matters(data):
            return None
        known = self.project.known(path)
        return known or self.project.add(decode(data, path))

    def _check_file(self, path: Path, collected: _Collected) -> None:
        try:
            module = self._open(path)
        except (SourceError, OSError) as error:
            reason = error.reason if isinstance(error, SourceError) else f"cannot be read: {error.strerror}"
            start = Position(1, 1)
            collected.add(
                [Finding("RML001", "syntax-error", Severity.ERROR, reason, str(path), Span(start, start))],
                SourceText(path, ""),
            )
            return
        if module is not None:
            self._check_module(module, collected)

    def _check_source(self, source: SourceText, collected: _Collected) -> None:
        self._check_module(self.project.add(source), collected)

    def _check_module(self, module: Module, collected: _Collected) -> None:
        found: list[Finding] = []
        subjects: Mapping[type, Sequence[Any]] = {Module: (module,), WrapSite: (), PolicyUse: ()}
        with self._isolated(rules.registry()["RML900"], module, found):
            subjects = self._subjects(module)
        for rule in self.selected:
            for subject in subjects[rule.subject]:
                with self._isolated(rule, module, found):
                    answers = rule.check(subject, self.analysis)
                    found += [
                        self._finding(rule, a, subject, module) for a in answers if isinstance(a, Report)
                    ]
        comments = [comment for chunk in module.chunks for comment in chunk.comments]
        suppressions = Suppressions.from_comments(
            comments, module.source, suppression_scopes(module, subjects[WrapSite])
        )
        collected.add(list(suppressions.split(found).kept), module.source)
        collected.remarks += [
            f"{module.path}: {fault.message}" for fault in module.faults if not fault.syntax
        ]

    def _subjects(self, module: Module) -> Mapping[type, Sequence[Any]]:
        sites = self.analysis.wrap_sites(module)
        return {WrapSite: sites, PolicyUse: policy_uses(module, sites, self.analysis), Module: (module,)}

    @contextlib.contextmanager
    def _isolated(self, rule: Rule, module: Module, found: list[Finding]) -> Iterator[None]:
        """Turn an exception of a rule, or of the analysis, into a finding: the run goes on."""
        try:
            yield
        except Exception as error:  # a defect of one rule must not cost the other findings
            log.debug("%s failed on %s", rule.code, module.path, exc_info=True)
            found.append(_crash(rule, error, module))

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
            notes = (
                Note(place, "it happens here"),
                *(note for note in notes if note.place.module is not module),
            )
            place = Place(module, self.analysis.place(subject).at if subject.via else subject.at)
        related = tuple(Related(str(note.place.module.path), note.place.span, note.message) for note in notes)
        span = report.span or place.span
        return Finding(
            rule.code, rule.name, report.severity, report.message, str(place.module.path), span, fix, related
        )


class _Collected:
    """Findings of a run as they come in."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.findings: dict[Finding, None] = {}
        self.sources: dict[str, SourceText] = {}
        self.remarks: list[str] = []
        self.hidden = 0

    def add(self, findings: Sequence[Finding], source: SourceText) -> None:
        """Keep what is shown; count what is not."""
        registry = rules.registry()
        for finding in findings:
            category = registry[finding.code].category
            if self.settings.shows(finding.severity, finding.code, finding.name, category):
                self.findings[finding] = None
                self.sources[str(source.path)] = source
            else:
                self.hidden += 1

    def result(self, files: int, problems: tuple[str, ...]) -> Result:
        """Return what came in, sorted; each finding once."""
        found = tuple(sorted(self.findings, key=Finding.sort_key))
        crashed = any(finding.code == "RML900" for finding in found)
        return Result(found, files, self.hidden, crashed, self.sources, problems, tuple(self.remarks))


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
