"""The examples of the rule about changed arguments."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "a dict of statistics",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def block(state, x):
    y = jnp.tanh(x * state["scale"])
    state["größe"] = y.mean()
#   ^^^^^^^^^^^^^^^^^^^^^^^^^
    state.update(last=y[0])
#   ^^^^^^^^^^^^^^^^^^^^^^^
    return y

def owner(x):
    state = {"scale": 2.0, "größe": 0.0, "last": 0.0}
    block(state, x)
    return state["größe"] + state["last"]
""",
        severity=Severity.WARNING,
        message=(
            '`state["größe"]` is stored in a copy: JAX takes the arguments of `block` apart and builds them anew for '
            "the trace, so that the caller's `state` stays as it was; return `state` from `block`"
        ),
    ),
    Bad(
        "a cache of a method, called in a loop",
        """
from functools import partial
import jax as J
import jax.numpy as jnp

class Decoder:
    def attend(self, cache, q):
        cache.append(q)
#       ^^^^^^^^^^^^^^^
        return q + sum(cache)

def owner(x):
    attend = partial(J.remat, prevent_cse=True)(Decoder().attend)
    cache = [x]
    for _ in range(3):
        x = attend(cache, x)
    return x
""",
        severity=Severity.WARNING,
    ),
    Bad(
        "an array",
        """
import jax
import jax.numpy as jnp

def clip(x):
    x[0] = 0.0
#   ^^^^^^^^^^
    return jnp.sin(x)

def owner(x):
    return jax.checkpoint(clip)(x)
""",
        runs=True,
        message=(
            "`x[0]` is stored in an argument of `clip`, which is an immutable array in the trace: this raises "
            "TypeError, also for a numpy array; write `x = x.at[0].set(…)`"
        ),
    ),
    Bad(
        "an array by its annotation, under a condition",
        """
import jax
import jax.numpy as jnp

def build(remat):
    def drop(x: jax.Array, mask):
        x[mask] = 0.0
#       ^^^^^^^^^^^^^
        return x

    if remat:
        drop = jax.remat(drop)
    return drop
""",
        message=(
            "`x[mask]` is stored in an argument of `drop` when `remat`, which is an immutable array in the trace: this "
            "raises TypeError, also for a numpy array; write `x = x.at[mask].set(…)`"
        ),
    ),
    Bad(
        "a function that the body calls changes it",
        """
import jax
import jax.numpy as jnp

def put(store, name, value):
    store[name] = value
    store["last"] = value
#   ^^^^^^^^^^^^^^^^^^^^^

def keep(größen, x):
    put(größen, "k", x.mean())

@jax.checkpoint
def block(cache, x):
    keep(cache, x)
    return jnp.sin(x)

def owner(x):
    cache = {"k": 0.0, "last": 0.0}
    block(cache, x)
    return cache["last"]
""",
        severity=Severity.WARNING,
        message=(
            '`store["last"]` in `put` is stored in a copy: JAX takes the arguments of `block` apart and builds them anew '
            "for the trace, so that the caller's `cache` stays as it was; return `cache` from `block`"
        ),
    ),
    Good(
        "a function that the body calls changes what the body returns",
        """
import jax
import jax.numpy as jnp

def keep(cache, x):
    cache["k"] = x.mean()

@jax.checkpoint
def block(cache, x):
    keep(cache, x)
    return jnp.sin(x), cache

@jax.checkpoint
def scaled(batch, x):
    keep(batch, x)
    return jnp.sin(x) * batch["k"]

def owner(x):
    return scaled({}, x) + block({}, x)[0]
""",
    ),
    Good(
        "the changed dict is returned",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def step(carry):
    x = carry.pop("x")
    carry["h"] = jnp.sin(x) * carry["h"]
    return carry

@jax.checkpoint
def block(cache, x):
    cache["k"] = jnp.sin(x)
    return x * 2, {"cache": cache}
""",
    ),
    Good(
        "a copy is changed",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def block(state, x):
    state = dict(state)
    state["x"] = x
    return jnp.tanh(state["x"] * state["scale"])
""",
    ),
    Good(
        "the function itself reads what it has put there",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def loss(params, batch):
    batch["x"] = batch["x"] / 255.0
    return jnp.mean(batch["x"] @ params)

def train(params, batches):
    return [jax.grad(loss)(params, batch) for batch in batches]
""",
    ),
    Good(
        "the caller makes the list for the call",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def fold(parts, x):
    parts.append(x)
    return jnp.stack(parts).sum()

def loss(a, b, x):
    return fold([a, b], x) + fold(list((a, b)), x)
""",
    ),
    Good(
        "modules keep their state under nnx.remat",
        """
import jax.numpy as jnp
from flax import nnx

@nnx.remat
def block(module, cache, x):
    cache["seen"] = x
    module.calls[...] += 1
    return module(x)
""",
    ),
    Good(
        "a static argument is the caller's own object",
        """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.checkpoint, static_argnums=(1,))
def block(x, names):
    names.append("block")
    return jnp.sin(x)
""",
    ),
    Good(
        "a reference is written",
        """
import jax

@jax.checkpoint
def scaled(y, total_ref):
    total_ref[...] += y * total_ref.shape[0]
    return y
""",
    ),
    Miss(
        "the change happens in a function whose result is used",
        """
import jax
import jax.numpy as jnp

def keep(cache, x):
    cache["k"] = x
    return x * 2

@jax.checkpoint
def block(cache, x):
    return jnp.sin(keep(cache, x))
""",
    ),
)
