"""What the notes about policies, nesting and names say is what JAX and flax do.

Older compilers for the CPU remove the barriers of `jax.checkpoint` before they merge equal computations, which other
backends do not; a flag keeps them from that.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.execution
FLAGS = {**os.environ, "XLA_FLAGS": "--xla_disable_hlo_passes=cse_barrier_expander"}
HEAD = """
import json
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals

cp = jax.checkpoint_policies
ws, x = [jnp.eye(8)] * 4, jnp.ones((16, 8))

def layer(w, x):
    return jnp.tanh(jnp.sin(x @ w))

def tower(one):
    def run(ws, x):
        for w in ws:
            x = one(w, x)
        return x
    return run

def kept(f, *args):
    return len(saved_residuals(lambda *args: (f(*args) ** 2).sum(), *args))

def flops(f, *args):
    c = jax.jit(jax.grad(lambda *args: (f(*args) ** 2).sum())).lower(*args).compile().cost_analysis()
    return (c[0] if isinstance(c, list) else c)["flops"]
"""
PROGRAMS = {
    "a second wrapper keeps and computes the same": """
once, twice = jax.checkpoint(layer), jax.checkpoint(jax.checkpoint(layer))
said = kept(tower(once), ws, x) == kept(tower(twice), ws, x)
said = said and flops(tower(once), ws, x) == flops(tower(twice), ws, x)
""",
    "the policy of the inner of two keeps nothing": """
inner = jax.checkpoint(jax.checkpoint(layer, policy=cp.dots_saveable))
outer = jax.checkpoint(jax.checkpoint(layer), policy=cp.dots_saveable)
plain = kept(tower(jax.checkpoint(layer)), ws, x)
said = kept(tower(inner), ws, x) == plain < kept(tower(outer), ws, x)
""",
    "an inner policy keeps nothing for the backward pass, but computes less in it": """
def segment(policy):
    return jax.checkpoint(tower(jax.checkpoint(layer, policy=policy)))
said = kept(segment(cp.dots_saveable), ws, x) == kept(segment(None), ws, x)
said = said and flops(segment(cp.dots_saveable), ws, x) < flops(segment(None), ws, x)
""",
    "a product with a letter in all three places is not saved": """
q = jnp.ones((3, 2, 4))
def scores(policy):
    return jax.checkpoint(lambda q, k: jnp.sin(jnp.einsum("bqd,bkd->bqk", q, k)), policy=policy)
none = kept(scores(None), q, q)
said = kept(scores(cp.dots_with_no_batch_dims_saveable), q, q) == none < kept(scores(cp.dots_saveable), q, q)
""",
    "a product of two mapped arguments is not saved, one with shared weights is": """
xs, vs = jnp.ones((3, 2, 4)), jnp.ones((3, 4, 4))
kept_dots = jax.checkpoint(layer, policy=cp.dots_with_no_batch_dims_saveable)
both = kept(jax.vmap(kept_dots), vs, xs) == kept(jax.vmap(jax.checkpoint(layer)), vs, xs)
shared = kept(jax.vmap(kept_dots, (None, 0)), vs[0], xs)
said = both and shared > kept(jax.vmap(jax.checkpoint(layer), (None, 0)), vs[0], xs)
""",
    "a scan keeps the same without barriers": """
def scanned(**options):
    body = jax.checkpoint(lambda x, w: (layer(w, x), None), **options)
    return lambda ws, x: jax.lax.scan(body, x, ws)[0]
stack = jnp.stack(ws)
def temporaries(f):
    return jax.jit(jax.grad(lambda ws, x: f(ws, x).sum())).lower(stack, x).compile().memory_analysis().temp_size_in_bytes
said = temporaries(scanned()) == temporaries(scanned(prevent_cse=False))
""",
    "linen names the module after the wrapper, and an explicit name is the plain one": """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

class Net(nn.Module):
    remat: bool
    named: bool = False

    @nn.compact
    def __call__(self, x):
        cls = nn.remat(Block) if self.remat else Block
        return (cls(name="Block_0") if self.named else cls())(x)

key, data = jax.random.key(0), jnp.ones((1, 3))
plain, renamed, named = (Net(*a).init(key, data)["params"] for a in ((False,), (True,), (True, True)))
same = jax.tree.all(jax.tree.map(lambda a, b: bool((a == b).all()), plain, named))
said = [list(plain), list(renamed)] == [["Block_0"], ["CheckpointBlock_0"]] and same
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_said_is_so(program):
    pytest.importorskip("jax")
    if "flax" in program:
        pytest.importorskip("flax")
    text = f"{HEAD}{program}\nprint(json.dumps(bool(said)))"
    command = [sys.executable, "-c", text]
    flags = os.environ if "scan" in program else FLAGS
    done = subprocess.run(command, env=flags, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) is True
