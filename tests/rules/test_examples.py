import ast
import io
import re
import tokenize
from collections import Counter

import pytest

from remat_lint import rules
from remat_lint.findings import Applicability, Severity
from remat_lint.fixes import apply_edits, compatible
from remat_lint.rules.rule import Bad, Good, Miss
from remat_lint.source.text import SourceText

from .examples import FILE, all_rules, examples, label, lint, read, silences

HEADINGS = (
    "## What it does",
    "## Why it is a problem",
    "## When to ignore it",
    "## Fix safety",
    "## References",
)
CATALOGUE = {
    "RML001": ("syntax-error", "tool"),
    "RML002": ("unused-suppression", "tool"),
    "RML003": ("unknown-suppression", "tool"),
    "RML101": ("stale-capture", "correctness"),
    "RML102": ("late-binding-capture", "correctness"),
    "RML103": ("leaked-value", "correctness"),
    "RML104": ("frozen-randomness", "correctness"),
    "RML105": ("mutated-argument", "suspicious"),
    "RML106": ("frozen-update", "suspicious"),
    "RML107": ("trace-time-output", "suspicious"),
    "RML108": ("repeated-callback", "suspicious"),
    "RML109": ("host-callback", "suspicious"),
    "RML110": ("swallowed-concretization", "correctness"),
    "RML111": ("reused-key", "suspicious"),
    "RML201": ("keyword-only-decorator", "correctness"),
    "RML202": ("arguments-to-wrapper", "correctness"),
    "RML203": ("wrapped-result", "correctness"),
    "RML204": ("uncalled-wrapper", "correctness"),
    "RML205": ("removed-argument", "correctness"),
    "RML206": ("decorator-order", "correctness"),
    "RML207": ("unsupported-callable", "correctness"),
    "RML208": ("removed-spelling", "correctness"),
    "RML301": ("branch-on-traced-flag", "correctness"),
    "RML302": ("identity-test-on-traced-flag", "correctness"),
    "RML303": ("static-argnums-mismatch", "correctness"),
    "RML304": ("static-array", "suspicious"),
    "RML305": ("non-array-argument", "correctness"),
    "RML306": ("concretized-value", "correctness"),
    "RML401": ("uncalled-policy-factory", "correctness"),
    "RML402": ("called-policy", "correctness"),
    "RML403": ("non-callable-policy", "correctness"),
    "RML404": ("unknown-policy", "correctness"),
    "RML405": ("names-not-varargs", "correctness"),
    "RML406": ("unmatched-name", "suspicious"),
    "RML407": ("discarded-name", "correctness"),
    "RML408": ("policy-saves-everything", "memory"),
    "RML410": ("offload-arguments", "correctness"),
    "RML501": ("linen-through-jax-checkpoint", "correctness"),
    "RML411": ("ignored-inner-policy", "memory"),
    "RML412": ("batch-dims-policy", "memory"),
    "RML502": ("lost-nnx-state", "correctness"),
    "RML503": ("equinox-through-jax-checkpoint", "correctness"),
    "RML504": ("haiku-through-jax-checkpoint", "correctness"),
    "RML505": ("linen-remat-target", "correctness"),
    "RML506": ("renamed-parameters", "suspicious"),
    "RML601": ("whole-function-checkpoint", "memory"),
    "RML602": ("checkpoint-around-scan", "memory"),
    "RML603": ("cse-undoes-remat", "memory"),
    "RML604": ("checkpoint-around-grad", "memory"),
    "RML605": ("nested-checkpoint", "memory"),
    "RML606": ("scan-without-prevent-cse-false", "cost"),
    "RML701": ("jit-of-fresh-wrapper", "cost"),
    "RML702": ("fresh-closure-wrapper", "cost"),
    "RML801": ("unsynchronized-timing", "evidence"),
    "RML802": ("compile-in-timing", "evidence"),
    "RML803": ("vacuous-equivalence-test", "evidence"),
    "RML804": ("masked-divergence", "evidence"),
    "RML900": ("internal-error", "tool"),
}
FIXABLE = [(rule, example) for rule, example in examples(Bad) if example.fixed is not None]


def findings(rule, text):
    return [finding for finding in lint(text) if finding.code == rule.code]


def repair(rule, text):
    chosen = compatible(findings(rule, text))
    return apply_edits(SourceText(FILE, text), [edit for finding in chosen for edit in finding.fix.edits])


def comments(text):
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


@pytest.mark.parametrize("rule", rules.registry().values(), ids=label)
def test_rule_stands_in_the_catalogue(rule):
    assert (rule.name, rule.category) == CATALOGUE[rule.code]


def test_every_rule_of_the_catalogue_exists_once():
    assert list(rules.registry()) == sorted(CATALOGUE)
    assert len({rule.name for rule in rules.registry().values()}) == len(CATALOGUE)


@pytest.mark.parametrize("rule", rules.registry().values(), ids=label)
def test_page_has_a_summary_and_every_heading_in_order(rule):
    lines = rule.explanation.splitlines()
    assert [line for line in lines if line.startswith("## ")] == list(HEADINGS)
    assert rule.summary.endswith(".")
    for heading in HEADINGS:
        assert lines[lines.index(heading) + 1].strip(), f"nothing stands under {heading}"


@pytest.mark.parametrize("rule", all_rules(), ids=label)
def test_rule_has_enough_examples(rule):
    kinds = Counter(type(example) for example in rule.examples)
    assert kinds[Bad] >= 3
    assert kinds[Good] >= (1 if rule.code == "RML001" else 3)


@pytest.mark.parametrize("rule", [rule for rule in all_rules() if rule.code != "RML001"], ids=label)
def test_some_example_of_the_rule_has_a_line_beyond_ascii(rule):
    assert any(not example.code.isascii() for example in rule.examples if isinstance(example, Bad))


@pytest.mark.parametrize(("rule", "example"), examples(Bad), ids=label)
def test_bad_example_is_reported_exactly_where_it_is_marked(rule, example):
    program = read(example.code)
    assert program.spans
    found = findings(rule, program.text)
    assert [finding.span for finding in found] == list(program.spans)
    assert {finding.severity for finding in found} == {example.severity or rule.severity}


@pytest.mark.parametrize(("rule", "example"), examples(Bad), ids=label)
def test_bad_example_has_no_other_finding(rule, example):
    others = [
        f for f in lint(read(example.code).text) if f.code != rule.code and f.severity is not Severity.INFO
    ]
    assert others == []


@pytest.mark.parametrize(("rule", "example"), [pair for pair in examples(Bad) if pair[1].message], ids=label)
def test_message_of_bad_example(rule, example):
    assert findings(rule, read(example.code).text)[0].message == example.message


@pytest.mark.parametrize(("rule", "example"), [*examples(Good), *examples(Miss)], ids=label)
def test_every_rule_is_silent_about_good_examples_and_known_misses(rule, example):
    program = read(example.code)
    assert program.spans == ()
    found = lint(program.text)
    if isinstance(example, Miss):
        assert [finding for finding in found if finding.code == rule.code] == []
    else:
        assert [finding for finding in found if finding.severity is not Severity.INFO] == []


@pytest.mark.parametrize(("rule", "example"), examples(Good), ids=label)
def test_good_example_is_a_program(rule, example):
    ast.parse(example.code)


@pytest.mark.parametrize(("rule", "example"), FIXABLE, ids=label)
def test_fix_gives_the_text_that_the_example_shows(rule, example):
    assert repair(rule, read(example.code).text) == example.fixed


@pytest.mark.parametrize(("rule", "example"), FIXABLE, ids=label)
def test_fix_says_what_it_does(rule, example):
    said = [finding.fix.message for finding in findings(rule, read(example.code).text) if finding.fix]
    assert said
    assert all(re.fullmatch(r"[A-Z][a-z]+ \S.*[^.\s]", message) for message in said), said


@pytest.mark.parametrize(("rule", "example"), [*examples(Bad), *examples(Good)], ids=label)
def test_silence_has_a_reason(rule, example):
    said = silences(rule, read(example.code).text)
    assert all(re.fullmatch(r"[^A-Z\s.](?!XX).*[^.\s]|`.*", reason) for reason in said), said


@pytest.mark.parametrize(("rule", "example"), FIXABLE, ids=label)
def test_fixed_text_is_a_program_without_findings_unless_a_hole_is_left(rule, example):
    ast.parse(example.fixed)
    assert [f for f in lint(example.fixed) if f.severity is not Severity.INFO] == []


@pytest.mark.parametrize(
    ("rule", "example"), [pair for pair in FIXABLE if pair[0].code != "RML002"], ids=label
)
def test_fix_keeps_every_comment(rule, example):
    assert comments(read(example.code).text) <= comments(example.fixed)


@pytest.mark.parametrize(
    ("rule", "example"), [pair for pair in examples(Bad) if pair[1].fixed is None], ids=label
)
def test_example_without_a_fixed_text_has_no_fix_to_apply(rule, example):
    fixes = [finding.fix for finding in findings(rule, read(example.code).text) if finding.fix is not None]
    assert all(fix.applicability is Applicability.PLACEHOLDER for fix in fixes)
