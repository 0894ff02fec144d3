import jax
import jax.numpy as jnp
import pytest

from remat_lint.testing import Mismatch, NotVerified, array, check_equivalence, key, zeros

pytestmark = pytest.mark.execution

X = (array((3, 4)),)
STALE = ["loop_name", "dict_item", "attribute", "global_name", "bound_method"]


@pytest.mark.parametrize("program", STALE)
def test_a_stale_capture_shows_in_the_value(program):
    with pytest.raises(
        Mismatch, match=r"^\[eager\] out.*: relative L2 [\d.]+e(-01|\+00) > [\d.]+e-06 \(float32, 16 eps"
    ):
        check_equivalence(f"programs/{program}.py:before", X)


@pytest.mark.parametrize("program", STALE)
def test_a_stale_capture_shows_in_the_gradient(program, observed):
    with pytest.raises(Mismatch):
        check_equivalence(f"programs/{program}.py:before", X)
    errors = {error.name: error for error in observed[0].stages["eager"]}
    assert not errors["grad[0]"].passed
    assert errors["grad[0]"].error > 0.01


@pytest.mark.parametrize("program", STALE)
@pytest.mark.parametrize("args", [X, (array((1, 4)),), zeros(X)], ids=["standard", "single", "zeros"])
def test_the_repaired_program_is_verified(program, args):
    evidence = check_equivalence(f"programs/{program}.py:after", args)
    assert evidence.verdict == "verified"
    assert evidence.applied > 0
    assert list(evidence.stages) == ["eager", "eager, second call", "jit"]
    assert {error.name for error in evidence.stages["jit"]} >= {"grad[0]"}


CORRECT = {
    "mlp": (
        (
            [{"w1": array((8, 16)), "w2": array((16, 8))}, {"w1": array((8, 16)), "w2": array((16, 8))}],
            array((4, 8)),
        ),
        {},
    ),
    "closure_in_loop": ((array((4,)), [array((4,)), array((4,))]), {}),
    "static_number": ((array((4,)), 3), {}),
    "scanned": ((array((4,)), array((5, 4))), {}),
    "branching": (X, {}),
    "nested": (X, {}),
    "with_policy": ((array((2, 4)), array((4, 4))), {}),
    "mapped": (X, {}),
    "dropout": ((array((3, 4)), key()), {}),
    "own_gradient": (X, {}),
    "compiled": (X, {}),
    "state": (X, {"steps": 3}),
    "plain_integer": (X, {}),
    "whole_run": ((), {}),
    "clipped": (X, {}),
}


@pytest.mark.parametrize("function", CORRECT)
def test_a_correct_program_is_verified(function):
    args, kwargs = CORRECT[function]
    assert check_equivalence(f"programs/correct.py:{function}", args, kwargs).verdict == "verified"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_low_precision_passes_without_a_wider_limit_and_runs_in_float32_too(dtype):
    layers = [{"w1": array((4, 4), dtype), "w2": array((4, 4), dtype)} for _ in range(4)]
    evidence = check_equivalence("programs/correct.py:mlp", (layers, array((4, 4), dtype)))
    assert "jit, float32" in evidence.stages


PARAMS = ({"w1": array((8, 8)), "w2": array((64, 64))},)


@pytest.mark.parametrize("change", ["one_percent", "one_element", "reversed"])
def test_an_error_in_one_gradient_is_named_by_its_leaf(change):
    with pytest.raises(
        Mismatch, match=r"^\[eager\] grad\[0\]\['w2'\]: relative L2 .*; 1 of 4 leaves differ$"
    ):
        check_equivalence("programs/faults.py:gradient", PARAMS, {"change": change})


def test_an_error_that_bfloat16_hides_shows_in_float32():
    params = ({"w1": array((8, 8), "bfloat16"), "w2": array((64, 64), "bfloat16")},)
    with pytest.raises(Mismatch, match=r"^\[jit, float32\] grad\[0\]\['w2'\]"):
        check_equivalence("programs/faults.py:gradient", params, {"change": "one_percent"})


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("value", r"\[eager\] out: relative L2 1\.0e-04 > 1\.9e-06"),
        ("dtype", r"\[eager\] out: plain float32\[3, 4\], checkpointed float16\[3, 4\]"),
        ("shape", r"\[eager\] out: plain float32\[3, 4\], checkpointed float32\[1, 3, 4\]"),
        ("tree", r"\[eager\] output trees differ: out, out\[0\]"),
        ("nan", r"\[eager\] out is finite on the plain side and not finite on the checkpointed side"),
        ("integer", r"\[eager\] out\[1\]: 3 elements differ \(int32, exact\)"),
        ("swap", r"\[eager\] out\[0\]: relative L2 5\.0e-01"),
    ],
)
def test_a_difference_is_named_by_stage_and_leaf(how, message):
    with pytest.raises(Mismatch, match=message):
        check_equivalence("programs/faults.py:differ", X, {"how": how})


def test_a_flag_compared_by_identity_is_seen():
    with pytest.raises(Mismatch, match=r"^\[eager\] out: relative L2 1\.0e\+00"):
        check_equivalence("programs/faults.py:flag", X)


def test_an_error_of_the_checkpointed_side_alone_is_a_mismatch_that_keeps_its_cause():
    with pytest.raises(Mismatch, match="the checkpointed side raised TracerBoolConversionError") as caught:
        check_equivalence("programs/faults.py:raises", X)
    assert isinstance(caught.value.__cause__, jax.errors.TracerBoolConversionError)


def test_what_the_first_call_left_behind_shows_in_the_second():
    with pytest.raises(Mismatch, match=r"^\[eager, second call\]"):
        check_equivalence("programs/faults.py:set_by_number", (array((4,)), 2.0))


def test_a_tracer_that_is_kept_does_not_pass():
    with pytest.raises(Mismatch):
        check_equivalence("programs/faults.py:keeps_argument", (array((4,)),))


@pytest.mark.parametrize(
    ("function", "args", "reason"),
    [
        ("no_checkpoint", X, "no checkpoint was applied"),
        ("no_float", X, "no output is a float"),
        ("empty", X, "size zero"),
        ("logarithm", zeros(X), r"out is not finite on the plain side"),
        ("random_noise", X, r"differs between two runs of the plain side"),
        ("wants_matrix", X, r"the plain side raised TypeError"),
        ("missing", X, r"^programs/.*:missing cannot be loaded: AttributeError: .*; nothing was compared$"),
    ],
)
def test_an_empty_comparison_is_not_verified(function, args, reason):
    with pytest.raises(NotVerified, match=reason):
        check_equivalence(f"programs/faults.py:{function}", args)


def test_a_file_that_raises_when_it_is_loaded_is_told_from_a_function_that_raises():
    with pytest.raises(
        NotVerified, match=r"unloadable.py:layer cannot be loaded: TypeError: .*, in line 6; nothing"
    ):
        check_equivalence("programs/unloadable.py:layer", X)


def test_a_program_that_jit_cannot_run_is_judged_by_its_eager_run():
    evidence = check_equivalence("programs/faults.py:python_only", X)
    assert "jit" not in evidence.stages
    assert [note.partition(":")[0] for note in evidence.notes] == [
        "[jit] left out, the plain side raised TracerBoolConversionError"
    ]


def test_a_program_that_needs_concrete_values_is_judged_by_its_outputs():
    evidence = check_equivalence("programs/faults.py:logs_its_loss", X)
    assert evidence.notes[0].startswith("no gradients: the plain side raised ConcretizationTypeError")
    with pytest.raises(Mismatch, match=r"^\[eager\] out\[1\]: relative L2 5\.0e-01"):
        check_equivalence("programs/faults.py:logs_a_stale_loss", X)


def test_a_wider_limit_needs_its_reason_and_shows_it(observed):
    with pytest.raises(ValueError, match="why"):
        check_equivalence("programs/faults.py:differ", X, {"how": "value"}, tol=1e-2)
    check_equivalence("programs/faults.py:differ", X, {"how": "value"}, tol=1e-2, why="measured")
    assert observed[-1].stages["jit"][0].origin == "float32, set by the test: measured"


def test_a_function_object_is_checked_with_its_traces_kept():
    wrapped = jax.checkpoint(jnp.sin)
    for _ in range(2):
        assert check_equivalence(lambda x: wrapped(x) * 2, X).verdict == "verified"


def test_a_target_that_does_not_exist_is_an_error_not_a_skip():
    with pytest.raises(LookupError, match=r"there is no file 'nowhere\.py'"):
        check_equivalence("nowhere.py:f", X)
    with pytest.raises(LookupError, match="names no function"):
        check_equivalence("programs/faults.py", X)


def test_pytest_shows_a_missing_verdict_as_a_skip(pytester_like):
    assert pytester_like(
        "from remat_lint.testing import NotVerified\ndef test_it():\n    raise NotVerified('no inputs')\n"
    ) == {"skipped": 1}
