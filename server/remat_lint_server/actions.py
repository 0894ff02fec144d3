"""Code actions: the fixes that were worked out when the text was checked, and the equivalence test of a site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import unquote

from lsprotocol import types

from remat_lint.findings import Applicability, Finding, Fix, Span
from remat_lint_server.analysis import State
from remat_lint_server.commands import GENERATE
from remat_lint_server.diagnostics import SOURCE, to_diagnostic
from remat_lint_server.jobs import SiteInfo
from remat_lint_server.server import RematServer

GENERATE_KIND = "refactor.rewrite.remat-lint"
GENERATE_TITLE = "Generate equivalence test"
_REVIEW = " (changes behaviour: review)"


def register(server: RematServer) -> None:
    """Register code actions."""
    options = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, GENERATE_KIND])
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)(_answer)


async def _answer(ls: RematServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    state = await ls.analyzer.current(unquote(params.text_document.uri))
    if state is None:
        return []
    chosen = choose(state, params)
    wanted = params.context.only
    actions = [*_fixes(ls, state, chosen), *_tests(state, chosen, params.range)]
    return [action for action in actions if _is_wanted(action, wanted)]


def choose(state: State, params: types.CodeActionParams) -> list[str]:
    """Return the ids of the findings that the client asks about.

    An id that comes back with a diagnostic decides: ranges from the client may be stale or in wrong units, and are
    used only where the client keeps no `data`.
    """
    ours = [item for item in params.context.diagnostics if item.source == SOURCE]
    named = [str(item.data) for item in ours if item.data is not None]
    if named:
        return [name for name in state.findings if name in named]
    asked = _span(state, params.range)
    return [name for name, finding in state.findings.items() if _touches(finding.span, asked)]


def _fixes(ls: RematServer, state: State, chosen: Sequence[str]) -> Iterator[types.CodeAction]:
    for name in chosen:
        finding = state.findings[name]
        if finding.fix is not None:
            fix = finding.fix
            yield types.CodeAction(
                title=fix.message + ("" if fix.applicability is Applicability.SAFE else _REVIEW),
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[to_diagnostic(state, name, ls.client)],
                is_preferred=True if fix.applicability is Applicability.SAFE else None,
                edit=_edit(ls, state, fix),
            )


def _edit(ls: RematServer, state: State, fix: Fix) -> types.WorkspaceEdit:
    snapshot = state.snapshot
    edits = [
        types.TextEdit(range=snapshot.range(edit.span), new_text=snapshot.with_line_ends(edit.content))
        for edit in fix.edits
    ]
    if not ls.client.document_changes:
        return types.WorkspaceEdit(changes={snapshot.uri: edits})
    document = types.OptionalVersionedTextDocumentIdentifier(uri=snapshot.uri, version=snapshot.version)
    return types.WorkspaceEdit(
        document_changes=[types.TextDocumentEdit(text_document=document, edits=list(edits))]
    )


def _tests(state: State, chosen: Sequence[str], asked: types.Range) -> Iterator[types.CodeAction]:
    """Yield one action for each function with a chosen finding or a site in the range."""
    if not state.snapshot.saved:
        return
    findings = [state.findings[name] for name in chosen]
    place = _span(state, asked)
    sites = [site for site in state.sites if _touches(site.span, place)]
    for target in dict.fromkeys([*map(_site_target, sites), *_finding_targets(findings, state.sites)]):
        title = f"{GENERATE_TITLE} for {target}" if isinstance(target, str) else GENERATE_TITLE
        yield types.CodeAction(
            title=title,
            kind=GENERATE_KIND,
            command=types.Command(title=title, command=GENERATE, arguments=[state.snapshot.uri, target]),
        )


def _finding_targets(findings: Iterable[Finding], sites: Sequence[SiteInfo]) -> Iterator[str | int]:
    for finding in findings:
        around = [site for site in sites if _touches(site.span, finding.span)]
        yield _site_target(around[0]) if around else finding.span.start.row - 1


def _site_target(site: SiteInfo) -> str | int:
    """What the command is told: the function's name, else the line as the protocol counts it."""
    return site.owner or site.span.start.row - 1


def _span(state: State, asked: types.Range) -> Span:
    return Span(state.snapshot.position(asked.start), state.snapshot.position(asked.end))


def _touches(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end


def _is_wanted(action: types.CodeAction, wanted: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether the action is of a kind that was asked for, or of a kind below it."""
    kind = str(getattr(action.kind, "value", action.kind))
    names = [str(getattr(name, "value", name)) for name in wanted or ()]
    return not names or any(not name or kind == name or kind.startswith(f"{name}.") for name in names)
