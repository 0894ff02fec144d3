"""Timed regions: which are seen, what waits in them, and that parsing less shows the same."""

import pytest

from remat_lint.config import Settings
from remat_lint.engine import Engine

HEAD = """
import time
from time import perf_counter as clock
import jax
import jax.numpy as jnp
import numpy as np

step = jax.jit(jax.checkpoint(lambda x: jnp.tanh(x @ x)))
x = jnp.ones((3, 3))
"""


def codes(text, path, *, whole=False):
    settings = Settings(root=path.parent, select=("RML801", "RML802"))
    return [finding.code for finding in Engine(settings, whole=whole).check_text(text, path).findings]


WAITING = {
    "block_until_ready": "y = step(x)\njax.block_until_ready(y)",
    "tree of results": "y = step(x)\njax.tree.map(lambda a: a.block_until_ready(), y)",
    "float": "y = step(x)\nfloat(y[0, 0])",
    "numpy": "y = np.asarray(step(x))",
    "format": "y = step(x)\ns = f'{y}'",
    "branch": "y = step(x)\nif y.sum() > 0:\n    pass",
    "something unknown": "y = step(x)\nwhatever.log(y)",
    "a list of results": "ys = []\nys.append(step(x))\nprint(ys)",
}
RUNNING = {
    "thrown away": "step(x)",
    "sum on the device": "y = step(x).sum()",
    "another array is waited for": "y = step(x)\njax.block_until_ready(x)",
    "effects only": "y = step(x)\njax.effects_barrier()",
    "print of something else": "y = step(x)\nprint('done')",
}


@pytest.mark.parametrize("whole", [False, True], ids=["lazy", "whole"])
@pytest.mark.parametrize("body", WAITING.values(), ids=WAITING)
def test_what_needs_the_numbers_waits(body, whole, tmp_path):
    text = f"{HEAD}step(x)\nstart = clock()\n{body}\nend = clock()\nprint(end - start)\n"
    assert codes(text, tmp_path / "script.py", whole=whole) == []


@pytest.mark.parametrize("whole", [False, True], ids=["lazy", "whole"])
@pytest.mark.parametrize("body", RUNNING.values(), ids=RUNNING)
def test_what_does_not_need_them_does_not_wait(body, whole, tmp_path):
    text = f"{HEAD}step(x)\nstart = clock()\n{body}\nend = clock()\nprint(end - start)\n"
    assert codes(text, tmp_path / "script.py", whole=whole) == ["RML801"]


@pytest.mark.parametrize("clock", ["time.time", "time.perf_counter_ns", "time.monotonic", "clock"])
def test_every_clock_is_known(clock, tmp_path):
    text = f"{HEAD}step(x)\nt = {clock}()\ny = step(x)\nprint({clock}() - t)\n"
    assert codes(text, tmp_path / "script.py") == ["RML801"]


def test_time_of_the_processor_is_no_such_clock(tmp_path):
    text = f"{HEAD}step(x)\nt = time.process_time()\ny = step(x)\nprint(time.process_time() - t)\n"
    assert codes(text, tmp_path / "script.py") == []


def test_round_that_begins_with_a_print_of_the_last_result_waits(tmp_path):
    text = f"""{HEAD}
def train(x):
    start = time.time()
    while True:
        y = step(x)
        took = time.time() - start
        print(took, y)
"""
    assert codes(text, tmp_path / "script.py") == []


def test_second_reading_under_one_name_belongs_to_its_own_difference(tmp_path):
    text = f"""{HEAD}
step(x)
start = time.time()
y = step(x).block_until_ready()
end = time.time()
print(end - start)
start = time.time()
y = step(x)
end = time.time()
print(end - start)
"""
    found = Engine(Settings(root=tmp_path, select=("RML801",))).check_text(text, tmp_path / "script.py")
    assert [finding.span.start.row for finding in found.findings] == [18]
