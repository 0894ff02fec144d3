"""The examples of the rules about linen modules."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

THROUGH_CHECKPOINT = (
    Bad(
        "a submodule",
        """
import jax
import flax.linen as nn

class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    def __call__(self, x):
        return jax.checkpoint(self.dense)(x)
#              ^^^^^^^^^^^^^^^^^^^^^^^^^^

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        """
import jax
import flax.linen as nn

class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    def __call__(self, x):
        return nn.remat(lambda mdl, *args: mdl(*args))(self.dense, x)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        message="jax.checkpoint cannot wrap the linen module `self.dense`: a module that holds variables has no hash, so "
        "the call raises TypeError; use nn.remat",
        runs=True,
    ),
    Bad(
        "a layer that is made inside",
        """
import jax
from flax import linen as nn

class Net(nn.Module):
    größe: int = 4

    @nn.compact
    def __call__(self, x):
        block = jax.remat(lambda y: nn.relu(nn.Dense(self.größe)(y)), prevent_cse=False)
#               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return block(x)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        """
import jax
from flax import linen as nn

class Net(nn.Module):
    größe: int = 4

    @nn.compact
    def __call__(self, x):
        block = nn.remat(lambda self, y: nn.relu(nn.Dense(self.größe)(y)), prevent_cse=False)
        return block(self, x)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        runs=True,
    ),
    Bad(
        "a decorator on a method",
        """
from functools import partial
import jax
import flax.linen as nn

class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    @partial(jax.checkpoint, static_argnums=(2,))
#    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    def hidden(self, x, train):
        return self.dense(x) if train else x

    def __call__(self, x):
        return self.hidden(x, True)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        """
from functools import partial
import jax
import flax.linen as nn

class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    @partial(nn.remat, static_argnums=(2,))
    def hidden(self, x, train):
        return self.dense(x) if train else x

    def __call__(self, x):
        return self.hidden(x, True)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        message="jax.checkpoint traces the linen module `self` as an argument: it is no array, so the call raises TypeError; "
        "use nn.remat",
        runs=True,
    ),
    Bad(
        "a nested function that calls the layers of a list, with a flag",
        """
import functools
import jax
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(nn.LayerNorm()(x))

class Net(nn.Module):
    remat: bool = True

    def setup(self):
        self.blocks = [Block() for _ in range(2)]

    def __call__(self, x, train: bool = False):
        def run(x, train):
            for block in self.blocks:
                x = block(x)
            return x if train else 2 * x

        if self.remat:
            run = jax.checkpoint(run, static_argnums=(1,))
#                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return run(x, train)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        """
import functools
import jax
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(nn.LayerNorm()(x))

class Net(nn.Module):
    remat: bool = True

    def setup(self):
        self.blocks = [Block() for _ in range(2)]

    def __call__(self, x, train: bool = False):
        def run(self, x, train):
            for block in self.blocks:
                x = block(x)
            return x if train else 2 * x

        if self.remat:
            run = nn.remat(run, static_argnums=(2,))
        return run(self, x, train)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        message="what `LayerNorm` holds is made while jax.checkpoint traces, so on `init` it is a tracer that raises "
        "UnexpectedTracerError when it is used when `self.remat`; use nn.remat, which lifts the variables of a module",
        runs=True,
    ),
    Bad(
        "values that a module collects",
        """
import jax
import jax.numpy as jnp
import flax.linen as nn

class Probe(nn.Module):
    def __call__(self, x):
        @jax.checkpoint
#        ^^^^^^^^^^^^^^
        def layer(x):
            h = jnp.sin(x)
            self.sow("intermediates", "mean", h.mean())
            return h

        return layer(x)

def owner(x):
    _, kept = Probe().apply({}, x, mutable=["intermediates"])
    return kept["intermediates"]["mean"][0] + 1
""",
        """
import jax
import jax.numpy as jnp
import flax.linen as nn

class Probe(nn.Module):
    def __call__(self, x):
        @nn.remat
        def layer(self, x):
            h = jnp.sin(x)
            self.sow("intermediates", "mean", h.mean())
            return h

        return layer(self, x)

def owner(x):
    _, kept = Probe().apply({}, x, mutable=["intermediates"])
    return kept["intermediates"]["mean"][0] + 1
""",
        runs=True,
    ),
    Good(
        "a pure function outside of the module",
        """
import jax
import flax.linen as nn

model = nn.Dense(4)

def loss(variables, x):
    return jax.checkpoint(model.apply)(variables, x).sum()

def other(variables, x):
    return jax.checkpoint(lambda v, x: model.apply(v, x))(variables, x).sum()
""",
    ),
    Good(
        "arrays that the module has made before",
        """
import jax
import jax.numpy as jnp
import flax.linen as nn

class Attention(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x):
        q, k = nn.Dense(self.width)(x), nn.Dense(self.width)(x)
        scale = self.param("scale", nn.initializers.ones, (self.width,))

        @jax.checkpoint
        def attend(q, k):
            return nn.softmax(q @ k.T / jnp.sqrt(self.width)) * scale

        return attend(q, k)
""",
    ),
    Good(
        "linen's own wrapper, and dropout, which makes nothing",
        """
import jax
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.remat(nn.Dense)(4)(x)
        return jax.checkpoint(lambda y: nn.Dropout(0.5, deterministic=False)(nn.gelu(y)))(x)
""",
    ),
    Good(
        "parameters that are made outside on init",
        """
import jax
import flax.linen as nn

class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    def block(self, x):
        return self.dense(x)

    def __call__(self, x):
        run = self.block
        if not self.is_initializing():
            run = jax.checkpoint(self.block)
        return run(x)
""",
    ),
    Miss(
        "a module that comes through a call of something unknown",
        """
import jax
import flax.linen as nn
from registry import make_layer

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        layer = make_layer("dense")
        return jax.checkpoint(lambda y: layer(y))(x)
""",
    ),
)
