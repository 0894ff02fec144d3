"""Hovers: what a wrap site does, and the page of a rule where a comment names it."""

from __future__ import annotations

import re
from urllib.parse import unquote

from lsprotocol import types

from remat_lint.findings import Position, Span
from remat_lint_server.analysis import State
from remat_lint_server.documents import BYTE_ORDER_MARK
from remat_lint_server.jobs import RulePage, SiteInfo
from remat_lint_server.markdown import code, plain
from remat_lint_server.server import RematServer

_COMMENT = re.compile(r"#\s*(?:remat-lint:\s*ignore|noqa\s*:)")
_WORD = re.compile(r"RML\d{3}|[a-z]+(?:-[a-z]+)+")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LABELS = {
    "policy": "Policy",
    "static_argnums": "Static arguments",
    "static_argnames": "Static argument names",
    "prevent_cse": "prevent_cse",
}


def register(server: RematServer) -> None:
    """Register hovers."""
    server.feature(types.TEXT_DOCUMENT_HOVER)(_answer)


async def _answer(ls: RematServer, params: types.HoverParams) -> types.Hover | None:
    state = await ls.analyzer.current(unquote(params.text_document.uri))
    if state is None:
        return None
    where = state.snapshot.position(params.position)
    return await _comment_hover(ls, state, where) or await _place_hover(ls, state, where)


async def _comment_hover(ls: RematServer, state: State, where: Position) -> types.Hover | None:
    """The page of the rule that a suppression comment names at the place."""
    if where.row > len(state.snapshot.lines):
        return None
    line = state.snapshot.lines[where.row - 1].removeprefix(BYTE_ORDER_MARK)
    comment = _COMMENT.search(line)
    for word in _WORD.finditer(line, comment.end()) if comment else ():
        if word.start() < where.column <= word.end() + 1:
            page = await ls.rule_page(word[0])
            if page is not None:
                span = Span(Position(where.row, word.start() + 1), Position(where.row, word.end() + 1))
                return _hover(ls, _page_text(page), state.snapshot.range(span))
    return None


async def _place_hover(ls: RematServer, state: State, where: Position) -> types.Hover | None:
    """The wrap site at the place, then the pages of the rules whose findings are there."""
    parts: list[str] = []
    spans: list[Span] = []
    for site in _innermost([site for site in state.sites if _covers(site.span, where)]):
        parts.append(_site_text(site, markdown=ls.client.markdown_hover))
        spans.append(site.span)
    found = [finding for finding in state.findings.values() if _covers(finding.span, where)]
    for rule in dict.fromkeys(finding.code for finding in found):
        page = await ls.rule_page(rule)
        if page is not None:
            parts.append(_page_text(page))
    spans += [finding.span for finding in found]
    return _hover(ls, "\n\n---\n\n".join(parts), state.snapshot.range(spans[0])) if parts else None


def _innermost(sites: list[SiteInfo]) -> list[SiteInfo]:
    """The site that starts last: sites are nested when a wrapped function is wrapped again."""
    return [max(sites, key=lambda site: site.span.start)] if sites else []


def _covers(span: Span, where: Position) -> bool:
    return span.start <= where <= span.end


def _page_text(page: RulePage) -> str:
    # Headings are larger than the code in most editors' hovers.
    text = _HEADING.sub(r"**\1**\n", page.page)
    return f"**{page.code}** {page.name}\n\n{text}"


def _site_text(site: SiteInfo, *, markdown: bool) -> str:
    show = code if markdown else plain
    lines = [
        f"**{site.api}** wraps {show(site.target)}" if markdown else f"{site.api} wraps {plain(site.target)}"
    ]
    lines += [f"{_LABELS[name]}: {show(text)}" for name, text in site.options.items() if name in _LABELS]
    if "policy" not in site.options:
        lines.append("Policy: none")
    lines.append(site.recomputed)
    return ("  \n" if markdown else "\n").join(lines)


def _hover(ls: RematServer, text: str, where: types.Range) -> types.Hover:
    kind = types.MarkupKind.Markdown if ls.client.markdown_hover else types.MarkupKind.PlainText
    return types.Hover(contents=types.MarkupContent(kind=kind, value=text), range=where)
