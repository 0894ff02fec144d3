"""A hoisted checkpointed function reads the variable of a loop that starts later."""

import jax
import jax.numpy as jnp


def before(x):
    scale = jnp.float32(0)

    @jax.checkpoint
    def layer(y):
        return jnp.sin(y) * scale

    for scale in (jnp.float32(1), jnp.float32(2), jnp.float32(3)):  # noqa: B007 - read by the layer
        x = layer(x)
    return x.sum()


def after(x):
    @jax.checkpoint
    def layer(y, scale):
        return jnp.sin(y) * scale

    for scale in (jnp.float32(1), jnp.float32(2), jnp.float32(3)):
        x = layer(x, scale)
    return x.sum()
