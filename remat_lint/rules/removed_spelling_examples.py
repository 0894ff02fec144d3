"""The examples of `removed-spelling`."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "the namespace of the policies as a module",
        """
import jax

def owner(x):
    import jax.checkpoint_policies as cp  # les politiques
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jax.checkpoint(lambda h: h * h, policy=cp.dots_saveable)(x)
""",
        fixed="""
import jax

def owner(x):
    from jax import checkpoint_policies as cp  # les politiques
    return jax.checkpoint(lambda h: h * h, policy=cp.dots_saveable)(x)
""",
        message=(
            "`jax.checkpoint_policies` is a namespace object, not a module: the import raises ModuleNotFoundError on "
            "every release; write `from jax import checkpoint_policies as cp`"
        ),
        runs=True,
    ),
    Bad(
        "policies by name out of the namespace",
        """
import jax

def owner(x):
    from jax.checkpoint_policies import dots_saveable, nothing_saveable as nothing
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    first = jax.checkpoint(lambda h: h * h, policy=dots_saveable)
    return jax.checkpoint(lambda h: h * 2, policy=nothing)(first(x))
""",
        fixed="""
import jax

def owner(x):
    from jax import checkpoint_policies
    first = jax.checkpoint(lambda h: h * h, policy=checkpoint_policies.dots_saveable)
    return jax.checkpoint(lambda h: h * 2, policy=checkpoint_policies.nothing_saveable)(first(x))
""",
        message=(
            "`jax.checkpoint_policies` is a namespace object, not a module: the import raises ModuleNotFoundError on "
            "every release; write `from jax import checkpoint_policies` and `checkpoint_policies.dots_saveable`"
        ),
        runs=True,
    ),
    Bad(
        "the function as a module",
        """
def build():
    from jax.checkpoint import checkpoint, checkpoint_name
#   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    @checkpoint
    def layer(x):
        return checkpoint_name(x * x, "carré")

    return layer
""",
        fixed="""
def build():
    from jax import checkpoint
    from jax.ad_checkpoint import checkpoint_name

    @checkpoint
    def layer(x):
        return checkpoint_name(x * x, "carré")

    return layer
""",
        message=(
            "`jax.checkpoint` is a function, not a module: the import raises ModuleNotFoundError on every release; "
            "write `from jax import checkpoint`"
        ),
    ),
    Bad(
        "the old home of the wrappers, next to what is still there",
        """
from jax.ad_checkpoint import checkpoint_name, remat as ck
#                                              ^^^^^^^^^^^

@ck
def layer(x):
    return checkpoint_name(x * x, "square")
""",
        fixed="""
from jax import remat as ck
from jax.ad_checkpoint import checkpoint_name

@ck
def layer(x):
    return checkpoint_name(x * x, "square")
""",
        message=(
            "`jax.ad_checkpoint.remat` is gone since JAX 0.10 (deprecated since 0.8.2): this raises ImportError; write "
            "`jax.remat` (on JAX 0.10.0 and newer)"
        ),
        severity=Severity.WARNING,
    ),
    Bad(
        "an attribute that never was, through an alias",
        """
import jax as J

def owner(x):
    return J.new_checkpoint(lambda h: h * h)(x)
#          ^^^^^^^^^^^^^^^^
""",
        fixed="""
import jax as J

def owner(x):
    return J.checkpoint(lambda h: h * h)(x)
""",
        message=(
            "`jax.new_checkpoint` is in no supported release of JAX: this raises AttributeError; write `jax.checkpoint`"
        ),
        runs=True,
    ),
    Bad(
        "a class of nnx that made way for a function",
        """
from flax import nnx

def build(rngs):
    return nnx.Remat(nnx.Linear)(3, 3, rngs=rngs)
#          ^^^^^^^^^
""",
        message=(
            "`flax.nnx.Remat` is gone since flax 0.10.6: this raises AttributeError; wrap a function over the module: "
            "`nnx.remat(lambda module, x: module(x))`"
        ),
        severity=Severity.WARNING,
    ),
    Good(
        "an import that falls back",
        """
try:
    from jax import checkpoint
except ImportError:
    from jax.ad_checkpoint import checkpoint

layer = checkpoint(lambda x: x * x)
""",
    ),
    Good(
        "code that asks for the release or for the name",
        """
import jax

OLD = jax.__version_info__ < (0, 8)

if OLD:
    from jax.ad_checkpoint import checkpoint
else:
    checkpoint = jax.checkpoint

def wrap(f):
    if hasattr(jax, "checkpoint"):
        return jax.checkpoint(f)
    return jax.new_checkpoint(f)
""",
    ),
    Good(
        "all ways to reach the policies",
        """
import jax
import jax.ad_checkpoint
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import checkpoint_policies

policies = (jax.checkpoint_policies.dots_saveable, cp.dots_saveable, checkpoint_policies.dots_saveable)
""",
    ),
    Good(
        "other modules called checkpoint",
        """
import jax
import orbax.checkpoint as ocp
from flax.training import checkpoints
from torch.utils.checkpoint import checkpoint
""",
    ),
    Miss(
        "a name looked up by a string",
        """
import jax

checkpoint = getattr(jax, "new_checkpoint")
""",
    ),
)
