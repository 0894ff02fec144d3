"""Known wrap sites of real code against what `remat-lint sites` lists: how many are seen, how many bodies are known."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FORMS = ("call", "partial", "decorator", "class wrap", "remat_scan")
SCOPES = ("app", "lib", "test")
APIS: Mapping[str, tuple[str, ...]] = {
    "jax.checkpoint": ("jax.checkpoint",),
    "jax.remat": ("jax.remat", "jax.checkpoint"),
    "nn.remat": ("flax.linen.", "flax.core.lift.", "flaxformer."),
    "nn.checkpoint": ("flax.linen.", "flax.core.lift."),
    "nn.remat_scan": ("flax.linen.", "flax.core.lift."),
    "nnx.remat": ("flax.nnx.",),
    "hk.remat": ("haiku.",),
    "eqx.filter_checkpoint": ("equinox.", "haliax."),
    "trax.remat": ("trax.",),
}


@dataclass(frozen=True)
class Known:
    """A row of the table of known sites."""

    repository: str
    path: str
    line: int
    form: str
    text: str
    spelling: str
    scope: str

    @property
    def api(self) -> str:
        """The API that the table says is applied; empty for calls of a project's own factory."""
        found = re.search(r"(?:call|bare|partial|stored) of ([\w.]+) on ", self.text)
        return found.group(1) if found else ""

    @property
    def inside(self) -> tuple[str, ...]:
        """Innermost class and function around the site."""
        found = re.search(r" in ([\w.<>]+)(?: level)?(?: ;|$)", self.text)
        parts = found.group(1).split(".") if found else []
        return tuple(part for part in parts if part not in ("module", "<lambda>"))

    @property
    def is_direct(self) -> bool:
        """Whether the row wraps something itself."""
        applied = bool(self.api) and " on none" not in self.text
        return self.form in FORMS and self.scope in SCOPES and applied

    @property
    def is_effective(self) -> bool:
        """Whether the row decides that something is rematerialised: directly or through a factory of the project."""
        return self.is_direct or (self.scope in SCOPES and self.text.startswith("call of wrapper factory"))

    def __str__(self) -> str:
        return f"{self.repository} {self.path}:{self.line} {self.spelling} [{self.text}]"


@dataclass
class Score:
    """What was seen of the known sites."""

    direct: int = 0
    seen: int = 0
    bodies: int = 0
    effective: int = 0
    effective_seen: int = 0
    unseen: list[str] = field(default_factory=list)
    bodiless: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        def share(part: int, whole: int) -> str:
            return f"{part}/{whole} ({part / whole:.1%})" if whole else "0/0"

        return (
            f"direct sites seen with the right API {share(self.seen, self.direct)}, bodies known "
            f"{share(self.bodies, self.direct)}, effective sites seen {share(self.effective_seen, self.effective)}"
        )


def read_known(table: Path) -> list[Known]:
    """Return the rows of the table (tab-separated: repo, commit, path, line, form, classification, spelling, scope)."""
    with table.open(newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            Known(
                row["repo"], row["path"], int(row["line"]), row["form"], row["classification"],
                row["import_spelling"], row["scope"],
            )
            for row in rows
        ]  # fmt: skip


def list_sites(tree: Path) -> list[dict[str, Any]]:
    """Return what `remat-lint sites` says of a tree."""
    command = [sys.executable, "-m", "remat_lint", "sites", ".", "--output-format", "json"]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"remat-lint sites ended with {done.returncode} in {tree}: {done.stderr[-2000:]}")
    return json.loads(done.stdout)


def match(known: Sequence[Known], listed: Sequence[Mapping[str, Any]]) -> Score:
    """Compare the known sites of one repository with the listed ones; each listed site serves one row."""
    score, left = Score(), list(listed)
    for row in sorted(known, key=lambda one: (one.path, one.line)):
        if not row.is_effective:
            continue
        score.effective += 1
        score.direct += row.is_direct
        hits = list(_hits(row, left))
        if not hits:
            score.unseen.append(str(row))
            continue
        best = min(hits, key=lambda site: abs(site["location"]["row"] - row.line))
        same = [site for site in hits if site["location"] == best["location"]]
        left = [site for site in left if site not in same]
        score.effective_seen += 1
        if row.is_direct:
            score.seen += 1
            known_body = any(site["targets"] for site in (*same, *_through(best, listed)))
            score.bodies += known_body
            if not known_body:
                score.bodiless.append(str(row))
    return score


def _hits(row: Known, listed: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the listed sites in the same file and definition with the same API, whatever their line."""
    for site in listed:
        if Path(site["filename"]).as_posix() != row.path:
            continue
        around = set(site["scope"].split("."))
        if row.is_direct and not site["wrapper"].startswith(APIS[row.api]):
            continue
        if bool(site["through"]) == row.is_direct and not _stands_on(site, row):
            continue
        if set(row.inside[-1:]) <= around or _stands_on(site, row):
            yield site


def _through(place: Mapping[str, Any], listed: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the calls of a factory that lead to the wrapper at `place`: what it wraps is what they give."""
    for site in listed:
        last = site["through"][-1] if site["through"] else None
        if last == {"filename": place["filename"], "row": place["location"]["row"]}:
            yield site


def _stands_on(site: Mapping[str, Any], row: Known) -> bool:
    return site["location"]["row"] <= row.line <= site["end_location"]["row"]
