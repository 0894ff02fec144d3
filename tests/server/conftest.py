"""A real server in a child process, and a client that says what a given editor says."""

import asyncio
import contextlib
import os
import sys

import pytest
import pytest_asyncio
from lsprotocol import types as t
from pygls.workspace import PositionCodec
from pytest_lsp import LanguageClient, client_capabilities

SERVER = [sys.executable, "-P", "-m", "remat_lint_server"]
PROFILES = {"utf-8": "neovim", "utf-16": "visual_studio_code", "utf-32": "emacs"}
LIMIT_S = 30


class Session:
    """One connection; texts are opened under `folder`, ranges are checked in the agreed encoding."""

    def __init__(self, folder, capabilities):
        self.folder, self.capabilities = folder, capabilities
        self.client = LanguageClient()
        self.published = {}
        self.requests, self.messages, self.shown = [], [], []
        self.news = asyncio.Event()
        for method, handler in {
            t.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: self._publish,
            t.CLIENT_REGISTER_CAPABILITY: self.requests.append,
            t.WORKSPACE_APPLY_EDIT: self._apply,
            t.WINDOW_SHOW_MESSAGE: lambda params: self.messages.append(params.message),
            t.WINDOW_SHOW_DOCUMENT: self._show,
            t.WINDOW_LOG_MESSAGE: lambda params: None,
        }.items():
            # pygls writes attributes on handlers, which bound methods do not take.
            self.client.feature(method)(lambda params, handler=handler: handler(params))

    def _publish(self, params: t.PublishDiagnosticsParams):
        self.published.setdefault(params.uri, []).append(params)
        self.news.set()

    def _show(self, params: t.ShowDocumentParams):
        self.shown.append(params.uri)
        return t.ShowDocumentResult(success=True)

    def _apply(self, params: t.ApplyWorkspaceEditParams):
        self.requests.append(params)
        return t.ApplyWorkspaceEditResult(applied=True)

    async def start(self, command=SERVER, process_id=None, **popen):
        await self.client.start_io(*command, **popen)
        folder = t.WorkspaceFolder(uri=self.folder.as_uri(), name="project")
        params = t.InitializeParams(
            capabilities=self.capabilities, workspace_folders=[folder], process_id=process_id
        )
        self.answer = await self.client.initialize_session(params)
        return self

    @property
    def codec(self):
        return PositionCodec(self.answer.capabilities.position_encoding or "utf-16")

    def uri(self, name):
        return (self.folder / name).as_uri()

    async def open(self, name, text, *, version=1, uri=None):
        """Open a text and return its diagnostics."""
        uri = uri or self.uri(name)
        item = t.TextDocumentItem(uri=uri, language_id="python", version=version, text=text)
        self.client.text_document_did_open(t.DidOpenTextDocumentParams(text_document=item))
        return await self.diagnostics(name, version, uri=uri)

    def change(self, name, version, *changes):
        document = t.VersionedTextDocumentIdentifier(uri=self.uri(name), version=version)
        self.client.text_document_did_change(
            t.DidChangeTextDocumentParams(text_document=document, content_changes=list(changes))
        )

    def replace(self, name, version, text):
        self.change(name, version, t.TextDocumentContentChangeWholeDocument(text=text))

    async def diagnostics(self, name, version, *, uri=None, count=1):
        """Wait for the `count`-th diagnostics of a version."""
        uri = uri or self.uri(name)

        def fitting():
            return [found for found in self.published.get(uri, []) if found.version == version]

        await self.until(lambda: len(fitting()) >= count)
        return fitting()[-1].diagnostics

    async def until(self, condition):
        async with asyncio.timeout(LIMIT_S):
            while not condition():
                self.news.clear()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.news.wait(), 0.1)

    async def raw(self, method, params):
        """Send a request and return the answer as it was on the wire."""
        future = self.client.protocol.send_request(method, params)
        self.client.protocol._result_types.clear()  # lsprotocol reads an action with a command as a command
        return to_plain(await asyncio.wait_for(asyncio.wrap_future(future), LIMIT_S))

    async def actions(self, name, where, diagnostics=(), only=None, uri=None):
        params = t.CodeActionParams(
            text_document=t.TextDocumentIdentifier(uri=uri or self.uri(name)),
            range=where,
            context=t.CodeActionContext(diagnostics=list(diagnostics), only=only),
        )
        return await self.raw(t.TEXT_DOCUMENT_CODE_ACTION, params) or []

    async def hover(self, name, where):
        document = t.TextDocumentIdentifier(uri=self.uri(name))
        params = t.HoverParams(text_document=document, position=t.Position(**where))
        return await self.raw(t.TEXT_DOCUMENT_HOVER, params)

    async def execute(self, command, *arguments):
        params = t.ExecuteCommandParams(command=command, arguments=list(arguments))
        return await self.raw(t.WORKSPACE_EXECUTE_COMMAND, params)

    def close(self, name):
        document = t.TextDocumentIdentifier(uri=self.uri(name))
        self.client.text_document_did_close(t.DidCloseTextDocumentParams(text_document=document))

    async def stop(self):
        async with asyncio.timeout(LIMIT_S):
            await self.client.shutdown_session()
            await self.client.stop()

    def apply(self, text, edit):
        """Apply a raw edit of one document as an editor does."""
        edits = (
            edit["documentChanges"][0]["edits"]
            if "documentChanges" in edit
            else next(iter(edit["changes"].values()))
        )
        placed = sorted(((self.offsets(text, one["range"]), one["newText"]) for one in edits), reverse=True)
        for (start, end), new in placed:
            text = text[:start] + new + text[end:]
        return text

    def offsets(self, text, where):
        return self.offset(text, where["start"]), self.offset(text, where["end"])

    def offset(self, text, place):
        """Count by encoding, apart from the server's own way of counting."""
        lines = text.replace("\r\n", "\r\0").replace("\r", "\n").split("\n")
        start = sum(len(line) + 1 for line in lines[: place["line"]])
        start += 1 if text.replace("\r\n", "\r\0")[start : start + 1] == "\0" else 0
        encoding = str(getattr(self.codec.encoding, "value", self.codec.encoding))
        width = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        line = text[start:].split("\n")[0]
        before = line.encode(f"{encoding}-le" if width > 1 else encoding)[: place["character"] * width]
        return start + len(before.decode(f"{encoding}-le" if width > 1 else encoding))


def to_plain(value):
    """Undo pygls' named tuples for objects without a known type."""
    if hasattr(value, "_asdict"):
        return {name: to_plain(item) for name, item in value._asdict().items()}
    if isinstance(value, dict):
        return {name: to_plain(item) for name, item in value.items()}
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else value


def covered(session, text, diagnostic):
    """The text under a diagnostic."""
    where = diagnostic.range
    raw = {
        "start": {"line": where.start.line, "character": where.start.character},
        "end": {"line": where.end.line, "character": where.end.character},
    }
    start, end = session.offsets(text, raw)
    return text[start:end]


@pytest.fixture(scope="session")
def under():
    return covered


@pytest_asyncio.fixture(loop_scope="module", scope="module", params=sorted(PROFILES))
async def session(request, tmp_path_factory):
    """A session in each of the three encodings; files are opened in a project of their own."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "1"\n')
    made = await Session(folder, client_capabilities(PROFILES[request.param])).start()
    assert made.answer.capabilities.position_encoding in (request.param, None)
    yield made
    await made.stop()


@pytest_asyncio.fixture(loop_scope="module")
async def connect(tmp_path):
    """Start sessions in an empty folder of their own; they are stopped afterwards."""
    started = []
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "p"\nversion = "1"\n')

    async def start(capabilities=None, **options):
        made = Session(tmp_path, capabilities or client_capabilities("visual_studio_code"))
        await made.start(**options)
        started.append(made)
        return made

    yield start
    for made in started:
        process = made.client._server
        if process.returncode is None:
            await made.stop()


@pytest.fixture
def environment():
    return dict(os.environ)
