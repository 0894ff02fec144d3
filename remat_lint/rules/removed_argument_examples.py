"""The examples of `removed-argument`."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "static arguments by name, which are ignored",
        """
from functools import partial

import jax
import jax.numpy as jnp

@partial(jax.checkpoint, static_argnames=("entraîné",))
#                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
def layer(x, entraîné=True):
    return jnp.tanh(x) if entraîné else x

def owner(x):
    return layer(x, entraîné=True)
""",
        fixed="""
from functools import partial

import jax
import jax.numpy as jnp

@partial(jax.checkpoint, static_argnums=(1,))
def layer(x, entraîné=True):
    return jnp.tanh(x) if entraîné else x

def owner(x):
    return layer(x, True)
""",
        message=(
            "`jax.checkpoint` accepts `static_argnames` and ignores it (before JAX 0.10 it is a TypeError): `entraîné` "
            "stays traced; write `static_argnums=(1,)` and pass by position"
        ),
        runs=True,
    ),
    Bad(
        "static arguments by name, which jax.remat does not have",
        """
import jax

class Net:
    def __init__(self):
        self.layer = jax.remat(self._layer, static_argnames="flag")
#                                           ^^^^^^^^^^^^^^^^^^^^^^

    def _layer(self, x, flag):
        return x * 2 if flag else x

    def __call__(self, x):
        return self.layer(x, flag=True)

def owner(x):
    return Net()(x)
""",
        fixed="""
import jax

class Net:
    def __init__(self):
        self.layer = jax.remat(self._layer, static_argnums=(1,))

    def _layer(self, x, flag):
        return x * 2 if flag else x

    def __call__(self, x):
        return self.layer(x, True)

def owner(x):
    return Net()(x)
""",
        message=(
            "`jax.remat` has no parameter `static_argnames`, so the call raises TypeError; write "
            "`static_argnums=(1,)` and pass by position"
        ),
        runs=True,
    ),
    Bad(
        "a keyword of another library, through an alias and on one branch",
        """
from jax import checkpoint as ck

def build(layer, use_remat):
    if use_remat:
        layer = ck(layer, use_reentrant=False)  # comme torch
#                         ^^^^^^^^^^^^^^^^^^^
    return layer

def owner(x):
    return build(lambda h: h * h, True)(x)
""",
        fixed="""
from jax import checkpoint as ck

def build(layer, use_remat):
    if use_remat:
        layer = ck(layer)  # comme torch
    return layer

def owner(x):
    return build(lambda h: h * h, True)(x)
""",
        message=(
            "`jax.checkpoint` has no parameter `use_reentrant`, so the call raises TypeError when `use_remat`; it "
            "belongs to torch.utils.checkpoint, and recomputation here needs no such switch"
        ),
        runs=True,
    ),
    Bad(
        "a keyword in a dict of options",
        """
import jax

OPTIONS = {"policy": None, "donate_argnums": (0,)}
#                          ^^^^^^^^^^^^^^^^

def owner(x):
    def block(h):
        return h * h
    return jax.checkpoint(block, **OPTIONS)(x)
""",
        message=(
            "`jax.checkpoint` has no parameter `donate_argnums`, so the call raises TypeError; it belongs to jax.jit"
        ),
        runs=True,
    ),
    Bad(
        "a misspelt keyword of a decorator",
        """
import functools
import jax

@functools.partial(jax.checkpoint, static_argnum=(1,))
#                                  ^^^^^^^^^^^^^^^^^^
def layer(x, scale):
    return x * scale

def owner(x):
    return layer(x, 2)
""",
        fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, scale):
    return x * scale

def owner(x):
    return layer(x, 2)
""",
        message=(
            "`jax.checkpoint` has no parameter `static_argnum`, so the call raises TypeError; did you mean "
            "`static_argnums`?"
        ),
        runs=True,
    ),
    Bad(
        "concrete=True, gone for long",
        """
import jax

@jax.jit
def step(x):
    return jax.checkpoint(lambda h: h * h, concrete=True)(x)
#                                          ^^^^^^^^^^^^^
""",
        fixed="""
import jax

@jax.jit
def step(x):
    return jax.checkpoint(lambda h: h * h)(x)
""",
        message=(
            "`jax.checkpoint` no longer has `concrete`: `True` gives NotImplementedError (TypeError from JAX 0.11 on); "
            "arguments that control flow depends on go into `static_argnums`"
        ),
    ),
    Bad(
        "concrete=False, let through by older releases",
        """
import functools
import jax

@functools.partial(jax.remat, concrete=False)
#                             ^^^^^^^^^^^^^^
def layer(x):
    return x * x
""",
        fixed="""
import functools
import jax

@jax.remat
def layer(x):
    return x * x
""",
        message=(
            "`jax.remat` no longer takes `concrete=False`: NotImplementedError in JAX 0.10, TypeError from 0.11 on; "
            "drop it, it has no effect (on JAX 0.10.0 and newer)"
        ),
        severity=Severity.WARNING,
    ),
    Bad(
        "filter_checkpoint has no static arguments",
        """
import equinox as eqx

def owner(x):
    return eqx.filter_checkpoint(lambda h, flag: h * 2 if flag else h, static_argnums=(1,))(x, True)
#                                                                      ^^^^^^^^^^^^^^^^^^^
""",
        fixed="""
import equinox as eqx

def owner(x):
    return eqx.filter_checkpoint(lambda h, flag: h * 2 if flag else h)(x, True)
""",
        message=(
            "`equinox.filter_checkpoint` has no parameter `static_argnums`, so the call raises TypeError; what is no "
            "array is static by itself"
        ),
        runs=True,
    ),
    Good(
        "linen has keywords of its own, concrete=False among them",
        """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

lifted = nn.remat(Block, variables=True, rngs=True, concrete=False, methods=["__call__"])
""",
    ),
    Good(
        "the options of the wrapper, some of them in a dict",
        """
import jax

OPTIONS = {"prevent_cse": True, "policy": jax.checkpoint_policies.dots_saveable}
plain = jax.checkpoint(lambda x: x * x, **OPTIONS, static_argnums=())
""",
    ),
    Good(
        "a helper takes out what the wrapper does not have",
        """
import jax

def checkpoint(fn, **options):
    options.pop("use_reentrant", None)
    return jax.checkpoint(fn, **options)

layer = checkpoint(lambda x: x * x, use_reentrant=False)
""",
    ),
    Good(
        "static arguments by name work with an experimental setting",
        """
from functools import partial
import jax

jax.config.update("jax_remat3", True)

@partial(jax.checkpoint, static_argnames=("flag",))
def layer(x, flag):
    return x * 2 if flag else x
""",
    ),
    Good(
        "the same setting, made for a class of tests",
        """
from functools import partial
import jax

def with_config(**settings):
    return lambda cls: cls

class Tests:
    def test_flag(self):
        @partial(jax.checkpoint, static_argnames="flag")
        def layer(x, flag):
            return x * 2 if flag else x

@with_config(jax_remat3=True)
class TestsOfTheSetting(Tests):
    pass
""",
    ),
    Good(
        "code that finds out what the release takes",
        """
import jax

def wrap(f):
    try:
        return jax.checkpoint(f, concrete=False)
    except (TypeError, NotImplementedError):
        return jax.checkpoint(f)

def wrap_by_release(f):
    if jax.__version_info__ < (0, 8):
        return jax.checkpoint(f, concrete=True)
    return jax.checkpoint(f)
""",
    ),
    Good(
        "a test of the error",
        """
import jax
import jax.numpy as jnp
import pytest

def test_unknown_keywords_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword"):
        jax.checkpoint(jnp.sin, use_reentrant=False)
""",
    ),
    Miss(
        "a keyword stored in the dict later",
        """
import jax

options = {"policy": None}
options["use_reentrant"] = False
layer = jax.checkpoint(lambda x: x * x, **options)
""",
    ),
)
