"""The examples of the rule about state of flax.nnx modules."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "a module as an argument",
        """
import jax
from flax import nnx

norm = nnx.BatchNorm(1, rngs=nnx.Rngs(0))

def owner(x):
    jax.checkpoint(lambda m, x: m(x))(norm, x[:, None])
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return norm.mean[...]
""",
        """
import jax
from flax import nnx

norm = nnx.BatchNorm(1, rngs=nnx.Rngs(0))

def owner(x):
    nnx.remat(lambda m, x: m(x))(norm, x[:, None])
    return norm.mean[...]
""",
        message="nnx.BatchNorm updates its running statistics, but jax.checkpoint works on a copy of the module: the change "
        "is lost without an error, and the running statistics never move; use nnx.remat (flax 0.10.7 and older: the call "
        "raises TypeError)",
    ),
    Bad(
        "a captured module",
        """
import jax
from flax import nnx

class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.lin = nnx.Linear(1, 1, rngs=rngs)
        self.norm = nnx.BatchNorm(1, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.lin(x))

class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.blöcke = nnx.List([Block(rngs) for _ in range(2)])

    def __call__(self, x):
        for block in self.blöcke:
            x = jax.remat(block)(x)
#               ^^^^^^^^^^^^^^^^
        return x

def owner(x):
    net = Net(nnx.Rngs(0))
    net(x[:, None])
    return net.blöcke[0].norm.mean[...]
""",
        """
import jax
from flax import nnx

class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.lin = nnx.Linear(1, 1, rngs=rngs)
        self.norm = nnx.BatchNorm(1, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.lin(x))

class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.blöcke = nnx.List([Block(rngs) for _ in range(2)])

    def __call__(self, x):
        for block in self.blöcke:
            x = nnx.remat(lambda mdl, *args: mdl(*args))(block, x)
        return x

def owner(x):
    net = Net(nnx.Rngs(0))
    net(x[:, None])
    return net.blöcke[0].norm.mean[...]
""",
        message="nnx.BatchNorm updates its running statistics, but a module that is captured cannot change under jax.remat: "
        "the call raises TraceContextError; use nnx.remat over a function that takes the module as an argument",
        runs=True,
    ),
    Bad(
        "a decorated method that counts its calls",
        """
from functools import partial
import jax
import jax.numpy as jnp
import flax.nnx as nn

class Block(nn.Module):
    def __init__(self):
        self.calls = nn.Variable(jnp.zeros(()))

    @partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
#    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    def __call__(self, x):
        self.calls[...] += 1
        return jnp.sin(x)

def owner(x):
    block = Block()
    block(x)
    return block.calls[...]
""",
        """
from functools import partial
import jax
import jax.numpy as jnp
import flax.nnx as nn

class Block(nn.Module):
    def __init__(self):
        self.calls = nn.Variable(jnp.zeros(()))

    @partial(nn.remat, policy=jax.checkpoint_policies.dots_saveable)
    def __call__(self, x):
        self.calls[...] += 1
        return jnp.sin(x)

def owner(x):
    block = Block()
    block(x)
    return block.calls[...]
""",
    ),
    Bad(
        "a nested function that captures self, with dropout",
        """
import jax
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        @jax.checkpoint
#        ^^^^^^^^^^^^^^
        def layer(x):
            return self.drop(nnx.relu(x))

        return layer(x)

def owner(x):
    return Net(nnx.Rngs(0))(x)
""",
        """
import jax
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.drop = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        @nnx.remat
        def layer(self, x):
            return self.drop(nnx.relu(x))

        return layer(self, x)

def owner(x):
    return Net(nnx.Rngs(0))(x)
""",
        runs=True,
    ),
    Bad(
        "a module that is rebuilt inside, without its state coming back",
        """
import jax
from flax import nnx

norm = nnx.BatchNorm(1, rngs=nnx.Rngs(0))

def owner(x):
    graphdef, state = nnx.split(norm)

    @jax.checkpoint
#    ^^^^^^^^^^^^^^
    def pure(state, x):
        model = nnx.merge(graphdef, state)
        return model(x)

    pure(state, x[:, None])
    return norm.mean[...]
""",
    ),
    Good(
        "the state is returned and put back",
        """
import jax
from flax import nnx

class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)

    def __call__(self, x):
        return self.norm(x)

def forward(block: Block, x):
    graphdef, state = nnx.split(block)

    @jax.checkpoint
    def pure(state, x):
        merged = nnx.merge(graphdef, state)
        return merged(x), nnx.state(merged)

    y, new = pure(state, x)
    nnx.update(block, new)
    return y
""",
    ),
    Good(
        "modules without state, captured or as an argument",
        """
import jax
from flax import nnx

class Mlp(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.inner = nnx.Linear(3, 8, rngs=rngs)
        self.outer = nnx.Linear(8, 3, rngs=rngs)
        self.norm = nnx.LayerNorm(3, rngs=rngs)
        self.drop = nnx.Dropout(0.1, deterministic=True)

    def hidden(self, x):
        return self.drop(self.outer(nnx.gelu(self.inner(self.norm(x)))))

    def __call__(self, x):
        x = jax.checkpoint(self.hidden)(x)
        x = jax.checkpoint(lambda x: self.hidden(x))(x)
        return jax.checkpoint(lambda m, x: m(x))(self.inner, x)
""",
    ),
    Good(
        "nnx.remat over a function that takes the module",
        """
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.norm = nnx.BatchNorm(3, rngs=rngs)

    @nnx.remat
    def __call__(self, x):
        return self.norm(x)

def apply(net: Net, x):
    return nnx.remat(lambda m, x: m.norm(x))(net, x)
""",
    ),
    Miss(
        "a module whose class is not seen",
        """
import jax

def apply(model, x):
    return jax.checkpoint(lambda m, x: m(x))(model, x)
""",
    ),
)
