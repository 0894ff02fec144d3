"""The examples of `non-array-argument`, apart from the rule for their length."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES: tuple[Bad | Good | Miss, ...] = (
    Bad(
        "a string, passed by keyword to a decorated function",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(x, kind):
    return jnp.tanh(x) if kind == "größer" else x

def owner(x):
    return layer(x, kind="größer")
#                        ^^^^^^^^
""",
        fixed="""
import functools
import jax
import jax.numpy as jnp

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, kind):
    return jnp.tanh(x) if kind == "größer" else x

def owner(x):
    return layer(x, "größer")
""",
        message=(
            "`kind` gets a string, but what jax.checkpoint passes on must be an array or a tree of arrays: the call "
            "raises TypeError; make the argument static (`static_argnums=(1,)`), or bind it with functools.partial "
            "before wrapping"
        ),
        runs=True,
    ),
    Bad(
        "a dtype and a function given to a bound method, an alias",
        """
from functools import partial
from jax import remat as rm
import jax.numpy as jnp

class Net:
    def block(self, x, dtype, act=None):
        x = x.astype(dtype)
        return x if act is None else act(x)

    def __call__(self, x):
        run = partial(rm, prevent_cse=False)(self.block)
        return run(x, jnp.float32, act=lambda v: jnp.sin(v))
#                     ^^^^^^^^^^^
#                                      ^^^^^^^^^^^^^^^^^^^^

def owner(x):
    return Net()(x)
""",
        fixed="""
from functools import partial
from jax import remat as rm
import jax.numpy as jnp

class Net:
    def block(self, x, dtype, act=None):
        x = x.astype(dtype)
        return x if act is None else act(x)

    def __call__(self, x):
        run = partial(rm, prevent_cse=False, static_argnums=(1, 2))(self.block)
        return run(x, jnp.float32, lambda v: jnp.sin(v))

def owner(x):
    return Net()(x)
""",
        runs=True,
    ),
    Bad(
        "a plain object",
        """
import dataclasses
import jax

@dataclasses.dataclass
class Config:
    scale: float = 2.0

def owner(x, use_remat=True):
    cfg = Config()

    def block(h, cfg):
        return h * cfg.scale

    if use_remat:
        block = jax.checkpoint(block)
    return block(x, cfg)
#                   ^^^
""",
        fixed="""
import dataclasses
import jax

@dataclasses.dataclass
class Config:
    scale: float = 2.0

def owner(x, use_remat=True):
    cfg = Config()

    def block(h, cfg):
        return h * cfg.scale

    if use_remat:
        block = jax.checkpoint(block, static_argnums=(1,))
    return block(x, cfg)
""",
        message=(
            "`cfg` gets an object of `Config`, which is no pytree, but what jax.checkpoint passes on must be an array or "
            "a tree of arrays: the call raises TypeError when `use_remat`; make the argument static "
            "(`static_argnums=(1,)`), or bind it with functools.partial before wrapping"
        ),
        runs=True,
    ),
    Bad(
        "the decorator on a method of a plain class",
        """
import jax
import jax.numpy as jnp

class Layer:
    def __init__(self, w):
        self.w = w

    @jax.checkpoint
#    ^^^^^^^^^^^^^^
    def __call__(self, x):
        return jnp.sin(x * self.w)

def owner(x):
    return Layer(2.0)(x)
""",
        message=(
            "jax.checkpoint traces `self` like every argument, and `Layer` is no pytree: calling this method raises "
            "TypeError; wrap the bound method where it is called, or a function of the arrays"
        ),
        runs=True,
    ),
    Bad(
        "a string that the caller hands on",
        """
import jax

@jax.checkpoint
def layer(x, mode):
    return -x if mode == "neg" else x

def loss(x, mode: str):
    return layer(x, mode)
#                   ^^^^
""",
        fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, mode):
    return -x if mode == "neg" else x

def loss(x, mode: str):
    return layer(x, mode)
""",
        severity=Severity.WARNING,
    ),
    Good(
        "numbers, None, trees of arrays, registered classes and modules of nnx",
        """
import typing
import jax
import jax.numpy as jnp
from flax import nnx, struct

@struct.dataclass
class Params:
    w: jax.Array

class Pair(typing.NamedTuple):
    a: jax.Array
    b: jax.Array

@jax.tree_util.register_pytree_node_class
class Box:
    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, _, children):
        return cls(*children)

    @jax.checkpoint
    def scaled(self, x):
        return x * self.w

@jax.checkpoint
def layer(x, tree, mask=None, kind="sin"):
    return jnp.sin(x) if kind == "sin" else x

def loss(x, module: nnx.Linear):
    a = layer(x, {"w": [x, 1.0], "none": None}, None) + layer(x, Params(x)) + layer(x, Pair(x, x))
    return a + layer(x, Box(x)) + layer(x, module) + Box(x).scaled(x)
""",
    ),
    Good(
        "static arguments, and what a partial binds inside",
        """
from functools import partial
import jax
import jax.numpy as jnp

def layer(x, kind, act):
    return act(x) if kind == "sin" else x

def loss(x):
    a = jax.checkpoint(layer, static_argnums=(1, 2))(x, "sin", jnp.sin)
    return a + jax.checkpoint(partial(layer, kind="sin", act=jnp.sin))(x)
""",
    ),
    Good(
        "filter_checkpoint keeps what is no array static",
        """
import equinox as eqx
import jax.numpy as jnp

@eqx.filter_checkpoint
def layer(x, kind, act):
    return act(x) if kind == "sin" else x

def loss(x):
    return layer(x, "sin", jnp.sin)
""",
    ),
    Good(
        "arguments of apply that are not handed on",
        """
import flax.linen as nn
import jax

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(x)

def run(variables, x, key):
    return nn.remat(Block)().apply(variables, x, rngs={"dropout": key}, mutable=["batch_stats"])
""",
    ),
    Miss(
        "a plain object out of another library",
        """
import jax
from settings import load

@jax.checkpoint
def layer(x, cfg):
    return x * cfg.scale

def loss(x):
    return layer(x, load("a.toml"))
""",
    ),
)
