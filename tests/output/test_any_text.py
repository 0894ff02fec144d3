"""Properties of the output that hold for every text and every place in it."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from remat_lint.findings import Applicability, Edit, Finding, Fix, Related, Severity
from remat_lint.output import FORMATS, render
from remat_lint.output.view import View
from remat_lint.source.text import SourceText

ALPHABET = st.sampled_from("ab (\t\n\r\x0c\x1b\u202e\u2028日😀e\u0301\u200d\x00[]")
TEXTS = st.one_of(st.text(ALPHABET, max_size=60), st.text(ALPHABET, max_size=8).map(lambda text: text * 200))


@st.composite
def cases(draw):
    source = SourceText(Path("/p/a.py"), draw(TEXTS))

    def span():
        size = len(source.text)
        start, end = sorted((draw(st.integers(0, size)), draw(st.integers(0, size))))
        return source.span(start, end)

    fix = Fix(
        draw(st.sampled_from(Applicability)), "fix", (Edit(span(), draw(st.text(ALPHABET, max_size=9))),)
    )
    related = (Related("/p/a.py", span(), "here"),)
    severity = draw(st.sampled_from(Severity))
    return source, Finding("RML101", "stale-capture", severity, "message", "/p/a.py", span(), fix, related)


@settings(max_examples=150, deadline=None)
@given(cases())
def test_every_place_of_every_text_can_be_shown_and_controls_nothing(case):
    source, finding = case
    view = View(Path("/p"), {"/p/a.py": source})
    for name in FORMATS:
        shown = "".join(render(name, [finding], view))
        assert all(char.isprintable() or char in "\n\u200d" for char in shown)
        # SARIF holds the page of a rule in one string.
        assert name == "sarif" or max(map(len, shown.split("\n"))) < 2_000
    assert "^" in "".join(render("full", [finding], view))
