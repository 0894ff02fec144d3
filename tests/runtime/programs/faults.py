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


def _under_trace_scaled(grad_factor, element=None):
    """A function that knows whether it is traced whole, and falsifies its gradient only then."""

    @jax.custom_vjp
    def f(params):
        return jax.tree.map(jnp.sin, params)

    def forward(params):
        return f(params), params

    def backward(params, cotangent):
        grads = jax.tree.map(lambda p, c: jnp.cos(p) * c, params, cotangent)
        wrong = grads["w2"]
        grads["w2"] = wrong * grad_factor if element is None else wrong.at[element].set(0.0)
        return (grads,)

    f.defvjp(forward, backward)
    return f


@jax.checkpoint
def _choose_rule(params, traced):
    if isinstance(traced, int):
        return jax.tree.map(jnp.sin, params)
    return _under_trace_scaled(1.01)(params)


def gradient_one_percent(params):
    return _choose_rule(params, 1)


@jax.checkpoint
def _choose_element(params, traced):
    if isinstance(traced, int):
        return jax.tree.map(jnp.sin, params)
    return _under_trace_scaled(1.0, (0, 0))(params)


def gradient_one_element(params):
    return _choose_element(params, 1)


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


class How:
    """A static leaf: a tree without children."""

    def __init__(self, name):
        self.name = name


jax.tree_util.register_pytree_node(How, lambda how: ((), how.name), lambda name, _: How(name))


def differ(x, how):
    return _differ(x, How(how), 1)


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
