"""A checkpointed function reads an item of a dict that changes between its calls."""

import jax
import jax.numpy as jnp

settings = {"scale": 1.0}


@jax.checkpoint
def frozen(x):
    return jnp.tanh(x) * settings["scale"]


@jax.checkpoint
def layer(x, scale):
    return jnp.tanh(x) * scale


def before(x):
    settings["scale"] = 1.0
    first = frozen(x)
    settings["scale"] = 10.0
    return {"first": first, "second": frozen(x)}


def after(x):
    return {"first": layer(x, 1.0), "second": layer(x, 10.0)}
