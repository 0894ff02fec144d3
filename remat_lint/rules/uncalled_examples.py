"""The examples of `uncalled-wrapper`."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "thrown away",
        """
import jax
import jax.numpy as jnp

def layer(w, x):
    return jnp.tanh(x @ w)

def loss(w, x):
    jax.checkpoint(layer)  # n'a aucun effet
#   ^^^^^^^^^^^^^^^^^^^^^
    return jnp.sum(layer(w, x))
""",
        message=(
            "`jax.checkpoint` changes nothing about `layer`, it returns another function, and that is thrown away here: "
            "nothing is checkpointed"
        ),
        severity=Severity.WARNING,
    ),
    Bad(
        "an argument of a function of arrays",
        """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.tanh(x)

def owner(x):
    return jnp.sum(jax.checkpoint(layer))
#                  ^^^^^^^^^^^^^^^^^^^^^
""",
        message=(
            "`jax.numpy.sum` gets the function that `jax.checkpoint` returns, not its result: this raises TypeError; call "
            "it: `jax.checkpoint(layer)(…)`"
        ),
        runs=True,
    ),
    Bad(
        "arithmetic with a decorated function",
        """
from functools import partial

from jax import remat as rm

@partial(rm, prevent_cse=False)
def étage(x):
    return x * x

def owner(x):
    return x + étage
#              ^^^^^
""",
        message=(
            "`+` gets the function that `jax.remat` returns, not its result: this raises TypeError; call it: `étage(…)`"
        ),
        runs=True,
    ),
    Bad(
        "a name unpacked, on one branch",
        """
import equinox as eqx

def block(x):
    return x * x, x.sum()

def owner(x):
    run = eqx.filter_checkpoint(block)
    if x.ndim == 1:
        y, aux = run
#                ^^^
    else:
        y, aux = run(x)
    return y + aux
""",
        message=(
            "an unpacking assignment gets the function that `equinox.filter_checkpoint` returns, not its result: this "
            "raises TypeError; call it: `run(…)`"
        ),
        runs=True,
    ),
    Bad(
        "an attribute of arrays",
        """
import jax

def owner(x):
    y = jax.checkpoint(lambda h: h * h)
    return y.reshape(-1)
#          ^
""",
        message=(
            "`.reshape` is asked of the function that `jax.checkpoint` returns, not its result: this raises "
            "AttributeError; call it: `y(…)`"
        ),
        runs=True,
    ),
    Good(
        "kept, handed on and called later",
        """
import jax
import jax.numpy as jnp

def layer(x):
    return jnp.tanh(x)

registry = {"layer": jax.checkpoint(layer)}
batched = jax.vmap(jax.checkpoint(layer))

def loss(x):
    run = registry["layer"]
    rows = jnp.apply_along_axis(jax.checkpoint(layer), 0, x)
    return jnp.sum(run(x)) + jnp.sum(rows) + jnp.sum(jnp.fromfunction(jax.checkpoint(layer), (3,)))
""",
    ),
    Good(
        "a name that holds the function first and its result then",
        """
import jax

def loss(x):
    y = jax.checkpoint(lambda h: h * h)
    y = y(x)
    total = y + 1
    y = jax.checkpoint(lambda h: h + total)
    return y(x)
""",
    ),
    Good(
        "a comparison of functions",
        """
import jax

def layer(x):
    return x * x

wrapped = jax.checkpoint(layer)
same = wrapped == layer or wrapped is None
""",
    ),
    Good(
        "a helper that changes its argument in place",
        """
import jax

def checkpoint_in_place(cls):
    cls.__call__ = jax.checkpoint(cls.__call__)
    return cls

class Block:
    def __call__(self, x):
        return x * x

checkpoint_in_place(Block)
""",
    ),
    Miss(
        "a function of another package gets the function",
        """
import jax
from losses import mse

def loss(x):
    return mse(jax.checkpoint(lambda h: h * h), x)
""",
    ),
)
