"""The examples of `names-not-varargs`, apart from the rule for their length."""

from __future__ import annotations

from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "a list of names",
        """
import jax

def owner(x):
    policy = jax.checkpoint_policies.save_only_these_names(["query", "clé"])
#                                                          ^^^^^^^^^^^^^^^^
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        fixed="""
import jax

def owner(x):
    policy = jax.checkpoint_policies.save_only_these_names("query", "clé")
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        message=(
            "`save_only_these_names` takes names as separate arguments: a list raises TypeError (unhashable type); "
            "spread it with `*`"
        ),
        runs=True,
    ),
    Bad(
        "a tuple kept in a constant, through aliases",
        """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

SAVED = ("q405", "k405")

@partial(rm, policy=cp.save_only_these_names(SAVED))
#                                            ^^^^^
def layer(x):
    return x * x
""",
        fixed="""
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

SAVED = ("q405", "k405")

@partial(rm, policy=cp.save_only_these_names(*SAVED))
def layer(x):
    return x * x
""",
        message=(
            "`save_only_these_names` takes names as separate arguments: the tuple `SAVED` is one name that no value "
            "has, so nothing is saved and nothing raises; spread it with `*`"
        ),
    ),
    Bad(
        "no names at all, in a method",
        """
import jax

class Net:
    def wrap(self, f):
        return jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names())
#                                       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
        message=(
            "`save_only_these_names` without names saves nothing, as no policy at all does; give it names, or drop it"
        ),
    ),
    Bad(
        "a string where a list is due",
        """
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved="attn",
#                            ^^^^^^
    names_which_can_be_offloaded=[],
    offload_src="device",
    offload_dst="pinned_host",
)
""",
        fixed="""
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=["attn"],
    names_which_can_be_offloaded=[],
    offload_src="device",
    offload_dst="pinned_host",
)
""",
        message=(
            "`names_which_can_be_saved` takes a list of names: a string is read letter by letter, so that its letters "
            "are the names; put it into a list"
        ),
    ),
    Good(
        "the names are spread",
        """
import jax

NAMES = ["query", "key"]
policy = jax.checkpoint_policies.save_any_names_but_these(*NAMES)
layer = jax.checkpoint(lambda x: x * x, policy=policy)
""",
    ),
    Good(
        "one name, or a few",
        """
from jax import checkpoint_policies as cp
import jax

ATTENTION = "attention"

class Net:
    def wrap(self, f):
        return jax.checkpoint(f, policy=cp.save_only_these_names(ATTENTION, "mlp"))
""",
    ),
    Good(
        "lists by keyword",
        """
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=("attn",), names_which_can_be_offloaded=[], offload_src="device", offload_dst="pinned_host"
)
layer = jax.checkpoint(lambda x: x * x, policy=policy)
""",
    ),
    Good(
        "a parameter may be one name",
        """
import jax

def wrap(f, name):
    return jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names(name))
""",
    ),
    Bad(
        "a keyword that there is not",
        """
import jax

def owner(x):
    policy = jax.checkpoint_policies.save_only_these_names(names=["query405", "key405"])
#                                                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        fixed="""
import jax

def owner(x):
    policy = jax.checkpoint_policies.save_only_these_names("query405", "key405")
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        message=(
            "`save_only_these_names` takes names as separate arguments and none by keyword: `names=` raises TypeError; leave "
            "the keyword out"
        ),
        runs=True,
    ),
    Bad(
        "one string that is spread",
        """
import jax

policy = jax.checkpoint_policies.save_only_these_names(*"attn")
#                                                      ^^^^^^^
""",
        fixed="""
import jax

policy = jax.checkpoint_policies.save_only_these_names("attn")
""",
        message=("a string is spread letter by letter, so that its letters are the names; leave the `*` out"),
    ),
    Bad(
        "a list that a method splits off",
        """
import jax

def wrap(f, cfg):
    return jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names(cfg.names.split(",")))
#                                                                                 ^^^^^^^^^^^^^^^^^^^^
""",
        fixed="""
import jax

def wrap(f, cfg):
    return jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names(*cfg.names.split(",")))
""",
    ),
    Bad(
        "None for a name",
        """
import jax

policy = jax.checkpoint_policies.save_only_these_names(None)
#                                                      ^^^^
""",
        message="`save_only_these_names` takes names: None is one that no value has; give names, or drop the policy",
    ),
    Miss(
        "a list that comes out of a call",
        """
import jax

def wrap(f, cfg):
    return jax.checkpoint(f, policy=jax.checkpoint_policies.save_only_these_names(cfg.saved_names()))
""",
    ),
)
