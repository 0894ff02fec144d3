"""Where an f-string ends when its replacement fields hold quotes, comments or line ends (PEP 701)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_STRING_BODIES = {
    '"': r'(?:[^"\\\r\n]++|\\\r\n|\\.)*+',
    "'": r"(?:[^'\\\r\n]++|\\\r\n|\\.)*+",
    '"""': r'(?:[^"\\]++|\\.|"(?!""))*+',
    "'''": r"(?:[^'\\]++|\\.|'(?!''))*+",
}
_STRINGS = {quote: re.compile(body + quote, re.DOTALL) for quote, body in _STRING_BODIES.items()}

# Runs of literal text, up to the closing quote, a field, the brace that ends the field around a format
# specification, or whatever cannot stand here. A backslash escapes a quote even in raw strings, but no brace.
_STOP = {'"': r'"\r\n', "'": r"'\r\n", '"""': '"', "'''": "'"}
_INNER = {'"': "", "'": "", '"""': r'|"(?!"")', "'''": r"|'(?!'')"}
_NAMED = r"\\N\{[^{}\"'\r\n]*+\}|"
_TEXTS = {
    (quote, raw): re.compile(
        rf"(?:[^{stop}\\{{}}]++|{'' if raw else _NAMED}\\\r\n|\\[^{{}}]|\\(?=[{{}}])|\{{\{{|\}}\}}{_INNER[quote]})*+",
        re.DOTALL,
    )
    for quote, stop in _STOP.items()
    for raw in (False, True)
}
_SPECS = {
    quote: re.compile(rf"(?:[^{stop}\\{{}}]++|\\[^{{}}]|\\(?=[{{}}]){_INNER[quote]})*+", re.DOTALL)
    for quote, stop in _STOP.items()
}
_CODE = re.compile(r"""(?:[^"'#()\[\]{}:]++|#[^\r\n]*+)*+""")
_RAW = frozenset("rR")
_FORMATTED = frozenset("fFtT")
_PAIRS = {")": "(", "]": "[", "}": "{"}


@dataclass(slots=True)
class _Level:
    """One f-string that is open: its quote, and the field we are in, if any.

    A field inside of a format specification is a level too (`nested`): its brace ends it, no quote does.
    """

    quote: str
    raw: bool
    nested: bool = False
    in_field: bool = False
    in_spec: bool = False
    brackets: list[str] = field(default_factory=list)


def measure_fstring(text: str, quote_at: int) -> tuple[int, bool]:
    """Follow the f-string whose opening quote stands at `quote_at` to its end.

    Every step consumes at least one character and none is looked at again, except that a quote is looked at to tell
    one from three.

    Returns:
        The offset up to which the text was read, and whether the string ends there. If it does not (the text is
        broken, or it is no f-string after all), the caller falls back to the rules for plain strings.
    """
    at = quote_at
    levels: list[_Level] = []
    quote = _find_quote(text, at)
    levels.append(_Level(quote, _is_raw(text, at)))
    at += len(quote)
    while levels:
        level = levels[-1]
        step = _step_field if level.in_field and not level.in_spec else _step_text
        at, fits = step(text, at, levels)
        if not fits:
            return at, False
    return at, True


def is_formatted(text: str, quote_at: int) -> bool:
    """Whether the prefix before the quote makes it an f-string (or, from Python 3.14 on, a t-string)."""
    last, second = text[max(quote_at - 1, 0) : quote_at], text[max(quote_at - 2, 0) : max(quote_at - 1, 0)]
    if last in _RAW:
        start, formatted = quote_at - 2, second in _FORMATTED
    else:
        start, formatted = quote_at - (2 if second in _RAW else 1), last in _FORMATTED
    return formatted and (start <= 0 or not _is_word(text[start - 1]))


def _step_text(text: str, at: int, levels: list[_Level]) -> tuple[int, bool]:
    """Read literal text or a format specification up to what ends it."""
    level = levels[-1]
    pattern = _SPECS[level.quote] if level.in_spec else _TEXTS[level.quote, level.raw]
    at = _end_of(pattern, text, at)
    char = text[at : at + 1]
    if char == "{":
        if level.in_spec:
            levels.append(_Level(level.quote, level.raw, nested=True, in_field=True))
        else:
            level.in_field = True
        return at + 1, True
    if char == "}" and level.in_spec:
        level.in_field = level.in_spec = False
        return at + 1, True
    if char and char in level.quote and not level.in_spec:
        levels.pop()
        return at + len(level.quote), True
    return at, False


def _step_field(text: str, at: int, levels: list[_Level]) -> tuple[int, bool]:
    """Read the expression of a field up to the next quote, bracket or colon, and over it."""
    level = levels[-1]
    at = _end_of(_CODE, text, at)
    char = text[at : at + 1]
    if not char:
        return at, False
    if char in "\"'":
        return _step_string(text, at, levels)
    if char in "([{":
        level.brackets.append(char)
    elif char == "}" and not level.brackets:
        level.in_field = False
        if level.nested:
            levels.pop()
    elif char in ")]}":
        if not level.brackets or level.brackets.pop() != _PAIRS[char]:
            return at, False
    elif not level.brackets:
        level.in_spec = not level.nested
    return at + 1, True


def _step_string(text: str, at: int, levels: list[_Level]) -> tuple[int, bool]:
    """Read over a string inside of a field, or into it if it has fields itself."""
    quote = _find_quote(text, at)
    if is_formatted(text, at):
        levels.append(_Level(quote, _is_raw(text, at)))
        return at + len(quote), True
    found = _STRINGS[quote].match(text, at + len(quote))
    return (found.end(), True) if found else (at, False)


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _find_quote(text: str, at: int) -> str:
    return text[at : at + 3] if text.startswith(('"""', "'''"), at) else text[at]


def _is_raw(text: str, quote_at: int) -> bool:
    return not _RAW.isdisjoint(text[max(quote_at - 2, 0) : quote_at])


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
