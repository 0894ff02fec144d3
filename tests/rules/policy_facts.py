"""Programs for what messages about policies and names claim and no example runs: what each gives for four numbers."""

KEPT = """
import jax
import jax.numpy as jnp
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import checkpoint_name

def named(x):
    return jnp.sin(checkpoint_name(jnp.sin(x), "a")).sum()

def dropped(x):
    h = jnp.sin(x)
    checkpoint_name(h, "a")
    return jnp.sin(h).sum()

def unread(x):
    h = jnp.sin(x)
    other = checkpoint_name(h, "a")
    return jnp.sin(h).sum()

def plain(x):
    return jnp.sin(jnp.sin(x)).sum()

def sines(body, policy, x):
    # What is not kept is computed again on the way back: fewer sines mean that more was kept.
    return str(jax.make_jaxpr(jax.grad(jax.checkpoint(body, policy=policy)))(x)).count(" sin ")

def equal(body, first, second, x):
    return sines(body, first, x) == sines(body, second, x)
"""
MATMUL = """
import jax
import jax.numpy as jnp
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import Saveable

def body(x):
    return jnp.sin(x[None] @ x[:, None]).sum()

def differentiated(policy, x):
    return jax.grad(jax.checkpoint(body, policy=policy))(x)

def forward(policy, x):
    return jax.jit(jax.checkpoint(body, policy=policy))(x)
"""


def _raises(error, *policies):
    """Return facts that differentiation raises and the forward pass does not."""
    for policy in policies:
        yield (
            f"{policy}: differentiation raises {error}",
            (f"{MATMUL}\ndef owner(x):\n    return differentiated({policy}, x)\n", error),
        )
        yield (
            f"{policy}: the forward pass works",
            (f"{MATMUL}\ndef owner(x):\n    return jnp.isfinite(forward({policy}, x))\n", [1.0]),
        )


def _same(title, text):
    return f"{title}", (f"{KEPT}\ndef owner(x):\n    return {text}\n", [1.0])


POLICY_FACTS = dict(
    [
        *_raises(
            "TypeError",
            "'dots_saveable'",
            "True",
            "1",
            "(cp.dots_saveable, cp.dots_saveable)",
            "type('Policy', (), {'__call__': lambda self, prim, *_, **params: True})",
            "type('Policy', (), {})()",
            "lambda prim: True",
            "lambda prim, *_: True",
            "lambda prim, **params: True",
            "lambda prim, one, **params: True",
            "lambda prim, *_, **params: None",
            "lambda prim, *_, **params: 1",
            "lambda prim, *_, **params: cp.dots_saveable",
            "lambda: cp.dots_saveable",
            "__import__('functools').partial(cp.save_only_these_names, 'a')",
            "cp.save_from_both_policies(cp.dots_saveable, None)",
            "cp.save_from_both_policies(cp.dots_saveable, 'h')",
            "cp.save_from_both_policies(cp.dots_saveable, ['h'])",
            "cp.save_from_both_policies(cp.dots_saveable, cp.save_only_these_names)",
        ),
        *(
            (
                f"{policy}: {how} raises TypeError",
                (f"{MATMUL}\ndef owner(x):\n    return {how}({policy}, x)\n", "TypeError"),
            )
            for policy in (
                "[cp.dots_saveable, cp.dots_saveable]",
                "[]",
                "{'a': cp.dots_saveable}",
                "{1}",
                "cp",
            )
            for how in ("differentiated", "forward")
        ),
        *_raises(
            "ValueError",
            "cp.save_from_both_policies(cp.dots_saveable, cp.offload_dot_with_no_batch_dims('device', 'pinned_host'))",
        ),
        *_raises(
            "AssertionError",
            "cp.offload_dot_with_no_batch_dims('pinned_host', 'device')",
        ),
        *(
            _same(
                f"{policy} is taken as no policy",
                f"equal(named, {policy}, None, x)",
            )
            for policy in ("False", "0", "()", "''", "cp.nothing_saveable()", "cp.nothing_saveable('a')")
        ),
        _same(
            "save_anything_except_these_names keeps what everything_saveable keeps",
            "equal(named, cp.save_anything_except_these_names('a'), cp.everything_saveable, x)",
        ),
        _same(
            "everything_saveable keeps more",
            "sines(named, cp.everything_saveable, x) < sines(named, None, x)",
        ),
        _same("None is a name that no value has", "equal(named, cp.save_only_these_names(None), None, x)"),
        _same(
            "a name that is an operation saves nothing",
            "equal(plain, cp.save_only_these_names('sin'), None, x)",
        ),
        _same(
            "a name whose result is dropped saves nothing",
            "equal(dropped, cp.save_only_these_names('a'), None, x)",
        ),
        _same(
            "a named copy that is not read saves nothing",
            "equal(unread, cp.save_only_these_names('a'), None, x)",
        ),
        _same(
            "a name given to the argument or the result outside saves nothing",
            "str(jax.make_jaxpr(jax.grad(lambda y: checkpoint_name(jax.checkpoint(plain,"
            " policy=cp.save_only_these_names('a'))(checkpoint_name(y, 'a')), 'a')))(x)).count(' sin ')"
            " == sines(plain, None, x)",
        ),
        _same(
            "a policy may return Saveable",
            "equal(named, lambda *_, **__: __import__('jax').ad_checkpoint.Saveable, cp.everything_saveable, x)",
        ),
        (
            "a memory kind that does not exist raises nothing on the CPU",
            (
                (
                    f"{MATMUL}\ndef owner(x):\n    policy = cp.offload_dot_with_no_batch_dims('device', 'cpu')\n"
                    "    return jnp.isfinite(jax.jit(lambda v: differentiated(policy, v))(x))\n"
                ),
                [1.0, 1.0, 1.0, 1.0],
            ),
        ),
        (
            "getattr with a default gives it for a name that does not exist",
            (f"{MATMUL}\ndef owner(x):\n    return getattr(cp, 'dots_savable', None) is None\n", [1.0]),
        ),
    ]
)
