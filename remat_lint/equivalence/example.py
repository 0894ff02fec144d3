"""The grammar of `# remat-lint: example(...)` comments: inputs of a function, read without running anything.

    # remat-lint: example(x=f32[4, 8], params={"w": f32[8, 16], "b": f32[16]}, rng=key, n=3)

A value is an array (a dtype and its shape), `key` for a random key, a list, tuple or dict of values, or a Python
literal: an integer, a float, a string without escapes, True, False or None.
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from remat_lint.errors import RematLintError

DTYPES = {
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "c64": "complex64",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u32": "uint32",
    "bool": "bool",
}
MAX_ELEMENTS = 1 << 24
_MAX_DEPTH = 20
_MAX_DIGITS = 12
_COMMENT = re.compile(r"#\s*remat-lint:\s*example\b")
_TOKEN = re.compile(
    r"""[ \t]*(?:(?P<number>-?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<string>'[^'\\]*'|"[^"\\]*")
    |(?P<mark>[()\[\]{},:=])
    |(?P<end>$))""",
    re.VERBOSE,
)


class ExampleError(RematLintError):
    """A comment that is no example.

    Args:
        message: what is wrong and what may stand there.
        column: 1-based column of the fault in the comment.
        row: the line of the comment in its file, if it came from one.
    """

    def __init__(self, message: str, column: int, row: int | None = None) -> None:
        self.message, self.column, self.row = message, column, row
        line = "" if row is None else f"line {row}, "
        super().__init__(f"{line}column {column}: {message}")


@dataclass(frozen=True, slots=True)
class Array:
    """An array of a dtype and a shape."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """A random key."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A plain Python value."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Group:
    """A list, tuple or dict; `keys` is empty but for a dict."""

    kind: str
    items: tuple[Value, ...]
    keys: tuple[str | int, ...] = ()


Value = Array | Key | Literal | Group


@dataclass(frozen=True, slots=True)
class Example:
    """The inputs of one call."""

    args: tuple[Value, ...] = ()
    kwargs: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int


def is_example(comment: str) -> bool:
    """Whether a comment, with its `#`, means to be an example."""
    return _COMMENT.match(comment) is not None


def parse_example(comment: str) -> Example:
    """Reads a comment, with its `#`.

    Raises:
        ExampleError: says what may stand in place of the first fault, and in which column that is.
    """
    match = _COMMENT.match(comment)
    if match is None:
        raise ExampleError("an example begins with `# remat-lint: example(`", 1)
    return _Parser(_scan(comment, match.end())).read_example()


def _scan(text: str, start: int) -> list[_Token]:
    tokens = []
    while True:
        match = _TOKEN.match(text, start)
        if match is None or match.lastgroup is None:
            column = start + len(text[start:]) - len(text[start:].lstrip(" \t")) + 1
            raise ExampleError(f"unexpected character {text[column - 1]!r}", column)
        tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1))
        if match.lastgroup == "end":
            return tokens
        start = match.end()


class _Parser:
    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    @property
    def _token(self) -> _Token:
        return self._tokens[self._at]

    def _next(self) -> _Token:
        token = self._token
        self._at += token.kind != "end"
        return token

    def _is_mark(self, mark: str) -> bool:
        return self._token.kind == "mark" and self._token.text == mark

    def _expect(self, mark: str, where: str) -> None:
        if not self._is_mark(mark):
            found = self._token.text or "the end of the line"
            raise ExampleError(f"expected `{mark}` {where}, found {found!r}", self._token.column)
        self._next()

    def _read_items(self, close: str, read: Callable[[], None]) -> bool:
        """Reads items up to the closing mark; returns whether the last one had a comma after it."""
        comma = False
        while not self._is_mark(close):
            read()
            comma = self._is_mark(",")
            if not comma:
                break
            self._next()
        self._expect(close, "or `,`")
        return comma

    def read_example(self) -> Example:
        """Reads everything after the word `example`."""
        args: list[Value] = []
        kwargs: dict[str, Value] = {}

        def read() -> None:
            token, following = self._token, self._tokens[min(self._at + 1, len(self._tokens) - 1)]
            if token.kind != "name" or following.text != "=":
                if kwargs:
                    raise ExampleError("a value without a name cannot follow one with a name", token.column)
                args.append(self._read_value())
                return
            if keyword.iskeyword(token.text):
                raise ExampleError(f"{token.text!r} is no name of a parameter", token.column)
            if token.text in kwargs:
                raise ExampleError(f"{token.text!r} is given twice", token.column)
            self._at += 2
            kwargs[token.text] = self._read_value()

        self._expect("(", "after `example`")
        self._read_items(")", read)
        if self._token.kind != "end":
            raise ExampleError(f"unexpected {self._token.text!r} after the example", self._token.column)
        return Example(tuple(args), tuple(kwargs.items()))

    def _read_value(self) -> Value:
        token = self._next()
        if token.kind == "number":
            return Literal(_to_number(token))
        if token.kind == "string":
            return Literal(token.text[1:-1])
        if token.kind == "name":
            return self._read_named(token)
        if token.kind == "mark" and token.text in "([{":
            self._depth += 1
            if self._depth > _MAX_DEPTH:
                raise ExampleError(f"nested more than {_MAX_DEPTH} deep", token.column)
            group = self._read_dict() if token.text == "{" else self._read_sequence(token.text)
            self._depth -= 1
            return group
        found = token.text or "the end of the line"
        raise ExampleError(f"expected a value such as f32[4, 8], key or 3, found {found!r}", token.column)

    def _read_named(self, token: _Token) -> Value:
        constants: dict[str, bool | None] = {"True": True, "False": False, "None": None}
        if token.text in constants:
            return Literal(constants[token.text])
        if token.text == "key":
            return Key()
        if token.text not in DTYPES:
            raise ExampleError(
                f"{token.text!r} is no dtype: write one of {', '.join(DTYPES)}, or key", token.column
            )
        shape: list[int] = []

        def read() -> None:
            size = self._next()
            if size.kind != "number" or not size.text.isascii() or not size.text.isdigit():
                raise ExampleError("a shape holds whole numbers", size.column)
            shape.append(int(_to_number(size)))

        self._expect("[", f"after {token.text}: a scalar is {token.text}[]")
        self._read_items("]", read)
        if math.prod(shape) > MAX_ELEMENTS:
            raise ExampleError(f"an example has at most {MAX_ELEMENTS} elements", token.column)
        return Array(DTYPES[token.text], tuple(shape))

    def _read_sequence(self, opening: str) -> Value:
        items: list[Value] = []
        comma = self._read_items(")" if opening == "(" else "]", lambda: items.append(self._read_value()))
        if opening == "(" and len(items) == 1 and not comma:
            return items[0]
        return Group("tuple" if opening == "(" else "list", tuple(items))

    def _read_dict(self) -> Group:
        keys: list[str | int] = []
        items: list[Value] = []

        def read() -> None:
            token = self._next()
            if token.kind == "string":
                name: str | int = token.text[1:-1]
            elif token.kind == "number" and isinstance(number := _to_number(token), int):
                name = number
            else:
                raise ExampleError("a key of a dict is a string or a whole number", token.column)
            if name in keys:
                raise ExampleError(f"the key {name!r} is given twice", token.column)
            keys.append(name)
            self._expect(":", "after a key")
            items.append(self._read_value())

        self._read_items("}", read)
        return Group("dict", tuple(items), tuple(keys))


def _to_number(token: _Token) -> int | float:
    if len(token.text) > 2 * _MAX_DIGITS:
        raise ExampleError("this number is too long", token.column)
    if re.fullmatch(r"-?\d+", token.text):
        if len(token.text) > _MAX_DIGITS:
            raise ExampleError("this number is too long", token.column)
        return int(token.text)
    value = float(token.text)
    if not math.isfinite(value):
        raise ExampleError("this number is too large", token.column)
    return value
