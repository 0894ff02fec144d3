"""Settings: what a configuration file and the command line ask for, checked and merged into one frozen value.

The nearest `remat-lint.toml`, or `pyproject.toml` with a `[tool.remat-lint]` table, above the first path counts.
A misspelt key, a value of the wrong type and an unknown selector are errors: a setting that is silently ignored
is worse than a run that stops.
"""

from __future__ import annotations

from remat_lint.config.files import OWN_FILE, PYPROJECT, TABLE, find_config, find_root
from remat_lint.config.loading import Overrides, load, read
from remat_lint.config.selectors import ALL, ALWAYS_SELECTED, CATEGORIES, RuleInfo, check_selectors, nearest
from remat_lint.config.settings import DEFAULT_EXCLUDE, Choice, Settings

__all__ = (
    "ALL",
    "ALWAYS_SELECTED",
    "CATEGORIES",
    "DEFAULT_EXCLUDE",
    "OWN_FILE",
    "PYPROJECT",
    "TABLE",
    "Choice",
    "Overrides",
    "RuleInfo",
    "Settings",
    "check_selectors",
    "find_config",
    "find_root",
    "load",
    "nearest",
    "read",
)
