"""When documents are checked: after a pause in typing, one at a time, the newest version only."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from remat_lint.findings import Finding
from remat_lint_server.documents import Snapshot
from remat_lint_server.jobs import Check, Checked, SiteInfo
from remat_lint_server.process import Worker, WorkerDied

log = logging.getLogger(__name__)

DEBOUNCE_S = 0.2
OTHERS_S = 1.0
"""Pause before the other open documents are checked again, which a change may concern too."""
PATIENCE_S = 15.0
"""Longest time a request waits for the analysis of the text it is about."""


@dataclass(frozen=True)
class State:
    """What is known of one version of a document.

    Attributes:
        snapshot: the version.
        findings: by the id that the client gets as `data` of the diagnostic.
        sites: the wrap sites.
        checked: the worker's answer.
    """

    snapshot: Snapshot
    findings: Mapping[str, Finding]
    sites: tuple[SiteInfo, ...]
    checked: Checked


class Listener(Protocol):
    """Who hears of results."""

    def publish(self, state: State) -> None:
        """Show what was found in the current version of a document."""

    def warn_once(self, text: str) -> None:
        """Tell the user something, the first time it is said."""


class Analyzer:
    """Checks documents through the worker and keeps the results of the current versions.

    Args:
        worker: the worker process.
        snapshots: gives the current version of every open document by key.
        listener: hears of results.
    """

    def __init__(
        self, worker: Worker, snapshots: Callable[[], Mapping[str, Snapshot]], listener: Listener
    ) -> None:
        self._worker, self._snapshots, self._listener = worker, snapshots, listener
        self._due: dict[str, float] = {}
        self._states: dict[str, State] = {}
        self._wake = asyncio.Event()
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def schedule(self, key: str, delay: float) -> None:
        """Check a document after `delay` seconds; a later call puts the check off again."""
        self._due[key] = asyncio.get_running_loop().time() + delay
        self._wake.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
            self._task.add_done_callback(self._stopped)

    def schedule_others(self, key: str, delay: float = OTHERS_S) -> None:
        """Check every other open document too, but put off no check that is due earlier."""
        due = asyncio.get_running_loop().time() + delay
        for other in self._snapshots():
            if other != key and self._due.get(other, due) >= due:
                self.schedule(other, delay)

    def forget(self, key: str) -> None:
        """Drop what is known of a document that was closed."""
        self._due.pop(key, None)
        self._states.pop(key, None)

    def known(self, key: str) -> State | None:
        """Return what is known of the current version of a document, without waiting."""
        state, current = self._states.get(key), self._snapshots().get(key)
        return state if state is not None and state.snapshot.is_same(current) else None

    async def current(self, key: str) -> State | None:
        """Return what is found in the current version of a document, checking it now if it was not yet.

        None if it was closed or cannot be checked in time.
        """
        try:
            async with asyncio.timeout(PATIENCE_S):
                while key in self._snapshots():
                    state = self.known(key)
                    if state is not None:
                        return state
                    if self._due.get(key, 1.0) > 0:
                        self.schedule(key, 0)
                    await self._changed.wait()
        except TimeoutError:
            log.warning("no analysis within %.0f s", PATIENCE_S)
        return None

    async def _run(self) -> None:
        while not self._worker.closed:
            key = await self._next()
            snapshot = self._snapshots().get(key)
            if snapshot is not None:
                checked = await self._check(snapshot)
                if not self._worker.closed and snapshot.is_same(self._snapshots().get(key)):
                    self._keep(snapshot, checked)
                # A newer version has its own due time; nobody wants this answer any more.

    async def _next(self) -> str:
        """Wait until a document is due, and take it."""
        clock = asyncio.get_running_loop().time
        while True:
            self._wake.clear()
            key = min(self._due, key=self._due.__getitem__, default=None)
            pause = None if key is None else self._due[key] - clock()
            if key is not None and pause is not None and pause <= 0:
                del self._due[key]
                return key
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                continue

    async def _check(self, snapshot: Snapshot) -> Checked:
        job = Check(snapshot.source, snapshot.path, self.overlays(snapshot), alone=not snapshot.saved)
        for attempt in range(2):
            try:
                answer: Checked = await self._worker.ask(job)
            except WorkerDied as error:
                if self._worker.closed:
                    break
                log.error("the analysis process ended while checking %s: %s", snapshot.path, error)  # noqa: TRY400 (a fact of the child; this process has no trace of it)
                if attempt:
                    # This text ends it every time; the next change is tried again.
                    return Checked()
            else:
                return answer
        return Checked()

    def overlays(self, snapshot: Snapshot) -> dict[Path, str]:
        """The text of the other open files, which may not be saved."""
        return {
            other.path: other.source
            for other in self._snapshots().values()
            if other.saved and snapshot.saved and other.path != snapshot.path
        }

    def _keep(self, snapshot: Snapshot, checked: Checked) -> None:
        if checked.trouble:
            self._listener.warn_once(f"remat-lint: {checked.trouble}")
        state = State(snapshot, identify(checked.findings), checked.sites, checked)
        self._states[snapshot.key] = state
        self._changed.set()
        self._changed = asyncio.Event()
        self._listener.publish(state)

    def _stopped(self, task: asyncio.Task[None]) -> None:
        """Go on after a defect of our own: the document that met it was taken from the queue already."""
        self._task = None
        if task.cancelled() or task.exception() is None:
            return
        log.error("analysis stopped", exc_info=task.exception())
        self._listener.warn_once("remat-lint: an analysis failed; the server's log says why.")
        for key in self._due:
            self.schedule(key, DEBOUNCE_S)


def identify(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    """Give every finding an id that stays the same while its place and text do."""
    found: dict[str, Finding] = {}
    for finding in findings:
        start, end = finding.span.start, finding.span.end
        parts = (finding.code, start.row, start.column, end.row, end.column, finding.message)
        text = "\0".join(map(str, parts))
        found[hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]] = finding
    return found
