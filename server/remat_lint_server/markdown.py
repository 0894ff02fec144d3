"""Text from opened files, made harmless for hovers."""

from __future__ import annotations

import re

_LONGEST = 160
_RUN = re.compile(r"`+")


def plain(text: str) -> str:
    """Return one printable line of at most 160 characters."""
    line = "".join(char if char.isprintable() else " " for char in text)
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def code(text: str) -> str:
    """Return a code span that shows `text` as it is: no link, image or HTML in it is ever one."""
    line = plain(text)
    longest = max((len(run) for run in _RUN.findall(line)), default=0)
    fence = "`" * (longest + 1)
    # The padding is taken away again when shown; it keeps a backtick at an end apart from the fence.
    pad = " " if line.startswith("`") or line.endswith("`") or not line else ""
    return f"{fence}{pad}{line}{pad}{fence}"
