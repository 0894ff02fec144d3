"""The examples of `static-argnums-mismatch`, apart from the rule for their length."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES: tuple[Bad | Good | Miss, ...] = (
    Bad(
        "a list",
        """
import jax

def layer(x, train):
    return x * 2 if train else x

def owner(x):
    return jax.checkpoint(layer, static_argnums=[1])(x, True)
#                                               ^^^
""",
        fixed="""
import jax

def layer(x, train):
    return x * 2 if train else x

def owner(x):
    return jax.checkpoint(layer, static_argnums=(1,))(x, True)
""",
        message=(
            "`static_argnums` of jax.checkpoint must be an int or a tuple of ints; a list raises TypeError when the "
            "function is called"
        ),
        runs=True,
    ),
    Bad(
        "linen counts self",
        """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.1, deterministic=not train)(nn.Dense(8)(x))

Block_ck = nn.remat(Block, static_argnums=(1,))  # à décaler
#                                          ^
""",
        fixed="""
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.1, deterministic=not train)(nn.Dense(8)(x))

Block_ck = nn.remat(Block, static_argnums=(2,))  # à décaler
""",
        message=(
            "static_argnums index 1 means the array `x` here, and `train` stays traced: flax.linen.remat counts `self` as "
            "0, so `train` is 2"
        ),
    ),
    Bad(
        "a bound method has no self to count",
        """
from functools import partial
import jax

class Net:
    def forward(self, x, train):
        return x * 2 if train else x

    def __call__(self, x):
        run = partial(jax.checkpoint, static_argnums=(2,))(self.forward)
#                                                     ^
        return run(x, True)

def owner(x):
    return Net()(x)
""",
        fixed="""
from functools import partial
import jax

class Net:
    def forward(self, x, train):
        return x * 2 if train else x

    def __call__(self, x):
        run = partial(jax.checkpoint, static_argnums=(1,))(self.forward)
        return run(x, True)

def owner(x):
    return Net()(x)
""",
        message=(
            "static_argnums index 2 means no argument here, and `train` stays traced: a bound method does not count "
            "`self`, so `train` is 1"
        ),
        runs=True,
    ),
    Bad(
        "a plain function, counted from 1",
        """
import jax

@jax.jit
def owner(x):
    def layer(x, train, mask):
        return x * mask * 2 if train else x * mask

    return jax.checkpoint(layer, static_argnums=(2,))(x, True, x)
#                                                ^
""",
        fixed="""
import jax

@jax.jit
def owner(x):
    def layer(x, train, mask):
        return x * mask * 2 if train else x * mask

    return jax.checkpoint(layer, static_argnums=(1,))(x, True, x)
""",
        message=(
            "static_argnums index 2 means the array `mask` here, and `train` stays traced: arguments are numbered from 0, "
            "and `train` is 1"
        ),
        runs=True,
    ),
    Bad(
        "a static argument by keyword",
        """
from functools import partial
from jax import remat as rm

@partial(rm, static_argnums=(1,))
def layer(x, double):
    return x * 2 if double else x

def owner(x):
    return layer(x, double=True)
#                   ^^^^^^^^^^^
""",
        fixed="""
from functools import partial
from jax import remat as rm

@partial(rm, static_argnums=(1,))
def layer(x, double):
    return x * 2 if double else x

def owner(x):
    return layer(x, True)
""",
        message=(
            "`double` is static (index 1) but is passed by keyword here, so the index points past the positional "
            "arguments and the call raises ValueError; pass `double` by position"
        ),
        runs=True,
    ),
    Bad(
        "a static argument left to its default",
        """
import jax

layer = jax.checkpoint(lambda x, double=False: x * 2 if double else x, static_argnums=(1,))

def owner(x):
    return layer(x, True) + layer(x)
#                           ^^^^^^^^
""",
        message=(
            "`double` is static (index 1) but is left to its default here, so the index points past the positional "
            "arguments and the call raises ValueError; pass `double` by position"
        ),
        runs=True,
    ),
    Bad(
        "no such argument",
        """
import jax

def build(use_remat):
    def layer(w, x, train):
        return x * w if train else x

    return jax.checkpoint(layer, static_argnums=3) if use_remat else layer
#                                               ^

def owner(x):
    return build(True)(x, x, True)
""",
        message=(
            "static_argnums index 3 is out of range: `layer` takes 3 by position, numbered from 0; every call raises "
            "ValueError when `use_remat`"
        ),
        runs=True,
    ),
    Bad(
        "linen cannot count from the end",
        """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.1, deterministic=not train)(nn.Dense(8)(x))

Block_ck = nn.remat(Block, static_argnums=(-1,))
#                                          ^^
""",
        fixed="""
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.1, deterministic=not train)(nn.Dense(8)(x))

Block_ck = nn.remat(Block, static_argnums=(2,))
""",
        message=(
            "flax.linen.remat does not count from the end: it moves the index -1 by the arguments that it adds itself, "
            "and the argument that is meant stays traced; write 2"
        ),
    ),
    Good(
        "the positions are right, by each wrapper's own count",
        """
from flax import nnx
import flax.linen as nn
import jax

class Net:
    def forward(self, x, train):
        return x * 2 if train else x

class Drop(nn.Module):
    @nn.compact
    def __call__(self, x, deterministic):
        return nn.Dropout(0.5, deterministic=deterministic)(x)

def plain(x, train):
    return x * 2 if train else x

def loss(x):
    a = jax.checkpoint(Net().forward, static_argnums=(1,))(x, True)
    b = nnx.remat(plain, static_argnums=1)(x, False)
    return a + b + jax.remat(plain, static_argnums=-1)(x, False)

Drop_ck = nn.remat(Drop, static_argnums=(2,))
""",
    ),
    Good(
        "partitioning.remat counts without self and wants a sequence",
        """
import flax.linen as nn
from flax.linen import partitioning as nn_partitioning

remat = nn_partitioning.remat

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        return nn.Dropout(0.1, deterministic=not train)(x)

Block_ck = remat(Block, static_argnums=(1,))
""",
    ),
    Good(
        "a function that takes any number of arguments",
        """
import jax

@jax.jit
def step(x):
    return jax.checkpoint(lambda *args: args[0], static_argnums=(4,))(x, x, x, x, "sin")
""",
    ),
    Good(
        "a test of the error",
        """
import jax
import jax.numpy as jnp
import unittest

class WrapperTest(unittest.TestCase):
    def test_index_is_checked(self):
        run = jax.checkpoint(lambda x: x, static_argnums=(3,))
        with self.assertRaises(ValueError):
            run(jnp.ones(3))
""",
    ),
    Miss(
        "the numbers come from configuration",
        """
import jax

def build(layer, cfg):
    return jax.checkpoint(layer, static_argnums=list(cfg.static))
""",
    ),
)
