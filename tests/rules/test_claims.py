"""What the rules claim, shown by running their examples under JAX: all programs in one child process."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from remat_lint.rules.rule import Bad

from .examples import examples, label, read
from .facts import FACTS

pytestmark = pytest.mark.execution
HERE = Path(__file__).parent
RUN = [(rule, example) for rule, example in examples(Bad) if example.runs]
FIXED = [(rule, example) for rule, example in RUN if example.fixed is not None]


def name(rule, example, when):
    return f"{rule.code} {example.title} {when}"


@pytest.fixture(scope="module")
def outcomes():
    programs = {name(rule, example, "before"): read(example.code).text for rule, example in RUN}
    programs |= {name(rule, example, "after"): example.fixed for rule, example in FIXED}
    programs |= {title: text for title, (text, _) in FACTS.items()}
    done = subprocess.run(
        [os.environ.get("REMAT_LINT_TEST_PYTHON", sys.executable), str(HERE / "programs" / "outcomes.py")],
        input=json.dumps(programs),
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("rule", "example"), RUN, ids=label)
def test_reported_program_raises_or_differs_from_the_plain_one(outcomes, rule, example):
    checkpointed, plain = outcomes[name(rule, example, "before")]
    assert isinstance(checkpointed, str) or checkpointed != pytest.approx(plain)


@pytest.mark.parametrize(("rule", "example"), RUN, ids=label)
def test_reported_program_raises_exactly_what_the_message_says(outcomes, rule, example):
    checkpointed, _ = outcomes[name(rule, example, "before")]
    promised = re.search(r"raises (\w+Error)", example.message)
    if promised is not None:
        assert checkpointed == promised[1]
    elif "does not complain" in example.message:
        assert not isinstance(checkpointed, str)


@pytest.mark.parametrize(("rule", "example"), FIXED, ids=label)
def test_fixed_program_computes_what_the_plain_one_does(outcomes, rule, example):
    checkpointed, plain = outcomes[name(rule, example, "after")]
    assert not isinstance(checkpointed, str), checkpointed
    assert checkpointed == pytest.approx(plain)


@pytest.mark.parametrize(("rule", "example"), FIXED, ids=label)
def test_fixed_program_computes_what_the_reported_one_was_meant_to(outcomes, rule, example):
    _, meant = outcomes[name(rule, example, "before")]
    fixed, _ = outcomes[name(rule, example, "after")]
    if not isinstance(meant, str):
        assert fixed == pytest.approx(meant)


@pytest.mark.parametrize("title", FACTS)
def test_fact_behind_a_message(outcomes, title):
    expected = FACTS[title][1]
    checkpointed, _ = outcomes[title]
    assert checkpointed == (expected if isinstance(expected, str) else pytest.approx(expected))
