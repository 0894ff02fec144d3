"""Neovim with `editors/neovim` on its runtime path, as shipped."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.editor

HERE = Path(__file__).parent
PLUGIN = HERE.parents[1] / "editors" / "neovim"
LIMIT_S = 120


@pytest.fixture
def program(tmp_path):
    """A folder with `remat-lint-server` in it, for PATH."""
    installed = shutil.which("remat-lint-server", path=str(Path(sys.executable).parent))
    if installed:
        return Path(installed).parent
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "remat-lint-server"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m remat_lint_server "$@"\n')
    script.chmod(0o755)
    return folder


def test_diagnostics_hover_fix_and_generated_test(nvim, program, project, tmp_path):
    env = {
        **os.environ,
        "PATH": f"{program}{os.pathsep}{os.environ['PATH']}",
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [str(nvim), "--headless", "--clean", "-l", str(HERE / "neovim_flow.lua"), str(PLUGIN), str(project)],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    seen = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    assert seen["encoding"] == "utf-8"
    assert (seen["code"], seen["source"]) == ("RML201", "remat-lint")
    assert "Results of matrix products are kept" in seen["hover"]
    assert seen["fixed"] == "@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)"
    assert seen["left"] == 0
    assert seen["tests"] == ["Generate equivalence test for loss"]
    assert "remat_lint.testing" in Path(seen["generated"]).read_text(encoding="utf-8")
    assert Path(seen["generated"]).is_relative_to(project)
