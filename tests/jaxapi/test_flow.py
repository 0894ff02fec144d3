"""How receivers of functions run them: counted by calling each twice with a value changed in between."""

import functools

import pytest

from remat_lint.jaxapi import flow

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
lax = pytest.importorskip("jax.lax")

pytestmark = pytest.mark.execution
X = jnp.ones(3)
ONE = 1.0
GONE = {"jax.tree_map", "jax.experimental.pure_callback"}
GONE |= {"jax.experimental.host_callback.call", "jax.experimental.host_callback.id_tap"}


def positive(x):
    return x.sum() < 2


def as_step(f):
    return lambda carry, _: (f(carry), None)


def as_index_step(f):
    return lambda _, carry: f(carry)


def as_binary(f):
    return lambda a, b: f(a) + b


RETURNED = {
    "jax.grad": ONE,
    "jax.value_and_grad": ONE,
    "jax.hessian": ONE,
    "jax.jacfwd": ONE,
    "jax.jacrev": ONE,
    "jax.vmap": X,
    "jax.named_call": X,
    "jax.jit": X,
    "jax.pmap": X[:1],
    "jax.make_jaxpr": X,
    "jax.numpy.vectorize": X,
    "flax.nnx.grad": ONE,
    "flax.nnx.vmap": X,
    "flax.nnx.jit": X,
    "equinox.filter_grad": ONE,
    "equinox.filter_vmap": X,
    "equinox.filter_jit": X,
    "equinox.filter_make_jaxpr": X,
}
RETURNED = {
    name: jnp.float32(value) if name.startswith("flax") else value for name, value in RETURNED.items()
}
CALLED = {
    "jax.vjp": lambda api, f: functools.partial(api, f, X),
    "jax.linearize": lambda api, f: functools.partial(api, f, X),
    "jax.eval_shape": lambda api, f: functools.partial(api, f, X),
    "jax.closure_convert": lambda api, f: functools.partial(api, f, X),
    "jax.tree.map": lambda api, f: functools.partial(api, f, [X]),
    "functools.reduce": lambda api, f: functools.partial(api, as_binary(f), [X, X]),
    "jax.lax.map": lambda api, f: functools.partial(api, f, X),
    "jax.lax.associative_scan": lambda api, f: functools.partial(api, as_binary(f), X[:2]),
    "jax.lax.scan": lambda api, f: functools.partial(api, as_step(f), X, None, 3),
    "jax.lax.while_loop": lambda api, f: functools.partial(api, positive, f, X),
    "jax.lax.fori_loop": lambda api, f: functools.partial(api, 0, 3, as_index_step(f), X),
    "jax.lax.cond": lambda api, f: functools.partial(api, X.sum() > 0, f, jnp.negative, X),
    "jax.lax.switch": lambda api, f: functools.partial(api, jnp.int32(0), [f, jnp.negative], X),
    "jax.lax.reduce": lambda api, f: functools.partial(api, X, jnp.float32(0), as_binary(f), (0,)),
    "jax.numpy.piecewise": lambda api, f: functools.partial(api, X, [X > 0], [f, 0.0]),
    "flax.nnx.cond": lambda api, f: functools.partial(api, X.sum() > 0, f, lambda x: -x, X),
    "flax.nnx.fori_loop": lambda api, f: functools.partial(api, 0, 3, as_index_step(f), X),
    "flax.nnx.while_loop": lambda api, f: functools.partial(api, positive, f, X),
    "flax.nnx.eval_shape": lambda api, f: functools.partial(api, f, X),
    "equinox.filter_eval_shape": lambda api, f: functools.partial(api, f, X),
    "equinox.filter_vjp": lambda api, f: functools.partial(api, f, X),
}


def count(prepare):
    """Body runs while preparing, in a first call and in a second call."""
    runs, marks = [], []

    def body(x):
        runs.append(1)
        return x * 1.0

    call = prepare(body)
    marks.append(len(runs))
    for _ in range(2):
        call()
        marks.append(len(runs) - sum(marks))
    return marks


@pytest.mark.parametrize("dotted", sorted(RETURNED))
def test_receivers_that_return_a_function_run_it_as_their_kind_says(load, dotted):
    made, first, second = count(lambda f: functools.partial(load(dotted)(f), RETURNED[dotted]))
    assert (made, bool(first)) == (0, True)
    assert flow.RECEIVERS[dotted].kind == ("transform" if second else "cached")


@pytest.mark.parametrize("dotted", sorted(CALLED))
def test_receivers_that_run_the_function_now_do_so_as_their_kind_says(load, dotted):
    made, first, second = count(lambda f: CALLED[dotted](load(dotted), f))
    assert (made, bool(first)) == (0, True)
    assert flow.RECEIVERS[dotted].kind == ("now" if second else "now-cached")


@pytest.mark.parametrize("dotted", sorted(name for name, row in flow.RECEIVERS.items() if row.kind == "host"))
def test_host_callbacks_see_concrete_values(load, dotted):
    if dotted in GONE:
        pytest.skip(f"{dotted} is gone from the installed release")
    seen = []
    callback = load(dotted)
    shape = () if dotted == "jax.debug.callback" else (jax.ShapeDtypeStruct((), jnp.float32),)
    jax.jit(lambda x: callback(lambda v: (seen.append(isinstance(v, jax.core.Tracer)), v)[1], *shape, x))(
        jnp.float32(1)
    )
    jax.effects_barrier()
    assert seen == [False]


@pytest.mark.parametrize("dotted", ["map", "filter"])
def test_lazy_iterators_run_the_function_later(dotted):
    runs = []
    kept = {"map": map, "filter": filter}[dotted](runs.append, [1])
    assert runs == []
    assert list(kept) is not None
    assert runs == [1]
    assert flow.RECEIVERS[dotted].kind == "keeps"


def test_builtins_are_found_under_their_bare_and_their_full_name():
    assert flow.lookup_receiver("builtins.sorted") is flow.lookup_receiver("sorted")
    assert flow.lookup_receiver("sorted").kind == "now"


@pytest.mark.parametrize("dotted", sorted(set(flow.RECEIVERS) - GONE))
def test_receivers_exist(load, dotted):
    assert callable(load(dotted))


def test_unknown_callables_are_unknown():
    assert flow.lookup_receiver("my.scan") is None
