"""The server object: one connection, its client, its documents and what is known of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from lsprotocol import types
from pygls.exceptions import FeatureRequestError
from pygls.lsp.server import LanguageServer

import remat_lint
from remat_lint_server.analysis import Analyzer, State
from remat_lint_server.client import ClientProfile
from remat_lint_server.diagnostics import to_diagnostics
from remat_lint_server.documents import Protocol, Snapshot, take_snapshot
from remat_lint_server.jobs import Explain, RulePage
from remat_lint_server.process import Worker, WorkerDied

log = logging.getLogger(__name__)


class RematServer(LanguageServer):
    """The language server; features register themselves on it in `app`."""

    def __init__(self) -> None:
        super().__init__(
            "remat-lint",
            remat_lint.__version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            protocol_cls=Protocol,
        )
        self.client = ClientProfile()
        self.worker = Worker(self._report_death)
        self.analyzer = Analyzer(self.worker, self.snapshots, self)
        self._rules: dict[str, RulePage] = {}
        self._said: set[str] = set()

    def snapshots(self) -> Mapping[str, Snapshot]:
        """The current version of every open Python document by key."""
        taken = map(take_snapshot, self.workspace.text_documents.values())
        return {snapshot.key: snapshot for snapshot in taken if snapshot is not None}

    def publish(self, state: State) -> None:
        """Show the findings of a document."""
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri=state.snapshot.uri,
                version=state.snapshot.version,
                diagnostics=to_diagnostics(state, self.client),
            )
        )

    async def rule_page(self, name: str) -> RulePage | None:
        """Return the page of the rule with this code or name."""
        if not self._rules:
            try:
                pages: tuple[RulePage, ...] = await self.worker.ask(Explain())
            except WorkerDied:
                return None
            self._rules = {page.code: page for page in pages} | {page.name: page for page in pages}
        return self._rules.get(name)

    def say(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Tell the user something."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=text))

    def warn_once(self, text: str) -> None:
        """Tell the user something, once in this session."""
        if text not in self._said:
            self._said.add(text)
            self.say(text, types.MessageType.Warning)

    def _report_death(self) -> None:
        self.warn_once("remat-lint: the analysis process ended unexpectedly and was started again.")

    def report_server_error(self, error: Exception, source: type[Exception]) -> None:
        """Log a failure of the server itself; say it once, not at every key that is pressed."""
        log.error("%s: %s", getattr(source, "__name__", source), error, exc_info=error)
        if source is not FeatureRequestError:
            # A failed request is answered with its error.
            self.warn_once("remat-lint: the server met an error; its log says more.")
