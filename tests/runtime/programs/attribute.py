"""A checkpointed function reads an attribute that the training loop assigns."""

import jax
import jax.numpy as jnp


class Model:
    def __init__(self):
        self.w = jnp.ones(4)
        self.block = jax.checkpoint(lambda x: jnp.sin(x * self.w))
        self.pure_block = jax.checkpoint(lambda x, w: jnp.sin(x * w))


def before(x):
    model, total = Model(), 0.0
    for step in range(3):
        model.w = jnp.full(4, 1.0 + step)
        total += model.block(x).sum()
    return total


def after(x):
    model, total = Model(), 0.0
    for step in range(3):
        model.w = jnp.full(4, 1.0 + step)
        total += model.pure_block(x, model.w).sum()
    return total
