"""CPU time and memory of child processes."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SHARE = """
import gc, json, sys
from pathlib import Path
gc.disable()
from remat_lint.config import Overrides, load
from remat_lint.engine import Engine
from remat_lint.rules import EveryRule
root = Path(sys.argv[1]).resolve()
engine = Engine(load([root], EveryRule(), Overrides(isolated=True)))
files = engine.discover([root]).files
engine.check_paths([root])
print(json.dumps([
    sum(size for _, _, size, again in engine.project.parsed if not again), sum(path.stat().st_size for path in files)
]))
"""

# Compiled modules are kept as an installation keeps them, whatever the environment says, and away from the sources.
_compiled = tempfile.TemporaryDirectory()
atexit.register(_compiled.cleanup)
ENVIRONMENT = {**os.environ, "PYTHONPYCACHEPREFIX": _compiled.name}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)


@dataclass(frozen=True)
class Cost:
    """What a child process took.

    Attributes:
        cpu: user and system seconds, those of its own children included.
        peak: greatest resident memory, in MB.
    """

    cpu: float
    peak: float


def run(*command: str) -> Cost:
    """Run a command to its end, whatever its exit code; its output goes nowhere."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode < 0:
        raise RuntimeError(f"{' '.join(command)} ended by signal {-child.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit / 2**20)


def share(tree: Path) -> float:
    """Return the part of a tree's bytes that is given to libcst."""
    command = [sys.executable, "-c", SHARE, str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    parsed, total = json.loads(done.stdout)
    return parsed / max(total, 1)
