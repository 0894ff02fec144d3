"""Releases of JAX, and ranges of them: what a finding may be true of.

`packaging` reads the specifiers. It is imported when the first one is met: most runs meet none.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet
    from packaging.version import Version

RELEASES: tuple[str, ...] = (
    *(f"0.4.{patch}" for patch in (30, 31, 33, 34, 35, 36, 37, 38)),
    *(f"0.5.{patch}" for patch in range(4)),
    *(f"0.{minor}.{patch}" for minor in (6, 7) for patch in range(3)),
    *(f"0.8.{patch}" for patch in range(4)),
    *("0.9.0", "0.9.0.1", "0.9.1", "0.9.2"),
    *(f"0.{minor}.{patch}" for minor in (10, 11) for patch in range(3)),
    *("0.12.0", "0.12.0.1"),
)
"""Every supported release, oldest first, as https://docs.jax.dev/en/latest/changelog.html lists them; 0.4.32 was withdrawn."""

_FUTURE = "9999"  # stands for the releases that are still to come


@dataclass(frozen=True, slots=True)
class JaxRange:
    """The releases of JAX that a project may run on; findings speak about these.

    Specifiers are those of packages: `">=0.10"`, `">=0.6,<0.11"`, `"==0.10.2"`; the empty one means every release.

    Attributes:
        releases: the releases, oldest first.
        is_open: whether releases that are still to come belong to it.
        origin: where it was read, for people: `pyproject.toml`; empty if nothing says which releases count.
    """

    releases: tuple[str, ...] = RELEASES
    is_open: bool = True
    origin: str = ""

    @classmethod
    def from_specifier(cls, text: str, origin: str = "") -> JaxRange:
        """Return the supported releases that a specifier or a version allows; `0.10` means every 0.10 release.

        A release that the text names counts even if it is newer than every one known here.

        Raises:
            ValueError: it is no specifier, or allows no supported release; the sentence says which.
        """
        spec = _specifier(text)
        named = {one.version.removesuffix(".*") for one in _parsed(spec)}
        known = [one for one in _ordered({*RELEASES, *named}) if _key(one) >= _key(RELEASES[0])]
        releases = tuple(one for one in known if accepts(spec, one))
        if not releases:
            raise ValueError(
                f"{text!r} allows no supported release of JAX; those are {RELEASES[0]} to {RELEASES[-1]}"
            )
        return cls(releases, accepts(spec, _FUTURE), origin)

    def all(self, spec: str) -> bool:
        """Whether every release of the range meets a specifier."""
        return all(accepts(spec, release) for release in self.releases)

    def any(self, spec: str) -> bool:
        """Whether some release of the range meets a specifier."""
        return any(accepts(spec, release) for release in self.releases)

    def part(self, spec: str) -> JaxRange:
        """Return the releases of the range that meet a specifier, perhaps none."""
        releases = tuple(release for release in self.releases if accepts(spec, release))
        return JaxRange(releases, self.is_open and accepts(spec, _FUTURE), self.origin)

    def union(self, others: Iterable[JaxRange]) -> JaxRange:
        """Return the releases of this range and of others."""
        ranges = (self, *others)
        releases = _ordered({release for one in ranges for release in one.releases})
        return JaxRange(tuple(releases), any(one.is_open for one in ranges), self.origin)

    def describe(self) -> str:
        """Return the range in words: `JAX 0.10.0 and newer`, `JAX 0.6.0 to 0.9.2`, `JAX 0.10.2`."""
        order = _ordered({*RELEASES, *self.releases})
        runs: list[list[str]] = []
        for release in self.releases:
            follows = runs and order.index(release) == order.index(runs[-1][-1]) + 1
            runs[-1].append(release) if follows else runs.append([release])
        words = [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
        if self.is_open and words:
            words[-1] = f"{runs[-1][0]} and newer"
        listed = ", ".join(words[:-1]) + " and " + words[-1] if len(words) > 1 else "".join(words)
        return f"JAX {listed}" if listed else "no release of JAX"


def accepts(spec: str, release: str) -> bool:
    """Whether a release meets a specifier; pre-releases count like others."""
    return not spec or _parsed(spec).contains(release, prereleases=True)


def _specifier(text: str) -> str:
    """Return what was written as a specifier; a bare version names itself, a short one its whole series."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: PLC0415 (start-up)

    text = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?(\.\*)?", text):
        text = f"=={text.removesuffix('.*')}.*"
    elif re.fullmatch(r"\d+(\.\d+){2,}\w*", text):
        text = f"=={text}"
    try:
        return text if text and SpecifierSet(text) else _refuse(text)
    except InvalidSpecifier:
        return _refuse(text)


def _refuse(text: str) -> str:
    raise ValueError(f'{text!r} is no version and no specifier; write one such as "0.10.2" or ">=0.6,<0.11"')


@functools.cache
def _parsed(spec: str) -> SpecifierSet:
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415 (start-up)

    return SpecifierSet(spec)


def _ordered(releases: Iterable[str]) -> list[str]:
    """Return releases oldest first, each once however it is spelt (0.10 is 0.10.0)."""
    in_order = sorted(releases, key=lambda release: (_key(release), release))
    return [*{_key(release): release for release in in_order}.values()]


@functools.cache
def _key(release: str) -> Version:
    from packaging.version import Version  # noqa: PLC0415 (start-up)

    return Version(release)
