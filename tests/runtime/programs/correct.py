"""Programs whose checkpoints change nothing."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    value: jax.Array
    steps: int


@jax.checkpoint
def block(params, x):
    return jax.nn.gelu(x @ params["w1"]) @ params["w2"]


def mlp(params, x):
    for layer in params:
        x = x + block(layer, x)
    return {"loss": jnp.mean(x**2), "last": x}


def closure_in_loop(x, ws):
    for w in ws:
        x = jax.checkpoint(lambda y, w=w: jnp.sin(y) * w)(x)
    return x


@partial(jax.checkpoint, static_argnums=(1,))
def powers(x, n):
    return x**n if n > 1 else x


def static_number(x, n):
    return powers(x, n), n


def scanned(x, ws):
    def step(carry, w):
        return jnp.tanh(carry * w), carry.sum()

    return jax.lax.scan(jax.checkpoint(step), x, ws)


def branching(x):
    return jax.lax.cond(x.sum() > 0, jax.checkpoint(jnp.sin), jax.checkpoint(jnp.cos), x)


def nested(x):
    inner = jax.checkpoint(jnp.sin)
    return jax.checkpoint(lambda y: inner(y) * inner(2 * y))(x)


def with_policy(x, w):
    run = jax.checkpoint(lambda y: jnp.sin(y @ w) @ w, policy=jax.checkpoint_policies.dots_saveable)
    return run(x)


def mapped(x):
    return jax.vmap(jax.checkpoint(jax.nn.softmax))(x)


def dropout(x, key):
    @jax.checkpoint
    def drop(y, k):
        return jnp.where(jax.random.bernoulli(k, 0.8, y.shape), y / 0.8, 0.0)

    return [drop(x, k) for k in jax.random.split(key, 2)]


def own_gradient(x):
    return jax.grad(lambda y: jax.checkpoint(jnp.sin)(y).sum())(x) * 2


def compiled(x):
    return jax.jit(jax.checkpoint(lambda y: jnp.exp(-y) * y))(x)


def state(x, *, steps):
    return State(jax.checkpoint(jnp.sin)(x) * steps, steps)


def plain_integer(x):
    return jax.checkpoint(lambda y: (y * 2, 3))(x)


def whole_run():
    w = jnp.arange(1.0, 5.0)
    loss = jax.checkpoint(lambda v: jnp.sum(jnp.sin(v) ** 2))
    for _ in range(3):
        w = w - 0.1 * jax.grad(loss)(w)
    return w


def clipped(x):
    return jax.checkpoint(lambda y: jnp.clip(y, -1, 1) * y)(x)
