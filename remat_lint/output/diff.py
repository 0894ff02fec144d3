"""What fixing would change in a file, as a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from itertools import pairwise

from remat_lint.output.terminal import Style, paint, visible
from remat_lint.output.view import View
from remat_lint.source.text import SourceText

_STYLES = {"-": Style.RED, "+": Style.GREEN, "@": Style.CYAN}


def unified(before: SourceText, after: SourceText, view: View, *, exact: bool) -> Iterator[str]:
    """The lines of a diff.

    Args:
        before: the text as it is.
        after: the text as it would be.
        view: how paths and colours are shown.
        exact: give lines as they are, for `patch`; else control characters are written out.
    """
    name = visible(view.path(str(before.path)))
    rows = difflib.unified_diff(_lines(before), _lines(after), name, name)
    for number, row in enumerate(rows):
        body = row.rstrip("\r\n")
        end = row[len(body) :]
        style = Style.BOLD if number <= 1 else _STYLES.get(row[:1])
        shown = body if exact else visible(body.replace("\t", "    "))
        yield (paint(shown, style, color=view.color) if style else shown) + (end if exact else "\n")
        if not end:
            yield "\n" * exact + "\\ No newline at end of file\n"


def _lines(source: SourceText) -> list[str]:
    starts = (*source.line_starts, len(source.text))
    lines = [source.text[start:end] for start, end in pairwise(starts)]
    return lines if lines[-1] else lines[:-1]
