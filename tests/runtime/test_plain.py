import jax
import jax.numpy as jnp
import numpy as np
import pytest

from remat_lint.runtime import plain
from remat_lint.runtime.jaxprs import applies_remat
from remat_lint.testing import UnsupportedJax, no_remat

pytestmark = pytest.mark.execution


@pytest.fixture(params=[False, True], ids=["default", "remat3"])
def implementation(request):
    """Both implementations that JAX holds."""
    if not hasattr(jax.config, "jax_remat3"):
        pytest.skip("this JAX has one implementation")
    previous = jax.config.jax_remat3
    jax.config.update("jax_remat3", request.param)
    yield request.param
    jax.config.update("jax_remat3", previous)


def test_the_body_runs_at_every_call_on_its_real_arguments(implementation):
    seen = []
    wrapped = jax.checkpoint(lambda x: seen.append(x) or x * 2)
    wrapped(1.0)
    with no_remat():
        assert wrapped(2.0) == 4.0
        assert wrapped(3.0) == 6.0
    assert seen[1:] == [2.0, 3.0]


def test_a_changed_capture_is_seen_inside_and_stays_frozen_outside():
    cell = [1.0]
    wrapped = jax.checkpoint(lambda x: x * cell[0])
    assert float(wrapped(1.0)) == 1.0
    cell[0] = 6.0
    with no_remat():
        assert wrapped(1.0) == 6.0
    assert float(wrapped(1.0)) == 1.0


def test_a_compiled_scan_switches_without_clearing_caches(implementation):
    @jax.jit
    def run(x):
        return jax.lax.scan(jax.checkpoint(lambda c, _: (jnp.sin(c), c)), x, None, length=3)

    x = jnp.float32(1)
    assert applies_remat(run, (x,), {})
    with no_remat():
        assert not applies_remat(run, (x,), {})
        inside = run(x)
    assert applies_remat(run, (x,), {})
    np.testing.assert_array_equal(inside[1], run(x)[1])


def test_a_pull_back_crosses_the_border_of_the_context(implementation):
    f, x = jax.checkpoint(lambda v: jnp.sin(v) * v), jnp.arange(3.0)
    _, outside = jax.vjp(f, x)
    with no_remat():
        _, inside = jax.vjp(f, x)
        crossed = outside(x)[0]
    np.testing.assert_allclose(inside(x)[0], crossed, rtol=1e-6)


def test_an_exception_passes_and_ends_the_context():
    wrapped = jax.checkpoint(lambda x: x / 0 if isinstance(x, int) else x)
    with pytest.raises(ZeroDivisionError), no_remat():
        wrapped(1)
    before = plain.count_applied()
    wrapped(1.0)
    assert plain.count_applied() == before + 1


def test_wrappers_of_frameworks_are_reached():
    nn, eqx, hk = (pytest.importorskip(name) for name in ("flax.linen", "equinox", "haiku"))
    x = jnp.ones((2, 3))
    module = nn.remat(nn.Dense)(3)
    variables = module.init(jax.random.key(0), x)
    transformed = hk.without_apply_rng(hk.transform(lambda v: hk.remat(hk.Linear(3))(v + 0)))
    params = transformed.init(jax.random.key(0), x)
    programs = [
        lambda v: module.apply(variables, v),
        eqx.filter_checkpoint(jnp.sin),
        lambda v: transformed.apply(params, v),
    ]
    for program in programs:
        before = plain.count_applied()
        outside = program(x)
        assert plain.count_applied() > before
        with no_remat():
            during = plain.count_applied()
            np.testing.assert_allclose(program(x), outside, rtol=1e-6)
            assert plain.count_applied() == during


def test_a_missing_hook_is_an_error_that_names_it(monkeypatch):
    monkeypatch.setattr(plain, "_TRACE", "_a_name_of_another_version")
    monkeypatch.setattr(plain, "_INSTALLED", plain._install_switch())
    plain._tested_switch.cache_clear()
    with (
        pytest.raises(UnsupportedJax, match=rf"JAX {jax.__version__}: .* has no _a_name_of_another_version"),
        no_remat(),
    ):
        pass
    monkeypatch.undo()
    plain._tested_switch.cache_clear()


def test_a_hook_without_effect_is_an_error(monkeypatch):
    monkeypatch.setattr(plain._Switch, "install", lambda self: None)
    monkeypatch.setattr(plain, "_INSTALLED", plain._install_switch())
    plain._tested_switch.cache_clear()
    with pytest.raises(UnsupportedJax, match="an applied checkpoint goes unnoticed"), no_remat():
        pass
    monkeypatch.undo()
    plain._tested_switch.cache_clear()
