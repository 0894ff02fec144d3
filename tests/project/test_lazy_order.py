"""What leads to a wrapper, or bears on a site, is found in whatever order the statements of a file are read."""

import pytest

from tests.project.test_lazy import everything

HEAD = """
import jax

COUNT = 0


def bump():
    global COUNT
    COUNT += 1


def body(x, flag):
    if flag:
        return x
    return x * COUNT


def run(x):
    for _ in range(3):
        bump()
        x = go(x)
    return x
"""

PROGRAMS = {
    "names of names": """
first = jax.checkpoint
second = first
third = second


def go(x):
    return third(body)(x, True)
""",
    "names of names of later ones": """
third = second
second = first
first = jax.checkpoint


def go(x):
    return third(body)(x, True)
""",
    "an attribute given a later name": """
class Model:
    def __init__(self):
        self.wrap = wrapper
        self.bump = jax.checkpoint(bump)

    def run(self, x):
        return self.wrap(body)(x, True)


def go(x):
    return Model().run(x)


wrapper = jax.checkpoint
""",
    "a factory that calls later ones": """
def first(f):
    jax.checkpoint(bump)
    return second(f)


def go(x):
    return first(body)(x, True)


def second(f):
    return third(f)


def third(f):
    return jax.checkpoint(f)
""",
    "a method that takes a later factory": """
class Model:
    def __init__(self):
        self.wrap = self.make
        self.bump = jax.checkpoint(bump)

    def run(self, x):
        return self.wrap(body)(x, True)

    def make(self, f):
        return make(f)


def go(x):
    return Model().run(x)


def make(f):
    return jax.checkpoint(f)
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_order_of_statements_does_not_matter(name, tmp_path):
    (tmp_path / "main.py").write_text(HEAD + PROGRAMS[name], encoding="utf-8")
    lazy, whole = (everything(tmp_path, [tmp_path], whole=whole) for whole in (False, True))
    assert any("stale-capture" in finding for finding in whole[0])
    assert lazy[:2] == whole[:2]


def test_aliases_of_what_an_imported_module_holds(tmp_path):
    (tmp_path / "lib.py").write_text("import jax\n\n\ndef make(f):\n    return jax.checkpoint(f)\n")
    text = HEAD + "\nimport lib\nfirst = lib.make\nsecond = first\ngo = second(lambda x: body(x, True))\n"
    (tmp_path / "main.py").write_text(text)
    lazy, whole = (everything(tmp_path, [tmp_path], whole=whole) for whole in (False, True))
    assert len(whole[1]) > 1
    assert lazy[:2] == whole[:2]
