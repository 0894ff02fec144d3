"""Comments that were meant to take findings back and took back none, as subject of a rule."""

from __future__ import annotations

from dataclasses import dataclass

from remat_lint.project.modules import Module
from remat_lint.source.comments import Comment
from remat_lint.source.ignores import Ignore, Listed


@dataclass(frozen=True, slots=True)
class IdleIgnore:
    """One list of rules in a comment; `idle` are those that took nothing back although they ran."""

    module: Module
    comment: Comment
    ignore: Ignore
    idle: tuple[Listed, ...]
