"""The worker process: reads jobs from its standard input, answers on its standard output, holds no state.

Analysis is pure Python and would hold up the event loop even from a thread. A process of our own, started with
`-P` in a folder of our own, is used in place of `multiprocessing`: its spawned children put the current folder,
which is the folder an editor opened, in front of their import path.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import IO

from remat_lint import config, rules
from remat_lint.engine import Engine
from remat_lint.equivalence.generator import generate
from remat_lint.errors import ConfigError, RematLintError, UsageError
from remat_lint.findings import Finding
from remat_lint.fixes import fix_text
from remat_lint.source.chunks import split
from remat_lint.source.text import SourceText, read_source
from remat_lint_server.jobs import (
    Answer,
    Check,
    Checked,
    Explain,
    Generate,
    Generated,
    Job,
    RulePage,
    read_message,
    write_message,
)
from remat_lint_server.sites import describe

PARENT_POLL_S = 1.0
_ASSIGNMENT = re.compile(r"(\w+)\s*(?::[^=]+)?=(?!=)")


def main() -> None:
    """Answer jobs until the input ends."""
    incoming, outgoing = _take_streams()
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    while (data := read_message(incoming)) is not None:
        write_message(outgoing, pickle.dumps(answer(pickle.loads(data))))  # noqa: S301 (written by our own parent)


def answer(job: Job) -> Answer:
    """Do one job."""
    match job:
        case Check():
            return _check(job)
        case Generate():
            return _generate(job)
        case Explain():
            return tuple(
                RulePage(rule.code, rule.name, rule.explanation) for rule in rules.registry().values()
            )


def _check(job: Check) -> Checked:
    try:
        engine = _engine(job)
    except ConfigError as error:
        return Checked(trouble=str(error))
    if not job.alone and not _is_included(engine, job.path):
        return Checked()
    result = engine.check_text(job.text, job.path)
    findings = tuple(finding for finding in result.findings if finding.path == str(job.path))
    module = engine.project.known(job.path)
    sites = tuple(describe(module, site) for site in engine.analysis.wrap_sites(module)) if module else ()
    lines = _lines(engine, findings)
    return Checked(_without_harmful_fixes(engine, job, findings), sites, lines)


def _without_harmful_fixes(engine: Engine, job: Check, findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Take away fixes that the command line would drop: those after which there is a new error or warning."""
    if not any(finding.fix for finding in findings):
        return findings
    outcome = fix_text(
        SourceText(job.path, job.text),
        findings,
        lambda text: engine.check_text(text, job.path).findings,
        unsafe=True,
    )
    harmful = {dropped.finding for dropped in outcome.dropped}
    return tuple(replace(finding, fix=None) if finding in harmful else finding for finding in findings)


def _engine(job: Check) -> Engine:
    if job.alone:
        # Nothing beside an unsaved document belongs to it: its project is a folder that is not there.
        return Engine(config.Settings(root=job.path.parent))
    settings = config.load([job.path], rules.registry().values())
    return Engine(settings, overlays=job.overlays)


def _is_included(engine: Engine, path: Path) -> bool:
    """Whether the command line would lint the file if it were named; one that is not saved yet counts."""
    try:
        found = engine.discover([path])
    except UsageError:
        return True
    return bool(found.files)


def _lines(engine: Engine, findings: tuple[Finding, ...]) -> dict[tuple[str, int], str]:
    """The lines around which related places are counted in the client's units."""
    lines: dict[tuple[str, int], str] = {}
    for related in (related for finding in findings for related in finding.related):
        module = engine.project.known(Path(related.path))
        for place in (related.span.start, related.span.end):
            if module is not None and place.row <= len(module.source.line_starts):
                lines[related.path, place.row] = module.source.line(place.row)
    return lines


def _generate(job: Generate) -> Generated:
    name = job.name or _name_in_row(job.text, job.row)
    if not name:
        return Generated(trouble=f"line {job.row} is in no top-level function; put the cursor into one")
    try:
        test = generate(job.path, name)
        if not any(test.path.is_relative_to(root.resolve()) for root in job.roots):
            around = [root for root in job.roots if job.path.is_relative_to(root)]
            test = generate(job.path, name, around[0] / "tests") if around else test
        saved = read_source(job.path).text
    except RematLintError as error:
        return Generated(trouble=str(error))
    notes = [test.missing] if test.missing else []
    if saved != job.text:
        notes.append(f"{job.path.name} is not saved; the test is made for its saved text.")
    return Generated(test.path, test.text, tuple(notes))


def _name_in_row(text: str, row: int) -> str:
    """The top-level name that is bound around a row: by a definition, or by an assignment in the row itself."""
    source = SourceText(Path(), text)
    if not 1 <= row <= len(source.line_starts):
        return ""
    around = [chunk for chunk in split(text, merge=False) if chunk.row <= row]
    assigned = _ASSIGNMENT.match(source.line(row))
    return (around[-1].name if around else "") or (assigned[1] if assigned else "")


def _take_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Take the pipes for messages; what anything prints goes to the log instead."""
    outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, outgoing


def _leave_with_parent(parent: int) -> None:
    """End in the middle of a job when the server was killed; the end of the input is seen only between jobs."""
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_S)
    os._exit(1)


if __name__ == "__main__":
    main()
