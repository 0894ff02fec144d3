"""Programs for claims of messages that no example runs: what each gives for four numbers, or the error it raises."""

from .framework_facts import FACTS as FRAMEWORK_FACTS
from .policy_facts import POLICY_FACTS

FLAX = """
import jax
import flax.linen as nn
from flax.linen import partitioning

class Double(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        return x * 2 if train else x
"""
POLICY = """
import jax
import jax.numpy as jnp
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import checkpoint_name

def named(x):
    return jnp.sin(checkpoint_name(jnp.sin(x), "a")).sum()

def kept(policy, x):
    # What is not kept is computed again on the way back: fewer sines mean that more was kept.
    text = str(jax.make_jaxpr(jax.grad(jax.checkpoint(named, policy=policy)))(x))
    return text.count(" sin ")
"""
SAME, TWICE = [0.5, 1.0, 1.5, 2.0], [1.0, 2.0, 3.0, 4.0]

FACTS = {
    "linen's Dropout asks whether a flag given at the call is true": (
        FLAX + "def owner(x):\n    return nn.remat(nn.Dropout)(0.5).apply({}, x, deterministic=True)\n",
        "TracerBoolConversionError",
    ),
    "linen's BatchNorm asks whether its flag is true": (
        FLAX + "def owner(x):\n    norm = nn.remat(nn.BatchNorm)()\n"
        "    return norm.init(jax.random.key(0), x, use_running_average=True)\n",
        "TracerBoolConversionError",
    ),
    "nnx finds a static argument that is passed by keyword": (
        (
            "from flax import nnx\n\ndef double(x, flag=False):\n    return x * 2 if flag else x\n\n"
            "def owner(x):\n    return nnx.remat(double, static_argnums=1)(x, flag=True)\n"
        ),
        TWICE,
    ),
    "a static array of JAX gives right values": (
        (
            "import jax\n\nscaled = jax.checkpoint(lambda x, w: x * w, static_argnums=(1,))\n\n"
            "def owner(x):\n    return scaled(x, x / x) + scaled(x, x / x * 0)\n"
        ),
        SAME,
    ),
    "a tracer bounds no slice of an array": (
        "import jax\n\ndef owner(x):\n    return jax.checkpoint(lambda x, n: x[:n])(x, 2)\n",
        "IndexError",
    ),
    "a tree without non-arrays may hold None and numbers": (
        "import jax\n\ndef owner(x):\n    return jax.checkpoint(lambda x, t: x * t['a'])(x, {'a': 2, 'b': None})\n",
        TWICE,
    ),
    "linen counts self: index 1 leaves the flag traced": (
        FLAX + "def owner(x):\n    return nn.remat(Double, static_argnums=(1,))().apply({}, x, True)\n",
        "TracerBoolConversionError",
    ),
    "linen counts self: index 2 is the flag": (
        FLAX + "def owner(x):\n    return nn.remat(Double, static_argnums=(2,))().apply({}, x, True)\n",
        TWICE,
    ),
    "linen does not count from the end": (
        FLAX + "def owner(x):\n    return nn.remat(Double, static_argnums=(-1,))().apply({}, x, True)\n",
        "TracerBoolConversionError",
    ),
    "-2 happens to mean the last argument of linen": (
        FLAX + "def owner(x):\n    return nn.remat(Double, static_argnums=(-2,))().apply({}, x, True)\n",
        TWICE,
    ),
    "linen refuses an index beyond the arguments": (
        FLAX + "def owner(x):\n    return nn.remat(Double, static_argnums=(3,))().apply({}, x, True)\n",
        "ValueError",
    ),
    "linen refuses a static argument by keyword": (
        FLAX + "def owner(x):\n    return nn.remat(Double, static_argnums=(2,))().apply({}, x, train=True)\n",
        "ValueError",
    ),
    "linen refuses a list": (
        FLAX + "def owner(x):\n    return nn.remat(Double, static_argnums=[2])().apply({}, x, True)\n",
        "TypeError",
    ),
    "partitioning.remat counts without self": (
        FLAX
        + "def owner(x):\n    return partitioning.remat(Double, static_argnums=(1,))().apply({}, x, True)\n",
        TWICE,
    ),
    "partitioning.remat drops keyword arguments": (
        FLAX
        + "def owner(x):\n    return partitioning.remat(Double, static_argnums=(1,))().apply({}, x, train=True)\n",
        SAME,
    ),
    "partitioning.remat makes nothing static where no argument is": (
        FLAX
        + "def owner(x):\n    return partitioning.remat(Double, static_argnums=(2,))().apply({}, x, True)\n",
        "TracerBoolConversionError",
    ),
    "partitioning.remat takes a list": (
        FLAX
        + "def owner(x):\n    return partitioning.remat(Double, static_argnums=[1])().apply({}, x, True)\n",
        TWICE,
    ),
    "partitioning.remat refuses a bare int": (
        FLAX
        + "def owner(x):\n    return partitioning.remat(Double, static_argnums=1)().apply({}, x, True)\n",
        "TypeError",
    ),
    "a policy in the place of linen's variables": (
        FLAX
        + "def owner(x):\n    return nn.remat(Double, jax.checkpoint_policies.dots_saveable)().apply({}, x)\n",
        "InvalidFilterError",
    ),
    "nothing_saveable() is False and passes": (
        POLICY
        + "def owner(x):\n    return cp.nothing_saveable(), jax.checkpoint(jnp.sin, policy=False)(0.0)\n",
        [0.0, 0.0],
    ),
    "everything_saveable() is True": (POLICY + "def owner(x):\n    return cp.everything_saveable()\n", [1.0]),
    "True as a policy raises under differentiation": (
        POLICY + "def owner(x):\n    return jax.grad(jax.checkpoint(named, policy=True))(x)\n",
        "TypeError",
    ),
    "a tuple of names saves what no policy saves, a name saves more": (
        POLICY
        + "def owner(x):\n    only = cp.save_only_these_names\n"
        + "    return kept(only(('a',)), x) - kept(None, x), kept(only(), x) - kept(None, x), kept(only('a'), x) < kept(None, x)\n",
        [0.0, 0.0, 1.0],
    ),
    "a string is read letter by letter": (
        POLICY
        + "def owner(x):\n    policy = cp.save_and_offload_only_these_names(names_which_can_be_saved='attn',"
        + " names_which_can_be_offloaded=[], offload_src='device', offload_dst='pinned_host')\n"
        + "    return kept(policy, x) < kept(None, x)\n",
        [1.0],
    ),
    "case None sees a None that was passed": (
        (
            "import jax\n\ndef body(x, p):\n    match p:\n        case None:\n            return x * 2\n    return x\n\n"
            "def owner(x):\n    return jax.checkpoint(body)(x, None)\n"
        ),
        TWICE,
    ),
    "a traced number is an instance of jax.Array": (
        (
            "import jax\n\ndef owner(x):\n"
            "    return jax.checkpoint(lambda h, p: h * 2 if isinstance(p, (int, jax.Array)) else h)(x, 1)\n"
        ),
        TWICE,
    ),
    "filter_checkpoint keeps a flag static": (
        (
            "import equinox as eqx\n\ndef owner(x):\n"
            "    return eqx.filter_checkpoint(lambda h, p: h * 2 if p is True else h)(x, True)\n"
        ),
        TWICE,
    ),
}
FACTS |= POLICY_FACTS
FACTS |= FRAMEWORK_FACTS
