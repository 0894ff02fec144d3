"""Documents that open, change, are saved and close, and files that change on disk."""

from __future__ import annotations

import logging
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from remat_lint.project.requirements import FILES
from remat_lint_server.analysis import DEBOUNCE_S
from remat_lint_server.server import RematServer

log = logging.getLogger(__name__)

_WATCHED = ("**/remat-lint.toml", "**/*.py", "**/*.pyi", *(f"**/{name}" for name in FILES))
_WATCH_ID = "remat-lint-files"


def register(server: RematServer) -> None:
    """Register the notifications about documents."""
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(_opened)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(_saved)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(_files_changed)
    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(_configuration_changed)


async def watch_files(ls: RematServer) -> None:
    """Ask to be told of files that change and say something of a project or are its source, where the client offers it."""
    if not ls.client.watch_files:
        return
    options = types.DidChangeWatchedFilesRegistrationOptions(
        watchers=[types.FileSystemWatcher(glob_pattern=pattern) for pattern in _WATCHED]
    )
    registration = types.Registration(
        id=_WATCH_ID, method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES, register_options=options
    )
    try:
        await ls.client_register_capability_async(types.RegistrationParams(registrations=[registration]))
    except JsonRpcException as error:
        log.warning("the client offers to watch files and then refuses: %s", error)


async def _opened(ls: RematServer, params: types.DidOpenTextDocumentParams) -> None:
    key = unquote(params.text_document.uri)
    if key in ls.snapshots():
        ls.analyzer.schedule(key, 0)


async def _changed(ls: RematServer, params: types.DidChangeTextDocumentParams) -> None:
    key = unquote(params.text_document.uri)
    if key in ls.snapshots():
        ls.analyzer.schedule(key, DEBOUNCE_S)
        ls.analyzer.schedule_others(key)


async def _saved(ls: RematServer, params: types.DidSaveTextDocumentParams) -> None:
    key = unquote(params.text_document.uri)
    if key in ls.snapshots():
        ls.analyzer.schedule(key, 0)
        ls.analyzer.schedule_others(key, DEBOUNCE_S)


async def _closed(ls: RematServer, params: types.DidCloseTextDocumentParams) -> None:
    ls.analyzer.forget(unquote(params.text_document.uri))
    ls.text_document_publish_diagnostics(
        types.PublishDiagnosticsParams(uri=params.text_document.uri, diagnostics=[])
    )
    ls.analyzer.schedule_others("")


async def _files_changed(ls: RematServer, params: types.DidChangeWatchedFilesParams) -> None:
    del params
    ls.analyzer.schedule_others("", DEBOUNCE_S)


async def _configuration_changed(ls: RematServer, params: types.DidChangeConfigurationParams) -> None:
    # The client's settings hold nothing for the server; the files of the project do.
    del ls, params
