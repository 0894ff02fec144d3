"""What the keywords of `jax.checkpoint` and `jax.remat` do in the installed release."""

import importlib
import warnings

import pytest

from remat_lint.jaxapi import signatures

jax = pytest.importorskip("jax")

pytestmark = pytest.mark.execution
VALUES = {"concrete": False, "static_argnames": ("flag",)}


def observe(wrapper, keyword, value):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            wrapped = wrapper(lambda x, flag: x if flag else -x, **{keyword: value})
            wrapped(1.0, 1)
        except jax.errors.TracerBoolConversionError:
            return ("warns" if caught else "ignored"), ""
        except (TypeError, NotImplementedError) as error:
            return "raises", type(error).__name__
    return "works", ""


@pytest.mark.parametrize(("wrapper", "keyword"), sorted(signatures.BEHAVIOURS))
def test_a_keyword_does_what_the_table_says_for_this_release(wrapper, keyword):
    row = signatures.behaviour_in(wrapper, keyword, jax.__version__)
    function = {"jax.checkpoint": jax.checkpoint, "jax.remat": jax.remat}[wrapper]
    assert observe(function, keyword, VALUES[keyword]) == (row.effect, row.error)


@pytest.mark.parametrize("keyword", sorted(signatures.FOREIGN_KEYWORDS))
def test_keywords_of_other_functions_raise(keyword):
    for wrapper in (jax.checkpoint, jax.remat):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            wrapper(lambda x: x, **{keyword: True})


def test_prevent_cse_is_checked_from_the_release_in_the_table():
    def build():
        return jax.checkpoint(lambda x: x, prevent_cse=None)

    if signatures.release(jax.__version__) >= signatures.release(signatures.PREVENT_CSE_CHECKED_FROM):
        with pytest.raises(TypeError, match="prevent_cse must be a bool"):
            build()
    else:
        assert callable(build())


def test_ranges_of_one_keyword_meet_without_gap():
    for rows in signatures.BEHAVIOURS.values():
        assert rows[0].since == signatures.SUPPORTED[0]
        assert [row.until for row in rows[:-1]] == [row.since for row in rows[1:]]
        assert rows[-1].until is None


@pytest.mark.parametrize(
    ("version", "order"),
    [("0.4.30", (0, 4, 30)), ("0.12.0.1", (0, 12, 0, 1)), ("0.11.0rc1", (0, 11, 0)), ("0.7.dev0", (0, 7))],
)
def test_release_orders_versions(version, order):
    assert signatures.release(version) == order


def test_supported_releases_are_in_order():
    assert list(signatures.SUPPORTED) == sorted(signatures.SUPPORTED, key=signatures.release)


@pytest.mark.parametrize("dotted", sorted(signatures.NOT_MODULES))
def test_what_looks_like_a_module_cannot_be_imported(dotted):
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(dotted)
    assert hasattr(jax, dotted.rpartition(".")[2])


ARGUMENTS = {"map": (abs, [1]), "filter": (None, [1]), "object": (), "slice": (1,)}
ARGUMENTS |= {"SimpleNamespace": (), "zip": ([1], [2]), "range": (3,), "dtype": ("float32",), "repr": (1,)}


@pytest.mark.parametrize("dotted", sorted(signatures.NO_OUTPUTS))
def test_a_result_that_is_listed_cannot_be_returned(load, dotted):
    made = load(dotted)(*ARGUMENTS.get(dotted.rpartition(".")[2], (b"ab",)))
    with pytest.raises(TypeError, match="not a valid JAX type"):
        jax.checkpoint(lambda x: made)(1.0)


@pytest.mark.parametrize("dotted", sorted(signatures.DTYPES))
def test_a_scalar_type_cannot_be_returned(load, dotted):
    made = load(dotted)
    with pytest.raises(TypeError, match="not a valid JAX type"):
        jax.checkpoint(lambda x: made)(1.0)


def test_static_argnames_have_an_effect_with_the_setting_alone():
    if signatures.release(jax.__version__) < (0, 10):
        pytest.skip("this release has no static_argnames")
    wrapped = jax.checkpoint(lambda x, flag: x if flag else -x, static_argnames=("flag",))
    with pytest.raises(jax.errors.TracerBoolConversionError):
        wrapped(1.0, flag=True)
    before = getattr(jax.config, signatures.STATIC_ARGNAMES_SWITCH)
    jax.config.update(signatures.STATIC_ARGNAMES_SWITCH, val=True)
    try:
        assert (
            float(
                jax.checkpoint(lambda x, flag: x if flag else -x, static_argnames=("flag",))(1.0, flag=True)
            )
            == 1.0
        )
    finally:
        jax.config.update(signatures.STATIC_ARGNAMES_SWITCH, val=before)
