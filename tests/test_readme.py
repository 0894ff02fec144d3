"""The README's table of rules is the registry's; `REMAT_LINT_UPDATE=1 pytest tests/test_readme.py` writes it anew."""

import os
from pathlib import Path

from remat_lint.rules import registry

README = Path(__file__).parents[1] / "README.md"
START, END = "<!-- rules: made by tests/test_readme.py -->\n", "<!-- end of rules -->"


def table():
    rows = ["| code | name | finds | fix |", "| --- | --- | --- | --- |"]
    for rule in registry().values():
        summary = rule.summary.removeprefix("Finds ").rstrip(".")
        rows.append(f"| {rule.code} | {rule.name} | {summary} | {'yes' if rule.has_fix else ''} |")
    return "\n".join(rows) + "\n"


def test_the_table_of_rules_is_that_of_the_registry():
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    expected = before + START + table() + END + after
    if os.environ.get("REMAT_LINT_UPDATE"):
        README.write_text(expected, encoding="utf-8")
    assert text == expected or os.environ.get("REMAT_LINT_UPDATE")
