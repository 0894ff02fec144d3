"""The policy table against `jax.checkpoint_policies` of the installed release."""

import pytest

from remat_lint.jaxapi import policies, signatures

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

pytestmark = pytest.mark.execution
HERE = signatures.release(jax.__version__)


def present(row):
    until = row.until is None or signatures.release(row.until) > HERE
    return until and signatures.release(row.since) <= HERE


HERE_ROWS = [row for row in policies.POLICIES.values() if present(row)]
PLAIN = [row for row in HERE_ROWS if row.kind == "policy"]
FACTORIES = [row for row in HERE_ROWS if row.kind == "factory"]


def differentiate(policy):
    @jax.jit
    def loss(w):
        wrapped = jax.checkpoint(lambda v: jnp.sin(jnp.sin(v) @ v).sum(), policy=policy)
        return jax.grad(wrapped)(w)

    return loss(jnp.ones((2, 2)))


def build(row):
    member = getattr(jax.checkpoint_policies, row.name)
    if row.varargs:
        return member("a", "b")
    if row.keyword_only:
        ends = {"offload_src": "device", "offload_dst": "pinned_host"}
        return member(**{key: ends.get(key, []) for key in row.keywords})
    if row.positional == ("policy_1", "policy_2"):
        return member(jax.checkpoint_policies.dots_saveable, jax.checkpoint_policies.nothing_saveable)
    return member("device", "pinned_host")


def test_the_namespace_has_exactly_these_members():
    found = {name for name in dir(jax.checkpoint_policies) if not name.startswith("_")}
    assert found == {row.name for row in HERE_ROWS}


@pytest.mark.parametrize("row", PLAIN, ids=lambda row: row.name)
def test_a_policy_is_passed_as_it_is(row):
    assert differentiate(getattr(jax.checkpoint_policies, row.name)).shape == (2, 2)


@pytest.mark.parametrize("row", PLAIN, ids=lambda row: row.name)
def test_a_policy_that_is_called_raises_or_passes_as_the_table_says(row):
    member = getattr(jax.checkpoint_policies, row.name)
    if row.called_bare == "passes":
        assert isinstance(member(), bool)
    else:
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            member()


@pytest.mark.parametrize("row", FACTORIES, ids=lambda row: row.name)
def test_a_factory_works_called_and_fails_uncalled(row):
    assert callable(build(row))
    with pytest.raises((TypeError, AssertionError)):
        differentiate(getattr(jax.checkpoint_policies, row.name))


@pytest.mark.parametrize("row", [row for row in HERE_ROWS if row.same_as], ids=lambda row: row.name)
def test_aliases_are_the_same_object(row):
    assert getattr(jax.checkpoint_policies, row.name) is getattr(jax.checkpoint_policies, row.same_as)


@pytest.mark.parametrize("row", [row for row in FACTORIES if row.varargs], ids=lambda row: row.name)
def test_varargs_factories_refuse_a_list_as_the_table_says(row):
    factory = getattr(jax.checkpoint_policies, row.name)
    if row.refuses_list:
        with pytest.raises(TypeError, match="unhashable"):
            factory(["a"])
    else:
        assert callable(factory(["a"]))


def test_the_offload_factory_takes_keywords_only():
    row = policies.POLICIES["save_and_offload_only_these_names"]
    with pytest.raises(TypeError, match="takes 0 positional"):
        getattr(jax.checkpoint_policies, row.name)([], [], "device", "pinned_host")


@pytest.mark.parametrize(
    ("dotted", "name"),
    [
        ("jax.checkpoint_policies.dots_saveable", "dots_saveable"),
        ("jax.ad_checkpoint.checkpoint_policies.checkpoint_dots", "checkpoint_dots"),
        ("jax.checkpoint_policies.dots_savable", None),
        ("my.checkpoint_policies.dots_saveable", None),
        ("dots_saveable", None),
    ],
)
def test_lookup_needs_the_real_namespace(dotted, name):
    found = policies.lookup_policy(dotted)
    assert (found and found.name) == name


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("dots_savable", "dots_saveable"),
        ("everything_savable", "everything_saveable"),
        ("save_only_these_name", "save_only_these_names"),
        ("save_dots", None),
        ("offload_dots", None),
    ],
)
def test_nearest_name_is_given_only_when_it_is_close(name, nearest):
    found = policies.find_nearest(name)
    assert (found and found.name) == nearest


def test_nearest_name_can_be_asked_to_keep_the_kind():
    assert policies.find_nearest("dots_savable", "factory") is None
    assert policies.find_nearest("dots_savable", "policy").name == "dots_saveable"
