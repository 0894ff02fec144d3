"""Small hand-made findings."""

from pathlib import Path

import pytest

from remat_lint.findings import Applicability, Edit, Finding, Fix, Position, Related, Severity, Span
from remat_lint.output.view import View
from remat_lint.source.text import SourceText

TEXT = """\
import jax

def layer(x):
    return x * w

for w in weights:
    total = total + jax.checkpoint(layer)(x)
"""


class Maker:
    """Makes findings about one text."""

    def __init__(self, text=TEXT, path="/p/a.py"):
        self.path = path
        self.source = SourceText(Path(path), text)
        self.view = View(Path("/p"), {path: self.source})

    def span(self, words, nth=0):
        start = -1
        for _ in range(nth + 1):
            start = self.source.text.index(words, start + 1)
        return self.source.span(start, start + len(words))

    def edit(self, words, content, nth=0):
        return Edit(self.span(words, nth), content)

    def fix(self, *edits, grade=Applicability.SAFE):
        return Fix(grade, "Pass `w` as an argument", edits)

    def related(self, words, message):
        return Related(self.path, self.span(words), message)

    def finding(self, words="w", nth=0, **changes):
        values = {
            "code": "RML101",
            "name": "stale-capture",
            "severity": Severity.ERROR,
            "message": "`layer` reads `w`",
            "path": self.path,
            "span": changes.pop("span", None) or self.span(words, nth),
        }
        return Finding(**values | changes)


@pytest.fixture
def make():
    return Maker


@pytest.fixture
def place():
    return lambda row, column, end_row, end: Span(Position(row, column), Position(end_row, end))
