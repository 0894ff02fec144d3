"""What values an option takes: in a configuration file, and in the words of a command line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from remat_lint.config.selectors import ALWAYS_SELECTED, nearest
from remat_lint.errors import UsageError
from remat_lint.findings import Severity

_NAMES = {
    bool: "a boolean",
    str: "a string",
    int: "an integer",
    float: "a float",
    list: "a list",
    dict: "a table",
}
_LEVELS = tuple(severity.value for severity in Severity)


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a value: a clause that follows the option's name, or a sentence about the key inside it."""

    text: str
    inside: str | None = None


class Kind(ABC):
    """One form of values."""

    metavar: str = ""
    """What stands for the value in `--help`; empty for a switch."""

    @abstractmethod
    def problem(self, value: object) -> Problem | None:
        """Return what is wrong with the value of a configuration file."""

    @abstractmethod
    def parse(self, words: Sequence[str], flag: str) -> Any:
        """Return the value that the words behind a flag of the command line mean, as a file would hold it.

        Raises:
            UsageError: they mean nothing.
        """

    @property
    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The JSON schema of values."""

    def selectors(self, value: Any) -> Iterator[tuple[str | None, str]]:
        """Yield the selectors in a value, each with the key inside the value that it stands at."""
        del value
        yield from ()


class Strings(Kind):
    """A list of strings.

    Args:
        example: one of them.
        is_selectors: whether they name rules; else they are patterns of files.
    """

    def __init__(self, example: str, *, is_selectors: bool = False) -> None:
        self.metavar = "WHAT" if is_selectors else "PATTERN"
        self._example, self._is_selectors = example, is_selectors

    def problem(self, value: object) -> Problem | None:
        """Return what is wrong with a value."""
        found = _not_strings(value)
        return (
            Problem(f'must be a list of strings such as ["{self._example}"], not {found}') if found else None
        )

    def parse(self, words: Sequence[str], flag: str) -> list[str]:
        """Return the parts of the words between commas."""
        found = _split(words)
        if not found:
            raise UsageError(f"{flag} names no {'rule' if self._is_selectors else 'file'}")
        return found

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of values."""
        return {"type": "array", "items": {"type": "string"}}

    def selectors(self, value: Any) -> Iterator[tuple[str | None, str]]:
        """Yield the selectors in a value."""
        for one in value if self._is_selectors else ():
            yield None, one


class Switch(Kind):
    """True or false."""

    def problem(self, value: object) -> Problem | None:
        """Return what is wrong with a value."""
        return None if isinstance(value, bool) else Problem(f"must be true or false, not {name_of(value)}")

    def parse(self, words: Sequence[str], flag: str) -> bool:
        """Return whether the flag that stands last has no `no-` in it."""
        del flag
        return words[-1] == "true"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of values."""
        return {"type": "boolean"}


class Specifier(Kind):
    """A version of JAX, or a specifier of versions."""

    metavar = "VERSION"

    def problem(self, value: object) -> Problem | None:
        """Return what is wrong with a value."""
        from remat_lint.releases import JaxRange  # noqa: PLC0415 (start-up)

        if not isinstance(value, str):
            return Problem(f'must be a string such as ">=0.6,<0.11", not {name_of(value)}')
        try:
            JaxRange.from_specifier(value)
        except ValueError as error:
            return Problem(f"cannot be used: {error}")
        return None

    def parse(self, words: Sequence[str], flag: str) -> str:
        """Return the last word."""
        del flag
        return words[-1]

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of values."""
        return {"type": "string"}


class PerFile(Kind):
    """A table of lists of selectors by pattern."""

    metavar = "PATTERN:WHAT"

    def problem(self, value: object) -> Problem | None:
        """Return what is wrong with a value."""
        if not isinstance(value, dict):
            return Problem(f'must be a table such as {{ "tests/**" = ["RML7"] }}, not {name_of(value)}')
        for pattern, listed in value.items():
            found = _not_strings(listed)
            if found:
                text = f'{pattern!r} must have a list of strings such as ["RML7"], not {found}'
                return Problem(text, pattern)
        return None

    def parse(self, words: Sequence[str], flag: str) -> dict[str, list[str]]:
        """Return the table of pairs; a part without a colon belongs to the pattern before it."""
        table: dict[str, list[str]] = {}
        pattern = ""
        for part in _split(words):
            before, colon, what = part.rpartition(":")
            pattern = before if colon else pattern
            if not pattern or not what:
                raise UsageError(f"{flag} needs PATTERN:WHAT, such as 'tests/**:RML7', not {part!r}")
            table.setdefault(pattern, []).append(what)
        return table

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of values."""
        return {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}

    def selectors(self, value: Any) -> Iterator[tuple[str | None, str]]:
        """Yield the selectors in a value."""
        for pattern, listed in value.items():
            for one in listed:
                yield pattern, one


class Levels(Kind):
    """A table of severities by selector."""

    metavar = "WHAT=LEVEL"

    def problem(self, value: object) -> Problem | None:
        """Return what is wrong with a value."""
        if not isinstance(value, dict):
            return Problem(f'must be a table such as {{ memory = "info" }}, not {name_of(value)}')
        for selector, level in value.items():
            if not isinstance(level, str):
                return Problem(f"{selector!r} must have one of {_either()}, not {name_of(level)}", selector)
            if level not in _LEVELS:
                return Problem(f"unknown severity {level!r} of {selector!r}; {_advice(level)}", selector)
            if selector in ALWAYS_SELECTED:
                return Problem(f"{selector} is an error always; leave it out", selector)
        return None

    def parse(self, words: Sequence[str], flag: str) -> dict[str, str]:
        """Return the table of pairs."""
        table: dict[str, str] = {}
        for part in _split(words):
            selector, sign, level = part.partition("=")
            if not sign or not selector or not level:
                raise UsageError(f"{flag} needs WHAT=LEVEL, such as memory=info, not {part!r}")
            table.pop(selector, None)  # the order says which one is stronger
            table[selector.strip()] = level.strip()
        return table

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of values."""
        return {"type": "object", "additionalProperties": {"enum": list(_LEVELS)}}

    def selectors(self, value: Any) -> Iterator[tuple[str | None, str]]:
        """Yield the selectors in a value."""
        for one in value:
            yield one, one


def _advice(level: str) -> str:
    if level.casefold() in {"off", "none", "ignore", "allow", "false"}:
        return "to leave a rule out, name it under `ignore`"
    hint = {"note": "info", "hint": "info", "warn": "warning"}.get(level.casefold()) or nearest(
        level, _LEVELS
    )
    return f"did you mean {hint!r}?" if hint else f"write {_either()}"


def _either() -> str:
    return ", ".join(f'"{level}"' for level in _LEVELS)


def _split(words: Sequence[str]) -> list[str]:
    return [part.strip() for word in words for part in word.split(",") if part.strip()]


def _not_strings(value: object) -> str:
    """Return what a value is, if it is no list of strings, else nothing."""
    if not isinstance(value, list):
        return name_of(value)
    wrong = next((item for item in value if not isinstance(item, str)), None)
    return "" if wrong is None else f"a list that holds {name_of(wrong)}"


def name_of(value: object) -> str:
    """Return what a TOML value is, in words."""
    return _NAMES.get(type(value), "a date or time")
