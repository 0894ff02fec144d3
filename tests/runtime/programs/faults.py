"""Programs whose checkpointed form computes something else, or whose comparison would be empty."""

import jax
import jax.numpy as jnp
import numpy as np


@jax.checkpoint
def choose(x, training):
    if training is True:
        return x * 0.5
    return x


def flag(x):
    return choose(x, training=True)


def _with_wrong_gradient(change):
    """A sine whose gradient by `w2` is computed of a changed cotangent."""

    @jax.custom_vjp
    def f(params):
        return jax.tree.map(jnp.sin, params)

    def forward(params):
        return f(params), params

    def backward(params, cotangent):
        changed = {**cotangent, "w2": change(cotangent["w2"])}
        return (jax.tree.map(lambda p, c: jnp.cos(p) * c, params, changed),)

    f.defvjp(forward, backward)
    return f


CHANGES = {
    "one_percent": lambda c: c * 1.01,
    "one_element": lambda c: c.at[0, 0].set(0),
    "reversed": lambda c: c[::-1],
}


class Name:
    """A name as an argument: a tree without leaves."""

    def __init__(self, name):
        self.name = name


jax.tree_util.register_pytree_node(Name, lambda tree: ((), tree.name), lambda name, _: Name(name))


@jax.checkpoint
def _sine(params, change, marker):
    if isinstance(marker, int):  # plain Python: nothing is traced
        return jax.tree.map(jnp.sin, params)
    return _with_wrong_gradient(CHANGES[change.name])(params)


def gradient(params, change):
    return _sine(params, Name(change), 1)


@jax.checkpoint
def _differ(x, how, marker):
    traced = not isinstance(marker, int)
    results = {
        "value": lambda: x * (1.0001 if traced else 1.0),
        "dtype": lambda: x.astype(jnp.float16 if traced else jnp.float32),
        "shape": lambda: x[None] if traced else x,
        "tree": lambda: [x] if traced else x,
        "nan": lambda: x * (jnp.nan if traced else 1.0),
        "integer": lambda: (x, jnp.arange(3) + (1 if traced else 0)),
        "swap": lambda: (x, 2 * x) if traced else (2 * x, x),
    }
    return results[how.name]()


def differ(x, how):
    return _differ(x, Name(how), 1)


def raises(x):
    return jax.checkpoint(lambda y: y if y.sum() > -100 else -y)(x)


cell = {}


@jax.checkpoint
def _scaled(x):
    return x * cell["scale"]


def keeps_argument(x):
    cell["scale"] = x.sum()
    return _scaled(x)


def set_by_number(x, scale):
    cell["scale"] = scale
    return _scaled(x)


def no_checkpoint(x):
    return jnp.sin(x)


def no_float(x):
    return jax.checkpoint(lambda y: (y > 0).sum())(x)


def empty(x):
    return jax.checkpoint(jnp.sin)(x[:0])


def logarithm(x):
    return jax.checkpoint(jnp.log)(x)


def random_noise(x):
    noise = np.random.default_rng().normal(size=x.shape)
    return jax.checkpoint(jnp.sin)(x + noise.astype(np.float32))


def python_only(x):
    return jax.checkpoint(jnp.sin)(x) if x.sum() > -1e9 else x


def logs_its_loss(x):
    loss = jax.checkpoint(lambda y: jnp.sin(y).sum())(x)
    return [float(loss)]


def logs_a_stale_loss(x):
    losses = []
    for cell["scale"] in (1.0, 2.0):
        losses.append(float(_scaled(x).sum()))
    return losses


def wants_matrix(x):
    return jax.checkpoint(lambda y: y @ y)(x)
