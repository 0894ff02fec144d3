"""A small model whose checkpoints compute something else than they seem to: try `remat-lint` on it."""

import jax
import jax.numpy as jnp


# remat-lint: example(x=f32[4, 8])
def forward(x):
    """Apply three layers, each checkpointed."""
    scales = [jnp.full(8, 1.0), jnp.full(8, 2.0), jnp.full(8, 3.0)]

    @jax.checkpoint
    def layer(h):
        return jnp.tanh(h) * scale

    for scale in scales:  # noqa: B007 - the mistake that this file shows
        x = layer(x)
    return x


SAVED = ("hidden", "output")


def build():
    """Make a block that is meant to keep two named values."""
    return jax.checkpoint(forward, policy=jax.checkpoint_policies.save_only_these_names(SAVED))
