"""Text for terminals: nothing in it may move the cursor, change colours or hide what stands there."""

from __future__ import annotations

import unicodedata
from enum import StrEnum

TAB = 4
_JOINERS = "\u200c\u200d"  # needed inside emoji and some scripts, harmless elsewhere
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class Style(StrEnum):
    """The few ANSI styles in use, by their SGR parameters."""

    BOLD = "1"
    ERROR = "1;31"
    WARNING = "1;33"
    INFO = "1;36"
    GREEN = "32"
    RED = "31"
    BLUE = "1;34"
    CYAN = "36"


def paint(text: str, style: Style, *, color: bool) -> str:
    """`text` in `style` if `color` is on."""
    return f"\x1b[{style.value}m{text}\x1b[0m" if color and text else text


def visible(text: str) -> str:
    r"""`text` with control characters, escapes, bidirectional controls and lone surrogates written out (`\x1b`)."""
    if text.isprintable():
        return text
    return "".join(_shown(char) for char in text)


def expand(text: str, start: int) -> str:
    """`text`, which begins at the display column `start`, made visible and with spaces for tabs."""
    if "\t" not in text:
        return visible(text)
    parts: list[str] = []
    column = start
    for index, part in enumerate(text.split("\t")):
        if index:
            gap = TAB - column % TAB
            parts.append(" " * gap)
            column += gap
        shown = visible(part)
        parts.append(shown)
        column += width(shown)
    return "".join(parts)


def width(text: str) -> int:
    """The number of terminal cells that visible `text` takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len  # noqa: PLC0415 (start-up: only lines with wide characters need it)

    return cell_len(text)


def _shown(char: str) -> str:
    if char.isprintable() or char in _JOINERS or unicodedata.category(char) not in _HIDDEN:
        return char
    return (
        char.encode("unicode_escape").decode("ascii")
        if char < "\ud800" or char > "\udfff"
        else f"\\u{ord(char):04x}"
    )
