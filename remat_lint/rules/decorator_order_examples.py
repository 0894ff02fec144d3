"""The examples of `decorator-order`."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "above staticmethod",
        """
import functools
import jax

class Net:
    @functools.partial(jax.checkpoint, prevent_cse=False)
#    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    @staticmethod  # sans self
    def block(x):
        return x * x

def owner(x):
    return Net().block(x)
""",
        fixed="""
import functools
import jax

class Net:
    @staticmethod
    @functools.partial(jax.checkpoint, prevent_cse=False)  # sans self
    def block(x):
        return x * x

def owner(x):
    return Net().block(x)
""",
        message=(
            "`jax.checkpoint` above `@staticmethod` wraps the static method object, so that calling `block` raises "
            "TypeError; put `@staticmethod` on top"
        ),
        runs=True,
    ),
    Bad(
        "above a property, which becomes a method",
        """
from jax import remat as rm

class Net:
    @rm
#    ^^
    @property
    def échelle(self):
        return 2.0

def owner(x):
    return x * Net().échelle
""",
        message=(
            "`jax.remat` above `@property` makes a method of `échelle`: reading it gives a bound method and not the value, "
            "without an error; wrap a function that the property calls"
        ),
        runs=True,
    ),
    Bad(
        "below classmethod",
        """
import jax

class Net:
    scale = 2.0

    @classmethod
    @jax.checkpoint
#    ^^^^^^^^^^^^^^
    def block(cls, x):
        return x * cls.scale

def owner(x):
    return Net.block(x)
""",
        message=(
            "`jax.checkpoint` below `@classmethod` gets the class as an argument to trace: calling `block` raises "
            "TypeError; wrap a function that the class method calls"
        ),
        runs=True,
    ),
    Bad(
        "a function with its own rules",
        """
import jax
import jax.numpy as jnp

def owner(x):
    @jax.checkpoint
#    ^^^^^^^^^^^^^^
    @jax.custom_vjp
    def sine(v):
        return jnp.sin(v)

    sine.defvjp(lambda v: (jnp.sin(v), v), lambda v, g: (g * jnp.cos(v),))  # les règles
    return sine(x)
""",
        fixed="""
import jax
import jax.numpy as jnp

def owner(x):
    @jax.custom_vjp
    def sine(v):
        return jnp.sin(v)

    sine.defvjp(lambda v: (jnp.sin(v), v), lambda v, g: (g * jnp.cos(v),))  # les règles
    sine = jax.checkpoint(sine)
    return sine(x)
""",
        message=(
            "`jax.checkpoint` returns a plain function, which has no `.defvjp`: defining the rules of the "
            "`jax.custom_vjp` function on it raises AttributeError; wrap it after the rules are defined"
        ),
        runs=True,
    ),
    Bad(
        "below nn.compact",
        """
import flax.linen as nn
import jax

class Block(nn.Module):
    @nn.compact
#    ^^^^^^^^^^
    @nn.remat
    def __call__(self, x):
        return nn.Dense(4)(x)

def owner(x):
    return Block().init_with_output(jax.random.key(0), x)[0]
""",
        fixed="""
import flax.linen as nn
import jax

class Block(nn.Module):
    @nn.remat
    @nn.compact
    def __call__(self, x):
        return nn.Dense(4)(x)

def owner(x):
    return Block().init_with_output(jax.random.key(0), x)[0]
""",
        message=(
            "`@nn.compact` above `flax.linen.remat` does not reach the method inside, so that making a submodule or a "
            "parameter in it fails; put `@nn.compact` below"
        ),
        runs=True,
    ),
    Bad(
        "an argument that is static for jit alone",
        """
from functools import partial
import jax

@partial(jax.jit, static_argnums=(1,))
@jax.checkpoint
#^^^^^^^^^^^^^^
def layer(x, train):
    if train:
        return x * 2
    return x

def owner(x):
    return layer(x, True)
""",
        fixed="""
from functools import partial
import jax

@partial(jax.jit, static_argnums=(1,))
@partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    if train:
        return x * 2
    return x

def owner(x):
    return layer(x, True)
""",
        message=(
            "`jax.jit` marks `train` static, and the checkpoint inside of it traces it all the same: asking whether it is "
            "true raises TracerBoolConversionError; name it here too: `static_argnums=(1,)`"
        ),
        runs=True,
    ),
    Bad(
        "the same with plain calls, by name",
        """
import jax

def scale(x, times):
    for _ in range(times):
        x = x * 2
    return x

def owner(x):
    inner = jax.checkpoint(scale)
#           ^^^^^^^^^^^^^^^^^^^^^
    outer = jax.jit(inner, static_argnames="times")
    return outer(x, times=2)
""",
        fixed="""
import jax

def scale(x, times):
    for _ in range(times):
        x = x * 2
    return x

def owner(x):
    inner = jax.checkpoint(scale, static_argnums=(1,))
    outer = jax.jit(inner, static_argnames="times")
    return outer(x, 2)
""",
        message=(
            "`jax.jit` marks `times` static, and the checkpoint inside of it traces it all the same: using it as the bound "
            "of `range` raises TracerIntegerConversionError; name it here too: `static_argnums=(1,)`"
        ),
        runs=True,
    ),
    Bad(
        "the checkpoint around the jit",
        """
import functools
import jax

@jax.checkpoint
#^^^^^^^^^^^^^^
@functools.partial(jax.jit, static_argnums=(1,))
def layer(x, times):
    return x * times

def owner(x):
    return layer(x, 2)
""",
        fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
@functools.partial(jax.jit, static_argnums=(1,))
def layer(x, times):
    return x * times

def owner(x):
    return layer(x, 2)
""",
        message=(
            "`times` is static for the `jax.jit` inside, which gets a tracer from this checkpoint: the call raises "
            "ValueError; name it here too: `static_argnums=(1,)`"
        ),
        runs=True,
    ),
    Bad(
        "what only a jitted function has",
        """
import jax

def layer(x):
    return x * x

def owner(x):
    run = jax.checkpoint(jax.jit(layer))
    return run.lower(x)
#          ^^^^^^^^^
""",
        message=(
            "`jax.checkpoint` returns a plain function, which has no `.lower`: this raises AttributeError; compile what "
            "the checkpoint returns, `jax.jit(run).lower`"
        ),
        runs=True,
    ),
    Good(
        "every order the right way round",
        """
from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp

@jax.custom_vjp
def sine(x):
    return jnp.sin(x)

sine.defvjp(lambda x: (sine(x), x), lambda x, g: (g * jnp.cos(x),))
sine_ck = jax.checkpoint(sine)

class Net:
    @staticmethod
    @jax.checkpoint
    def block(x):
        return x * x

class Block(nn.Module):
    @nn.remat
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

@partial(jax.jit, static_argnums=(1,))
@partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    return x * 2 if train else x

lowered = jax.jit(jax.checkpoint(sine)).lower(1.0)
""",
    ),
    Good(
        "a static argument of jit that the body uses in arithmetic only",
        """
from functools import partial
import jax

@partial(jax.jit, static_argnums=(1,))
@jax.checkpoint
def scale(x, factor):
    return x * factor

result = scale(1.0, 2)
""",
    ),
    Good(
        "a class method with the class static, and one under filter_checkpoint",
        """
from functools import partial

import equinox as eqx
import jax

class Net:
    scale = 2.0

    @classmethod
    @partial(jax.checkpoint, static_argnums=(0,))
    def block(cls, x):
        return x * cls.scale

    @classmethod
    @eqx.filter_checkpoint
    def other(cls, x):
        return x * cls.scale
""",
    ),
    Good(
        "compact above remat where the submodules are made in setup",
        """
import flax.linen as nn

class Block(nn.Module):
    def setup(self):
        self.dense = nn.Dense(3)

    @nn.compact
    @nn.remat
    def __call__(self, x):
        return self.dense(x)
""",
    ),
    Good(
        "rules defined on the function before it is wrapped by another name",
        """
import jax

def build(f, forward, backward):
    inner = jax.custom_vjp(f)
    inner.defvjp(forward, backward)
    return jax.checkpoint(inner)
""",
    ),
    Miss(
        "static arguments that come from elsewhere",
        """
import jax
from settings import STATIC

def layer(x, train):
    return x * 2 if train else x

run = jax.jit(jax.checkpoint(layer), static_argnums=STATIC)
""",
    ),
)
