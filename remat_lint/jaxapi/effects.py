"""What calls do besides returning a value: host randomness, clocks, mutation; and which give traced values.

Names are fully resolved dotted names (`np.random.rand` is `numpy.random.rand`); builtins stand bare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

ImpureKind = Literal["randomness", "clock", "environment"]


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _under(module: str, words: str) -> list[str]:
    return [f"{module}.{word}" for word in words.split()]


_RANDOM_DRAWS = _names(
    """betavariate binomialvariate choice choices expovariate gammavariate gauss getrandbits lognormvariate
    normalvariate paretovariate randbytes randint random randrange sample shuffle triangular uniform
    vonmisesvariate weibullvariate"""
)
_NUMPY_DISTRIBUTIONS = _names(
    """beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric
    laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial
    noncentral_chisquare noncentral_f normal pareto permutation poisson power rayleigh shuffle
    standard_cauchy standard_exponential standard_gamma standard_normal standard_t triangular uniform
    vonmises wald weibull zipf"""
)
_NUMPY_LEGACY = _NUMPY_DISTRIBUTIONS | _names(
    "rand randint randn random random_integers random_sample ranf sample tomaxint"
)
_NUMPY_GENERATOR = _NUMPY_DISTRIBUTIONS | _names("integers random multivariate_hypergeometric permuted spawn")

_RANDOMNESS = (
    *(f"random.{draw}" for draw in sorted(_RANDOM_DRAWS)),
    *(f"numpy.random.{draw}" for draw in sorted(_NUMPY_LEGACY - {"tomaxint"})),
    *_under("secrets", "choice randbelow randbits token_bytes token_hex token_urlsafe"),
    *_under("uuid", "uuid1 uuid4 uuid6 uuid7 uuid8"),
    *_under("os", "urandom getrandom"),
)
_CLOCK = (
    *_under("time", "time time_ns monotonic monotonic_ns perf_counter perf_counter_ns process_time"),
    *_under("time", "process_time_ns thread_time thread_time_ns clock_gettime clock_gettime_ns"),
    *_under("time", "localtime gmtime ctime asctime strftime"),
    *_under("datetime.datetime", "now utcnow today"),
    *_under("datetime", "date.today"),
    "timeit.default_timer",
)
_ENVIRONMENT = (
    *_under("os", "getenv getpid getcwd getloadavg times"),
    *_under("socket", "gethostname"),
    *_under("platform", "node"),
    "input",
)

IMPURE: Mapping[str, ImpureKind] = MappingProxyType(
    {
        **dict.fromkeys(_RANDOMNESS, "randomness"),
        **dict.fromkeys(_CLOCK, "clock"),
        **dict.fromkeys(_ENVIRONMENT, "environment"),
    }
)
"""Calls whose value differs from run to run; one trace freezes it."""

CLOCK_WITH_ARGUMENT: frozenset[str] = frozenset(_under("time", "localtime gmtime ctime asctime strftime"))
"""Members of `IMPURE` that read the clock only when called without the value to convert."""

NOT_IMPURE: frozenset[str] = frozenset(
    [
        *_under("random", "seed getstate setstate"),
        *_under("numpy.random", "seed get_state set_state get_bit_generator set_bit_generator"),
        *_under("numpy.random", "PCG64 PCG64DXSM MT19937 Philox SFC64 SeedSequence BitGenerator"),
        *_under("time", "sleep strptime mktime tzset get_clock_info"),
        *_under("uuid", "uuid3 uuid5 UUID getnode"),
        *_under("secrets", "compare_digest"),
    ]
)
"""Members of the same modules that are no draw: a rule must not report them as randomness."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A constructor of host random generators.

    Attributes:
        name: canonical dotted name of the constructor.
        draws: methods of what it returns that advance the generator and return numbers.
    """

    name: str
    draws: frozenset[str]


GENERATORS: Mapping[str, Generator] = MappingProxyType(
    {
        **{
            name: Generator(name, _RANDOM_DRAWS)
            for name in ("random.Random", "random.SystemRandom", "secrets.SystemRandom")
        },
        **{
            name: Generator(name, _NUMPY_GENERATOR)
            for name in ("numpy.random.default_rng", "numpy.random.Generator")
        },
        "numpy.random.RandomState": Generator("numpy.random.RandomState", _NUMPY_LEGACY - {"ranf", "sample"}),
    }
)
"""Constructors of generators by dotted name; a generator made inside the traced body draws the same again too,
but only one bound outside differs between plain and checkpointed calls."""

PRINTS: frozenset[str] = frozenset(
    [
        "print",
        "warnings.warn",
        *_under("logging", "debug info warning error exception critical log"),
        *_under("absl.logging", "debug info warning error exception fatal log vlog log_every_n log_first_n"),
        *_under("sys.stdout", "write"),
        *_under("sys.stderr", "write"),
    ]
)
"""Output of the Python process: happens once a trace."""

DEBUG_CALLBACKS: frozenset[str] = frozenset(_under("jax.debug", "print callback breakpoint"))
"""Callbacks that are part of the trace: they run again when the backward pass recomputes."""

HOST_CALLBACKS: frozenset[str] = frozenset(
    [
        "jax.pure_callback",
        *_under("jax.experimental", "io_callback pure_callback"),
        "equinox.filter_pure_callback",
    ]
)
"""Calls that run a host function at execution time."""

CHECKS: frozenset[str] = frozenset(_under("jax.experimental.checkify", "check debug_check"))
"""Checks that become effects of the trace."""

TRACED_PREFIXES: tuple[str, ...] = (
    "jax.image.",
    "jax.lax.",
    "jax.nn.",
    "jax.numpy.",
    "jax.ops.",
    "jax.random.",
    "jax.scipy.",
)
"""A call of a name under one of these gives a traced value inside a trace, even from constants."""

TRACED_CALLS: frozenset[str] = _names(
    "jax.device_put jax.pure_callback jax.experimental.io_callback jax.experimental.pure_callback"
)
"""The same for single names outside the prefixes."""

THROUGH: frozenset[str] = frozenset(
    [
        *_under("jax.lax", "scan map cond switch while_loop fori_loop associative_scan psum pmean pmax pmin"),
        *_under("jax.lax", "reshape collapse squeeze expand_dims custom_root custom_linear_solve"),
        *_under("jax.lax", "platform_dependent optimization_barrier with_sharding_constraint"),
        *_under("jax.numpy", "reshape ravel squeeze expand_dims transpose apply_along_axis apply_over_axes"),
        *_under("jax", "block_until_ready device_get vjp jvp linearize named_call reshard"),
        "jax.ad_checkpoint.checkpoint_name",
    ]
)
"""Calls that may return a constant operand unchanged: traced only when an operand is."""

_STATIC_NUMPY = _names(
    """shape ndim size dtype result_type promote_types issubdtype isdtype can_cast iinfo finfo broadcast_shapes
    isscalar iterable iscomplexobj isrealobj einsum_path array_repr array_str index_exp s_ vectorize
    frompyfunc ufunc get_printoptions set_printoptions printoptions save savez"""
)
_STATIC_LAX = _names(
    """broadcast_shapes conv_dimension_numbers conv_general_permutations conv_general_shape_tuple conv_shape_tuple
    conv_transpose_shape_tuple dtype padtype_to_pads reduce_window_shape_tuple axis_size
    AccuracyMode ConvDimensionNumbers ConvGeneralDilatedDimensionNumbers DotAlgorithm DotAlgorithmPreset
    DotDimensionNumbers FftType GatherDimensionNumbers GatherScatterMode Precision RandomAlgorithm RoundingMethod
    ScatterDimensionNumbers Tolerance"""
)

STATIC_CALLS: frozenset[str] = frozenset(
    [
        *(f"jax.numpy.{name}" for name in sorted(_STATIC_NUMPY)),
        *(f"jax.lax.{name}" for name in sorted(_STATIC_LAX)),
        *_under("jax.random", "key_impl"),
        *_under(
            "jax", "eval_shape ShapeDtypeStruct make_jaxpr typeof device_count local_device_count devices"
        ),
        *_under("jax", "local_devices default_backend process_index process_count"),
        *_under("jax.tree", "structure"),
        *_under("jax.tree_util", "tree_structure"),
        *_under("jax.dtypes", "canonicalize_dtype result_type issubdtype"),
        *_under("numpy", "shape ndim size result_type issubdtype"),
        *("len", "isinstance", "type", "hasattr", "callable", "id", "repr", "str"),
    ]
)
"""Calls whose result is a Python value even when an operand is traced: shapes, dtypes, structure."""

STATIC_PREFIXES: tuple[str, ...] = ("jax.nn.initializers.",)
"""Names under these make functions, not values."""

STATIC_ATTRIBUTES: frozenset[str] = _names(
    "shape ndim dtype size aval weak_type itemsize nbytes sharding is_fully_replicated vma"
)
"""Attributes of an array that are Python values during a trace."""

MUTATORS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "list": _names("append extend insert pop remove clear sort reverse"),
        "dict": _names("update setdefault pop popitem clear"),
        "set": _names(
            """add discard remove pop clear update difference_update intersection_update
            symmetric_difference_update"""
        ),
        "deque": _names("append appendleft extend extendleft insert pop popleft remove rotate clear reverse"),
        "ndarray": _names("fill itemset put partition resize sort setfield setflags"),
        "counter": _names("subtract update"),
        "ordered": _names("move_to_end"),
        "queue": _names("put put_nowait get get_nowait"),
    }
)
"""Methods that change their object, by the type they belong to."""

MUTATING_METHODS: frozenset[str] = frozenset[str]().union(*MUTATORS.values()) - MUTATORS["queue"]
"""Methods that change their object whatever its type is; `get` and `put` of queues are left out, since
dicts have the one without effect."""

STORING_METHODS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "add": (0,),
        "append": (0,),
        "appendleft": (0,),
        "extend": (0,),
        "extendleft": (0,),
        "insert": (1,),
        "setdefault": (1,),
        "update": (0,),
    }
)
"""Methods that put an argument into their object, with its positional index (`update` also stores keywords)."""

_NUMPY_IN_PLACE = ("numpy.copyto", "numpy.fill_diagonal", "numpy.place", "numpy.put", "numpy.put_along_axis")

IN_PLACE_CALLS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(_NUMPY_IN_PLACE, 0),
        "numpy.putmask": 0,
        "numpy.random.shuffle": 0,
        "random.shuffle": 0,
        "setattr": 0,
        "delattr": 0,
        "heapq.heappush": 0,
        "heapq.heappop": 0,
        "operator.setitem": 0,
        "bisect.insort": 0,
    }
)
"""Functions that change one of their arguments, with its positional index."""


def classify_impure(dotted: str) -> ImpureKind | None:
    """Return how a call of the fully resolved name `dotted` depends on the outside world, or None."""
    return IMPURE.get(dotted)


def makes_traced(dotted: str) -> bool:
    """Tell whether a call of `dotted` gives a traced value inside a trace whatever its operands are."""
    if dotted in STATIC_CALLS or dotted in THROUGH or dotted.startswith(STATIC_PREFIXES):
        return False
    return dotted in TRACED_CALLS or dotted.startswith(TRACED_PREFIXES)


def passes_traced(dotted: str) -> bool:
    """Tell whether a call of `dotted` gives a traced value when one of its operands is traced.

    Calls of unknown functions do not count: nothing is known of them.
    """
    return makes_traced(dotted) or dotted in THROUGH
