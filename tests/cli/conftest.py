"""Runs the command line in a child process, as people do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STALE = """\
import jax

def layer(x):
    return x * w

for w in [1.0, 2.0]:
    total = jax.checkpoint(layer)(1.0)
"""
KEYWORD_ONLY = """\
import jax

@jax.checkpoint(policy=None)
def layer(x):
    return x
"""
FIXED = """\
import functools

import jax

@functools.partial(jax.checkpoint, policy=None)
def layer(x):
    return x
"""


def environment(**changes):
    values = {
        key: value
        for key, value in os.environ.items()
        if key not in {"NO_COLOR", "FORCE_COLOR", "PYTHONPATH"}
    }
    return values | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'server'}", "PYTHONUTF8": "1"} | changes


@pytest.fixture
def lint(tmp_path):
    """Run `remat-lint` in the temporary folder; the answer has `returncode`, `stdout` and `stderr`."""

    def run(*arguments, text=None, cwd=tmp_path, raw=False, **env):
        command = [sys.executable, "-m", "remat_lint", *map(str, arguments)]
        data = text.encode() if isinstance(text, str) else text
        done = subprocess.run(
            command,
            cwd=cwd,
            input=data,
            capture_output=True,
            env=environment(**env),
            timeout=120,
            check=False,
        )
        if not raw:
            done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        return done

    return run


@pytest.fixture
def project(tmp_path):
    """A project with one error that has no safe fix and one that has, named like a module of the standard library."""
    (tmp_path / "pyproject.toml").write_text("[tool.remat-lint]\n")
    (tmp_path / "stale.py").write_text(STALE)
    (tmp_path / "argparse.py").write_text(KEYWORD_ONLY)
    (tmp_path / "clean.py").write_text("import jax\n\nlayer = jax.checkpoint(abs)\n")
    return tmp_path


@pytest.fixture
def environ():
    """The environment in which `python -m remat_lint` is the one under test."""
    return environment()


@pytest.fixture
def spawn(tmp_path):
    """Start `remat-lint` without waiting for it."""
    started = []

    def start(*arguments, **options):
        command = [sys.executable, "-m", "remat_lint", *map(str, arguments)]
        child = subprocess.Popen(command, cwd=tmp_path, env=environment(), **options)
        started.append(child)
        return child

    yield start
    for child in started:
        child.kill()
        child.wait()
