"""Each row of the wrapper table against the library it describes."""

import functools
import inspect

import pytest

from remat_lint.jaxapi import signatures, wrappers

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

pytestmark = pytest.mark.execution
HERE = signatures.release(jax.__version__)
FULL = sorted(
    name for name, row in wrappers.WRAPPERS.items() if row.framework in {"jax", "linen", "nnx", "equinox"}
)


@pytest.mark.parametrize("spelling", sorted(wrappers.CANONICAL))
def test_each_spelling_is_the_canonical_function(load, spelling):
    retired = wrappers.RETIRED.get(spelling)
    if retired is not None and retired.gone_from and signatures.release(retired.gone_from) <= HERE:
        with pytest.raises(AttributeError):
            load(spelling)
    else:
        assert load(spelling) is load(wrappers.CANONICAL[spelling])


@pytest.mark.parametrize("spelling", sorted(set(wrappers.RETIRED) - set(wrappers.CANONICAL)))
def test_spellings_that_no_supported_release_has_are_absent(load, spelling):
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        load(spelling)


@pytest.mark.parametrize("row", wrappers.RETIRED.values(), ids=lambda row: row.spelling)
def test_the_replacement_of_a_retired_spelling_exists(load, row):
    assert callable(load(row.instead))


@pytest.mark.parametrize(
    "dotted",
    [
        "orbax.checkpoint",
        "orbax.checkpoint.checkpoint",
        "torch.utils.checkpoint.checkpoint",
        "flax.training.checkpoints",
        "mlx.core.checkpoint",
        "transformer_engine.jax.checkpoint",
        "checkpoint",
        "remat",
        "jax",
        "jax.custom_remat",
        "jax.checkpoint.checkpoint",
    ],
)
def test_look_alikes_are_no_wrappers(dotted):
    assert wrappers.lookup(dotted) is None


def test_every_spelling_holds_a_word_of_the_byte_filter():
    assert wrappers.SPELLING_WORDS == ("checkpoint", "remat", "Remat")
    spellings = {*wrappers.CANONICAL, *wrappers.RETIRED}
    assert all(any(word in spelling for word in wrappers.SPELLING_WORDS) for spelling in spellings)


@pytest.mark.parametrize("name", sorted(wrappers.WRAPPERS))
def test_parameters_are_those_of_the_installed_function(load, name):
    row = wrappers.WRAPPERS[name]
    parameters = inspect.signature(load(name)).parameters
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert (positional[0], len(positional)) == (row.target, row.positional)
    removed = {"concrete", "static_argnames"} if row.framework in {"jax", "haiku"} else set()
    assert set(parameters) - {row.target} <= row.accepts
    assert row.accepts - set(parameters) <= removed


@pytest.mark.parametrize("name", FULL)
def test_only_some_wrappers_are_decorators_without_a_function(load, name):
    wrapper = load(name)
    if wrappers.WRAPPERS[name].keyword_only_form:
        assert wrapper(policy=None)(lambda x: x + 1)(1.0) == 2.0
    else:
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            wrapper(policy=None)


def call_twice(wrapper, run, rewrap):
    """Traces of one function called twice through a wrapper, with a value changed in between."""
    counts, captured = [], [1.0]

    def body(*args):
        counts.append(1)
        return args[-1] * captured[0]

    def both(call):
        wrapped = wrapper(body)
        first = call(wrapped)
        captured[0] = 2.0
        return first, call(wrapper(body) if rewrap else wrapped)

    first, second = run(both)
    assert float(first) == 1.0
    return len(counts), float(second)


def run_plain(both):
    return both(lambda wrapped: wrapped(jnp.float32(1)))


def run_linen(both):
    linen = pytest.importorskip("flax.linen")

    class Owner(linen.Module):
        @linen.compact
        def __call__(self):
            return both(lambda wrapped: wrapped(self, jnp.float32(1)))

    return Owner().apply({})


def run_lift(both):
    core = pytest.importorskip("flax.core")
    return core.apply(lambda scope: both(lambda wrapped: wrapped(scope, jnp.float32(1))))({})


def run_haiku(both):
    haiku = pytest.importorskip("haiku")
    return haiku.transform(lambda: run_plain(both)).apply({}, None)


RUNNERS = {"jax": run_plain, "nnx": run_plain, "equinox": run_plain, "linen": run_linen, "lift": run_lift}
RUNNERS["haiku"] = run_haiku
PLAIN = sorted(name for name in wrappers.WRAPPERS if not name.endswith("remat_scan"))


def runner(load, name):
    row = wrappers.WRAPPERS[name]
    if row.framework not in RUNNERS:
        pytest.skip(f"{row.framework} is not installed and was read in source only")
    return row, load(name), RUNNERS[row.framework]


STALE, FRESH = (1, 1.0), (2, 2.0)


@pytest.mark.parametrize("name", PLAIN)
def test_a_trace_is_found_again_by_what_the_table_says(load, name):
    row, wrapper, run = runner(load, name)
    assert call_twice(wrapper, run, rewrap=False) == (STALE if row.keeps_trace else FRESH)
    assert call_twice(wrapper, run, rewrap=True) == (STALE if row.trace_key == "function" else FRESH)


FLAG = True


def branches(wrapper, run, static):
    """Whether a flag given as the last positional argument is a Python value inside."""

    def body(*args):
        return args[-2] if args[-1] else -args[-2]

    wrapped = functools.partial(wrapper, static_argnums=static)
    try:
        run(lambda call: call(lambda *args: wrapped(body)(*args, FLAG)))
    except jax.errors.TracerBoolConversionError:
        return False
    except (TypeError, ValueError):
        return None
    return True


@pytest.mark.parametrize("name", PLAIN)
def test_static_argnums_counts_the_module_only_where_the_table_says_so(load, name):
    row, wrapper, run = runner(load, name)
    if not row.has_static:
        with pytest.raises(TypeError, match="static_argnums"):
            wrapper(lambda x: x, static_argnums=(0,))
        return
    over_module = row.framework in {"linen", "lift"}
    flag = 2 if row.counts_self and over_module else 1
    assert branches(wrapper, run, (flag,)) is True
    assert branches(wrapper, run, (flag - 1,)) is not True
    assert (branches(wrapper, run, flag) is True) == row.integer_static
    assert (branches(wrapper, run, (-1,)) is True) == row.negative_static


@pytest.mark.parametrize("name", ["flax.nnx.remat", "flax.nnx.compat.remat"])
def test_nnx_counts_self_on_a_decorated_method(load, name):
    row, wrapper, _ = runner(load, name)
    nnx = pytest.importorskip("flax.nnx")

    class Owner(nnx.Module):
        @wrapper(static_argnums=(2,))
        def right(self, x, flag):
            return x if flag else -x

        @wrapper(static_argnums=(1,))
        def wrong(self, x, flag):
            return x if flag else -x

    assert row.counts_self
    assert float(Owner().right(jnp.float32(1), FLAG)) == 1.0
    with pytest.raises(jax.errors.TracerBoolConversionError):
        Owner().wrong(jnp.float32(1), FLAG)


@pytest.mark.parametrize("name", ["flax.linen.remat", "flax.linen.partitioning.remat"])
def test_linen_counts_self_on_a_wrapped_class(load, name):
    row, wrapper, _ = runner(load, name)
    linen = pytest.importorskip("flax.linen")

    class Block(linen.Module):
        def __call__(self, x, flag):
            return x if flag else -x

    right = 2 if row.counts_self else 1
    assert float(wrapper(Block, static_argnums=(right,))().apply({}, jnp.float32(1), FLAG)) == 1.0
    with pytest.raises(jax.errors.TracerBoolConversionError):
        wrapper(Block, static_argnums=(3 - right,))().apply({}, jnp.float32(1), FLAG)


@pytest.mark.parametrize("spelling", sorted(wrappers.CHECKPOINT_NAME))
def test_checkpoint_name_returns_its_value(load, spelling):
    assert float(load(spelling)(jnp.float32(1), "a")) == 1.0
