"""The examples of `arguments-to-wrapper`."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "the function's arguments",
        """
import jax

def layer(w, x):
    return x * w

def owner(x):
    return jax.checkpoint(layer, x, x)
#                                ^^^^
""",
        fixed="""
import jax

def layer(w, x):
    return x * w

def owner(x):
    return jax.checkpoint(layer)(x, x)
""",
        message=(
            "`jax.checkpoint` takes the function as its only positional argument, so `x, x` raises TypeError; the "
            "arguments go to the function it returns: `jax.checkpoint(layer)(x, x)`"
        ),
        runs=True,
    ),
    Bad(
        "a policy without its keyword, through aliases and on one branch",
        """
from jax import checkpoint_policies as cp, remat as rm

def build(layer, use_remat):
    if use_remat:
        layer = rm(layer, cp.dots_saveable)  # mémoire
#                         ^^^^^^^^^^^^^^^^
    return layer

def owner(x):
    return build(lambda h: h * h, True)(x)
""",
        fixed="""
from jax import checkpoint_policies as cp, remat as rm

def build(layer, use_remat):
    if use_remat:
        layer = rm(layer, policy=cp.dots_saveable)  # mémoire
    return layer

def owner(x):
    return build(lambda h: h * h, True)(x)
""",
        message=(
            "`rm` takes the function as its only positional argument, so `cp.dots_saveable` raises TypeError when "
            "`use_remat`; write `policy=cp.dots_saveable`"
        ),
        runs=True,
    ),
    Bad(
        "a module that is called, with options behind",
        """
import jax

class Net:
    def __call__(self, block, x):
        return jax.checkpoint(lambda b, h: b(h), block, x, prevent_cse=False)
#                                                ^^^^^^^^
""",
        fixed="""
import jax

class Net:
    def __call__(self, block, x):
        return jax.checkpoint(lambda b, h: b(h), prevent_cse=False)(block, x)
""",
        message=(
            "`jax.checkpoint` takes the function as its only positional argument, so `block, x` raises TypeError; "
            "the arguments go to the function it returns: `jax.checkpoint(lambda b, h: b(h))(block, x)`"
        ),
    ),
    Bad(
        "a bool that is meant as prevent_cse",
        """
import jax

@jax.jit
def step(x):
    return jax.checkpoint(lambda h: h * h, False)(x)
#                                          ^^^^^
""",
        fixed="""
import jax

@jax.jit
def step(x):
    return jax.checkpoint(lambda h: h * h, prevent_cse=False)(x)
""",
        message=(
            "`jax.checkpoint` takes the function as its only positional argument, so `False` raises TypeError; "
            "options are keywords"
        ),
    ),
    Bad(
        "a policy in the place of linen's `variables`",
        """
import jax
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

Block_ck = nn.remat(Block, jax.checkpoint_policies.dots_saveable)
#                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        fixed="""
import jax
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

Block_ck = nn.remat(Block, policy=jax.checkpoint_policies.dots_saveable)
""",
        message=(
            "the second positional parameter of `nn.remat` is `variables`, so the policy there raises "
            "InvalidFilterError when the module is used; write `policy=jax.checkpoint_policies.dots_saveable`"
        ),
    ),
    Bad(
        "a policy given to `partial` by position, where the decorated function comes behind it",
        """
import functools
import jax

@functools.partial(jax.checkpoint, jax.checkpoint_policies.dots_saveable)
#                                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def layer(x):
    return x * x

def owner(x):
    return layer(x)
""",
        fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
def layer(x):
    return x * x

def owner(x):
    return layer(x)
""",
        message=(
            "`jax.checkpoint` takes the function as its only positional argument, so "
            "`jax.checkpoint_policies.dots_saveable` raises TypeError; write "
            "`policy=jax.checkpoint_policies.dots_saveable`"
        ),
        runs=True,
    ),
    Bad(
        "the policy before the function",
        """
import jax

def owner(x):
    layer = jax.remat(jax.checkpoint_policies.dots_saveable, lambda h: h * h)
#                                                            ^^^^^^^^^^^^^^^
    return layer(x)
""",
        message=(
            "`jax.remat` takes the function as its only positional argument, so `lambda h: h * h` raises TypeError; "
            "the function comes first: `jax.remat(lambda h: h * h, policy=jax.checkpoint_policies.dots_saveable)`"
        ),
        runs=True,
    ),
    Good(
        "the call is split",
        """
import jax

def layer(w, x):
    return x * w

def owner(x):
    return jax.checkpoint(layer, policy=None)(x, x)
""",
    ),
    Good(
        "a helper of the project takes arguments and splits the call itself",
        """
import jax

def checkpoint(fn, *args, policy=None):
    return jax.checkpoint(fn, policy=policy)(*args)

def loss(w, x):
    return checkpoint(lambda a, b: a * b, w, x)
""",
    ),
    Good(
        "linen takes its options by position",
        """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

Block_ck = nn.remat(Block, True, True, False, False)
""",
    ),
    Good(
        "other functions called checkpoint",
        """
from torch.utils.checkpoint import checkpoint
import jax

def run(block, x):
    return checkpoint(block, x, use_reentrant=False)
""",
    ),
    Good(
        "a test of the error",
        """
import jax
import jax.numpy as jnp
import unittest

class WrapperTest(unittest.TestCase):
    def test_arguments_are_refused(self):
        with self.assertRaises(TypeError):
            jax.checkpoint(jnp.sin, 1.0)
        self.assertRaises(TypeError, lambda: jax.checkpoint(jnp.sin, 1.0))
""",
    ),
    Miss(
        "arguments behind a star",
        """
import jax

def run(f, *args):
    return jax.checkpoint(f, *args)
""",
    ),
)
