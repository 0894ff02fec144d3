"""The examples of `identity-test-on-traced-flag`, apart from the rule for their length."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES: tuple[Bad | Good | Miss, ...] = (
    Bad(
        "an identity test, the flag passed by position",
        """
import jax

@jax.checkpoint
def layer(x, train):
    if train is True:
#      ^^^^^^^^^^^^^
        return x * 0.5
    return x

def owner(x):
    return layer(x, True)
""",
        fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    if train is True:
        return x * 0.5
    return x

def owner(x):
    return layer(x, True)
""",
        message=(
            "`train is True` is always false inside jax.checkpoint, whatever is passed: `train` arrives as a "
            "traced array, never as the object True, and JAX does not complain; make `train` static "
            "(`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Bad(
        "isinstance, through an alias; the number comes from a constant of the module",
        """
from jax import remat as rm

SCALE = 2.0  # échelle

def rescale(x, s):
    return x * s if isinstance(s, (int, float)) else x
#                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^

def owner(x):
    return rm(rescale, prevent_cse=False)(x, SCALE)
""",
        fixed="""
from jax import remat as rm

SCALE = 2.0  # échelle

def rescale(x, s):
    return x * s if isinstance(s, (int, float)) else x

def owner(x):
    return rm(rescale, prevent_cse=False, static_argnums=(1,))(x, SCALE)
""",
        message=(
            "`isinstance(s, …)` is always false inside jax.remat, whatever is passed: `s` arrives as a traced "
            "array, never as a float or int, and JAX does not complain; make `s` static "
            "(`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Bad(
        "a match on a method's flag, options in a partial",
        """
from functools import partial
import jax

class Net:
    def forward(self, x, mode: bool):
        match mode:
            case True:
#                ^^^^
                return x * 2
        return x

    def __call__(self, x):
        run = jax.checkpoint(self.forward)
        return run(x, True)

def owner(x):
    return Net()(x)
""",
        fixed="""
from functools import partial
import jax

class Net:
    def forward(self, x, mode: bool):
        match mode:
            case True:
                return x * 2
        return x

    def __call__(self, x):
        run = jax.checkpoint(self.forward, static_argnums=(1,))
        return run(x, True)

def owner(x):
    return Net()(x)
""",
        message=(
            "`case True` never matches inside jax.checkpoint, whatever is passed: `mode` arrives as a traced "
            "array, never as the object True, and JAX does not complain; make `mode` static "
            "(`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Bad(
        "a flag by keyword",
        """
import jax

def owner(x, use_remat=True):
    def body(h, scaled=False):
        return h if scaled is False else h * 3
#                   ^^^^^^^^^^^^^^^

    if use_remat:
        body = jax.checkpoint(body)
    return body(x, scaled=False)
""",
        fixed="""
import jax

def owner(x, use_remat=True):
    def body(h, scaled=False):
        return h if scaled is False else h * 3

    if use_remat:
        body = jax.checkpoint(body, static_argnums=(1,))
    return body(x, False)
""",
        message=(
            "`scaled is False` is always false inside jax.checkpoint, whatever is passed when `use_remat`: "
            "`scaled` arrives as a traced array, never as the object False, and JAX does not complain; make "
            "`scaled` static (`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Good(
        "a default that no call passes stays a Python value",
        """
import jax

@jax.checkpoint
def layer(x, train=True):
    return x * 0.5 if train is True else x

def loss(x):
    return layer(x)
""",
    ),
    Bad(
        "the caller's own flag is handed on",
        """
import jax

@jax.checkpoint
def layer(x, train):
    return x if train is not True else -x
#               ^^^^^^^^^^^^^^^^^

def loss(x, train=False):
    return layer(x, train)
""",
        severity=Severity.WARNING,
        fixed="""
import functools
import jax

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    return x if train is not True else -x

def loss(x, train=False):
    return layer(x, train)
""",
    ),
    Good(
        "the flag is static, or bound by partial",
        """
from functools import partial
import jax

@partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    return x * 0.5 if train is True else x

def block(x, train):
    return x * 0.5 if train is True else x

def loss(x):
    return layer(x, True) + jax.checkpoint(partial(block, train=False))(x)
""",
    ),
    Good(
        "the function knows whether its flag is static, and is wrapped both ways",
        """
import jax

def layer(x, train, static):
    return -x if static and train is True else x

def loss(x):
    plain = jax.checkpoint(layer, static_argnums=(2,))(x, True, False)
    return plain + jax.checkpoint(layer, static_argnums=(1, 2))(x, True, True)
""",
    ),
    Good(
        "filter_checkpoint keeps what is no array static",
        """
import equinox as eqx

@eqx.filter_checkpoint
def layer(x, train):
    return x * 0.5 if train is True else x

def loss(x):
    return layer(x, True)
""",
    ),
    Good(
        "tests for None and for containers see the tree, which is not traced",
        """
import jax

@jax.checkpoint
def layer(x, mask):
    if mask is None or isinstance(mask, dict):
        return x
    return x * mask

def loss(x):
    return layer(x, None)
""",
    ),
    Good(
        "a number is made an array first",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def layer(x, s):
    if isinstance(s, (int, float)):
        s = jnp.float32(s)
    return x * s

def loss(x):
    return layer(x, 2.0)
""",
    ),
    Bad(
        "the type itself, asked by a helper that gets the flag",
        """
import jax

def scaled(x, flag):
    return x * 0.5 if type(flag) is bool and flag is True else x
#                     ^^^^^^^^^^^^^^^^^^
#                                            ^^^^^^^^^^^^

@jax.checkpoint
def layer(x, train):
    return scaled(x, train)

def owner(x):
    return layer(x, True)
""",
        fixed="""
import functools
import jax

def scaled(x, flag):
    return x * 0.5 if type(flag) is bool and flag is True else x

@functools.partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    return scaled(x, train)

def owner(x):
    return layer(x, True)
""",
        message=(
            "`type(flag) is bool` is always false inside jax.checkpoint, whatever is passed: `train` arrives as a "
            "traced array, never as a bool, and JAX does not complain; make `train` static (`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Bad(
        "static in one branch only",
        """
import jax

def layer(x, train):
    return -x if train is True else x
#                ^^^^^^^^^^^^^

def owner(x, static=False):
    if static:
        run = jax.checkpoint(layer, static_argnums=(1,))
    else:
        run = jax.checkpoint(layer)
    return run(x, True)
""",
        fixed="""
import jax

def layer(x, train):
    return -x if train is True else x

def owner(x, static=False):
    if static:
        run = jax.checkpoint(layer, static_argnums=(1,))
    else:
        run = jax.checkpoint(layer, static_argnums=(1,))
    return run(x, True)
""",
        message=(
            "`train is True` is always false inside jax.checkpoint, whatever is passed when `not static`: `train` "
            "arrives as a traced array, never as the object True, and JAX does not complain; make `train` static "
            "(`static_argnums=(1,)`)"
        ),
        runs=True,
    ),
    Good(
        "a case for None sees None, with and without the checkpoint",
        """
import jax

@jax.checkpoint
def layer(x, mask):
    match mask:
        case None:
            return x
        case _:
            return x * mask

def loss(x):
    return layer(x, None) + layer(x, 2.0)
""",
    ),
    Miss(
        "the flag goes into a dict",
        """
import jax

@jax.checkpoint
def layer(x, options):
    return x * 0.5 if options["train"] is True else x

def loss(x):
    return layer(x, {"train": True})
""",
    ),
)
