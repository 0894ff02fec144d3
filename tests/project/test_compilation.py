"""What `jit` is given: a site's result, bare or inside transformations, and with which options."""

import re

import pytest

from remat_lint.project.arguments import render
from remat_lint.project.compilation import compiled

LOSS = "import jax\n\ndef loss(w, x): return w * x\n\n"


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ("jax.checkpoint(loss)", []),
        ("ck", []),
        ("jax.grad(jax.checkpoint(loss))", []),
        ("jax.vmap(jax.grad(ck, 0), in_axes=axes)", ["0", "axes"]),
        ("twice(jax.checkpoint(loss))", None),
        ("jax.grad(lambda w, x: ck(w, x))", None),
        ("jax.jit(ck)", None),
    ],
)
def test_a_site_is_compiled_through_transformations_that_make_a_new_function(sites, given, options):
    ck = "    ck = jax.checkpoint(loss)\n" if re.search(r"\bck\b", given) else ""
    sites.write(
        main=f"{LOSS}def step(w, x, axes):\n{ck}    run = jax.jit({given}, donate_argnums=1)\n    return run(w, x)\n"
    )
    engine = sites.engine()
    ((_, site),) = engine.sites([sites.folder])
    found = list(compiled(site, engine.analysis))
    expected = [] if options is None else [["1", *options]]
    assert [sorted(render(option) for option in one.options) for one in found] == [
        sorted(e) for e in expected
    ]
