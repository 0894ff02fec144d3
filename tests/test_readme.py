"""The README's tables are those of the program; `REMAT_LINT_UPDATE=1 pytest tests/test_readme.py` writes them anew."""

import os
from pathlib import Path

import pytest

from remat_lint.commands.config import table
from remat_lint.config.options import OPTIONS
from remat_lint.output import FORMATS
from remat_lint.rules import registry

README = Path(__file__).parents[1] / "README.md"


def rules():
    rows = ["| code | name | finds | fix |", "| --- | --- | --- | --- |"]
    for rule in registry().values():
        summary = rule.summary.removeprefix("Finds ").rstrip(".")
        rows.append(f"| {rule.code} | {rule.name} | {summary} | {'yes' if rule.has_fix else ''} |")
    return "\n".join(rows) + "\n"


def settings():
    return "".join(table(list(OPTIONS.values())))


@pytest.mark.parametrize("make", [rules, settings])
def test_a_table_is_that_of_the_program(make):
    name = make.__name__
    text = README.read_text(encoding="utf-8")
    before, start, rest = text.partition(f"<!-- {name}: made by tests/test_readme.py -->\n")
    _, end, after = rest.partition(f"<!-- end of {name} -->")
    assert start
    assert end
    expected = before + start + make() + end + after
    if os.environ.get("REMAT_LINT_UPDATE"):
        README.write_text(expected, encoding="utf-8")
    assert text == expected or os.environ.get("REMAT_LINT_UPDATE")


def test_every_format_is_named():
    text = README.read_text(encoding="utf-8")

    assert [name for name in FORMATS if f"`{name}`" not in text] == []
