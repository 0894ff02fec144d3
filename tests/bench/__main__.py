"""Speed against other programs on the same trees: `python -m tests.bench [NAME=]TREE … [--rounds 5]`.

Trees are folders of source text, such as `jax=../jax flax=../flax maxtext=../maxtext none=../torchtitan`; `none` stands for
a tree without a candidate. They can be listed in REMAT_LINT_BENCH, with spaces between, too. Every ratio is one of CPU
times (user and system) of two programs that ran one after the other; what is printed is the median over the rounds.
The exit code is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.bench.measure import run, share

RUFF = ("check", "--select", "F,B", "--no-cache", "--isolated")
TARGETS = {"none": 0.5, "jax": 8.0, "flax": 8.0, "maxtext": 10.0}
ANY_TREE, ONE_FILE, PEAK, SHARE = 10.0, 1.4, 150.0, 0.10
ONE = "import jax\n\n\n@jax.checkpoint\ndef layer(x):\n    return x * 2\n\n\n" + "".join(
    f"def other_{number}(x):\n    return [x + {number} for _ in range(3)]\n\n\n" for number in range(300)
)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    value: float
    target: float
    unit: str = "x"

    def __str__(self) -> str:
        mark = "" if self.value <= self.target else "  missed"
        number = f"{self.value:.1%}" if self.unit == "%" else f"{self.value:.2f} {self.unit}"
        limit = f"{self.target:.0%}" if self.unit == "%" else f"{self.target:g} {self.unit}"
        return f"{self.what:<54}{number:>12}{limit:>12}{mark}"


def find_ruff() -> str | None:
    """Return the ruff of this environment, else the one on the path."""
    own = Path(sysconfig.get_path("scripts"), "ruff")
    return str(own) if own.is_file() else shutil.which("ruff")


def median_ratio(above: tuple[str, ...], below: tuple[str, ...], rounds: int) -> tuple[float, float]:
    """Return the median ratio of CPU times, and the median peak memory of the first command in MB."""
    ratios, peaks = [], []
    for command in (above, below):
        run(*command)  # what is compiled once, and the files in memory
    for _ in range(rounds):
        base, cost = run(*below), run(*above)
        ratios.append(cost.cpu / base.cpu)
        peaks.append(cost.peak)
    return statistics.median(ratios), statistics.median(peaks)


def start_rows(rounds: int) -> Iterator[Row]:
    """Measure what a run costs that has little to do."""
    python = sys.executable
    lint = (python, "-m", "remat_lint")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "module.py")
        file.write_text("x = 1\n", encoding="utf-8")
        nothing = (python, "-c", "pass")
        yield Row("--version / python -c pass", median_ratio((*lint, "--version"), nothing, rounds)[0], 2.5)
        yield Row(
            "one file without a candidate / python -c pass",
            median_ratio((*lint, folder), nothing, rounds)[0],
            5,
        )
        file.write_text(ONE, encoding="utf-8")
        ratio = median_ratio((*lint, str(file)), (python, "-c", "import libcst"), rounds)[0]
        yield Row("one file with a site / import libcst", ratio, ONE_FILE)


def tree_rows(name: str, tree: Path, ruff: str, rounds: int) -> Iterator[Row]:
    """Measure one tree."""
    command = (sys.executable, "-m", "remat_lint", "check", "--isolated", str(tree))
    ratio, peak = median_ratio(command, (ruff, *RUFF, str(tree)), rounds)
    yield Row(f"{name}: lint / ruff F,B", ratio, TARGETS.get(name, ANY_TREE))
    if name != "none":
        yield Row(f"{name}: peak memory", peak, PEAK, "MB")
        yield Row(f"{name}: bytes given to libcst", share(tree), SHARE, "%")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trees", nargs="*", default=os.environ.get("REMAT_LINT_BENCH", "").split())
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    ruff = find_ruff()
    trees = dict((one.split("=", 1) if "=" in one else (Path(one).name, one)) for one in arguments.trees)
    version = (
        subprocess.run([ruff, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if ruff
        else "none"
    )
    print(f"Python {platform.python_version()}, ruff: {version}, medians of {arguments.rounds}, CPU time\n")
    print(f"{'what':<54}{'measured':>12}{'target':>12}", flush=True)
    missed = False
    absent = [name for name in TARGETS if name not in trees]
    rows = [start_rows(arguments.rounds)]
    for name, folder in trees.items():
        if not Path(folder).is_dir() or ruff is None:
            absent.append(name)
        else:
            rows.append(tree_rows(name, Path(folder), ruff, arguments.rounds))
    for row in (row for group in rows for row in group):
        print(row, flush=True)
        missed = missed or row.value > row.target
    if absent:
        print(
            f"\nnot measured, because the tree{' or ruff' if ruff is None else ''} is absent: {', '.join(absent)}"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
