"""Programs for claims about modules of flax, equinox and haiku that `no_remat` cannot show: what each gives, or raises."""

NNX = """
import jax
import jax.numpy as jnp
from flax import nnx

class Block(nnx.Module):
    def __init__(self):
        self.calls = nnx.Variable(jnp.zeros(()))

    def __call__(self, x):
        self.calls[...] += 1
        return x

def owner(x):
    block = Block()
"""
LINEN = """
import jax
import flax.linen as nn

class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    def __call__(self, x):
"""
APPLIED = """
def owner(x):
    net = Net()
    return (net.apply(net.init(jax.random.key(0), x), x) * 0).sum()
"""
HAIKU = """
import haiku as hk
import jax
import jax.numpy as jnp

def net(x):
"""

FACTS = {
    "nnx: what an argument of jax.checkpoint counts is lost": (
        NNX + "    jax.checkpoint(lambda m, x: m(x))(block, x)\n    return block.calls[...]\n",
        [0.0],
    ),
    "nnx: nnx.remat carries it out": (
        NNX + "    nnx.remat(lambda m, x: m(x))(block, x)\n    return block.calls[...]\n",
        [1.0],
    ),
    "nnx: a captured module cannot change under jax.checkpoint": (
        NNX + "    return jax.checkpoint(lambda x: block(x))(x)\n",
        "TraceContextError",
    ),
    "nnx: nor under nnx.remat": (NNX + "    return nnx.remat(lambda x: block(x))(x)\n", "TraceContextError"),
    "nnx: a module that is rebuilt inside loses its count": (
        NNX
        + "    graph, state = nnx.split(block)\n"
        + "    jax.checkpoint(lambda s, x: nnx.merge(graph, s)(x))(state, x)\n    return block.calls[...]\n",
        [0.0],
    ),
    "nnx: a module that is returned keeps it": (
        NNX
        + "    _, block = jax.checkpoint(lambda m, x: (m(x), m))(block, x)\n    return block.calls[...]\n",
        [1.0],
    ),
    "linen: a submodule that was called before is right inside": (
        LINEN
        + "        y = self.dense(x)\n        return jax.checkpoint(lambda y: self.dense(y))(y)\n"
        + APPLIED,
        [0.0],
    ),
    "linen: parameters made inside are tracers": (
        LINEN + "        return jax.checkpoint(lambda y: self.dense(y))(x)\n" + APPLIED,
        "UnexpectedTracerError",
    ),
    "linen: is_initializing keeps them outside": (
        LINEN
        + "        run = self.dense if self.is_initializing() else jax.checkpoint(lambda y: self.dense(y))\n"
        + "        return run(x)\n"
        + APPLIED,
        [0.0],
    ),
    "haiku: one mask twice": (
        HAIKU
        + "    f = jax.checkpoint(lambda y: jax.random.normal(hk.next_rng_key(), y.shape))\n    return f(x) - f(x)\n"
        + "\ndef owner(x):\n    return hk.transform(net).apply({}, jax.random.key(0), x)\n",
        [0.0, 0.0, 0.0, 0.0],
    ),
    "haiku: the next key raises": (
        HAIKU
        + "    y = jax.checkpoint(lambda y: jax.random.normal(hk.next_rng_key(), y.shape))(x)\n"
        + "    return y + jax.random.normal(hk.next_rng_key(), x.shape)\n"
        + "\ndef owner(x):\n    return hk.transform(net).apply({}, jax.random.key(0), x)\n",
        "UnexpectedTracerError",
    ),
}
