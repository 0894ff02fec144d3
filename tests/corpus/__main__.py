"""Real repositories, by hand: `python -m tests.corpus CLONES [--update] [--sites TABLE]`.

CLONES is a folder with clones as `owner+name` or `owner/name`. Counts the findings of every committed repository whose
clone is there and says what changed; `--update` commits the new counts to `counts.json`. With `--sites` it compares a
table of known wrap sites with what `remat-lint sites` lists instead.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.corpus import counts, sites
from tests.corpus.clones import Clone, find_clones


def main() -> int:
    """Run; 1 if something differs from what is committed."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__)
    parser.add_argument("clones", type=Path, help="folder with the clones")
    parser.add_argument("--update", action="store_true", help="replace the committed counts")
    parser.add_argument(
        "--sites", type=Path, metavar="TABLE", help="table of known wrap sites to compare with"
    )
    parser.add_argument("--only", nargs="*", default=(), metavar="OWNER/NAME", help="look at these alone")
    parser.add_argument("--trees", type=Path, help="folder for the extracted trees, kept for the next time")
    options = parser.parse_args()
    clones = find_clones(options.clones)
    with tempfile.TemporaryDirectory() as temporary:
        trees = options.trees or Path(temporary)
        trees.mkdir(parents=True, exist_ok=True)
        if options.sites is not None:
            return compare_sites(clones, options, trees)
        return compare_counts(clones, options, trees)


def compare_sites(clones: Mapping[str, Clone], options: argparse.Namespace, trees: Path) -> int:
    """Print the score of each repository and of all."""
    rows = sites.read_known(options.sites)
    total = sites.Score()
    for name in dict.fromkeys(row.repository for row in rows):
        known = [row for row in rows if row.repository == name]
        if (options.only and name not in options.only) or not any(row.is_effective for row in known):
            continue
        if name not in clones:
            print(f"{name}: no clone")
            continue
        score = sites.match(known, sites.list_sites(clones[name].extract(trees)))
        print(f"{name} {clones[name].commit[:8]}: {score}")
        for word, lines in (("not seen", score.unseen), ("body unknown", score.bodiless)):
            for line in lines:
                print(f"  {word}: {line}")
        for key in ("direct", "seen", "bodies", "effective", "effective_seen"):
            setattr(total, key, getattr(total, key) + getattr(score, key))
    print(f"all: {total}")
    return 0


def compare_counts(clones: Mapping[str, Clone], options: argparse.Namespace, trees: Path) -> int:
    """Print what changed; replace the committed counts if asked to."""
    committed = counts.read_committed()
    names = options.only or ([*clones] if options.update else [*committed])
    now: dict[str, Any] = {}
    for name in names:
        if name not in clones:
            print(f"{name}: no clone, not counted")
            continue
        found = counts.count_findings(clones[name].extract(trees))
        now[name] = {"commit": clones[name].commit, "counts": found}
        print(f"{name} {now[name]['commit'][:8]}: {found or 'no findings'}", flush=True)
    changed = list(counts.differences(committed, now))
    print(*(changed or ["no differences"]), sep="\n")
    if options.update:
        counts.write(committed | now)
        return 0
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
