"""Ranges of JAX releases: what they say of themselves, and what a specifier means to them."""

import pytest

from remat_lint.releases import RELEASES, JaxRange

EVERY = JaxRange()


def part(spec):
    return EVERY.part(spec).describe()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.10.2", "JAX 0.10.2"),
        ("0.10", "JAX 0.10.0 to 0.10.2"),
        ("0.10.*", "JAX 0.10.0 to 0.10.2"),
        (">=0.6,<0.11", "JAX 0.6.0 to 0.10.2"),
        (" >= 0.6 ", "JAX 0.6.0 and newer"),
        ("~=0.9.1", "JAX 0.9.1 to 0.9.2"),
        ("!=0.9.0", "JAX 0.4.30 to 0.8.3 and 0.9.0.1 and newer"),
        ("<0.5", "JAX 0.4.30 to 0.4.38"),
        ("0.4.32", "JAX 0.4.32"),
        ("0.10.2rc1", "JAX 0.10.2rc1"),
        (">=0.10.2rc1,<0.10.3", "JAX 0.10.2rc1 to 0.10.2"),
    ],
)
def test_a_range_is_read_and_told(text, words):
    assert JaxRange.from_specifier(text).describe() == words


def test_a_release_newer_than_every_known_one_counts_if_it_is_named():
    assert JaxRange.from_specifier("==99.1.0").releases == ("99.1.0",)
    assert JaxRange.from_specifier(">=99").describe() == "JAX 99 and newer"


@pytest.mark.parametrize("text", ["", "  ", "newest", ">=0.6 <0.7", "^0.6", "==", "0.x"])
def test_what_is_no_specifier_is_said(text):
    with pytest.raises(ValueError, match="is no version and no specifier; write one such as"):
        JaxRange.from_specifier(text)


@pytest.mark.parametrize("text", ["<0.4", "==0.3.25", ">=0.6,<0.5"])
def test_a_range_without_a_supported_release_is_refused(text):
    with pytest.raises(
        ValueError, match=f"allows no supported release of JAX; those are 0.4.30 to {RELEASES[-1]}"
    ):
        JaxRange.from_specifier(text)


def test_questions_about_all_and_some_releases():
    some = JaxRange.from_specifier(">=0.9,<0.11")

    assert some.all(">=0.9")
    assert some.any(">=0.10")
    assert not some.all(">=0.10")
    assert not some.any(">=0.11")
    assert some.all("")
    assert some.part(">=0.11").releases == ()


def test_a_part_ends_where_the_range_does():
    assert part(">=0.10") == "JAX 0.10.0 and newer"
    assert part("<0.10") == "JAX 0.4.30 to 0.9.2"
    assert part(">99") == "no release of JAX"
    assert JaxRange.from_specifier("<0.11").part(">=0.10").describe() == "JAX 0.10.0 to 0.10.2"


def test_a_union_keeps_the_order_and_each_release_once():
    first, second = JaxRange.from_specifier("0.10.2", "a.txt"), JaxRange.from_specifier("0.4.35", "b.txt")
    joined = first.union([second, JaxRange.from_specifier("==0.10.2")])

    assert (joined.releases, joined.origin, joined.is_open) == (("0.4.35", "0.10.2"), "a.txt", False)
    assert joined.describe() == "JAX 0.4.35 and 0.10.2"
