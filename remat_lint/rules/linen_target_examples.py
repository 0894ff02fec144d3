"""The examples of the rule about what `nn.remat` may wrap."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

REMAT_TARGET = (
    Bad(
        "an object",
        """
import jax
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.remat(nn.Dense(4))(x)
#              ^^^^^^^^^^^^^^^^^^^^^

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        """
import jax
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.remat(lambda mdl, *args: mdl(*args))(nn.Dense(4), x)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        message="nn.remat takes a module class, and `nn.Dense(…)` is an object: the call raises TransformTargetError; wrap "
        "the class, or a function that takes the module as its first argument",
        runs=True,
    ),
    Bad(
        "a bound method",
        """
import jax
from flax.linen import Dense, Module, remat

class Netz(Module):
    def setup(self):
        self.größe = Dense(4)

    def hidden(self, x):
        return self.größe(x)

    def __call__(self, x):
        f = remat(self.hidden, prevent_cse=False)
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return f(x)

def owner(x):
    net = Netz()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        """
import jax
from flax.linen import Dense, Module, remat

class Netz(Module):
    def setup(self):
        self.größe = Dense(4)

    def hidden(self, x):
        return self.größe(x)

    def __call__(self, x):
        f = remat(lambda mdl, *args: mdl.hidden(*args), prevent_cse=False)
        return f(self, x)

def owner(x):
    net = Netz()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        message="nn.remat takes the first argument of the function that it wraps for the module, and `self.hidden` is bound "
        "to its module already: the call raises AttributeError",
        runs=True,
    ),
    Bad(
        "a function without the module",
        """
import jax
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        @nn.checkpoint
#        ^^^^^^^^^^^^^
        def block(y):
            return nn.relu(nn.Dense(4)(y))

        return block(x)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        """
import jax
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        @nn.checkpoint
        def block(self, y):
            return nn.relu(nn.Dense(4)(y))

        return block(self, x)

def owner(x):
    net = Net()
    return net.apply(net.init(jax.random.key(0), x), x)
""",
        message="nn.remat takes the first argument of `block` for the module, and `y` is none: the call raises "
        "AttributeError; take the module as the first parameter and pass it",
        runs=True,
    ),
    Bad(
        "functions for the names of methods",
        """
import jax
import flax.linen as nn

class Coder(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    def encode(self, x):
        return self.dense(x)

Remat = nn.remat(Coder, methods=[Coder.encode])
#                                ^^^^^^^^^^^^

def owner(x):
    coder = Remat()
    return coder.apply(coder.init(jax.random.key(0), x, method="encode"), x, method="encode")
""",
        """
import jax
import flax.linen as nn

class Coder(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    def encode(self, x):
        return self.dense(x)

Remat = nn.remat(Coder, methods=["encode"])

def owner(x):
    coder = Remat()
    return coder.apply(coder.init(jax.random.key(0), x, method="encode"), x, method="encode")
""",
        message="`methods` of nn.remat takes names: the function `Coder.encode` raises TypeError",
        runs=True,
    ),
    Bad(
        "a function of arrays",
        """
import flax.linen as nn

class Net(nn.Module):
    def __call__(self, x):
        return nn.remat(nn.gelu)(x)
#              ^^^^^^^^^^^^^^^^^

def owner(x):
    return Net().apply({}, x)
""",
        message="nn.remat takes the first argument of the function that it wraps for the module, and `nn.gelu` has none: "
        "the call raises AttributeError; use jax.checkpoint for a function of arrays",
        runs=True,
    ),
    Good(
        "classes, transformed ones too",
        """
import flax.linen as nn

class Net(nn.Module):
    remat: bool
    block_cls: nn.Module = nn.Dense

    @nn.compact
    def __call__(self, x):
        x = nn.remat(nn.Dense)(4)(x)
        cls = nn.remat(self.block_cls) if self.remat else self.block_cls
        return cls(4, name="dense")(x)

Stack = nn.vmap(nn.remat(nn.Dense), variable_axes={"params": 0}, split_rngs={"params": True})
""",
    ),
    Good(
        "functions over a module",
        """
import flax.linen as nn

class Net(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    @nn.remat
    def hidden(self, x):
        return self.dense(x)

    def __call__(self, x):
        x = nn.remat(lambda mdl, x: mdl(x))(self.dense, x)
        x = nn.remat(Net.hidden)(self, x)
        return nn.remat(lambda net, x: net.dense(x) + x)(self, x)
""",
    ),
    Good(
        "names of methods",
        """
import flax.linen as nn

class Coder(nn.Module):
    def setup(self):
        self.dense = nn.Dense(4)

    def encode(self, x):
        return self.dense(x)

    def decode(self, x):
        return self.dense(x)

Remat = nn.remat(Coder, methods=("encode", "decode"))
""",
    ),
    Miss(
        "an object that comes through a call of something unknown",
        """
import flax.linen as nn
from registry import make_layer

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.remat(make_layer("dense"))(x)
""",
    ),
)
