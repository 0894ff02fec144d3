"""The effect tables against the modules they describe, and against values made inside a trace."""

from collections import Counter, OrderedDict, deque

import pytest

from remat_lint.jaxapi import effects

np = pytest.importorskip("numpy")
jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

pytestmark = pytest.mark.execution
ROWS = np.ones((2, 2), np.float32)

TRACED = {
    "jax.numpy.array": lambda f: f([1.0]),
    "jax.numpy.asarray": lambda f: f(ROWS),
    "jax.numpy.arange": lambda f: f(3),
    "jax.numpy.float32": lambda f: f(1),
    "jax.numpy.linalg.norm": lambda f: f(ROWS),
    "jax.numpy.ones": lambda f: f(2),
    "jax.numpy.tril": lambda f: f(ROWS),
    "jax.numpy.where": lambda f: f(1, 1.0, 2.0),
    "jax.numpy.zeros": lambda f: f(2),
    "jax.lax.add": lambda f: f(1.0, 2.0),
    "jax.lax.stop_gradient": lambda f: f(ROWS),
    "jax.nn.one_hot": lambda f: f(1, 3),
    "jax.nn.relu": lambda f: f(1.0),
    "jax.random.PRNGKey": lambda f: f(0),
    "jax.random.key": lambda f: f(0),
    "jax.random.normal": lambda f: f(jax.random.key(0), (2,)),
    "jax.scipy.special.logsumexp": lambda f: f(ROWS),
    "jax.image.resize": lambda f: f(ROWS, (4, 4), "nearest"),
    "jax.ops.segment_sum": lambda f: f(ROWS, np.zeros(2, int), 2),
    "jax.device_put": lambda f: f(ROWS),
}
STATIC = {
    "jax.numpy.broadcast_shapes": lambda f: f((1,), (2,)),
    "jax.numpy.can_cast": lambda f: f(np.int32, np.float32),
    "jax.numpy.dtype": lambda f: f("float32"),
    "jax.numpy.finfo": lambda f: f(np.float32),
    "jax.numpy.issubdtype": lambda f: f(np.float32, np.floating),
    "jax.numpy.ndim": lambda f: f(jnp.ones(2)),
    "jax.numpy.promote_types": lambda f: f(np.float32, np.float16),
    "jax.numpy.result_type": lambda f: f(jnp.ones(2)),
    "jax.numpy.shape": lambda f: f(jnp.ones(2)),
    "jax.numpy.size": lambda f: f(jnp.ones(2)),
    "jax.numpy.iscomplexobj": lambda f: f(jnp.ones(2)),
    "jax.numpy.vectorize": lambda f: f(abs),
    "jax.lax.dtype": lambda f: f(jnp.ones(2)),
    "jax.random.key_impl": lambda f: f(jax.random.key(0)),
    "jax.eval_shape": lambda f: f(abs, jnp.ones(2)),
    "jax.make_jaxpr": lambda f: f(abs)(jnp.ones(2)),
    "jax.tree.structure": lambda f: f([jnp.ones(2)]),
    "jax.nn.initializers.lecun_normal": lambda f: f(),
    "numpy.shape": lambda f: f(jnp.ones(2)),
    "len": lambda f: f(jnp.ones(2)),
    "isinstance": lambda f: f(jnp.ones(2), float),
}
THROUGH = {
    "jax.numpy.reshape": lambda f, x: f(x, (4,)),
    "jax.lax.cond": lambda f, x: f(1, lambda v: v, lambda v: v, x),
    "jax.lax.scan": lambda f, x: f(lambda c, _: (c, None), x, None, 2)[0],
    "jax.block_until_ready": lambda f, x: f(x),
    "jax.device_get": lambda f, x: f(x),
}


def observe(make):
    """Whether a value made inside a checkpointed function is traced."""
    seen = []

    def body(x):
        seen.append(isinstance(make(x), jax.core.Tracer))
        return x

    jax.checkpoint(body)(jnp.ones((2, 2)))
    return seen[0]


@pytest.mark.parametrize("dotted", sorted(TRACED))
def test_makers_of_traced_values_make_them_from_constants(load, dotted):
    assert observe(lambda _: TRACED[dotted](load(dotted)))
    assert effects.makes_traced(dotted)


@pytest.mark.parametrize("dotted", sorted(STATIC))
def test_static_calls_give_python_values_even_from_traced_ones(load, dotted):
    assert not observe(lambda _: STATIC[dotted](load(dotted)))
    assert not effects.passes_traced(dotted)


@pytest.mark.parametrize("dotted", sorted(THROUGH))
def test_some_calls_give_back_what_they_got(load, dotted):
    assert observe(lambda x: THROUGH[dotted](load(dotted), x))
    assert not effects.makes_traced(dotted)
    assert effects.passes_traced(dotted)


@pytest.mark.parametrize(
    "name", ["shape", "ndim", "dtype", "size", "aval", "weak_type", "itemsize", "nbytes"]
)
def test_static_attributes_are_python_values_in_a_trace(name):
    assert not observe(lambda x: getattr(x, name))
    assert name in effects.STATIC_ATTRIBUTES


@pytest.mark.parametrize("name", ["T", "real", "mT", "at"])
def test_other_attributes_are_not_static(name):
    assert name not in effects.STATIC_ATTRIBUTES


@pytest.mark.parametrize(
    "dotted",
    ["random.random", "numpy.random.rand", "time.perf_counter", "uuid.uuid4", "datetime.datetime.now"],
)
def test_impure_calls_are_frozen_by_a_trace(load, dotted):
    if dotted.startswith(("uuid", "datetime")):
        values = {str(load(dotted)()) for _ in range(2)}
        assert len(values) == 2
    else:
        wrapped = jax.checkpoint(lambda x: x * 0 + load(dotted)())
        assert float(wrapped(1.0)) == float(wrapped(1.0))
        assert load(dotted)() != load(dotted)()
    assert effects.classify_impure(dotted) in {"randomness", "clock"}


LATER = {"numpy.random.get_bit_generator", "numpy.random.set_bit_generator", "random.binomialvariate"}
LATER |= {"uuid.uuid6", "uuid.uuid7", "uuid.uuid8", "os.getrandom", "os.getloadavg"}
LATER |= {"numpy.random.random_integers", "time.tzset"}


@pytest.mark.parametrize("dotted", sorted((set(effects.IMPURE) | effects.NOT_IMPURE) - LATER))
def test_named_calls_exist(load, dotted):
    assert callable(load(dotted))


@pytest.mark.parametrize("dotted", sorted(effects.NOT_IMPURE))
def test_seeding_and_sleeping_are_no_draws(dotted):
    assert effects.classify_impure(dotted) is None


def make_generator(load, dotted):
    if dotted == "numpy.random.Generator":
        return np.random.Generator(np.random.PCG64(0))
    return load(dotted)()


@pytest.mark.parametrize("dotted", sorted(effects.GENERATORS))
def test_drawing_methods_exist_on_what_the_constructor_returns(load, dotted):
    made = make_generator(load, dotted)
    missing = {draw for draw in effects.GENERATORS[dotted].draws if not hasattr(made, draw)}
    assert missing <= {"binomialvariate", "spawn", "random_integers"}


TYPES = {"list": [], "dict": {}, "set": set(), "deque": deque(), "ndarray": np.ones(2)}
TYPES |= {"counter": Counter(), "ordered": OrderedDict()}


@pytest.mark.parametrize("name", sorted(TYPES))
def test_mutating_methods_exist_on_their_type(name):
    missing = {method for method in effects.MUTATORS[name] if not hasattr(TYPES[name], method)}
    assert missing <= {"itemset"}


@pytest.mark.parametrize(
    "method", ["get", "keys", "items", "count", "index", "copy", "sum", "astype", "union"]
)
def test_reading_methods_do_not_mutate(method):
    assert method not in effects.MUTATING_METHODS


@pytest.mark.parametrize("dotted", sorted(effects.IN_PLACE_CALLS))
def test_functions_that_change_an_argument_exist(load, dotted):
    assert callable(load(dotted))
