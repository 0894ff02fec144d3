"""The worker process seen from the server: started when needed, killed when it hangs, asked one job at a time."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from remat_lint_server.jobs import HEADER, Job

log = logging.getLogger(__name__)

LIMIT_S = 120.0
"""Longest time for one job; the largest file that is analysed takes a tenth of it."""


class WorkerDied(Exception):  # noqa: N818 (a fact that is handled, not an error of the program)
    """The worker ended, or was ended, in the middle of a job."""


class Worker:
    """A child process that runs `remat_lint_server.worker`.

    Args:
        died: called each time the worker ended without being asked to, in a job or between jobs.
        limit_s: seconds after which a job counts as hanging.

    Attributes:
        closed: whether it was ended for good.
    """

    def __init__(self, died: Callable[[], None], limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self._died = died
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()
        self.closed = False

    async def ask(self, job: Job) -> Any:
        """Return the worker's answer.

        Raises:
            WorkerDied: it ended before it answered; the next call starts a new one, unless `close` was called.
        """
        # Shielded: a caller that is cancelled half-way must not leave its answer in the pipe for the next one.
        return await asyncio.shield(asyncio.ensure_future(self._exchange(job)))

    def kill(self) -> None:
        """End the worker at once, if one runs."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def close(self) -> None:
        """End the worker for good and wait until it is gone.

        An event loop that is torn down while a child is being started may wait for that child for ever.
        """
        self.closed = True
        self.kill()
        async with self._turn:
            await self._discard()

    async def _exchange(self, job: Job) -> Any:
        async with self._turn:
            try:
                async with asyncio.timeout(self.limit_s):
                    return pickle.loads(await self._round_trip(pickle.dumps(job)))  # noqa: S301 (from our own child)
            except TimeoutError as error:
                raise WorkerDied(f"no answer after {self.limit_s:.0f} s") from error
            except (OSError, EOFError) as error:
                raise WorkerDied(str(error) or type(error).__name__) from error
            finally:
                if sys.exc_info()[0] is not None:
                    await self._discard()

    async def _round_trip(self, data: bytes) -> bytes:
        if self._process is not None and self._process.returncode is not None:
            await self._discard()
        if self.closed:
            raise EOFError("the server is leaving")
        if self._process is None:
            self._process = await _start()
            log.info("worker process %d started", self._process.pid)
            if self.closed:
                raise EOFError("the server is leaving")
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(len(data).to_bytes(HEADER, "big") + data)
        await stdin.drain()
        header = await stdout.readexactly(HEADER)
        return await stdout.readexactly(int.from_bytes(header, "big"))

    async def _discard(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            code = await process.wait()
            if not self.closed:
                log.warning("worker process %d ended with %s", process.pid, code)
                self._died()


async def _start() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=None,
        cwd=Path(__file__).parent,
        env=environment(),
    )


def command() -> list[str]:
    """Return the worker's command line: this interpreter, without the current folder on its import path."""
    switch = "-I" if sys.flags.isolated else "-P"
    return [sys.executable, switch, "-m", "remat_lint_server.worker"]


def environment() -> dict[str, str]:
    """Return the worker's environment: `PYTHONPATH` holds in its own folder too, and names no current folder."""
    env = dict(os.environ)
    # An empty entry means the current folder, which is the one an editor opened.
    entries = [os.path.abspath(entry) for entry in env.pop("PYTHONPATH", "").split(os.pathsep) if entry]  # noqa: PTH100 (text in, text out)
    if entries:
        env["PYTHONPATH"] = os.pathsep.join(entries)
    return env
