import sys
from pathlib import Path

import jax.numpy as jnp
import pytest

from remat_lint.runtime.modules import find_target
from remat_lint.testing import Mismatch, array, check_equivalence, load_fresh

pytestmark = pytest.mark.execution


@pytest.fixture
def project(tmp_path):
    package = tmp_path / "src" / "pack"
    package.mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    (package / "__init__.py").write_text("")
    (package / "state.py").write_text("calls = []\nfactor = [1.0]\n")
    (package / "model.py").write_text(
        "import jax\nfrom .state import calls, factor\n"
        "@jax.checkpoint\ndef layer(x, f):\n    return x * f\n"
        "def owner(x):\n"
        "    from pack import state\n"
        "    assert state.factor is factor\n"
        "    factor[0] += 1.0\n    calls.append(len(calls))\n    return layer(x, factor[0])\n"
    )
    return tmp_path


def test_each_loading_has_its_own_modules_and_siblings(project):
    target = find_target("src/pack/model.py:owner", project)
    before = dict(sys.modules)
    results = []
    for _ in range(2):
        with load_fresh(target) as (module, owner):
            results.append((float(owner(jnp.float32(1))), module, sys.modules["pack.state"]))
    assert [value for value, _, _ in results] == [2.0, 2.0]
    assert results[0][1] is not results[1][1]
    assert results[0][2] is not results[1][2]
    assert {name for name in sys.modules if name.partition(".")[0] == "pack"} == set()
    assert {name: module for name, module in sys.modules.items() if name in before} == before


def test_with_shared_state_the_repaired_program_seems_wrong_and_loaded_anew_it_passes():
    text = "programs/global_name.py:after"
    assert check_equivalence(text, (array((4,)),)).verdict == "verified"
    with load_fresh(find_target(text, Path(__file__).parent)) as (_, shared):
        x = jnp.ones(4)
        first, second = shared(x), shared(x)
    assert float(first) != float(second)


def test_a_project_inside_the_prefix_is_loaded_anew_and_an_environment_inside_it_is_not(
    tmp_path, monkeypatch
):
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "env" / "lib").mkdir(parents=True)
    (tmp_path / "env" / "lib" / "installed_thing.py").write_text("cell = []\n")
    (tmp_path / "app.py").write_text(
        "import installed_thing\ndef owner():\n    return installed_thing.cell\n"
    )
    monkeypatch.syspath_prepend(tmp_path / "env" / "lib")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    target, cells = find_target("app.py:owner", tmp_path), []
    for _ in range(2):
        with load_fresh(target) as (_, owner):
            cells.append(owner())
    assert cells[0] is cells[1]
    monkeypatch.setattr(sys, "prefix", str(tmp_path.parent))
    with load_fresh(target) as (_, owner):
        assert owner() is not cells[0]
    monkeypatch.delitem(sys.modules, "installed_thing", raising=False)


def test_a_module_named_by_its_dotted_name_is_found_above_the_test(project):
    (project / "tests").mkdir()
    target = find_target("pack.model:owner", project / "tests")
    assert (target.file, target.module) == (project / "src/pack/model.py", "pack.model")
    assert target.project == project


def test_a_file_named_like_a_module_of_the_standard_library_does_not_take_its_place(tmp_path):
    import random as real

    (tmp_path / "random.py").write_text("import random\nreal = random.Random\ndef owner(x):\n    return x\n")
    with load_fresh(find_target("random.py:owner", tmp_path)) as (module, _):
        assert module.real is real.Random
    assert sys.modules["random"] is real


def test_a_file_named_like_a_loaded_package_does_not_take_its_place(tmp_path):
    import jax

    (tmp_path / "jax.py").write_text("import jax\ncheckpoint = jax.checkpoint\ndef owner(x):\n    return x\n")
    with load_fresh(find_target("jax.py:owner", tmp_path)) as (module, _):
        assert module.checkpoint is jax.checkpoint
    assert sys.modules["jax"] is jax


def test_arguments_can_be_made_of_the_freshly_loaded_module(tmp_path):
    (tmp_path / "model.py").write_text(
        "import jax\nclass Config:\n    scale = 2.0\n"
        "def owner(config, x):\n    assert isinstance(config, Config)\n    return jax.checkpoint(lambda y: y * config.scale)(x)\n"
    )
    evidence = check_equivalence(f"{tmp_path}/model.py:owner", lambda module: (module.Config(), array((4,))))
    assert evidence.gradients == 1


def test_outputs_of_a_class_of_the_module_have_equal_trees_on_both_sides(tmp_path):
    (tmp_path / "model.py").write_text(
        "import jax, typing\nclass Out(typing.NamedTuple):\n    loss: object\n"
        "def owner(x):\n    return Out(jax.checkpoint(lambda y: y.sum())(x))\n"
    )
    assert check_equivalence(f"{tmp_path}/model.py:owner", (array((4,)),)).verdict == "verified"


def test_a_mismatch_leaves_no_module_behind(tmp_path):
    (tmp_path / "stale_model.py").write_text(
        "import jax\ns = [1.0]\n@jax.checkpoint\ndef f(x):\n    return x * s[0]\n"
        "def owner(x):\n    a = f(x)\n    s[0] = 2.0\n    return a + f(x)\n"
    )
    with pytest.raises(Mismatch):
        check_equivalence(f"{tmp_path}/stale_model.py:owner", (array((4,)),))
    assert "stale_model" not in sys.modules
