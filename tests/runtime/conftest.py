import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from remat_lint.runtime import checks
from remat_lint.testing import NotVerified

ROOT = Path(__file__).parents[2]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A missing verdict fails these tests, which would otherwise be skipped unseen."""
    try:
        return (yield)
    except NotVerified as reason:
        raise AssertionError(f"not verified: {reason}") from reason


@pytest.fixture
def observed():
    """The evidence of all checks of a test."""
    seen = []
    checks.observers.append(seen.append)
    yield seen
    checks.observers.remove(seen.append)


@pytest.fixture
def pytester_like(tmp_path):
    """Runs pytest in a child on one test file and counts its outcomes."""

    def run(text):
        (tmp_path / "test_it.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        return {
            word: int(count)
            for count, word in re.findall(r"(\d+) (passed|failed|skipped|error)", done.stdout)
        }

    return run
