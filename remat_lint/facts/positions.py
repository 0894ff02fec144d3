"""From the numbers of nodes to places in the text: the one module that uses libcst's metadata."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from remat_lint.facts.walker import Walker
from remat_lint.findings import Position, Span


def locate(module: cst.Module, first_row: int) -> tuple[Span, ...]:
    """Return the span of every number of a chunk.

    Args:
        module: the chunk, parsed (it is walked a second time and may be dropped afterwards).
        first_row: 1-based row of the chunk's first line in its file.
    """
    walker = Walker()
    walker.module(module)
    table = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    spans = []
    for node in walker.made:
        span = table[node]
        start, end = span.start, span.end
        spans.append(
            Span(
                Position(start.line + first_row - 1, start.column + 1),
                Position(end.line + first_row - 1, end.column + 1),
            )
        )
    return tuple(spans)
