"""Positions, line ends and encodings of source text."""

from __future__ import annotations

import os
import socket
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remat_lint.findings import Position, Span
from remat_lint.source.text import SourceError, SourceText, decode, read_source

PATH = Path("model.py")
TEXT = st.text(alphabet="ab\t\r\n\f\u2028\x0b\x85é漢😀e\u0301", max_size=60)


def reason(data: bytes) -> str:
    with pytest.raises(SourceError) as caught:
        decode(data, PATH)
    assert caught.value.path == PATH
    return str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_of_python_ends_a_line(end):
    source = SourceText(PATH, f"one{end}two{end}")
    assert [source.line(row) for row in (1, 2, 3)] == ["one", "two", ""]
    assert source.position(source.text.index("two")) == Position(2, 1)


def test_form_feeds_and_unicode_separators_end_no_line():
    text = "a\fb\vc\x1cd\x85e\u2028f\u2029g\nlast"
    source = SourceText(PATH, text)
    assert source.line_starts == (0, text.index("last"))
    assert source.position(len(text)) == Position(2, 5)


def test_columns_count_code_points_and_utf16_columns_count_units():
    source = SourceText(PATH, "x\n\té漢😀 = 1\r\ny")
    place = source.position(source.text.index("="))
    assert place == Position(2, 6)
    assert source.utf16_column(place) == 6
    assert source.utf16_column(source.position(source.text.index("y"))) == 0
    assert source.slice(Span(Position(2, 2), place)) == "é漢😀 "


def test_a_client_column_inside_a_surrogate_pair_means_the_character():
    source = SourceText(PATH, "a😀b\nplain")
    assert [source.position_at_utf16(1, column).column for column in (0, 1, 2, 3, 4, 99)] == [
        1,
        2,
        2,
        3,
        4,
        4,
    ]
    assert source.position_at_utf16(2, 99) == Position(2, 6)
    assert source.position_at_utf16(99, 3) == Position(2, 6)
    assert source.position_at_utf16(0, 3) == Position(1, 1)


@given(TEXT)
def test_offsets_and_positions_are_inverse(text):
    source = SourceText(PATH, text)
    for offset in range(len(text) + 1):
        assert source.offset(source.position(offset)) == offset
    lines = [source.line(row) for row in range(1, len(source.line_starts) + 1)]
    assert lines == text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@given(TEXT)
def test_columns_of_a_client_come_back(text):
    source = SourceText(PATH, text)
    for row in range(1, len(source.line_starts) + 1):
        for column in range(1, len(source.line(row)) + 2):
            place = Position(row, column)
            assert source.position_at_utf16(row, source.utf16_column(place)) == place


@pytest.mark.parametrize(
    "place", [Position(0, 1), Position(1, 0), Position(1, 6), Position(2, 4), Position(3, 1)]
)
def test_a_place_outside_of_the_text_is_an_error(place):
    with pytest.raises(ValueError, match=f"{place.row}:{place.column}"):
        SourceText(PATH, "abc\nde").offset(place)


@pytest.mark.parametrize("offset", [-1, 4])
def test_an_offset_outside_of_the_text_is_an_error(offset):
    with pytest.raises(ValueError, match=str(offset)):
        SourceText(PATH, "abc").position(offset)


def test_an_empty_file_is_a_text_with_one_line():
    source = decode(b"", PATH)
    assert (source.text, source.line_starts, source.line(1)) == ("", (0,), "")
    assert source.position(0) == Position(1, 1)


def test_one_line_of_five_megabytes_is_a_text():
    source = decode(b"x = '" + b"a" * 5_000_000 + b"'\n", PATH)
    assert source.position(4_000_000) == Position(1, 4_000_001)
    assert source.utf16_column(Position(1, 4_000_001)) == 4_000_000


def test_a_byte_order_mark_takes_no_column_and_is_written_back():
    source = decode(b"\xef\xbb\xbfimport jax\r\n", PATH)
    assert source.text == "import jax\r\n"
    assert source.encode("import jax as J\r\n") == b"\xef\xbb\xbfimport jax as J\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"# -*- coding: latin-1 -*-\n",
        b"#!/usr/bin/env python\n# vim: set fileencoding=iso-8859-1 :\n",
        b"\f\t# coding=latin_1\r\n",
        b"\r\n#coding:latin1\r\n",
        b"# first\r# coding: latin-1\r",
    ],
)
def test_an_encoding_comment_in_the_first_two_lines_counts(head):
    source = decode(head + b"x = '\xe9'\n", PATH)
    assert source.text.endswith("x = 'é'\n")
    assert source.encode(source.text) == head + b"x = '\xe9'\n"


@pytest.mark.parametrize(
    "head", [b"x = 1\n# coding: latin-1\n", b"#\n#\n# coding: latin-1\n", b"x = '# coding: latin-1'\n"]
)
def test_an_encoding_comment_elsewhere_does_not_count(head):
    assert "is not utf-8 text: byte 0xe9" in reason(head + b"x = '\xe9'\n")


def test_the_line_of_a_wrong_byte_is_named():
    assert reason(b"a\r\nb\r\rc = '\xff'") == (
        "is not utf-8 text: byte 0xff in line 4 cannot be decoded; save it as UTF-8 or name its encoding in the first line"
    )


@pytest.mark.parametrize("name", ["klingon", "rot13", "zlib", "future_fstrings", "x.y"])
def test_an_unknown_encoding_is_named_with_its_line(name):
    assert reason(f"\n# coding: {name}\n".encode()) == f"unknown encoding {name!r} in line 2"


@pytest.mark.parametrize(
    "name", ["utf-16", "utf_32_be", "punycode", "idna", "unicode_escape", "utf7", "cp037"]
)
def test_an_encoding_that_no_source_can_be_in_is_refused(name):
    message = reason(f"# coding: {name}\nx = 1\n".encode())
    assert message in {
        f"encoding {name!r} in line 1 is not one for source text",
        f"is not {name} text",
    }


def test_a_mark_and_a_comment_that_disagree_are_an_error():
    assert reason(b"\xef\xbb\xbf# coding: latin-1\n") == (
        "begins with a UTF-8 mark but line 1 says its encoding is 'latin-1'"
    )
    assert decode(b"\xef\xbb\xbf# coding: utf8\n", PATH).encoding == "utf-8-sig"


def test_binary_and_wide_files_are_told_apart():
    assert reason(b"\x7fELF\0\0") == "is a binary file: it contains a null byte"
    assert "UTF-16" in reason("import jax".encode("utf-16"))


def test_a_character_that_the_encoding_lacks_is_named_when_writing():
    source = decode(b"# coding: latin-1\n", PATH)
    with pytest.raises(SourceError, match=r"iso8859-1 has no character U\+6F22"):
        source.encode("漢")


@given(st.binary(max_size=80))
def test_any_bytes_are_text_or_a_clear_error(data):
    try:
        source = decode(data, PATH)
    except SourceError as error:
        message = str(error)
    else:
        message = "" if source.encode(source.text) == data else "other bytes come back"
    assert message == "" or message.startswith(("is ", "unknown encoding ", "encoding ", "begins with "))


def test_a_file_is_read_with_its_line_ends(tmp_path):
    path = tmp_path / "a.py"
    path.write_bytes(b"a\r\nb\rc\n")
    assert read_source(path).text == "a\r\nb\rc\n"


def test_pipes_sockets_folders_and_missing_files_are_never_opened():
    with tempfile.TemporaryDirectory() as folder:  # tmp_path can be too long for a socket
        place = Path(folder)
        os.mkfifo(place / "pipe.py")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(place / "s.py"))
            for name in ("pipe.py", "s.py", "."):
                with pytest.raises(SourceError, match="is not a regular file"):
                    read_source(place / name)
        with pytest.raises(SourceError, match="cannot be read: No such file"):
            read_source(place / "missing.py")
