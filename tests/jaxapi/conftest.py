"""Finds the object behind a dotted name, as an import in user code would."""

import builtins
import importlib
import os
import warnings

import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")


def find(dotted):
    parts = dotted.split(".")
    if len(parts) == 1:
        return getattr(builtins, dotted)
    pytest.importorskip(parts[0], reason=f"{parts[0]} is not installed")
    for cut in range(len(parts) - 1, 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for part in parts[cut:]:
                found = getattr(found, part)
        return found
    raise ModuleNotFoundError(dotted)


@pytest.fixture(scope="session")
def load():
    return find
