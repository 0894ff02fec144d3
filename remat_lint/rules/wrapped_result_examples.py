"""The examples of `wrapped-result`."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "the result of a function",
        """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x * w)

def owner(x):
    y = jax.checkpoint(layer(x, x))  # évalué trop tôt
#                      ^^^^^^^^^^^
    return y * 2
""",
        fixed="""
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x * w)

def owner(x):
    y = jax.checkpoint(layer)(x, x)  # évalué trop tôt
    return y * 2
""",
        message=(
            "`jax.checkpoint` wraps the result of `layer(x, x)`, not a function: what it returns can neither be called "
            "nor used as an array; write `jax.checkpoint(layer)(…)`"
        ),
        runs=True,
    ),
    Bad(
        "the result of a method, with options, through an alias and on one branch",
        """
from jax import checkpoint as ck, checkpoint_policies as cp

class Block:
    def __init__(self, use_remat):
        self.use_remat = use_remat

    def inner(self, x):
        h = x * x
        return h, {"aux": h}

    def __call__(self, x):
        if self.use_remat:
            return ck(self.inner(x), policy=cp.dots_saveable)
#                     ^^^^^^^^^^^^^
        return self.inner(x)

def owner(x):
    return Block(True)(x)[0]
""",
        fixed="""
from jax import checkpoint as ck, checkpoint_policies as cp

class Block:
    def __init__(self, use_remat):
        self.use_remat = use_remat

    def inner(self, x):
        h = x * x
        return h, {"aux": h}

    def __call__(self, x):
        if self.use_remat:
            return ck(self.inner, policy=cp.dots_saveable)(x)
        return self.inner(x)

def owner(x):
    return Block(True)(x)[0]
""",
        message=(
            "`ck` wraps the result of `self.inner(x)`, not a function: what it returns can neither be called nor used "
            "as an array when `self.use_remat`; write `ck(self.inner)(…)`"
        ),
        runs=True,
    ),
    Bad(
        "a value that stands under a name",
        """
import jax
import jax.numpy as jnp

@jax.jit
def step(x):
    h = jnp.sin(x)
    h = jax.remat(h)
#                 ^
    return h(x)
""",
        message=(
            "`jax.remat` wraps `h`, not a function: what it returns can neither be called nor used as an array"
        ),
    ),
    Bad(
        "a function that takes functions",
        """
import jax
from jax import lax

def owner(x):
    def body(carry, w):
        return carry * w, None
    return jax.checkpoint(lax.scan, prevent_cse=False)(body, 1.0, x)[0]
#                         ^^^^^^^^
""",
        fixed="""
import jax
from jax import lax

def owner(x):
    def body(carry, w):
        return carry * w, None
    return lax.scan(jax.checkpoint(body, prevent_cse=False), 1.0, x)[0]
""",
        message=(
            "`jax.lax.scan` takes a function as an argument, and `jax.checkpoint` traces every argument: the call raises "
            "TypeError; write `lax.scan(jax.checkpoint(…), …)`"
        ),
        runs=True,
    ),
    Good(
        "a function that returns functions",
        """
import jax
import jax.numpy as jnp

def step_factory(dt):
    def step(x):
        return x + dt * jnp.sin(x)
    return step

step = jax.checkpoint(step_factory(0.1))
""",
    ),
    Good(
        "a partial of a function that takes functions",
        """
from functools import partial
import jax

def run(body, tree):
    return jax.checkpoint(partial(jax.tree.map, body))(tree)
""",
    ),
    Good(
        "what is wrapped is a parameter",
        """
import jax

def remat(f, policy=None):
    return jax.checkpoint(f, policy=policy)
""",
    ),
    Good(
        "filter_checkpoint runs functions that take functions",
        """
import equinox as eqx
import jax

def run(body, x, ws):
    return eqx.filter_checkpoint(jax.lax.map)(body, x)
""",
    ),
    Good(
        "a module that comes out of a call",
        """
import equinox as eqx
import jax

def build(key):
    return eqx.nn.MLP(2, 2, 2, 2, key=key)

model = eqx.filter_checkpoint(build(jax.random.key(0)))
""",
    ),
    Miss(
        "the result of a function of another package",
        """
import jax
from layers import layer

def loss(w, x):
    return jax.checkpoint(layer(w, x))
""",
    ),
)
