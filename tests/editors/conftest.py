"""Editors under test: installed on demand into a cache folder, skipped with the reason where that fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CACHE = Path(os.environ.get("REMAT_LINT_EDITORS") or ROOT / ".editors").absolute()
INSTALL_LIMIT_S = 900


def run_or_skip(what, command, cwd):
    """Run an installation step; what fails here says nothing about our code."""
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, check=False, timeout=INSTALL_LIMIT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"{what} cannot be installed here: {error}")
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
        pytest.skip(f"{what} cannot be installed here: {lines[-1]}")
    return done.stdout


def install(name):
    run_or_skip(name, ["bash", str(HERE / "install.sh"), name], HERE)
    return CACHE / name


@pytest.fixture(scope="session")
def nvim():
    """The Neovim program."""
    return install("neovim") / "bin" / "nvim"


@pytest.fixture(scope="session")
def code_server():
    """The folder with code-server and playwright-core in its node_modules."""
    folder = install("vscode")
    if shutil.which("chromium") is None:
        pytest.skip("vscode cannot be driven here: there is no chromium")
    return folder


@pytest.fixture(scope="session")
def extension(code_server):
    """Our extension, built from the sources as a user builds it, in a copy."""
    source, copy = ROOT / "editors" / "vscode", CACHE / "extension"
    copy.mkdir(parents=True, exist_ok=True)
    lock, known = (source / "package-lock.json").read_bytes(), copy / "package-lock.json"
    fresh = known.is_file() and known.read_bytes() == lock and (copy / "node_modules").is_dir()
    kept = shutil.ignore_patterns("node_modules", "out", "*.vsix")
    shutil.copytree(source, copy, dirs_exist_ok=True, ignore=kept)
    if not fresh:
        known.unlink()
        shutil.copy(source / "package-lock.json", known)
        run_or_skip("the extension's packages", ["npm", "ci", "--no-audit", "--no-fund"], copy)
    built = subprocess.run(
        ["npm", "run", "package"], cwd=copy, capture_output=True, text=True, check=False, timeout=300
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return copy / "remat-lint.vsix"


@pytest.fixture
def shots(request, tmp_path_factory):
    """Where screenshots go: `$REMAT_LINT_SHOTS`, else a temporary folder."""
    folder = Path(os.environ.get("REMAT_LINT_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def project(tmp_path):
    """A project with a finding that has a safe fix, behind it a line with emoji."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").write_text('[project]\nname = "demo"\nversion = "1"\n')
    (folder / "demo.py").write_text(
        "import jax\n\n\n"
        "@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)\n"
        "def layer(w, x):\n    return x @ w\n\n\n"
        "# remat-lint: example(w=f32[4, 4], x=f32[4, 4])\n"
        "def loss(w, x):\n"
        '    mark = "🐍🐍"; y = jax.checkpoint(layer)(w, x)\n'
        "    return (y * y).sum() if mark else 0.0\n",
        encoding="utf-8",
    )
    return folder
