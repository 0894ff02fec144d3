"""`remat-lint rule`: the pages of the rules."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from remat_lint.commands.console import Console
from remat_lint.config import nearest
from remat_lint.errors import UsageError
from remat_lint.output.pages import page
from remat_lint.output.terminal import Style, paint
from remat_lint.rules import registry
from remat_lint.rules.rule import Rule


def run(arguments: argparse.Namespace, console: Console) -> int:
    """Print one rule, or all of them."""
    if arguments.rule and arguments.all:
        raise UsageError("name one rule or give --all, not both")
    rules = [find_rule(arguments.rule)] if arguments.rule else list(registry().values())
    if arguments.output_format == "json":
        found = [describe(rule) for rule in rules]
        console.write([json.dumps(found[0] if arguments.rule else found, indent=2), "\n"])
    elif arguments.output_format == "markdown":
        console.write(["\n".join(page(rule) for rule in rules)])
    elif arguments.rule:
        console.write([_styled(page(rules[0]), color=console.color)])
    else:
        console.write(_list(rules, color=console.color))
    return 0


def find_rule(selector: str) -> Rule:
    """The rule with a code or name.

    Raises:
        UsageError: there is none; with the nearest one that there is.
    """
    rules = registry().values()
    for rule in rules:
        if selector in (rule.code, rule.name) or selector.upper() == rule.code:
            return rule
    hint = nearest(selector, [name for rule in rules for name in (rule.code, rule.name)])
    raise UsageError(
        f"there is no rule {selector!r}"
        + (f"; did you mean {hint!r}?" if hint else "; `remat-lint rule` lists them")
    )


def describe(rule: Rule) -> dict[str, Any]:
    """A rule as JSON."""
    return {
        "code": rule.code,
        "name": rule.name,
        "category": rule.category,
        "severity": rule.severity.value,
        "versions": rule.versions,
        "summary": rule.summary,
        "fix": rule.has_fix,
        "explanation": rule.explanation,
    }


def _list(rules: list[Rule], *, color: bool) -> Iterator[str]:
    width = max(len(rule.name) for rule in rules)
    for rule in rules:
        code = paint(rule.code, Style.BOLD, color=color)
        yield f"{code}  {rule.name:<{width}}  {rule.category:<11}  {rule.severity.value:<7}  {rule.summary}\n"


def _styled(text: str, *, color: bool) -> str:
    lines = text.split("\n")
    return "\n".join(paint(line, Style.BOLD, color=color) if line.startswith("#") else line for line in lines)
