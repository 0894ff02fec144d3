"""Values of settings as TOML: what a configuration file would hold."""

from __future__ import annotations

import json
from typing import Any


def to_toml(value: Any) -> str:
    """Return a value in one line; everything outside ASCII is escaped, so nothing in it can control a terminal."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _string(value)
        case list() | tuple():
            return f"[{', '.join(map(to_toml, value))}]"
        case dict():
            pairs = [f"{_string(key)} = {to_toml(one)}" for key, one in value.items()]
            return f"{{ {', '.join(pairs)} }}" if pairs else "{}"
    raise TypeError(f"no setting holds a {type(value).__name__}")


def _string(text: str) -> str:
    # JSON has pairs of surrogates where TOML has one long escape; 7f is a control character there, too.
    short = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "".join(_escaped(char) for char in short)


def _escaped(char: str) -> str:
    number = ord(char)
    if number < 0x80:  # noqa: PLR2004 (the end of ASCII)
        return char
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"  # noqa: PLR2004 (the end of the first plane)
