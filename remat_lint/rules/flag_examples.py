"""The examples of `branch-on-traced-flag`, apart from the rule for their length."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES: tuple[Bad | Good | Miss, ...] = (
    Bad(
        "a branch on a flag, passed by keyword to a decorated function",
        """
import jax

@jax.checkpoint
def layer(x, train):
    if train:
#      ^^^^^
        return x * 0.5
    return x

def owner(x):
    return layer(x, train=True)
""",
        fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    if train:
        return x * 0.5
    return x

def owner(x):
    return layer(x, True)
""",
        message=(
            "`train` arrives as a traced array inside jax.checkpoint, so asking whether it is true raises "
            "TracerBoolConversionError; make `train` static (`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Bad(
        "a count and a flag of a bound method, an alias, options in a partial",
        """
from functools import partial
from jax import remat as rm

class Net:
    def forward(self, x, double: bool = False, rounds: int = 1):
        for _ in range(rounds):
#                      ^^^^^^
            x = x * 2 if double else x + 1
#                        ^^^^^^
        return x

    def __call__(self, x):
        run = partial(rm, prevent_cse=False)(self.forward)
        return run(x, True, rounds=2)

def owner(x):
    return Net()(x)
""",
        fixed="""
from functools import partial
from jax import remat as rm

class Net:
    def forward(self, x, double: bool = False, rounds: int = 1):
        for _ in range(rounds):
            x = x * 2 if double else x + 1
        return x

    def __call__(self, x):
        run = partial(rm, prevent_cse=False, static_argnums=(1, 2))(self.forward)
        return run(x, True, 2)

def owner(x):
    return Net()(x)
""",
        message=(
            "`rounds` arrives as a traced array inside jax.remat, so using it as the bound of `range` raises "
            "TracerIntegerConversionError; make `rounds` static (`static_argnums=(2,)`)"
        ),
        runs=True,
    ),
    Bad(
        "a shape in a nested function that is checkpointed only on demand",
        """
import jax
import jax.numpy as jnp

def owner(x, use_remat=True):
    def größe(y, groups):
        rows = y.reshape((groups, -1))
#                         ^^^^^^^^^^
        return rows.sum(axis=0)

    block = jax.checkpoint(größe) if use_remat else größe
    return block(x, 2)
""",
        fixed="""
import jax
import jax.numpy as jnp

def owner(x, use_remat=True):
    def größe(y, groups):
        rows = y.reshape((groups, -1))
        return rows.sum(axis=0)

    block = jax.checkpoint(größe, static_argnums=(1,)) if use_remat else größe
    return block(x, 2)
""",
        message=(
            "`groups` arrives as a traced array inside jax.checkpoint when `use_remat`, so using it as a shape raises "
            "TypeError; make `groups` static (`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Bad(
        "a comparison in a helper that the function calls",
        """
import jax

def scaled(h, level):
    return h * 2 if level > 1 else h
#                   ^^^^^^^^^

@jax.checkpoint
def layer(x, level):
    return scaled(x, level)

def owner(x):
    return layer(x, 2)
""",
        fixed="""
import functools
import jax

def scaled(h, level):
    return h * 2 if level > 1 else h

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, level):
    return scaled(x, level)

def owner(x):
    return layer(x, 2)
""",
        message=(
            "`level` arrives as a traced array inside jax.checkpoint, so asking for the outcome of a computation with it "
            "raises TracerBoolConversionError; make `level` static (`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Bad(
        "a case with a number compares, and raises",
        """
import jax

@jax.checkpoint
def pick(x, mode):
    match mode:
        case 1:
#            ^
            return x * 2
        case _:
            return x

def owner(x):
    return pick(x, 1)
""",
        fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
def pick(x, mode):
    match mode:
        case 1:
            return x * 2
        case _:
            return x

def owner(x):
    return pick(x, 1)
""",
        runs=True,
    ),
    Bad(
        "linen: the flag of a layer",
        """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool):
        return nn.Dropout(0.1, deterministic=not train)(nn.Dense(8)(x))
#                                            ^^^^^^^^^

class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool):
        return nn.remat(Block)()(x, train)
""",
        fixed="""
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool):
        return nn.Dropout(0.1, deterministic=not train)(nn.Dense(8)(x))

class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train: bool):
        return nn.remat(Block, static_argnums=(2,))()(x, train)
""",
        message=(
            "a bool or number passed as `train` arrives as a traced array inside flax.linen.remat, so asking whether it "
            "is true raises TracerBoolConversionError; make `train` static (`static_argnums=(2,)`)"
        ),
        severity=Severity.WARNING,
    ),
    Bad(
        "linen: a layer that is wrapped itself",
        """
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        norm = nn.remat(nn.BatchNorm)()
        return norm(x, use_running_average=not train)
#                                          ^^^^^^^^^
""",
        message=(
            "`use_running_average` arrives as a traced array inside flax.linen.remat, and flax.linen.BatchNorm asks "
            "whether it is true, which raises TracerBoolConversionError; give `use_running_average` where the layer is "
            "made"
        ),
    ),
    Good(
        "None tests, shapes, dict tests and a default that no call passes",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(x, mask=None, train=True):
    if mask is not None and x.ndim == 1 and len(x) > 1:
        x = x * mask
    return jnp.sin(x) if train else x

def loss(x):
    return layer(x) + layer(x, None)
""",
    ),
    Good(
        "a flag that is bound by partial or static, and a number that is only computed with",
        """
from functools import partial
import jax
import jax.numpy as jnp
from flax import nnx

def layer(x, train, n):
    return sum(jnp.sin(x) for _ in range(n)) if train else x

def scaled(x, s, i):
    return jnp.where(s > 1, x * s, x)[i] ** s

def loss(x):
    a = jax.checkpoint(partial(layer, train=False, n=1))(x)
    b = partial(jax.checkpoint, static_argnums=(1, 2))(layer)(x, True, 2)
    c = nnx.remat(layer, static_argnums=(1, 2))(x, True, n=2)
    return a + b + c + jax.checkpoint(scaled)(x, 2.0, 1)
""",
    ),
    Good(
        "a flag that only the plain function gets",
        """
import jax
import jax.numpy as jnp

def stage(x, query_mask=False):
    return jnp.ones_like(x) if query_mask else jnp.sin(x)

def pipeline(x, remat):
    mask = stage(x, query_mask=True)
    run = jax.checkpoint(stage) if remat else stage
    return run(x) * mask
""",
    ),
    Good(
        "filter_checkpoint keeps what is no array static",
        """
import equinox as eqx

@eqx.filter_checkpoint
def layer(x, train, n):
    return x * n if train else x[:n]

def loss(x):
    return layer(x, True, 2)
""",
    ),
    Good(
        "a flag that was made a Python value before",
        """
import jax

def build(train):
    @jax.checkpoint
    def layer(x):
        return x * 2 if train else x

    return layer
""",
    ),
    Miss(
        "the value of an array decides too, so that a static number would not help",
        """
import jax

@jax.checkpoint
def layer(x, limit):
    return x if x.sum() > limit else -x

def loss(x):
    return layer(x, 0.5)
""",
    ),
    Miss(
        "the flag goes into a dict",
        """
import jax

@jax.checkpoint
def layer(x, options):
    return x * 2 if options["train"] else x

def loss(x):
    return layer(x, {"train": True})
""",
    ),
)
