"""What every format may know besides the findings themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from remat_lint.findings import Applicability, Finding, Position
from remat_lint.source.text import SourceText


@dataclass(frozen=True, slots=True)
class View:
    """How findings are to be seen.

    Attributes:
        base: the folder that shown paths are relative to.
        sources: texts by absolute path; a file without one is shown without an excerpt.
        color: whether ANSI colours are wanted.
        unsafe_fixes: whether unsafe fixes count as applicable.
        problems: sentences about paths that could not be read.
        exit_code: the exit code of the run; None if there is none to tell.
    """

    base: Path
    sources: Mapping[str, SourceText] = field(default_factory=dict)
    color: bool = False
    unsafe_fixes: bool = False
    problems: tuple[str, ...] = ()
    exit_code: int | None = None

    def path(self, path: str) -> str:
        """A path as people and machines get it: below `base` relative to it, with forward slashes."""
        pure = PurePath(path)
        return (pure.relative_to(self.base) if pure.is_relative_to(self.base) else pure).as_posix()

    def is_applicable(self, finding: Finding) -> bool:
        """Whether `--fix` would apply the finding's fix."""
        if finding.fix is None:
            return False
        safe = finding.fix.applicability is Applicability.SAFE
        return safe or (self.unsafe_fixes and finding.fix.applicability is Applicability.UNSAFE)

    def place(self, path: str, position: Position, cell: int | None = None) -> str:
        """`path:row:column`, with the number of the cell in a notebook; not yet escaped."""
        middle = "" if cell is None else f"cell {cell}:"
        return f"{self.path(path)}:{middle}{position.row}:{position.column}"
