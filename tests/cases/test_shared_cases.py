"""The case files beside the repository, where they are: scored by the scorer that lies with them."""

import subprocess
import sys
from pathlib import Path

import pytest

from remat_lint.rules import registry

SHARED = Path(__file__).resolve().parents[3] / "shared"
SCORER = SHARED / "tools" / "score_cases.py"

pytestmark = pytest.mark.skipif(
    not SCORER.is_file(), reason="no case files lie beside the repository (../shared)"
)


@pytest.mark.parametrize("folder", ["cases", "seeds"])
def test_expected_lines_are_found_and_nothing_else(folder):
    command = f"{sys.executable} -m remat_lint"
    codes = ",".join(registry())
    done = subprocess.run(
        [
            sys.executable,
            SCORER,
            SHARED / folder,
            "--command",
            command,
            "--only-codes",
            codes,
            "--min-recall",
            "0.95",
            "--min-precision",
            "0.98",
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = next(line for line in done.stdout.splitlines() if line.startswith("cases passed"))
    clean = passed.partition("clean cases ")[2].rstrip(")")
    assert len(set(clean.split("/"))) == 1, done.stdout
