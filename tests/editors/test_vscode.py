"""VS Code itself (code-server) in a headless browser, with the extension as a user installs it."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.editor

HERE = Path(__file__).parent
START_S, FLOW_S = 90, 240


@pytest.fixture
def workbench(code_server, extension, tmp_path):
    """The address of a VS Code of its own, with our extension and fresh data folders."""
    data, extensions, config = tmp_path / "data", tmp_path / "extensions", tmp_path / "config.yaml"
    config.write_text("")
    settings = {
        "rematLint.interpreter": sys.executable,
        "editor.minimap.enabled": False,
        "workbench.startupEditor": "none",
        "files.autoSave": "off",
    }
    # Settings for the machine are read from one of the two, by release.
    for folder in ("User", "Machine"):
        (data / folder).mkdir(parents=True)
        (data / folder / "settings.json").write_text(json.dumps(settings))
    node = ["node", str(code_server / "node_modules/code-server/out/node/entry.js")]
    places = ["--config", str(config), "--user-data-dir", str(data), "--extensions-dir", str(extensions)]
    installed = subprocess.run(
        [*node, *places, "--install-extension", str(extension)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert installed.returncode == 0, installed.stdout + installed.stderr
    port = free_port()
    quiet = ["--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"]
    with (tmp_path / "code-server.log").open("wb") as log:
        process = subprocess.Popen(
            [
                *node,
                *places,
                *quiet,
                "--auth",
                "none",
                "--bind-addr",
                f"127.0.0.1:{port}",
                "--disable-workspace-trust",
            ],
            stdout=log,
            stderr=log,
        )
    try:
        wait_for_answer(port, process)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)
        process.kill()


def test_main_flow(workbench, code_server, project, shots):
    env = {**os.environ, "NODE_PATH": str(code_server / "node_modules"), "SHOTS": str(shots)}
    done = subprocess.run(
        ["node", str(HERE / "vscode_flow.js"), workbench, str(project)],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=FLOW_S,
    )
    sys.stdout.write(done.stdout + done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["problem"].startswith("`jax.checkpoint` needs the function as its first argument")
    assert "jax.checkpoint" in seen["hover"]
    assert "Results of matrix products are kept" in seen["hover"]
    assert any("Wrap the call in functools.partial" in row for row in seen["menu"])
    assert any("Generate equivalence test" in row for row in seen["menu"])
    fixed = (project / "demo.py").read_text(encoding="utf-8")
    assert "@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)\n" in fixed
    assert fixed.count("import functools\n") == 1
    generated = sorted(path for path in project.rglob("test_*.py"))
    assert [path.name for path in generated] == [seen["generated"]]
    assert "remat_lint.testing" in generated[0].read_text(encoding="utf-8")
    for name in ("squiggle", "hover", "menu", "fixed", "generated"):
        assert (shots / f"vscode-{name}.png").stat().st_size > 10_000


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_answer(port, process):
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        assert process.poll() is None, "code-server ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=2):
            return
        time.sleep(0.2)
    raise AssertionError(f"no answer on port {port} within {START_S} s")
