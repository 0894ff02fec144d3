import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SERVER = [sys.executable, "-P", "-m", "remat_lint_server"]
TEXT = "import jax\ng = jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)\n"
TRAP = "import pathlib\npathlib.Path(__file__).with_suffix('.sprung').touch()\nraise SystemExit('trap')\n"
LIMIT_S = 30


def children(pid):
    """Ids of the processes that `pid` started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_end(*pids):
    end = time.monotonic() + LIMIT_S
    while any(map(is_alive, pids)):
        assert time.monotonic() < end, f"still running: {[pid for pid in pids if is_alive(pid)]}"
        time.sleep(0.05)


def frame(method, params, number=None):
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    body = json.dumps(message if number is None else {**message, "id": number}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def talk(process, folder, process_id):
    """Open a document, so that the worker runs, and wait for its diagnostics."""
    process.stdin.write(
        frame("initialize", {"processId": process_id, "capabilities": {}, "rootUri": folder.as_uri()}, 1)
    )
    process.stdin.write(frame("initialized", {}))
    item = {"uri": (folder / "a.py").as_uri(), "languageId": "python", "version": 1, "text": TEXT}
    process.stdin.write(frame("textDocument/didOpen", {"textDocument": item}))
    process.stdin.flush()
    seen = b""
    end = time.monotonic() + LIMIT_S
    while b"RML201" not in seen:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
        assert ready, seen
        part = os.read(process.stdout.fileno(), 65536)
        assert part, seen
        seen += part


@pytest.fixture
def start(tmp_path):
    """Start servers in an opened folder; what still runs afterwards is ended."""
    started = []

    def begin(command=SERVER):
        process = subprocess.Popen(
            command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait(LIMIT_S)
        process.stdout.close()
        if not process.stdin.closed:
            process.stdin.close()


def test_server_and_worker_end_when_standard_input_closes(tmp_path, start):
    process = start()
    talk(process, tmp_path, os.getpid())
    (worker,) = children(process.pid)
    process.stdin.close()
    process.wait(LIMIT_S)
    wait_for_end(worker)


def test_server_and_worker_end_with_the_editor_although_standard_input_stays_open(tmp_path, start):
    editor = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    process = start()
    talk(process, tmp_path, editor.pid)
    (worker,) = children(process.pid)
    editor.kill()
    editor.wait()
    process.wait(LIMIT_S)
    wait_for_end(worker)


def test_worker_ends_when_the_server_is_killed(tmp_path, start):
    process = start()
    talk(process, tmp_path, os.getpid())
    (worker,) = children(process.pid)
    process.kill()
    process.wait(LIMIT_S)
    wait_for_end(worker)


def test_nothing_of_the_opened_folder_is_executed(tmp_path, start):
    names = (
        "libcst",
        "sitecustomize",
        "usercustomize",
        "pygls",
        "pickle",
        "jax",
        "multiprocessing",
        "remat_lint",
    )
    for name in names:
        (tmp_path / f"{name}.py").write_text(TRAP)
    (tmp_path / "__main__.py").write_text(TRAP)
    # Started as a console script is: its own folder stands first on the import path, and the worker inherits nothing.
    script = tmp_path.parent / f"{tmp_path.name}-script"
    script.mkdir()
    (script / "remat-lint-server").write_text("from remat_lint_server.__main__ import main\nmain()\n")
    process = start([sys.executable, str(script / "remat-lint-server")])
    talk(process, tmp_path, os.getpid())
    process.stdin.close()
    process.wait(LIMIT_S)
    assert not list(tmp_path.glob("*.sprung"))


def test_worker_has_no_relative_places_on_its_import_path(monkeypatch):
    from remat_lint_server.process import command, environment

    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}lib{os.pathsep}")
    assert environment()["PYTHONPATH"] == str(Path.cwd() / "lib")
    monkeypatch.setenv("PYTHONPATH", "")
    assert "PYTHONPATH" not in environment()
    assert "-P" in command()


@pytest.mark.parametrize("pause_ms", [0.2, 0.3, 0.5, 0.6, 3])
def test_server_leaves_while_its_worker_works_or_starts(tmp_path, start, pause_ms):
    process = start()
    talk(process, tmp_path, os.getpid())
    text = "import jax\n" + "@jax.checkpoint\ndef f(x):\n    return x\n" * 2000
    item = {"uri": (tmp_path / "b.py").as_uri(), "languageId": "python", "version": 1, "text": text}
    process.stdin.write(frame("textDocument/didOpen", {"textDocument": item}))
    process.stdin.flush()
    time.sleep(0.3)
    process.stdin.write(frame("shutdown", None, 2))
    process.stdin.flush()
    assert select.select([process.stdout], [], [], LIMIT_S)[0]
    # A worker that died is started anew: the end may fall into that moment. Standard input stays open.
    time.sleep(pause_ms / 1000)
    process.stdin.write(frame("exit", None))
    process.stdin.flush()
    assert process.wait(LIMIT_S) == 0
    wait_for_end(*children(process.pid))


@pytest.mark.asyncio(loop_scope="module")
async def test_killed_worker_is_started_again_and_reported_once(connect):
    session = await connect()
    server = session.client._server.pid
    assert await session.open("a.py", TEXT)
    for version in (2, 3):
        (worker,) = children(server)
        os.kill(worker, signal.SIGKILL)
        wait_for_end(worker)
        session.replace("a.py", version, TEXT + "\n" * version)
        (diagnostic,) = await session.diagnostics("a.py", version)
        assert diagnostic.code == "RML201"
        assert children(server) != [worker]
    assert [text for text in session.messages if "analysis process" in text] == [
        "remat-lint: the analysis process ended unexpectedly and was started again."
    ]


@pytest.mark.asyncio(loop_scope="module")
async def test_edit_storm_ends_with_the_newest_version_and_hovers_stay_quick(connect):
    session = await connect()
    functions = "".join(
        f"@jax.checkpoint\ndef f{number}(x):\n    return x * {number}\n\n" for number in range(300)
    )
    await session.open("storm.py", "import jax\n" + functions)
    await session.open("calm.py", TEXT)
    slowest = 0.0
    for version in range(2, 102):
        session.replace("storm.py", version, f"import jax\n# {version}\n" + functions)
        if version % 20 == 0:
            begun = time.monotonic()
            assert await session.hover("calm.py", {"line": 1, "character": 6})
            slowest = max(slowest, time.monotonic() - begun)
        await asyncio.sleep(0.01)
    session.replace("storm.py", 102, "import jax\n" + functions + TEXT.partition("\n")[2])
    (diagnostic,) = await session.diagnostics("storm.py", 102)
    assert diagnostic.code == "RML201"
    versions = [found.version for found in session.published[session.uri("storm.py")]]
    assert versions == sorted(versions)
    assert len(versions) < 20
    assert slowest < 2


def test_version_and_check_print_what_an_editor_asks(tmp_path):
    def ask(*arguments):
        return subprocess.run(
            [*SERVER, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=LIMIT_S
        ).stdout

    import remat_lint

    assert ask("--version") == f"remat-lint-server {remat_lint.__version__}\n"
    answer = json.loads(ask("--check"))
    assert answer["remat-lint"] == remat_lint.__version__
    assert answer["executable"] == sys.executable
    assert {"python", "libcst", "pygls", "lsprotocol"} <= set(answer)
