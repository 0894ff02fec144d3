"""The examples of the rule about haiku."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "a module",
        """
import haiku as hk
import jax

def net(x):
    layer = hk.Linear(3)
    return jax.remat(layer)(x)
#          ^^^^^^^^^^^^^^^^

def owner(x):
    transformed = hk.transform(net)
    params = transformed.init(jax.random.key(0), x)
    return transformed.apply(params, None, x)
""",
        """
import haiku as hk
import jax

def net(x):
    layer = hk.Linear(3)
    return hk.remat(layer)(x)

def owner(x):
    transformed = hk.transform(net)
    params = transformed.init(jax.random.key(0), x)
    return transformed.apply(params, None, x)
""",
        message="what hk.Linear holds is made while jax.remat traces, so on `init` it is a tracer that raises "
        "UnexpectedTracerError when it is used; use hk.remat",
        runs=True,
    ),
    Bad(
        "a random key, drawn through a helper, and again outside",
        """
import functools
import haiku as hk
import jax

def störe(x):
    return hk.dropout(hk.next_rng_key(), 0.5, x)

class Net(hk.Module):
    def __call__(self, x):
        block = functools.partial(jax.checkpoint, prevent_cse=False)(lambda x: störe(x) * 2)
#               ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        x = block(x)
        return hk.dropout(hk.next_rng_key(), 0.5, x)

def owner(x):
    return hk.transform(lambda x: Net()(x)).apply({}, jax.random.key(0), x)
""",
        """
import functools
import haiku as hk
import jax

def störe(x):
    return hk.dropout(hk.next_rng_key(), 0.5, x)

class Net(hk.Module):
    def __call__(self, x):
        block = functools.partial(hk.remat, prevent_cse=False)(lambda x: störe(x) * 2)
        x = block(x)
        return hk.dropout(hk.next_rng_key(), 0.5, x)

def owner(x):
    return hk.transform(lambda x: Net()(x)).apply({}, jax.random.key(0), x)
""",
        message="hk.next_rng_key changes haiku's random state while jax.checkpoint traces: the next key that is drawn outside "
        "raises UnexpectedTracerError, and a call that reuses the trace draws the same key again; use hk.remat",
        runs=True,
    ),
    Bad(
        "a random key that is drawn once",
        """
import haiku as hk
import jax

def net(x):
    return jax.checkpoint(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))(x)
#          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        """
import haiku as hk
import jax

def net(x):
    return hk.remat(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))(x)
""",
        severity=Severity.WARNING,
    ),
    Bad(
        "a function outside of any other",
        """
import haiku
import jax

@jax.checkpoint
#^^^^^^^^^^^^^^
def block(x):
    return x * haiku.get_parameter("scale", x.shape, init=haiku.initializers.Constant(2.0))

def owner(x):
    params = haiku.transform(lambda x: block(x)).init(jax.random.key(0), x)
    return params["~"]["scale"] + 1
""",
        runs=True,
    ),
    Bad(
        "a decorated method",
        """
import haiku as hk
import jax

class Net(hk.Module):
    @jax.checkpoint
#    ^^^^^^^^^^^^^^
    def hidden(self, x):
        return hk.Linear(4)(x)

    def __call__(self, x):
        return self.hidden(x)

def owner(x):
    transformed = hk.transform(lambda x: Net()(x))
    return transformed.apply(transformed.init(jax.random.key(0), x), None, x)
""",
        runs=True,
    ),
    Good(
        "the apply of a transformed function",
        """
import haiku as hk
import jax

net = hk.without_apply_rng(hk.transform(lambda x: hk.Linear(3)(x)))

def loss(params, x):
    return jax.checkpoint(net.apply)(params, x).sum()

def other(params, x):
    return jax.checkpoint(lambda p, x: net.apply(p, x))(params, x).sum()
""",
    ),
    Good(
        "haiku's own wrapper, and a key that is drawn before",
        """
import haiku as hk
import jax

def net(x):
    x = hk.remat(hk.Linear(3))(x)
    key = hk.next_rng_key()
    return jax.checkpoint(lambda x: hk.dropout(key, 0.5, hk.avg_pool(x, 2, 2, "SAME")))(x)
""",
    ),
    Good(
        "parameters that are made outside on init",
        """
import haiku as hk
import jax

def net(x):
    block = hk.nets.MLP([8, 8])
    if not hk.running_init():
        block = jax.checkpoint(block)
    return block(x)
""",
    ),
    Miss(
        "a module that comes through a call of something unknown",
        """
import jax
from registry import make_layer

def net(x):
    return jax.checkpoint(make_layer("linear"))(x)
""",
    ),
)
