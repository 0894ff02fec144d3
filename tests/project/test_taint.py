"""What is traced in a body, and from which parameters Python values come: every `probe` says what is expected."""

from pathlib import Path

import pytest

from remat_lint.facts import nodes as n
from remat_lint.project.body import bodies
from remat_lint.project.origins import Origins
from remat_lint.project.taint import Taint
from remat_lint.project.visits import visits

LAYER = """
import functools
import jax
import jax.numpy as jnp
import numpy as np

TABLE, NP = jnp.ones(3), np.ones(3)

def helper(v, k):
    return v * k

def size(v):
    return v.shape[0]

@functools.partial(jax.checkpoint, static_argnums=(2,))
def layer(x, p, train, mask=None):
    {body}
    return x

def use(x, p):
    return layer(x, p, True)
"""
PARTIAL = """
import functools
import jax

def scaled(x, n, k):
    probe(n, "NONE")
    probe(k, "TRACED")
    return x

run = jax.checkpoint(functools.partial(scaled, n=3))

def use(x):
    return run(x, k=2)
"""


def probes(sites, text):
    """Yield the expression, moment and expectation of each `probe`, with the body in which it stands."""
    sites.write(main=text)
    engine = sites.engine()
    module = engine.project.module(Path(sites.folder) / "main.py")
    for site in engine.analysis.wrap_sites(module):
        for body in bodies(site, engine.analysis):
            for scope in body.scopes:
                for visit in visits(scope):
                    node = visit.node
                    if isinstance(node, n.Call) and getattr(node.func, "id", "") == "probe":
                        yield (
                            body,
                            engine.analysis,
                            node.args[0].value,
                            visit.moment,
                            node.args[1].value.value,
                        )


def levels(sites, text):
    return [
        (Taint(body, project).level(node, moment).name, expected)
        for body, project, node, moment, expected in probes(sites, text)
    ]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x", "TRACED"),
        ("x + 1", "TRACED"),
        ("x > 0", "TRACED"),
        ("x[0]", "TRACED"),
        ("x.at[0].set(1)", "TRACED"),
        ("x if train else 1", "TRACED"),
        ("jnp.zeros(3)", "TRACED"),
        ("TABLE * 2", "TRACED"),
        ("helper(x, 2)", "TRACED"),
        ("jax.tree.map(lambda t: t * 2, p)", "TRACED"),
        ("{'a': x}['a']", "TRACED"),
        ("TABLE", "ARRAY"),
        ("train", "NONE"),
        ("not train", "NONE"),
        ("mask", "NONE"),
        ("NP * 2", "NONE"),
        ("x.shape[0] * 2", "NONE"),
        ("x.ndim", "NONE"),
        ("x.dtype", "NONE"),
        ("x.size", "NONE"),
        ("len(x)", "NONE"),
        ("x is None", "NONE"),
        ("isinstance(x, dict)", "NONE"),
        ("x is not None and x.ndim > 1", "NONE"),
        ("(x, 1)[1]", "NONE"),
        ("[r.shape for r in x]", "NONE"),
        ("size(x)", "NONE"),
        ("helper(1, 2)", "NONE"),
        ("functools.partial(helper, 3)(2)", "NONE"),
        ("np.sqrt(x.shape[0])", "NONE"),
        ("f'{x}'", "NONE"),
    ],
)
def test_level_of_an_expression(sites, expression, expected):
    body = f'probe({expression}, "{expected}")'
    assert levels(sites, LAYER.format(body=body)) == [(expected, expected)]


@pytest.mark.parametrize(
    "body",
    [
        'a, (b, c) = x, (x, 3)\n    probe(a, "TRACED"); probe(b, "TRACED"); probe(c, "NONE")',
        'n, d = x.shape\n    probe(n, "NONE"); probe(d // 2, "NONE")',
        'for i, row in enumerate(x * 2):\n        probe(i, "NONE"); probe(row, "TRACED")',
        'for k, v in p.items():\n        probe(k, "NONE"); probe(v, "TRACED")',
        'def inner(h):\n        probe(h, "TRACED"); probe(x, "TRACED"); probe(train, "NONE")\n    inner(x)',
        'y = x\n    y = y.shape\n    probe(y, "NONE")',
        'y = 1 if train else x\n    probe(y, "TRACED")\n    y = 2\n    probe(y, "NONE")',
        'acc = 0\n    for _ in range(3):\n        probe(acc, "TRACED")\n        acc = acc + x',
        's = (y := x.sum())\n    probe(s, "TRACED"); probe(y, "TRACED")',
        'with jax.named_scope("a") as s:\n        probe(s, "NONE")',
        'try:\n        y = x.shape\n    except ValueError:\n        y = 1\n    probe(y, "NONE")',
    ],
)
def test_level_after_statements(sites, body):
    found = levels(sites, LAYER.format(body=body))
    assert found
    assert [level for level, _ in found] == [expected for _, expected in found]


def test_what_a_partial_binds_is_not_traced(sites):
    assert levels(sites, PARTIAL) == [("NONE", "NONE"), ("TRACED", "TRACED")]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("probe(mask, 'mask')", "mask"),
        ("probe(not mask, 'mask')", "mask"),
        ("flag = not mask\n    probe(flag and train, 'mask train')", "mask train"),
        ("probe(x.shape[0] // mask, 'mask')", "mask"),
        ("probe(x * mask, 'mask x')", "mask x"),
        ("probe(jnp.ones(3) * mask, '')", ""),
        ("probe(mask == 'a', '')", ""),
        ("mask = len(p)\n    probe(mask, '')", ""),
        ("if mask is None:\n        mask = 3\n    probe(mask, 'mask')", "mask"),
        ("def inner(k):\n        probe(k, 'mask')\n        return k\n    inner(mask)", "mask"),
    ],
)
def test_parameters_from_which_a_python_value_comes(sites, body, names):
    [(body, project, node, moment, _)] = probes(sites, LAYER.format(body=body))
    assert Origins(body, project).of(node, moment) == frozenset(names.split())
