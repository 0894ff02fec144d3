"""The examples of `offload-arguments`, apart from the rule for their length."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

EXAMPLES = (
    Bad(
        "by position",
        """
import jax

def owner(x):
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(["h410"], [], "device", "pinned_host")
#            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        message=(
            "`save_and_offload_only_these_names` takes its arguments by keyword only: by position this raises TypeError; "
            "name them, `names_which_can_be_saved=` and so on"
        ),
        runs=True,
    ),
    Bad(
        "one name in both lists",
        """
import jax

SAVED = ("a410", "clé410")

def owner(x):
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=SAVED,
        names_which_can_be_offloaded=["clé410", "b410"],
#                                    ^^^^^^^^^^^^^^^^^^
        offload_src="device",
        offload_dst="pinned_host",
    )
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        message=(
            "'clé410' stands in both lists, of what is saved and of what is offloaded: this raises ValueError; keep a name "
            "in one of them"
        ),
        runs=True,
    ),
    Bad(
        "memory kinds swapped, through aliases in the partial of a decorated method",
        """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

class Net:
    def build(self):
        @partial(rm, policy=cp.offload_dot_with_no_batch_dims("pinned_host", "device"))
#                                                             ^^^^^^^^^^^^^
        def body(x):
            return x @ x
        return body
""",
    ),
    Bad(
        "a memory kind that does not exist",
        """
import jax

def owner(x):
    policy = jax.checkpoint_policies.offload_dot_with_no_batch_dims(offload_src="device", offload_dst="cpu")
#                                                                                                     ^^^^^
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        message=(
            "'cpu' is no memory kind of JAX, although the CPU does not complain: there are 'device', 'pinned_host' and "
            "'unpinned_host'; offload from 'device' to 'pinned_host'"
        ),
        severity=Severity.WARNING,
    ),
    Bad(
        "three policies",
        """
import jax

cp = jax.checkpoint_policies

def owner(x):
    policy = cp.save_from_both_policies(cp.dots_saveable, cp.nothing_saveable, cp.save_only_these_names("h410"))
#            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        message="`save_from_both_policies` takes 2 arguments, so that 3 raise TypeError; combine two at a time",
        runs=True,
    ),
    Bad(
        "a list of policies",
        """
import jax

cp = jax.checkpoint_policies

def owner(x):
    policy = cp.save_from_both_policies([cp.dots_saveable, cp.nothing_saveable])
#            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jax.checkpoint(lambda h: h * h, policy=policy)(x)
""",
        message=(
            "`save_from_both_policies` needs `policy_2` as well, so that this raises TypeError; give the two policies as two "
            "arguments"
        ),
        runs=True,
    ),
    Bad(
        "one half offloads",
        """
import jax

cp = jax.checkpoint_policies

def owner(x):
    offload = cp.offload_dot_with_no_batch_dims("device", "pinned_host")
    policy = cp.save_from_both_policies(cp.dots_saveable, offload)
#                                                         ^^^^^^^
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=policy)
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        message=(
            "`save_from_both_policies` combines policies that answer with a bool, and `offload_dot_with_no_batch_dims` does "
            "not, so that differentiation raises ValueError (the oldest releases of JAX offload nothing); write one policy "
            "that asks both"
        ),
        runs=True,
    ),
    Bad(
        "one half is a factory",
        """
import jax

cp = jax.checkpoint_policies

def owner(x):
    policy = cp.save_from_both_policies(cp.dots_saveable, cp.save_only_these_names)
#                                                         ^^^^^^^^^^^^^^^^^^^^^^^^
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=policy)
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        message=(
            "`save_only_these_names` makes a policy and is none, so that differentiation raises TypeError; call it inside of "
            "`save_from_both_policies`"
        ),
        runs=True,
    ),
    Good(
        "by keyword",
        """
import jax

policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=["a"], names_which_can_be_offloaded=["b"], offload_src="device", offload_dst="pinned_host"
)
layer = jax.checkpoint(lambda x: x * 2, policy=policy)
""",
    ),
    Good(
        "two policies",
        """
import jax

cp = jax.checkpoint_policies
policy = cp.save_from_both_policies(cp.dots_saveable, cp.save_only_these_names("h"))
more = cp.save_from_both_policies(policy, policy_2=lambda prim, *_, **params: prim.name == "tanh")
layer = jax.checkpoint(lambda x: x * 2, policy=more)
""",
    ),
    Good(
        "arguments that are not seen",
        """
import jax

def policy(names, **kinds):
    return jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=names, names_which_can_be_offloaded=[], **kinds
    )

def matmuls(ends):
    return jax.checkpoint_policies.offload_dot_with_no_batch_dims(*ends)
""",
    ),
    Good(
        "memory kinds from the configuration",
        """
import jax

def policy(cfg):
    return jax.checkpoint_policies.offload_dot_with_no_batch_dims(cfg.source, offload_dst=cfg.target)
""",
    ),
    Miss(
        "lists that are filled elsewhere",
        """
import jax

def policy(saved, offloaded):
    return jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=saved + ["h"],
        names_which_can_be_offloaded=offloaded + ["h"],
        offload_src="device",
        offload_dst="pinned_host",
    )
""",
    ),
)
