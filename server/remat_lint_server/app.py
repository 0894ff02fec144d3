"""Puts the server together: the connection's start and end, and the features."""

from __future__ import annotations

import logging

from lsprotocol import types

from remat_lint_server import actions, commands, hover, sync
from remat_lint_server.client import ClientProfile
from remat_lint_server.lifetime import leave_with
from remat_lint_server.server import RematServer

log = logging.getLogger(__name__)


def create_server() -> RematServer:
    """Return a server with all its features."""
    server = RematServer()
    server.feature(types.INITIALIZE)(_initialize)
    server.feature(types.INITIALIZED)(_initialized)
    server.feature(types.SHUTDOWN)(_shutdown)
    for feature in (sync, actions, commands, hover):
        feature.register(server)
    return server


def _initialize(ls: RematServer, params: types.InitializeParams) -> None:
    ls.client = ClientProfile.read(params.capabilities)
    leave_with(params.process_id, ls.worker.kill)
    log.info("client abilities: %s", ls.client)


async def _initialized(ls: RematServer, params: types.InitializedParams) -> None:
    del params
    await sync.watch_files(ls)


async def _shutdown(ls: RematServer, params: None) -> None:
    del params
    await ls.worker.close()
