"""The rules, one a file; a scan of this package is the registry, so that adding a rule touches one file."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from remat_lint.rules.rule import Rule


@functools.cache
def registry() -> Mapping[str, Rule]:
    """Return every rule by code, in the order of codes."""
    from remat_lint.rules.rule import Rule  # noqa: PLC0415 - the rules bring the whole analysis, which most runs can spare

    found: list[Rule] = []
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}")).values()
        found += [
            member()
            for member in members
            if isinstance(member, type)
            and issubclass(member, Rule)
            and member.__module__.endswith(f".{module.name}")
            and not member.__abstractmethods__
        ]
    return MappingProxyType({rule.code: rule for rule in sorted(found, key=lambda rule: rule.code)})


class EveryRule:
    """All rules, imported when somebody asks for the first."""

    def __iter__(self) -> Iterator[Rule]:
        return iter(registry().values())
