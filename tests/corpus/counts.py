"""Findings per rule and repository: counted, and compared with what is committed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

COMMITTED = Path(__file__).with_name("counts.json")


def count_findings(tree: Path) -> dict[str, int]:
    """Return the number of findings of each code and severity, notes included, as `RML101 error`."""
    command = [sys.executable, "-m", "remat_lint", "check", ".", "--select", "ALL", "--exit-zero"]
    done = subprocess.run(
        [*command, "--output-format", "json"], cwd=tree, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"remat-lint ended with {done.returncode} in {tree}: {done.stderr[-2000:]}")
    findings = json.loads(done.stdout)
    return dict(sorted(Counter(f"{one['code']} {one['severity']}" for one in findings).items()))


def read_committed() -> dict[str, Any]:
    """Return what is committed: by repository its commit and its counts."""
    return json.loads(COMMITTED.read_text()) if COMMITTED.exists() else {}


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield a line for each repository whose commit or counts changed; those not counted now are passed over."""
    for name in now:
        if name not in before:
            yield f"{name}: new, {now[name]['counts'] or 'no findings'}"
            continue
        if before[name]["commit"] != now[name]["commit"]:
            yield f"{name}: at {now[name]['commit'][:8]}, the counts are of {before[name]['commit'][:8]}"
        old, new = before[name]["counts"], now[name]["counts"]
        for key in sorted({*old, *new}):
            if old.get(key, 0) != new.get(key, 0):
                yield f"{name}: {key}: {old.get(key, 0)} -> {new.get(key, 0)}"


def write(counts: Mapping[str, Any]) -> None:
    """Replace what is committed."""
    COMMITTED.write_text(json.dumps(dict(sorted(counts.items())), indent=1) + "\n")
