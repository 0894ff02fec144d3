"""Changes of what a wrapped function reads are seen wherever they are made, however little of the file is parsed."""

import pytest

from tests.project.test_lazy import everything

COUNTER = """
import jax


class Counter:
    step = 1

    def __init__(self):
        self.n = 0

    def advance(self):
        self.n += 1

    def __call__(self):
        self.n += 2

    @classmethod
    def widen(cls):
        cls.step += 1


def make():
    return Counter()

"""

RUN = """

def change():
    change_at_last()


def run(x):
    for _ in range(3):
        change()
        x = f(x)
    return x
"""

PROGRAMS = {
    "a method of an object of the module": """
counter = Counter()


@jax.checkpoint
def f(x):
    return x * counter.n


def change_at_last():
    counter.advance()
""",
    "the object is made by a function": """
counter = make()


@jax.checkpoint
def f(x):
    return x * counter.n


def change_at_last():
    counter.advance()
""",
    "the object is called": """
counter = Counter()


@jax.checkpoint
def f(x):
    return x * counter.n


def change_at_last():
    counter()
""",
    "the method has a name of its own": """
counter = Counter()
advance = counter.advance


@jax.checkpoint
def f(x):
    return x * counter.n


def change_at_last():
    advance()
""",
    "the object is read by a helper": """
counter = Counter()


def current():
    return counter.n


@jax.checkpoint
def f(x):
    return x * current()


def change_at_last():
    counter.advance()
""",
    "a class method": """
@jax.checkpoint
def f(x):
    return x * Counter.step


def change_at_last():
    Counter.widen()
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_changes_far_away_are_seen(name, tmp_path):
    (tmp_path / "main.py").write_text(COUNTER + PROGRAMS[name] + RUN, encoding="utf-8")
    lazy, whole = (everything(tmp_path, [tmp_path], whole=whole) for whole in (False, True))
    assert any("stale-capture" in finding for finding in whole[0])
    assert lazy[:2] == whole[:2]
