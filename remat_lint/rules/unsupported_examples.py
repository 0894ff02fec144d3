"""The examples of `unsupported-callable`."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "a string among the results",
        """
import jax
import jax.numpy as jnp

@jax.checkpoint
def labelled(x):
    return {"valeur": jnp.sin(x), "espèce": "sin"}
#                                           ^^^^^

def owner(x):
    return labelled(x)["valeur"]
""",
        message=(
            '`labelled` returns a string: `jax.checkpoint` raises TypeError, because `"sin"` is no array, number or None'
        ),
        runs=True,
    ),
    Bad(
        "a generator, through an alias and partial",
        """
from functools import partial

from jax import remat as rm

@partial(rm, prevent_cse=False)
def layers(x):
#   ^^^^^^
    for _ in range(3):
        x = x * x
        yield x

def owner(x):
    return list(layers(x))
""",
        message=(
            "calling `layers` gives a generator, which is no array: `jax.remat` raises TypeError when it is called"
        ),
        runs=True,
    ),
    Bad(
        "a coroutine in a class, on one branch",
        """
import jax

class Client:
    def __init__(self, use_remat):
        self.step = self._step
        if use_remat:
            self.step = jax.checkpoint(self._step)

    async def _step(self, x):
#             ^^^^^
        return x * 2
""",
        message=(
            "calling `_step` gives a coroutine, which is no array: `jax.checkpoint` raises TypeError when it is called "
            "when `use_remat`"
        ),
    ),
    Bad(
        "a lambda that returns what is lazy, and one that returns a function",
        """
import jax
import jax.numpy as jnp

def owner(x):
    outer = jax.checkpoint(lambda h: map(jnp.sin, [h]))
#                                    ^^^^^^^^^^^^^^^^^
    inner = jax.checkpoint(lambda h: (h, lambda y: y * h))
#                                        ^^^^^^^^^^^^^^^
    return list(outer(x)), inner(x)[0]
""",
        message=(
            "the lambda returns a `map` object: `jax.checkpoint` raises TypeError, because `map(jnp.sin, [h])` is no "
            "array, number or None"
        ),
        runs=True,
    ),
    Bad(
        "a class, and an object that JAX does not know",
        """
import dataclasses
import jax

@dataclasses.dataclass
class Output:
    value: jax.Array

def owner(x):
    make = jax.checkpoint(Output)
#                         ^^^^^^
    def block(h):
        return Output(h * h)
#              ^^^^^^^^^^^^^
    return make(x).value + jax.checkpoint(block)(x).value
""",
        message=(
            "`jax.checkpoint` of the class `Output` gives back an object of it, which is no array: the call raises "
            "TypeError; wrap a function or a method"
        ),
        runs=True,
    ),
    Bad(
        "a bound method under nnx.remat",
        """
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.block = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        return nnx.remat(self.block.__call__)(x)
#                        ^^^^^^^^^^^^^^^^^^^

def owner(x):
    return Net(nnx.Rngs(0))(x)
""",
        message=(
            "`flax.nnx.remat` refuses bound methods, and this one belongs to an `nnx.Linear`: it raises ValueError (flax "
            "0.12); wrap a function over the module: `lambda module, x: …`"
        ),
        runs=True,
    ),
    Bad(
        "a factory that gives the inner factory",
        """
import jax

def scaled(fn=None, by=2.0):
    def decorate(f):
        return lambda x: f(x) * by
#              ^^^^^^^^^^^^^^^^^^^
    if fn is None:
        return decorate
    return decorate(fn)

def owner(x):
    return jax.checkpoint(scaled(by=3.0))(x)
""",
        runs=True,
    ),
    Good(
        "arrays, numbers, None, and containers of them",
        """
import collections
import jax
import jax.numpy as jnp

Pair = collections.namedtuple("Pair", "first second")

@jax.checkpoint
def block(x):
    return {"pair": Pair(x, x.shape), "none": None, "list": [x, 1, 2.5, True]}, list(map(jnp.sin, [x]))
""",
    ),
    Good(
        "decorators that also work without arguments",
        """
import functools
import jax
import jax.numpy as jnp

def summed(update=None):
    def decorate(f):
        def wrapper(*args):
            return f(sum(args))
        return wrapper
    if update:
        return decorate(update)
    return decorate

def named(fn=None, *, name="größe"):
    if fn is None:
        return functools.partial(named, name=name)
    @functools.wraps(fn)
    def inner(*args):
        return fn(*args)
    return inner

def scaled(*args, by=2.0):
    def decorate(f):
        return lambda x: f(x) * by
    if len(args) == 1 and callable(args[0]):
        return decorate(args[0])
    return decorate

def block(x):
    return jnp.sin(x)

@jax.checkpoint
@named
def first(x):
    return block(x)

@jax.checkpoint
@named(name="second")
def second(x):
    return block(x)

def loss(x):
    x = jax.checkpoint(summed(block))(x, first(x))
    return jax.checkpoint(scaled(block))(x) + jax.checkpoint(scaled(by=3.0)(block))(second(x))
""",
    ),
    Good(
        "an object that JAX knows as a container",
        """
import dataclasses
import jax

@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Output:
    value: jax.Array

@jax.checkpoint
def block(x):
    return Output(x * x)
""",
    ),
    Good(
        "filter_checkpoint lets other results through",
        """
import equinox as eqx

@eqx.filter_checkpoint
def block(x):
    return x * x, "square"
""",
    ),
    Good(
        "a module that is called itself, and methods over the module",
        """
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.block = nnx.Linear(4, 4, rngs=rngs)

    @nnx.remat
    def inner(self, x):
        return self.block(x)

    def __call__(self, x):
        return nnx.remat(lambda module, y: module(y))(self.block, x) + self.inner(x)
""",
    ),
    Good(
        "generators and coroutines that only call what is wrapped",
        """
import jax

layer = jax.checkpoint(lambda x: x * x)

async def drive(x):
    return layer(x), "done"

def values(xs):
    for x in xs:
        yield layer(x)
""",
    ),
    Good(
        "a test of the error",
        """
import jax
import pytest

def test_strings_are_refused():
    with pytest.raises(TypeError):
        jax.checkpoint(lambda x: "a")(1.0)
""",
    ),
    Miss(
        "a string that comes from elsewhere",
        """
import jax
from settings import NAME

layer = jax.checkpoint(lambda x: (x * x, NAME))
""",
    ),
)
