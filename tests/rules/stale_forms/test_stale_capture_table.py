"""RML101 against programs whose staleness JAX itself decides."""

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine
from remat_lint.fixes import fix_text
from remat_lint.source.text import SourceText

from .forms import programs
from .truth import is_stale, observe_all, truth

pytestmark = pytest.mark.execution
PROGRAMS = programs()

# Stale programs that the rule leaves alone, each with the reason. False alarms have no such list.
KNOWN_MISSES = {
    "list / lambdas called and kept": "each lambda was called while its value was right, so what is kept is right by luck",
    "loop / recursion": "needs the order of calls within one function that calls itself",
}


def report(text, folder):
    """Severities of the RML101 findings of one text."""
    path = folder / "program.py"
    found = Engine(Settings(root=folder)).check_text(text, path).findings
    return [finding.severity.value for finding in found if finding.code == "RML101"]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_stale_capture_is_reported_exactly_where_results_differ(program, tmp_path):
    found = report(program.text, tmp_path)
    assert set(found) <= {"error", "warning"}
    if is_stale(program) and program.name in KNOWN_MISSES:
        assert not found, f"no longer missed: {KNOWN_MISSES[program.name]}"
    else:
        assert bool(found) == is_stale(program), f"{truth()[program.name]}\n{program.text}"


def fixed(program, folder):
    """The text with every fix applied that the rule offers, and whether it is still reported."""
    engine, path = Engine(Settings(root=folder)), folder / "program.py"

    def lint(text):
        return [finding for finding in engine.check_text(text, path).findings if finding.code == "RML101"]

    outcome = fix_text(SourceText(path, program.text), lint(program.text), lint, unsafe=True)
    return outcome.after.text, bool(lint(outcome.after.text))


def test_fixed_programs_compute_what_plain_python_computes(tmp_path):
    results = {program.name: fixed(program, tmp_path) for program in PROGRAMS if is_stale(program)}
    changed = {
        program.name: results[program.name][0]
        for program in PROGRAMS
        if program.name in results and results[program.name][0] != program.text
    }
    verdicts = observe_all(changed)
    assert len(changed) >= 60
    for name, text in changed.items():
        if not results[name][1]:
            assert verdicts[name]["checkpointed"] == truth()[name]["plain"], text


def test_known_misses_are_programs_of_the_table_and_have_a_reason():
    assert set(KNOWN_MISSES) <= {program.name for program in PROGRAMS}
    assert all(KNOWN_MISSES.values())


def test_the_table_has_many_distinct_programs_of_both_kinds():
    assert len({program.text for program in PROGRAMS}) == len(PROGRAMS)
    assert len({program.name for program in PROGRAMS}) == len(PROGRAMS)
    stale = [program for program in PROGRAMS if is_stale(program)]
    assert min(len(stale), len(PROGRAMS) - len(stale)) >= 60


def test_plain_results_do_change_where_a_program_is_stale():
    for program in PROGRAMS:
        if is_stale(program):
            plain = truth()[program.name]["plain"]
            assert len(plain) == 1 or len(set(plain)) > 1
