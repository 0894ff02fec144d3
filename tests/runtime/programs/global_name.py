"""A checkpointed function reads a global that its owner assigns, and leaves changed behind."""

import jax
import jax.numpy as jnp

rate = jnp.float32(1)


@jax.checkpoint
def frozen(x):
    return jnp.cos(x) * rate


@jax.checkpoint
def layer(x, factor):
    return jnp.cos(x) * factor


def before(x):
    global rate  # noqa: PLW0603 - the program under test
    first = frozen(x)
    rate = rate + 2
    return first.sum() + frozen(x).sum()


def after(x):
    global rate  # noqa: PLW0603 - the program under test
    first = layer(x, rate)
    rate = rate + 2
    return first.sum() + layer(x, rate).sum()
