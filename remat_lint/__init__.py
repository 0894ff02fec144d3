"""remat-lint: finds misuse of `jax.checkpoint` / `jax.remat` and proves that checkpointed code computes the same.

The public names are looked up when they are first used, so that importing the package costs nothing.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "Finding": "remat_lint.findings",
    "Result": "remat_lint.engine",
    "Rule": "remat_lint.rules.rule",
    "check_paths": "remat_lint.engine",
    "check_text": "remat_lint.engine",
}
__all__ = ["Finding", "Result", "Rule", "__version__", "check_paths", "check_text"]


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
