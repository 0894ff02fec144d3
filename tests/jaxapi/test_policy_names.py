"""What the policy tables say about names that are no policies."""

import pytest

from remat_lint.jaxapi import policies


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("dots_savable", "dots_saveable"),
        ("save_dots", "dots_saveable"),
        ("offload_dots", "offload_dot_with_no_batch_dims"),
        ("write_only_these_names", "save_only_these_names"),
        ("minimal", None),
    ],
)
def test_a_wrong_name_suggests_what_may_be_meant(written, meant):
    assert policies.suggest(written) == meant


def test_every_suggestion_is_a_member():
    assert {policies.suggest(name) for name in policies._GUESSES} <= set(policies.POLICIES)


def test_only_members_of_some_releases_are_absent_from_others():
    absent = {name: row.absent for name, row in policies.POLICIES.items() if row.absent}
    assert absent == dict.fromkeys(
        ("SaveOnlyTheseNames", "SaveAnyNamesButThese", "SaveAndOffloadOnlyTheseNames"), "!=0.11.*"
    )


@pytest.mark.execution
def test_what_lives_elsewhere_lives_there():
    jax = pytest.importorskip("jax")
    ad_checkpoint = pytest.importorskip("jax.ad_checkpoint")
    for name, dotted in policies.ELSEWHERE.items():
        assert not hasattr(jax.checkpoint_policies, name)
        holder = ad_checkpoint if dotted.startswith("jax.ad_checkpoint.") else jax
        assert hasattr(holder, name)


@pytest.mark.execution
def test_the_operations_are_those_of_jax():
    jax = pytest.importorskip("jax")
    jnp = pytest.importorskip("jax.numpy")

    def body(x):
        y = jnp.sum(x @ x) + jnp.max(x, axis=0).sum() + (x**3).sum()
        return y + jnp.where(x > 0, x, 0).sum() + jax.lax.dynamic_slice(x, (0, 0), (1, 1)).sum()

    text = str(jax.make_jaxpr(body)(jnp.ones((2, 2))))
    seen = {name for name in policies.PRIMITIVES if f" {name}[" in text or f" {name} " in text}
    assert {"dot_general", "reduce_sum", "reduce_max", "integer_pow", "select_n", "dynamic_slice"} <= seen
