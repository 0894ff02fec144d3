"""The examples of the rule about equinox modules."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "a decorated method of a module with an activation function",
        """
import equinox as eqx
import jax

class Net(eqx.Module):
    mlp: eqx.nn.MLP

    @jax.checkpoint
#    ^^^^^^^^^^^^^^
    def heavy(self, x):
        return self.mlp(x)

def owner(x):
    return Net(eqx.nn.MLP(4, 4, 4, 2, key=jax.random.key(0))).heavy(x)
""",
        """
import equinox as eqx
import jax

class Net(eqx.Module):
    mlp: eqx.nn.MLP

    @eqx.filter_checkpoint
    def heavy(self, x):
        return self.mlp(x)

def owner(x):
    return Net(eqx.nn.MLP(4, 4, 4, 2, key=jax.random.key(0))).heavy(x)
""",
        message="jax.checkpoint traces every leaf of the equinox module `self`, and the function in eqx.nn.MLP is no array: "
        "the call raises TypeError; use eqx.filter_checkpoint, which traces arrays only",
        runs=True,
    ),
    Bad(
        "a module itself",
        """
from equinox import Module, nn
import jax

class Nétz(Module):
    lin: nn.Linear

    def __call__(self, x):
        return jax.remat(self.lin)(x)
#              ^^^^^^^^^^^^^^^^^^^

def owner(x):
    return Nétz(nn.Linear(4, 4, key=jax.random.key(0)))(x)
""",
        """
import equinox
from equinox import Module, nn
import jax

class Nétz(Module):
    lin: nn.Linear

    def __call__(self, x):
        return equinox.filter_checkpoint(self.lin)(x)

def owner(x):
    return Nétz(nn.Linear(4, 4, key=jax.random.key(0)))(x)
""",
        message="jax.remat needs the hash of what it wraps, and the equinox module `self.lin` holds arrays, which have none: "
        "the call raises TypeError; use eqx.filter_checkpoint (on JAX 0.6.2 and newer)",
        runs=True,
    ),
    Bad(
        "a module as an argument, with a static flag beside it",
        """
import functools
from typing import Callable
import equinox as eqx
import jax

class Block(eqx.Module):
    lin: eqx.nn.Linear
    act: Callable

    def __call__(self, x):
        return self.act(self.lin(x))

@functools.partial(jax.checkpoint, static_argnums=(2,), prevent_cse=False)
#^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def run(block, x, twice):
    return block(block(x)) if twice else block(x)

def owner(x):
    block = Block(eqx.nn.Linear(4, 4, key=jax.random.key(0)), jax.nn.relu)
    return run(block, x, True)
""",
        """
import functools
from typing import Callable
import equinox as eqx
import jax

class Block(eqx.Module):
    lin: eqx.nn.Linear
    act: Callable

    def __call__(self, x):
        return self.act(self.lin(x))

@functools.partial(eqx.filter_checkpoint, prevent_cse=False)
def run(block, x, twice):
    return block(block(x)) if twice else block(x)

def owner(x):
    block = Block(eqx.nn.Linear(4, 4, key=jax.random.key(0)), jax.nn.relu)
    return run(block, x, True)
""",
        runs=True,
    ),
    Bad(
        "dropout tests a flag among its leaves",
        """
import equinox as eqx
import jax

drop = eqx.nn.Dropout(0.5)

def owner(x):
    f = jax.checkpoint(lambda m, x, key: m(x, key=key))
#       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return f(drop, x, jax.random.key(0))
""",
        """
import equinox as eqx
import jax

drop = eqx.nn.Dropout(0.5)

def owner(x):
    f = eqx.filter_checkpoint(lambda m, x, key: m(x, key=key))
    return f(drop, x, jax.random.key(0))
""",
        message="jax.checkpoint traces every leaf of the equinox module `drop`, so that eqx.nn.Dropout tests a tracer: the "
        "call raises TracerBoolConversionError; use eqx.filter_checkpoint, which traces arrays only",
        runs=True,
    ),
    Good(
        "captured modules",
        """
import equinox as eqx
import jax

class Net(eqx.Module):
    mlp: eqx.nn.MLP

    def __call__(self, xs):
        xs = jax.checkpoint(lambda x: jax.vmap(self.mlp)(x))(xs)
        return jax.checkpoint(jax.vmap(self.mlp))(xs)
""",
    ),
    Good(
        "modules whose leaves are arrays, as arguments",
        """
import equinox as eqx
import jax

class Block(eqx.Module):
    lin: eqx.nn.Linear
    name: str = eqx.field(static=True)

    @jax.checkpoint
    def __call__(self, x):
        return self.lin(x)

def run(block: Block, x):
    return jax.checkpoint(lambda b, x: b(x))(block, x)
""",
    ),
    Good(
        "equinox's own wrapper, and a module in two parts",
        """
import equinox as eqx
import jax

class Net(eqx.Module):
    mlp: eqx.nn.MLP

    @eqx.filter_checkpoint(policy=jax.checkpoint_policies.dots_saveable)
    def heavy(self, x):
        return self.mlp(x)

    def light(self, x):
        params, static = eqx.partition(self.mlp, eqx.is_array)
        return jax.checkpoint(lambda p, x: eqx.combine(p, static)(x))(params, x)
""",
    ),
    Miss(
        "a module whose class is not seen",
        """
import jax

def apply(model, x):
    return jax.checkpoint(model)(x)
""",
    ),
)
