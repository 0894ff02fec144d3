"""The pipeline: files in, findings out. A rule that crashes costs its findings on one file, never the run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from remat_lint.config import Settings, load
from remat_lint.findings import Finding, Position, Severity, Span
from remat_lint.jaxapi.wrappers import FRAMEWORK_WORDS, SPELLING_WORDS
from remat_lint.rules import EveryRule
from remat_lint.source.discovery import DiscoveredFiles, discover
from remat_lint.source.prefilter import mentions
from remat_lint.source.text import SourceError, SourceText, decode, read_bytes, refuse_deep

if TYPE_CHECKING:
    from remat_lint.inspection import Inspector, Verdict
    from remat_lint.project.analysis import Analysis
    from remat_lint.project.modules import Module, Project
    from remat_lint.project.values import WrapSite

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
        self._overlays = dict(overlays or {})
        self._whole = whole

    @functools.cached_property
    def inspector(self) -> Inspector:
        """What looks into files that may hold a site; made when the first one is met."""
        from remat_lint.inspection import Inspector  # noqa: PLC0415 - a tree without a site does not pay for the rules

        return Inspector(self.settings, self.project)

    @functools.cached_property
    def project(self) -> Project:
        """The modules read so far."""
        from remat_lint.project.modules import Project  # noqa: PLC0415 - the same

        return Project(self.settings.root, SPELLING_WORDS, self._overlays, whole=self._whole)

    @property
    def analysis(self) -> Analysis:
        """What is known about them."""
        return self.inspector.analysis

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
        collected = _Collected()
        later: list[Path] = []
        for number, path in enumerate(files.files):
            self._check_opened(path, functools.partial(self._open, path, later), collected)
            if progress is not None:
                progress(number + 1, len(files.files))
        # Where no file of the project spells a wrapper, none can reach one through another.
        if len(later) < len(files.files) or self.settings.root not in map(Path.absolute, paths):
            for path in later:
                self._check_opened(path, functools.partial(self._open, path), collected)
        problems = tuple(f"{problem.path}: {problem.reason}" for problem in files.problems)
        return collected.result(len(files.files), problems)

    def check_text(self, text: str, path: Path) -> Result:
        """Lint one text as if it were the file `path`."""
        collected = _Collected()
        self._check_opened(path, lambda: self._open_text(text, path), collected)
        return collected.result(1, ())

    def sites(self, paths: Sequence[Path]) -> Iterator[tuple[Module, WrapSite]]:
        """Yield the wrap sites of every file below `paths`."""
        for path in self.discover(paths).files:
            module = self._open(path)
            if module is not None:
                for site in (*self.analysis.wrap_sites(module), *self.analysis.relayed_sites(module)):
                    yield module, site

    def sites_text(self, text: str, path: Path) -> tuple[WrapSite, ...]:
        """Return the wrap sites of one text as if it were the file `path`."""
        module = self._open_text(text, path)
        return () if module is None else self.analysis.wrap_sites(module)

    def verdicts(self, site: WrapSite) -> Iterator[Verdict]:
        """Yield what each rule about wrap sites says of one site, silence with its reason."""
        return self.inspector.verdicts(site)

    def _matters(self, data: bytes) -> bool:
        return mentions(data, _WORDS) and mentions(data, _FRAMEWORKS)

    def _open(self, path: Path, later: list[Path] | None = None) -> Module | None:
        """Return the module of a file that may hold a site; None if it cannot.

        Files that spell no wrapper are put into `later` if it is given, to be asked for what they import.
        """
        if path in self._overlays:
            return self._open_text(self._overlays[path], path)
        data = read_bytes(path)
        if not self._matters(data):
            if later is not None:
                later.append(path)
                return None
            if not self._leads(path):
                return None
        module = self.project.known(path) or self.project.add(decode(data, path))
        return module if self._matters(data) or self.analysis.factories.is_reached(module) else None

    def _leads(self, path: Path) -> bool:
        """Whether a file that spells no wrapper itself may reach one by what it imports from the project."""
        return bool(self.project.reach.leads(path))

    def _open_text(self, text: str, path: Path) -> Module | None:
        matters = self._matters(text.encode("utf-8", "surrogatepass"))
        known = self.project.known(path)
        if (known is not None and known.source.text != text) or self.project.reach.has_other(path, text):
            # All that is known of the project speaks of the old text: its sites, and what other files import of it.
            self._forget()
            known = None
        if known is None:
            self.project.overlays[path] = text
        if not matters and not self._leads(path):
            return None
        if known is None:
            refuse_deep(text, path)
            known = self.project.add(SourceText(path, text))
        return known if matters or self.analysis.factories.is_reached(known) else None

    def _forget(self) -> None:
        """Begin anew with the files of the project."""
        del self.project
        self.__dict__.pop("inspector", None)

    def _check_opened(self, path: Path, open_it: Callable[[], Module | None], collected: _Collected) -> None:
        """Collect the findings of a file, or the one that says why it cannot be opened."""
        try:
            module = open_it()
        except (SourceError, OSError) as error:
            reason = error.reason if isinstance(error, SourceError) else f"cannot be read: {error.strerror}"
            start = Position(1, 1)
            place = Span(start, start)
            finding = Finding("RML001", "syntax-error", Severity.ERROR, reason, str(path), place)
            collected.add([finding], SourceText(path, ""), self.inspector)
            return
        if module is not None:
            self._check_module(module, collected)

    def _check_module(self, module: Module, collected: _Collected) -> None:
        found, remarks = self.inspector.inspect(module)
        collected.add(found, module.source, self.inspector)
        collected.remarks += remarks


class _Collected:
    """Findings of a run as they come in."""

    def __init__(self) -> None:
        self.findings: dict[Finding, None] = {}
        self.sources: dict[str, SourceText] = {}
        self.remarks: list[str] = []
        self.hidden = 0

    def add(self, findings: Sequence[Finding], source: SourceText, inspector: Inspector) -> None:
        """Keep what is shown; count what is not."""
        for finding in findings:
            if inspector.shows(finding):
                self.findings[finding] = None
                self.sources[str(source.path)] = source
            else:
                self.hidden += 1

    def result(self, files: int, problems: tuple[str, ...]) -> Result:
        """Return what came in, sorted; each finding once."""
        found = tuple(sorted(self.findings, key=Finding.sort_key))
        crashed = any(finding.code == "RML900" for finding in found)
        return Result(found, files, self.hidden, crashed, self.sources, problems, tuple(self.remarks))


def check_paths(paths: Sequence[Path]) -> Result:
    """Lint files and folders with the configuration that belongs to them.

    Raises:
        ConfigError: the configuration cannot be used.
        UsageError: a path does not exist.
    """
    return Engine(load(paths, EveryRule())).check_paths(paths)


def check_text(text: str, path: Path) -> Result:
    """Lint one text as if it were the file `path`, with the configuration that belongs to it.

    Raises:
        ConfigError: the configuration cannot be used.
    """
    return Engine(load([path], EveryRule())).check_text(text, path.absolute())
