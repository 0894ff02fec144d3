"""The literal test for words."""

from remat_lint.source.prefilter import mentions


def test_words_are_found_anywhere_and_literally():
    assert mentions(b"x.remat(f)", (b"checkpoint", b"remat"))
    assert mentions("gradient_checkpointing", ("checkpoint",))
    assert not mentions(b"x.rematch", (b"r.m", b"REMAT"))


def test_no_words_and_no_text_find_nothing():
    assert not mentions(b"remat", ())
    assert not mentions(b"", (b"remat",))
