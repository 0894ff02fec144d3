"""Where a command's words go: results to stdout, everything else to stderr, in the colours that are wanted."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable
from typing import TextIO

from remat_lint.output.terminal import Style, paint, visible


class Console:
    """Standard output and error of one run.

    Args:
        color: `always`, `never`, or `auto`: what NO_COLOR, FORCE_COLOR and the terminal say, in this order.
    """

    def __init__(self, color: str) -> None:
        self._choice = color
        self._broken = sys.stdout is None  # closed by whoever started this (`>&-`)
        self._failed = False
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # A locale without some character must not end the run.
                stream.reconfigure(errors="backslashreplace")

    @property
    def color(self) -> bool:
        """Whether results are coloured."""
        return self._wants_color(sys.stdout)

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads the results as they come."""
        return _is_terminal(sys.stdout)

    @property
    def shows_progress(self) -> bool:
        """Whether a person looks at stderr."""
        return _is_terminal(sys.stderr)

    def write(self, pieces: Iterable[str]) -> None:
        """Print results; a reader who went away (`| head`) ends the printing, not the run."""
        if sys.stdout is None:
            self._fail("stdout is closed")
            return
        try:
            for piece in pieces:
                if self._broken:
                    return
                sys.stdout.write(piece)
        except BrokenPipeError:
            self._close()
        except OSError as error:
            self._fail(error.strerror or str(error))

    def write_bytes(self, data: bytes) -> None:
        """Print a fixed file as it is."""
        if sys.stdout is None:
            self._fail("stdout is closed")
            return
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(data)
        except BrokenPipeError:
            self._close()
        except OSError as error:
            self._fail(error.strerror or str(error))

    def error(self, sentence: str) -> None:
        """Say why something cannot be done."""
        self._say("error", Style.ERROR, sentence)

    def warn(self, sentence: str) -> None:
        """Say what should be known."""
        self._say("warning", Style.WARNING, sentence)

    def put_aside(self, pieces: Iterable[str]) -> None:
        """Print to stderr what is no result, or what must not stand between results."""
        for piece in pieces:
            _put(piece)

    def finish(self, code: int) -> int:
        """Push everything out; the exit code is 2 if the results could not be written."""
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            self._close()
        except OSError as error:
            self._fail(error.strerror or str(error))
        return 2 if self._failed else code

    def _say(self, word: str, style: Style, sentence: str) -> None:
        _put(f"remat-lint: {paint(word, style, color=self._wants_color(sys.stderr))}: {visible(sentence)}\n")

    def _wants_color(self, stream: TextIO | None) -> bool:
        if self._choice != "auto":
            return self._choice == "always"
        if os.environ.get("NO_COLOR"):
            return False
        if os.environ.get("FORCE_COLOR", "0") not in {"", "0"}:
            return True
        return _is_terminal(stream) and os.environ.get("TERM") != "dumb"

    def _fail(self, reason: str) -> None:
        if not self._failed:
            self._failed = True
            self.error(f"the results cannot be written: {reason}")
        if not self._broken:
            self._close()

    def _close(self) -> None:
        """Send the rest nowhere: the interpreter flushes stdout once more when it ends."""
        self._broken = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _put(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        return  # nobody reads it, and there is no other place to say so
