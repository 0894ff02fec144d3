"""The end of the server: with its editor, whatever happened to the editor."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

POLL_S = 1.0


def is_running(pid: int) -> bool:
    """Whether a process with this id exists."""
    if os.name == "nt":
        # There `os.kill` with 0 ends the process; the end of standard input has to do.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def leave_with(pid: int | None, clean_up: Callable[[], None]) -> None:
    """End this process, after `clean_up`, once the editor's process is gone.

    Normally the end of standard input does it; a child of the editor can hold that open. An editor whose id is
    unknown here from the start runs in another container and is not watched.
    """
    if pid is None or not is_running(pid):
        return

    def watch() -> None:
        while is_running(pid):
            time.sleep(POLL_S)
        log.warning("the editor (process %d) is gone", pid)
        clean_up()
        # A thread is blocked in reading standard input, so that an ordinary exit would wait for ever.
        os._exit(1)

    threading.Thread(target=watch, name="lifetime", daemon=True).start()
