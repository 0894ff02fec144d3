"""What the linter says about one place of one file: plain frozen values, shared by every layer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is; errors and warnings are shown by default and make the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Applicability(StrEnum):
    """How much trust an edit deserves: `--fix` applies safe ones, `--unsafe-fixes` both real ones."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    PLACEHOLDER = "placeholder"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text: `row` and `column` count from 1, columns in code points."""

    row: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range of a text; `end` is the position after the last character."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace `span` of the finding's own file by `content`."""

    span: Span
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together, and a sentence in the imperative that names them."""

    applicability: Applicability
    message: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that belongs to the story; `path` is absolute."""

    path: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding; `path` is absolute, `cell` the number of a notebook cell (from 1) or None."""

    code: str
    name: str
    severity: Severity
    message: str
    path: str
    span: Span
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    cell: int | None = None
    url: str | None = None

    def sort_key(self) -> tuple[str, Span, str, str]:
        """Order of output: file, place, code, text."""
        return (self.path, self.span, self.code, self.message)
