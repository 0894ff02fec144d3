"""The examples of `discarded-name`, apart from the rule for their length."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "as a statement",
        """
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

@jax.checkpoint
def layer(x):
    h = jnp.sin(x)  # nommé plus bas
    checkpoint_name(h, "clé407")
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jnp.sin(h)
""",
        fixed="""
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

@jax.checkpoint
def layer(x):
    h = jnp.sin(x)  # nommé plus bas
    h = checkpoint_name(h, "clé407")
    return jnp.sin(h)
""",
        message=(
            "the result of `checkpoint_name` is thrown away: it names the value that it returns, and `h` itself stays "
            "without a name; assign the result"
        ),
    ),
    Bad(
        "a named copy that is never read, through aliases in a method",
        """
from jax import ad_checkpoint as adc, remat as rm
import jax.numpy as jnp

class Net:
    def build(self):
        @rm
        def body(x):
            h = x @ x
            named = adc.checkpoint_name(h, name="h407")
#                   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
            return jnp.sin(h)
        return body
""",
        fixed="""
from jax import ad_checkpoint as adc, remat as rm
import jax.numpy as jnp

class Net:
    def build(self):
        @rm
        def body(x):
            h = x @ x
            h = adc.checkpoint_name(h, name="h407")
            return jnp.sin(h)
        return body
""",
        message=(
            "`named`, which has the name, is never read, and `h` goes on without it, so that no policy saves it; go on "
            "with what `checkpoint_name` returns"
        ),
    ),
    Bad(
        "value and name swapped",
        """
import jax
from jax.ad_checkpoint import checkpoint_name as cn

def owner(x):
    def body(x):
        h = x * 2
        h = cn("h407", h)
#           ^^^^^^^^^^^^^
        return h
    return jax.checkpoint(body)(x)
""",
        fixed="""
import jax
from jax.ad_checkpoint import checkpoint_name as cn

def owner(x):
    def body(x):
        h = x * 2
        h = cn(h, "h407")
        return h
    return jax.checkpoint(body)(x)
""",
        message=(
            "`checkpoint_name` takes the value first and then its name: given a string as the value it raises TypeError "
            "(older releases of JAX may return the string)"
        ),
        runs=True,
    ),
    Bad(
        "a function instead of its result",
        """
import jax
from jax.ad_checkpoint import checkpoint_name

def owner(x):
    def double(x):
        return x * 2
    return jax.checkpoint(checkpoint_name(double, "h407"))(x)
#                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        message=(
            "`checkpoint_name` names values: given the function `double` it raises TypeError (older releases of JAX may "
            "return the function); name what it returns"
        ),
        runs=True,
    ),
    Bad(
        "outside of the function that is checkpointed",
        """
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_only_these_names("residual407")

def block(w, x):
    return jnp.sin(jnp.sin(x @ w))

def loss(ws, x):
    for w in ws:
        x = jax.checkpoint(block, policy=policy)(w, x)
        x = checkpoint_name(x, "residual407")
#           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return x.sum()
""",
        message=(
            "the name 'residual407' is given outside of the function whose checkpoint saves it, and its policy sees "
            "inside only, so that nothing is saved; name a value inside the function"
        ),
    ),
    Good(
        "the named value is used",
        """
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

@jax.checkpoint
def block(w, x):
    q, k = checkpoint_name((x @ w, x * 2.0), "qk")
    h = jnp.sin(checkpoint_name(jnp.sin(q), "a")) * k
    h = checkpoint_name(h, "h")
    return checkpoint_name(jnp.sin(h), "out")
""",
    ),
    Good(
        "both the named value and the old one are used",
        """
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

@jax.checkpoint
def block(x):
    h = jnp.sin(x)
    named = checkpoint_name(h, "h")
    return jnp.sin(named) + h
""",
    ),
    Good(
        "the name is given inside and outside",
        """
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_only_these_names("h")

def owner(x):
    def block(x):
        return jnp.sin(checkpoint_name(jnp.sin(x), "h"))
    x = jax.checkpoint(block, policy=policy)(x)
    return checkpoint_name(x, "h")
""",
    ),
    Good(
        "a nested function reads the named value",
        """
import jax
from jax.ad_checkpoint import checkpoint_name

@jax.checkpoint
def block(x, f):
    named = checkpoint_name(x, "x")
    return f(lambda: named * 2) + x
""",
    ),
    Miss(
        "a named value that only a branch throws away",
        """
import jax
from jax.ad_checkpoint import checkpoint_name

@jax.checkpoint
def block(x):
    h = x * 2
    named = checkpoint_name(h, "h")
    named = x
    return named + h
""",
    ),
)
