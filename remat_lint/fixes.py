"""Applying fixes: edits of several findings merged, every step linted again, files replaced as a whole."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from remat_lint.errors import RematLintError
from remat_lint.findings import Applicability, Edit, Finding, Severity
from remat_lint.source.text import SourceText, read_source

MAX_ROUNDS = 10
"""Fixes that make room for other fixes settle in two or three rounds; more means that two rules disagree."""

Lint = Callable[[str], Sequence[Finding]]
"""Lints a changed text in memory as if it were the file."""


class FixError(RematLintError):
    """A fixed file cannot be written; the sentence says why and does not repeat the path.

    Args:
        path: the file that was left as it is.
        reason: a clause that reads well after the path and a colon.
    """

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A fix that was not applied, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What fixing made of one file.

    Attributes:
        before: the text as it was read.
        after: the text with the fixes in it.
        applied: findings whose fix is in the text, with the places they had when it was applied.
        dropped: findings whose fix did harm.
        findings: findings of the new text.
    """

    before: SourceText
    after: SourceText
    applied: tuple[Finding, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the text is another one now."""
        return self.before.text != self.after.text


def fix_text(source: SourceText, findings: Sequence[Finding], lint: Lint, *, unsafe: bool = False) -> Outcome:
    """Apply the fixes of `findings` to a text until nothing is left to fix.

    After each round the text is linted again. A fix that adds an error or a warning, which a text that no longer
    parses does too, is taken out.

    Args:
        source: the text that the findings speak of.
        findings: its findings.
        lint: lints a changed text.
        unsafe: whether unsafe fixes are applied too.
    """
    grades = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
    state = Outcome(source, source, findings=tuple(findings))
    refused: set[tuple[object, ...]] = set()
    for _ in range(MAX_ROUNDS):
        wanted = [
            finding
            for finding in sorted(state.findings, key=Finding.sort_key)
            if finding.fix
            and finding.fix.applicability in grades
            and _identity(finding, state.after) not in refused
        ]
        batch = compatible(wanted)
        if not batch:
            break
        known, text = len(state.dropped), state.after
        state = _advance(state, batch, lint)
        refused.update(_identity(one.finding, text) for one in state.dropped[known:])
    return state


def compatible(findings: Iterable[Finding]) -> list[Finding]:
    """The findings whose fixes can be applied together, the first of two that collide.

    An edit that two fixes share, such as a new import, does not collide with itself.
    """
    chosen: list[Finding] = []
    taken: set[Edit] = set()
    for finding in findings:
        own = set(finding.fix.edits) if finding.fix else set()
        others = taken - own
        if own and not any(_collide(edit, other) for edit in own for other in others):
            chosen.append(finding)
            taken |= own
    return chosen


def apply_edits(source: SourceText, edits: Iterable[Edit]) -> str:
    r"""The text with `edits` in it, equal ones once; their `\n` becomes the line end of the file.

    Raises:
        ValueError: two edits overlap, or one lies outside of the text.
    """
    line_end = _line_end(source.text)
    parts: list[str] = []
    reached = 0
    for edit in sorted(set(edits)):
        start, end = source.offset(edit.span.start), source.offset(edit.span.end)
        if start < reached or end < start:
            raise ValueError(f"its edits overlap at {edit.span.start.row}:{edit.span.start.column}")
        parts += (source.text[reached:start], edit.content.replace("\r\n", "\n").replace("\n", line_end))
        reached = end
    return "".join(parts) + source.text[reached:]


def write(outcome: Outcome, root: Path) -> None:
    """Put the fixed text in the place of the file, in one step and with the file's mode and encoding.

    Args:
        outcome: what fixing made of a file.
        root: the project; a link that leads out of it is not followed.

    Raises:
        FixError: the file changed meanwhile, lies outside of the project or cannot be replaced.
        SourceError: the encoding of the file lacks a character of the fix.
    """
    path = outcome.before.path
    data = outcome.before.encode(outcome.after.text)
    try:
        target = path.resolve(strict=True)
        if not target.is_relative_to(root.resolve()):
            raise FixError(path, f"was not fixed: it is a link to {target}, outside of the project {root}")
        if read_source(target).text != outcome.before.text:
            raise FixError(path, "was not fixed: it changed on disk meanwhile; run again")
        if not os.access(target, os.W_OK):
            raise FixError(path, "was not fixed: it is read-only")
        _replace(target, data)
    except OSError as error:
        raise FixError(path, f"was not fixed: {error.strerror or error}") from error


def _advance(state: Outcome, batch: Sequence[Finding], lint: Lint) -> Outcome:
    """Apply a batch; if it does harm as a whole, find the fixes that do it alone and drop them.

    Where only the combination does harm, the first fix is applied; the next round sees to the others.
    """
    after, harm = _attempt(state, batch, lint)
    if not harm:
        return after
    alone = [_attempt(state, [finding], lint) for finding in batch] if len(batch) > 1 else [(after, harm)]
    dropped = [Dropped(finding, why) for finding, (_, why) in zip(batch, alone, strict=True) if why]
    if not dropped:
        return alone[0][0]
    return replace(state, dropped=(*state.dropped, *dropped))


def _attempt(state: Outcome, batch: Sequence[Finding], lint: Lint) -> tuple[Outcome, str]:
    """The state after a batch, and what is wrong with it if anything is."""
    edits = [edit for finding in batch if finding.fix for edit in finding.fix.edits]
    try:
        text = apply_edits(state.after, edits)
    except ValueError as error:
        return state, str(error)
    if text == state.after.text:
        return state, "it changes nothing"
    found = tuple(lint(text))
    harm = _added(state.findings, found)
    after = replace(state.after, text=text)
    return replace(state, after=after, applied=(*state.applied, *batch), findings=found), harm


def _added(before: Iterable[Finding], after: Iterable[Finding]) -> str:
    """What errors and warnings came up, by code: their messages and places may change when a neighbour is fixed."""
    counts, known = _alarms(after), _alarms(before)
    new = [code for code in counts if counts[code] > known[code]]
    if "RML001" in new:
        return "the result could not be parsed"
    return f"it would add {', '.join(sorted(new))}" if new else ""


def _alarms(findings: Iterable[Finding]) -> Counter[str]:
    # A comment that has nothing left to take back shows that the fix worked.
    return Counter(f.code for f in findings if f.severity is not Severity.INFO and f.code != "RML002")


def _identity(finding: Finding, source: SourceText) -> tuple[object, ...]:
    """What stays of a fix when the lines above it move; when its own line changes it may be tried again."""
    assert finding.fix is not None
    contents = tuple(edit.content for edit in finding.fix.edits)
    return finding.code, source.line(finding.span.start.row), contents


def _collide(one: Edit, other: Edit) -> bool:
    touches = one.span.start < other.span.end and other.span.start < one.span.end
    return touches or one.span.start == other.span.start


def _line_end(text: str) -> str:
    found = re.search(r"\r\n?|\n", text)
    return found[0] if found else "\n"


def _replace(target: Path, data: bytes) -> None:
    import tempfile  # noqa: PLC0415 (start-up: only runs that fix something need it)

    mode = target.stat().st_mode
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:  # also Ctrl-C: no half-written file may stay behind
        temporary.unlink(missing_ok=True)
        raise
