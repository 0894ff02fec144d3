"""Which tests share a worker when several run at once."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOGETHER = ("editors", "journey", "server")
"""Folders whose tests start programs that would disturb each other, or share one that is dear to start."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        folder = item.path.relative_to(HERE).parts[0]
        if folder in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(folder))
        elif item.get_closest_marker("execution") is not None:
            # The tests of a file share what one child process told about all its programs.
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
