"""Clones of public repositories on this machine: which are there, at which commit, and their files as a plain tree."""

from __future__ import annotations

import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

SUFFIXES = (".py", ".toml", ".cfg", ".txt", ".lock")


@dataclass(frozen=True)
class Clone:
    """A repository, `owner/name`, and the git directory of its clone."""

    name: str
    git: Path

    @property
    def commit(self) -> str:
        """The commit that is checked."""
        return self._ask("rev-parse", "HEAD").strip()

    def extract(self, folder: Path) -> Path:
        """Write the Python and configuration files of the commit below `folder`; a tree that is there is kept."""
        tree = folder / f"{self.name.replace('/', '+')}-{self.commit[:8]}"
        if not tree.is_dir():
            names = self._ask("ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")
            # A partial clone lacks its largest files, none of which is a source.
            wanted = [f":(glob)**/*{end}" for end in SUFFIXES if any(name.endswith(end) for name in names)]
            part = tree.with_suffix(".tar")
            self._ask("archive", "-o", str(part), "HEAD", *wanted)
            with tarfile.open(part) as archive:
                archive.extractall(tree, filter="data")
            part.unlink()
        return tree

    def _ask(self, *arguments: str) -> str:
        command = ["git", f"--git-dir={self.git}", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def find_clones(folder: Path) -> dict[str, Clone]:
    """Return the clones below a folder by name.

    A clone of `owner/name` lies in `owner+name` or `owner/name`, as a work tree, a bare repository, or in `repo` below.
    """
    found = {}
    for place in sorted([*folder.glob("*+*"), *folder.glob("*/*")]):
        name = place.name.replace("+", "/") if "+" in place.name else f"{place.parent.name}/{place.name}"
        for git in (place / ".git", place / "repo", place):
            if (git / "HEAD").is_file() and (git / "objects").is_dir() and "+" not in name:
                found.setdefault(name, Clone(name, git))
    return found
