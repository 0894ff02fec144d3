"""The page of a rule, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.rules.rule import Bad, Good, Rule


def page(rule: Rule) -> str:
    """A rule's page in Markdown, with its examples."""
    fix = "sometimes has a fix" if rule.has_fix else "has no fix"
    releases = f", holds in JAX {rule.versions}" if rule.versions else ""
    parts = [
        f"# {rule.name} ({rule.code})\n",
        f"{rule.category}, {rule.severity.value}, {fix}{releases}\n",
        rule.explanation,
        "",
    ]
    examples = list(_examples(rule))
    if examples:
        parts += ["## Examples", *examples]
    return "\n".join(parts)


def _examples(rule: Rule) -> Iterator[str]:
    heads = {Bad: "Reported", Good: "Not reported"}
    for example in rule.examples:
        yield f"{heads.get(type(example), 'Not seen')}: {example.title}\n"
        yield _block(example.code)
        if isinstance(example, Bad) and example.fixed:
            yield "Fixed:\n"
            yield _block(example.fixed)


def _block(code: str) -> str:
    return f"```python\n{code.strip()}\n```\n"
