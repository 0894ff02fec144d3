"""The command `remat-lint.generateTest`: writes an equivalence test; it runs nothing."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path, to_fs_path

from remat_lint import config
from remat_lint_server.documents import Snapshot
from remat_lint_server.jobs import Generate, Generated
from remat_lint_server.process import WorkerDied
from remat_lint_server.server import RematServer

log = logging.getLogger(__name__)

GENERATE = "remat-lint.generateTest"
LABEL = "Generate equivalence test"


def register(server: RematServer) -> None:
    """Register the commands."""
    server.command(GENERATE)(_generate)


async def _generate(ls: RematServer, *arguments: Any) -> dict[str, str] | None:
    """Write the test for a function, named or by its line (from 0, as the protocol counts).

    Returns:
        The address of the test file under `uri`; None if none was written, after saying why.

    Raises:
        JsonRpcInvalidParams: the arguments are not an address and a name or line.
    """
    match arguments:
        case [str(uri), str() | int() as target] if not isinstance(target, bool):
            pass
        case _:
            raise JsonRpcInvalidParams(
                f"{GENERATE} takes the address of a file and a function's name or a line"
            )
    snapshot = ls.snapshots().get(unquote(uri))
    if snapshot is None or not snapshot.saved:
        _refuse(ls, "save the file as a Python file first; a test imports it by name")
        return None
    generated = await _ask(ls, snapshot, target)
    if generated.path is None:
        _refuse(ls, generated.trouble or "no test can be written for this place")
        return None
    address = from_fs_path(str(generated.path))
    trouble = check_place(generated.path, roots(ls, snapshot))
    before = None if address is None else _existing(ls, generated.path, address)
    if before not in (None, generated.text):
        trouble = f"{generated.path} is there already with another text; remove it first"
    if trouble or address is None:
        _refuse(ls, trouble)
        return None
    if before is None and not await _deliver(ls, generated, generated.path, address):
        return None
    await _show(ls, address)
    for note in generated.notes:
        ls.say(f"remat-lint: {note}")
    return {"uri": address}


async def _ask(ls: RematServer, snapshot: Snapshot, target: str | int) -> Generated:
    name, row = (target, 0) if isinstance(target, str) else ("", target + 1)
    try:
        answer: Generated = await ls.worker.ask(
            Generate(snapshot.source, snapshot.path, roots(ls, snapshot), name, row)
        )
    except WorkerDied as error:
        log.error("the process that writes tests ended: %s", error)  # noqa: TRY400 (a fact of the child; this process has no trace of it)
        return Generated(trouble="the process that writes tests ended unexpectedly; try again")
    return answer


async def _deliver(ls: RematServer, generated: Generated, path: Path, address: str) -> bool:
    """Put the test where it belongs: as an edit of the client where it can create files, else on disk."""
    if not (ls.client.apply_edit and ls.client.create_files):
        trouble = write_file(path, generated.text)
        if trouble:
            _refuse(ls, trouble)
            return False
        ls.say(f"remat-lint: wrote {path}")
    else:
        edit = _creation(address, generated.text)
        metadata = types.WorkspaceEditMetadata(is_refactoring=True) if ls.client.edit_metadata else None
        answer = await ls.workspace_apply_edit_async(
            types.ApplyWorkspaceEditParams(edit=edit, label=LABEL, metadata=metadata)
        )
        if not answer.applied:
            _refuse(ls, f"the editor did not create {path}: {answer.failure_reason or 'it gave no reason'}")
            return False
        if not ls.client.edit_metadata:
            # "applied" does not mean "on disk": such editors leave the text in an unsaved buffer.
            ls.say(f"remat-lint: generated {path.name}; save it before you run it.")
    return True


def _creation(address: str, text: str) -> types.WorkspaceEdit:
    """An edit that creates a file; it fails if there is one."""
    start = types.Position(line=0, character=0)
    document = types.OptionalVersionedTextDocumentIdentifier(uri=address, version=None)
    insert = types.TextEdit(range=types.Range(start=start, end=start), new_text=text)
    change = types.TextDocumentEdit(text_document=document, edits=[insert])
    return types.WorkspaceEdit(document_changes=[types.CreateFile(uri=address), change])


def _existing(ls: RematServer, path: Path, address: str) -> str | None:
    """The text that is there already, in the editor or on disk: it may hold someone's work."""
    open_document = ls.workspace.text_documents.get(unquote(address))
    if open_document is not None:
        return str(open_document.source)
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"cannot be read: {error}"


async def _show(ls: RematServer, address: str) -> None:
    if ls.client.show_document:
        await ls.window_show_document_async(types.ShowDocumentParams(uri=address, take_focus=True))


def _refuse(ls: RematServer, reason: str) -> None:
    ls.say(f"remat-lint: {reason}", types.MessageType.Error)


def roots(ls: RematServer, snapshot: Snapshot) -> tuple[Path, ...]:
    """The folders in which files may be written: those that are open, else the project of the file."""
    names = [to_fs_path(folder.uri) for folder in ls.workspace.folders.values()] or [ls.workspace.root_path]
    found = tuple(Path(name) for name in names if name)
    return found or (config.find_root([snapshot.path]),)


def check_place(path: Path, allowed: tuple[Path, ...]) -> str:
    """Why nothing may be written to `path`; empty if it lies, links followed, below one of `allowed`."""
    real = Path(os.path.realpath(path))
    if path.is_symlink():
        return f"{path} is a link, so nothing is written there"
    if not any(real.is_relative_to(os.path.realpath(root)) for root in allowed):
        return f"{path} lies outside of the opened folder, so nothing is written there"
    return ""


def write_file(path: Path, text: str) -> str:
    """Write a file that is no link; why not, if it cannot be."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(path, flags, 0o666), "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError as error:
        return f"{path} cannot be written: {error.strerror}"
    return ""
