"""The examples of `non-callable-policy`, apart from the rule for their length."""

from __future__ import annotations

from remat_lint.findings import Severity
from remat_lint.rules.rule import Bad, Good, Miss

NON_CALLABLE = (
    Bad(
        "a string",
        """
import jax

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy="dots_saveable")
#                                                        ^^^^^^^^^^^^^^^
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        fixed="""
import jax

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=jax.checkpoint_policies.dots_saveable)
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        message=(
            "`policy` is the string 'dots_saveable': the forward pass works, but differentiation raises TypeError "
            "('str' object is not callable); give `dots_saveable` of `jax.checkpoint_policies` itself"
        ),
        runs=True,
    ),
    Bad(
        "a string where the configuration gives none, through aliases in the partial of a decorated method",
        """
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

class Net:
    def build(self, cfg):
        @partial(rm, policy=cfg.policy or "everything_saveable")  # réglage par défaut
#                                         ^^^^^^^^^^^^^^^^^^^^^
        def body(x):
            return cp.dots_saveable, x @ x
        return body
""",
        fixed="""
from functools import partial
from jax import checkpoint_policies as cp, remat as rm

class Net:
    def build(self, cfg):
        @partial(rm, policy=cfg.policy or cp.everything_saveable)  # réglage par défaut
        def body(x):
            return cp.dots_saveable, x @ x
        return body
""",
    ),
    Bad(
        "a list of policies",
        """
import jax

cp = jax.checkpoint_policies
POLICIES = [cp.dots_saveable, cp.save_only_these_names("h403")]

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=POLICIES)
#                                                        ^^^^^^^^
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        message=(
            "`policy` is a list: `jit` and differentiation raise TypeError (unhashable type: 'list'); two policies become "
            "one by `save_from_both_policies`"
        ),
        runs=True,
    ),
    Bad(
        "a flag",
        """
import jax

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=True)
#                                                        ^^^^
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        message=(
            "`policy` is `True`: the forward pass works, but differentiation raises TypeError ('bool' object is not "
            "callable); give a member of `jax.checkpoint_policies`, or leave `policy` out"
        ),
        runs=True,
    ),
    Bad(
        "a falsy value",
        """
import jax

layer = jax.checkpoint(lambda x: x * 2, policy=False)
#                                              ^^^^^
""",
        message="`policy` is `False`, which JAX takes as no policy at all; leave it out, or give a policy",
        severity=Severity.WARNING,
    ),
    Bad(
        "a function that takes the operation only",
        """
import jax

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=lambda prim: prim.name == "dot_general")
#                                                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        message=(
            "this function takes no `**params`: JAX passes the parameters of each operation by keyword, so that "
            "differentiation raises TypeError; a policy is `(prim, *_, **params) -> bool`"
        ),
        runs=True,
    ),
    Bad(
        "a function that says nothing about other operations",
        """
import jax

def keep(prim, *_, **params):
    if prim.name == "dot_general":
        return True

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=keep)
#                                                        ^^^^
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        message=(
            "`keep` returns None where it ends without `return`, so that differentiation raises TypeError; a policy is "
            "`(prim, *_, **params) -> bool`"
        ),
        runs=True,
    ),
    Bad(
        "a function that makes a policy and is not called",
        """
import jax

def names():
    return jax.checkpoint_policies.save_only_these_names("h")

def owner(x):
    layer = jax.checkpoint(lambda h: (h @ h) * 2, policy=names)
#                                                        ^^^^^
    return jax.grad(lambda h: layer(h).sum())(x[None] * x[:, None])
""",
        message=(
            "`names` takes no operation, so that differentiation raises TypeError; if it makes a policy, call it"
        ),
        runs=True,
    ),
    Bad(
        "a string that a caller passes on",
        """
import jax

def wrap(f, policy=None):
    return jax.checkpoint(f, policy=policy)

layer = wrap(lambda x: x @ x, policy="nothing_saveable")
#                                    ^^^^^^^^^^^^^^^^^^
""",
        fixed="""
import jax

def wrap(f, policy=None):
    return jax.checkpoint(f, policy=policy)

layer = wrap(lambda x: x @ x, policy=jax.checkpoint_policies.nothing_saveable)
""",
    ),
    Bad(
        "one entry of a table",
        """
import jax

cp = jax.checkpoint_policies
POLICIES = {"none": None, "dots": cp.dots_saveable, "all": "everything"}
#                                                          ^^^^^^^^^^^^

def wrap(f, name):
    return jax.checkpoint(f, policy=POLICIES[name])
""",
        severity=Severity.WARNING,
    ),
    Good(
        "a policy of one's own, and a partial of one",
        """
from functools import partial
import jax

def keep(names, prim, *_, **params):
    return prim.name in names

layer = jax.checkpoint(lambda x: x @ x, policy=partial(keep, frozenset({"dot_general"})))
other = jax.checkpoint(lambda x: x @ x, policy=lambda prim, *_, **params: prim.name == "tanh")
""",
    ),
    Good(
        "an object that can be called",
        """
import jax

class Keep:
    def __init__(self, names):
        self.names = names

    def __call__(self, prim, *_, **params):
        if prim.name in self.names:
            return True
        return False

layer = jax.checkpoint(lambda x: x @ x, policy=Keep({"dot_general"}))
""",
    ),
    Good(
        "a string that becomes a policy first",
        """
import jax

def wrap(f, policy="dots_saveable"):
    if isinstance(policy, str):
        policy = getattr(jax.checkpoint_policies, policy)
    return jax.checkpoint(f, policy=policy)
""",
    ),
    Good(
        "a word that means no checkpoint at all",
        """
import jax

def wrap(f, policy="none"):
    if policy == "none":
        return f
    return jax.checkpoint(f, policy=policy)
""",
    ),
    Good(
        "a table of policies, and a flag that decides whether there is one",
        """
import jax

cp = jax.checkpoint_policies
POLICIES = {"none": None, "dots": cp.dots_saveable}

def wrap(f, name, use_policy):
    return jax.checkpoint(f, policy=use_policy and POLICIES[name])
""",
    ),
    Miss(
        "a string that comes from the configuration",
        """
import jax

def wrap(f, cfg):
    return jax.checkpoint(f, policy=cfg.policy)
""",
    ),
)
