"""What a run loads: start-up time is part of what people judge a linter by."""

import subprocess
import sys

import pytest

HEAVY = (
    "libcst",
    "pygls",
    "lsprotocol",
    "rich",
    "asyncio",
    "typing_extensions",
    "packaging",
    "pathspec",
    "jax",
    "numpy",
)
PROGRAM = """\
import sys
from remat_lint.cli import main
code = main(sys.argv[1:])
print([name for name in {names!r} if name in sys.modules], file=sys.stderr)
sys.exit(code)
"""


def loaded(names, *arguments, cwd):
    command = [sys.executable, "-c", PROGRAM.format(names=names), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=True)
    return done.stderr.splitlines()[-1]


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "a.py").write_text("import torch\n\ntorch.load('checkpoint')\n")
    return tmp_path


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["."], ["--select", "correctness"], ["rule"]]
)
def test_a_run_without_a_candidate_loads_nothing_heavy(tree, arguments):
    assert loaded(HEAVY, *arguments, cwd=tree) == "[]"


def test_the_version_needs_next_to_nothing(tree):
    assert (
        loaded(
            (*HEAVY, "dataclasses", "remat_lint.engine", "remat_lint.rules", "json"), "--version", cwd=tree
        )
        == "[]"
    )
