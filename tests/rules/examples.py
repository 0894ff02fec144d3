"""The programs in the examples of the rules: without their marks, and with the places that the marks mean."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from remat_lint import rules
from remat_lint.config import Settings
from remat_lint.engine import Engine
from remat_lint.findings import Finding, Position, Span
from remat_lint.rules.rule import Bad, Good, Miss, Rule, Silent

FILE = Path("/project/example.py")
_MARK = re.compile(r"\s*#\s*(\^+|~+)\s*")


@dataclass(frozen=True)
class Program:
    """An example's program, and the spans that its marks mean."""

    text: str
    spans: tuple[Span, ...]


def read(code: str) -> Program:
    """Take the marks out of an example."""
    lines: list[str] = []
    spans: list[Span] = []
    for line in code.split("\n"):
        mark = _MARK.fullmatch(line)
        if mark is None:
            lines.append(line)
            continue
        start, end = Position(len(lines), mark.start(1) + 1), Position(len(lines), mark.end(1) + 1)
        if mark[1].startswith("^"):
            spans.append(Span(start, end))
        else:
            spans[-1] = Span(spans[-1].start, end)
    return Program("\n".join(lines), tuple(spans))


def lint(text: str) -> list[Finding]:
    """Return what all rules say about a program."""
    engine = Engine(Settings(root=FILE.parent, select=("ALL",)))
    return list(engine.check_text(text, FILE).findings)


def silences(rule: Rule, text: str) -> list[str]:
    """Return the reasons for which a rule says nothing about parts of a program."""
    engine = Engine(Settings(root=FILE.parent, select=(rule.code,)))
    engine.check_text(text, FILE)
    module = engine.project.known(FILE)
    if module is None:
        return []
    subjects = engine.inspector.subjects(module)[rule.subject]
    answers = [answer for subject in subjects for answer in rule.check(subject, engine.analysis)]
    return [answer.reason for answer in answers if isinstance(answer, Silent)]


def all_rules() -> list[Rule]:
    """Every rule of the registry but the one that only the engine reports."""
    return [rule for rule in rules.registry().values() if rule.code != "RML900"]


def examples(kind: type[Bad | Good | Miss]) -> list[tuple[Rule, Bad | Good | Miss]]:
    """Every example of one kind, with its rule."""
    return [(rule, example) for rule in all_rules() for example in rule.examples if isinstance(example, kind)]


def label(value: object) -> str:
    """Name a case of a parametrised test."""
    return value.code if isinstance(value, Rule) else getattr(value, "title", str(value))
