"""Errors that end a run, each with the sentence a person needs."""

from __future__ import annotations


class RematLintError(Exception):
    """Root of every error raised on purpose; the command line prints its text and exits with 2."""


class UsageError(RematLintError):
    """The command line asks for something that cannot be: an unknown selector, a missing path."""


class ConfigError(RematLintError):
    """A configuration file cannot be used.

    Args:
        message: what is wrong and what to write instead.
        path: the configuration file.
        line: 1-based line of the offending key, if known.
    """

    def __init__(self, message: str, path: str, line: int | None = None) -> None:
        self.path, self.line = path, line
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {message}")
