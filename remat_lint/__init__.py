"""remat-lint: finds misuse of `jax.checkpoint` / `jax.remat` and proves that checkpointed code computes the same."""

__version__ = "0.1.0"
