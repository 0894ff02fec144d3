"""CPU time as ratios inside one run, by hand: `python tests/bench/ratios.py TREE [--rounds 5]`.

Prints medians of (a) linting TREE against importing libcst and parsing its candidate files whole, (b) a tree without
candidates and `--version` against `python -c pass`, (c) the share of the tree's bytes that libcst was given.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PARSE = """
import gc, pathlib, sys
gc.disable()
import libcst
from remat_lint.engine import _FRAMEWORKS, _WORDS
from remat_lint.source.prefilter import mentions
for path in pathlib.Path(sys.argv[1]).rglob("*.py"):
    data = path.read_bytes()
    if mentions(data, _WORDS) and mentions(data, _FRAMEWORKS):
        try:
            libcst.parse_module(data)
        except Exception:
            pass
"""
SHARE = """
import gc, json, pathlib, sys
gc.disable()
from remat_lint.config import Settings
from remat_lint.engine import Engine
root = pathlib.Path(sys.argv[1]).resolve()
engine = Engine(Settings(root=root))
engine.check_paths([root])
sizes = [size for _, _, size, again in engine.project.parsed if not again]
print(json.dumps([sum(sizes), sum(path.stat().st_size for path in root.rglob("*.py"))]))
"""


def cpu(*command: str) -> float:
    """Return user and system seconds of a child process."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    python, tree = sys.executable, str(arguments.tree)
    with tempfile.TemporaryDirectory() as empty:
        Path(empty, "module.py").write_text("x = 1\n", encoding="utf-8")
        rounds = [
            {
                "pass": cpu(python, "-c", "pass"),
                "version": cpu(python, "-m", "remat_lint", "--version"),
                "no candidate": cpu(python, "-m", "remat_lint", empty),
                "parse": cpu(python, "-c", PARSE, tree),
                "lint": cpu(python, "-m", "remat_lint", tree),
            }
            for _ in range(arguments.rounds)
        ]
    for name, above, below in (
        ("lint / parse candidates whole", "lint", "parse"),
        ("--version / pass", "version", "pass"),
        ("no candidate / pass", "no candidate", "pass"),
    ):
        ratio = statistics.median(one[above] / one[below] for one in rounds)
        print(f"{name}: {ratio:.2f}")  # noqa: T201 - this is its output
    done = subprocess.run([python, "-c", SHARE, tree], capture_output=True, text=True, check=True)
    parsed, total = json.loads(done.stdout)
    print(f"bytes given to libcst: {parsed / total:.1%} of {total}")  # noqa: T201 - this is its output


if __name__ == "__main__":
    main()
