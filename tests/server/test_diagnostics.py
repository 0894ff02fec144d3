import json
import os
import subprocess
import sys

import pytest
from lsprotocol import types as t
from pytest_lsp import client_capabilities

pytestmark = pytest.mark.asyncio(loop_scope="module")

CALL = "jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)"
TEXTS = {
    "ascii": f"import jax\ng = {CALL}\n",
    "emoji": f's = "🐍👩‍🚀"; import jax; g = {CALL}\n',
    "cjk": f'import jax\ns = "漢字かな"; g = {CALL}\n',
    "tab": f"import jax\nif jax:\n\ts = 'é\t'; g = {CALL}\n",
    "crlf": f'import jax\r\ns = "🐍"; g = {CALL}\r\n',
    "bom": f"\ufeffimport jax; g = {CALL}\n",
    "form_feed": f'import jax\n\x0c\ns = "\x0c\u2028"; g = {CALL}\n',
    "no_final_newline": f'import jax\ns = "🜁"; g = {CALL}',
}
STALE = """import jax
def total(xs):
    scale = 0.0
    @jax.checkpoint
    def f(x):
        return x * scale
    out = 0.0
    for scale in (1.0, 2.0):
        out += f(xs)
    return out
"""


@pytest.fixture(scope="module")
def fixed_by_command_line(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fixed")
    for name, text in TEXTS.items():
        (folder / f"{name}.py").write_bytes(text.encode())
    run_cli("check", "--fix", "--isolated", str(folder))
    return {name: (folder / f"{name}.py").read_bytes() for name in TEXTS}


@pytest.mark.parametrize("name", TEXTS)
async def test_squiggle_covers_the_call_whatever_stands_before_it(session, under, name):
    (diagnostic,) = await session.open(f"{name}.py", TEXTS[name])
    assert under(session, TEXTS[name], diagnostic) == CALL
    assert (diagnostic.code, diagnostic.source) == ("RML201", "remat-lint")
    assert diagnostic.severity is t.DiagnosticSeverity.Error
    assert diagnostic.data


@pytest.mark.parametrize("name", TEXTS)
async def test_fix_gives_what_the_command_line_writes(session, name, fixed_by_command_line):
    text = TEXTS[name]
    (diagnostic,) = await session.open(f"fix_{name}.py", text)
    actions = await session.actions(f"fix_{name}.py", diagnostic.range, [diagnostic])
    (fix,) = [action for action in actions if action["kind"] == "quickfix"]
    assert session.apply(text, fix["edit"]).encode() == fixed_by_command_line[name]
    assert fix["isPreferred"]


async def test_incremental_changes_behind_a_form_feed_reach_the_right_line(session, under):
    text = f'import jax\n\x0c\nx = "🐍"\ng = {CALL}\n'
    (before,) = await session.open("step.py", text)
    line = before.range.start.line
    where = t.Range(start=t.Position(line=line, character=0), end=t.Position(line=line, character=0))
    session.change("step.py", 2, t.TextDocumentContentChangePartial(range=where, text="y = '漢'; "))
    (after,) = await session.diagnostics("step.py", 2)
    assert under(session, text.replace("g =", "y = '漢'; g ="), after) == CALL


async def test_syntax_error_is_shown_and_taken_back(session):
    (broken,) = await session.open("broken.py", "import jax\nf = jax.checkpoint(\n")
    assert broken.code == "RML001"
    session.replace("broken.py", 2, "import jax\nf = jax.checkpoint(print)\n")
    assert await session.diagnostics("broken.py", 2) == ()


async def test_closing_a_document_clears_its_diagnostics(session):
    assert await session.open("closing.py", TEXTS["ascii"])
    session.close("closing.py")
    await session.until(lambda: session.published[session.uri("closing.py")][-1].diagnostics == ())


async def test_untitled_documents_are_checked_alone(session):
    (diagnostic,) = await session.open("", TEXTS["emoji"], uri="untitled:Untitled-1")
    assert diagnostic.code == "RML201"


async def test_notebook_cells_are_left_alone(session):
    uri = "vscode-notebook-cell:/nb.ipynb#W0"
    item = t.TextDocumentItem(uri=uri, language_id="python", version=1, text=TEXTS["ascii"])
    session.client.text_document_did_open(t.DidOpenTextDocumentParams(text_document=item))
    await session.open("after_the_cell.py", TEXTS["ascii"])
    assert uri not in session.published


async def test_related_places_are_sent_or_told_in_words(connect):
    rich = await connect()
    (diagnostic,) = await rich.open("stale.py", STALE)
    assert diagnostic.code == "RML101"
    assert diagnostic.related_information
    assert {info.location.uri for info in diagnostic.related_information} == {rich.uri("stale.py")}
    poor = await connect(t.ClientCapabilities())
    (plain,) = await poor.open("stale.py", STALE)
    assert not plain.related_information
    assert plain.message.startswith(diagnostic.message)
    for info in diagnostic.related_information:
        assert f"line {info.location.range.start.line + 1}: {info.message}" in plain.message


async def test_same_findings_as_the_command_line(connect, under):
    session = await connect()
    pyproject = session.folder / "pyproject.toml"
    pyproject.write_text('[tool.remat-lint]\nselect = ["ALL"]\n')
    inner = session.folder / "inner"
    inner.mkdir()
    (inner / "remat-lint.toml").write_text('ignore = ["RML201"]\n')
    (session.folder / "helper.py").write_text(
        "import jax\ndef save(**kw):\n    return jax.checkpoint(**kw)\n"
    )
    texts = {
        "a.py": TEXTS["cjk"],
        "b.py": STALE,
        "c.py": "import jax\nf = jax.checkpoint(\n",
        "inner/d.py": TEXTS["ascii"] + STALE.replace("import jax\n", ""),
        "e.py": "from helper import save\nimport jax\ng = save()\nh = jax.remat(print, policy=jax.checkpoint_policies.dots_savable)\n",
        "build/f.py": TEXTS["ascii"],
    }
    for name, text in texts.items():
        file = session.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        seen = [
            (item.code, item.message, under(session, text, item)) for item in await session.open(name, text)
        ]
        lines = json.loads(run_cli("check", "--output-format", "json", str(file), cwd="/"))
        assert [(code, message) for code, message, _ in seen] == [
            (found["code"], found["message"]) for found in lines
        ]
        if name in ("a.py", "b.py", "c.py"):
            assert seen


async def test_unsaved_text_of_other_documents_counts(connect):
    session = await connect()
    (session.folder / "lib.py").write_text("import jax\nremat = jax.checkpoint\n")
    user = "from lib import remat\nimport jax.numpy\ng = remat(policy=None)\n"
    assert [item.code for item in await session.open("user.py", user)] == ["RML201"]
    await session.open("lib.py", "import jax\nremat = jax.checkpoint\n")
    session.replace("lib.py", 2, "import jax\nremat = print\n")
    await session.until(lambda: session.published[session.uri("user.py")][-1].diagnostics == ())


async def test_changed_configuration_is_used_without_a_restart(connect):
    session = await connect()
    assert await session.open("x.py", TEXTS["ascii"])
    (registration,) = session.requests[0].registrations
    assert "**/pyproject.toml" in json.dumps(registration.register_options, default=str)
    config = session.folder / "pyproject.toml"
    change = t.FileEvent(uri=config.as_uri(), type=t.FileChangeType.Changed)
    config.write_text('[tool.remat-lint]\nignore = ["RML201"]\n')
    session.client.workspace_did_change_watched_files(t.DidChangeWatchedFilesParams(changes=[change]))
    assert await session.diagnostics("x.py", 1, count=2) == ()
    config.write_text("[tool.remat-lint]\nignroe = []\n")
    session.client.workspace_did_change_watched_files(t.DidChangeWatchedFilesParams(changes=[change]))
    await session.until(lambda: any("ignroe" in text for text in session.messages))


async def test_clients_that_do_not_watch_files_are_not_asked_to(connect):
    session = await connect(client_capabilities("neovim@0.11"))
    await session.open("x.py", TEXTS["ascii"])
    assert session.requests == []


def run_cli(*arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, "-P", "-m", "remat_lint", *arguments],
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout
