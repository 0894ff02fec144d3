"""Which releases of JAX the files of a project name."""

import json

import pytest

from remat_lint.project.requirements import infer
from remat_lint.releases import JaxRange


@pytest.fixture
def told(tmp_path):
    """What is inferred from files, given by name with `/` as `__` and their text."""

    def infer_from(files):
        (tmp_path / ".git").mkdir(exist_ok=True)
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = infer(tmp_path)
        return found.describe(), found.origin

    return infer_from


def pyproject(text):
    return {"pyproject.toml": text}


@pytest.mark.parametrize(
    ("files", "words", "origin"),
    [
        (pyproject('[project]\ndependencies = ["jax[cuda12]>=0.6,<0.7", "flax"]'), "JAX 0.6.0 to 0.6.2", "pyproject.toml"),
        (pyproject('[project]\ndependencies = ["jaxlib==0.6.2"]'), "JAX 0.6.2", "pyproject.toml"),
        (pyproject('[project]\ndependencies = ["jaxlib>=0.5", "JAX == 0.6.2"]'), "JAX 0.6.2", "pyproject.toml"),
        (
            pyproject("[project]\ndependencies = [\"jax==0.4.30; python_version < '3.10'\", 'jax==0.6.2; python_version >= \"3.10\"']"),
            "JAX 0.4.30 and 0.6.2",
            "pyproject.toml",
        ),
        (
            pyproject('[project]\ndependencies = ["jax"]\n[project.optional-dependencies]\ncpu = ["jax==0.5.0"]\ntpu = ["jax[tpu]==0.5.1"]'),
            "JAX 0.5.0 to 0.5.1",
            "pyproject.toml",
        ),
        (pyproject('[dependency-groups]\ntest = ["jax>=0.10", {include-group = "x"}]'), "JAX 0.10.0 and newer", "pyproject.toml"),
        (pyproject('[tool.poetry.dependencies]\njax = "^0.4.35"'), "JAX 0.4.35 to 0.4.38", "pyproject.toml"),
        (
            pyproject('[tool.poetry.dependencies]\njax = {version = "~0.8", extras = ["cuda12"]}'),
            "JAX 0.8.0 to 0.8.3",
            "pyproject.toml",
        ),
        (
            pyproject('[tool.poetry.dependencies]\njax = [{version = "0.8.1"}, {version = "0.8.2"}]'),
            "JAX 0.8.1 to 0.8.2",
            "pyproject.toml",
        ),
        (pyproject('[tool.poetry.group.dev.dependencies]\njax = ">=0.11"'), "JAX 0.11.0 and newer", "pyproject.toml"),
        (pyproject('[tool.pdm.dev-dependencies]\ntest = ["jax~=0.9.1"]'), "JAX 0.9.1 to 0.9.2", "pyproject.toml"),
        (pyproject('[tool.uv]\ndev-dependencies = ["jax==0.9.2"]'), "JAX 0.9.2", "pyproject.toml"),
        (pyproject('[tool.pixi.dependencies]\njax = "0.6.*"'), "JAX 0.6.0 to 0.6.2", "pyproject.toml"),
        ({"pixi.toml": '[pypi-dependencies]\njax = { version = ">=0.7,<0.8" }'}, "JAX 0.7.0 to 0.7.2", "pixi.toml"),
        ({"setup.cfg": "[options]\ninstall_requires =\n    numpy\n    jax>=0.6,<0.7\n"}, "JAX 0.6.0 to 0.6.2", "setup.cfg"),
        ({"setup.cfg": "[options.extras_require]\ntpu = jax==0.8.2\n"}, "JAX 0.8.2", "setup.cfg"),
        ({"setup.py": "from setuptools import setup\nsetup(install_requires=['jax==0.7.1'])\n"}, "JAX 0.7.1", "setup.py"),
        (
            {"setup.py": "import setuptools\nREQUIRED = ['jax>=0.12']\nsetuptools.setup(install_requires=REQUIRED)\n"},
            "JAX 0.12.0 and newer",
            "setup.py",
        ),
        ({"setup.py": "setup(extras_require={'jax': ['jax==0.7.2'], 'x': ['numpy>=2']})\n"}, "JAX 0.7.2", "setup.py"),
        (
            {"requirements.txt": "jax[cuda11_cudnn82]==0.4.33 -f https://example.org/x.html  # why\n"},
            "JAX 0.4.33",
            "requirements.txt",
        ),
        ({"requirements.txt": "jax==0.4.33 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"}, "JAX 0.4.33", "requirements.txt"),
        (
            {"requirements.txt": "-r requirements/base.in\n", "requirements/base.in": "-c ../pins.txt\njax\n", "pins.txt": "jax==0.9.1\n"},
            "JAX 0.9.1",
            "pins.txt",
        ),
        (
            {"requirements-cpu.txt": "jax==0.5.0\n", "requirements-tpu.txt": "jax==0.5.3\n"},
            "JAX 0.5.0 and 0.5.3",
            "requirements-cpu.txt",
        ),
        (
            {"environment.yml": "dependencies:\n  - conda-forge::jax=0.4.35\n  - pip:\n    - optax\n"},
            "JAX 0.4.35",
            "environment.yml",
        ),
        ({"environment.yaml": 'dependencies:\n  - pip:\n    - "jax[cpu]>=0.6,<0.8"\n'}, "JAX 0.6.0 to 0.7.2", "environment.yaml"),
        ({"meta.yaml": "requirements:\n  run:\n    - jax >=0.8  # comment\n"}, "JAX 0.8.0 and newer", "meta.yaml"),
        ({"uv.lock": '[[package]]\nname = "jax"\nversion = "0.10.2"\nsource = {}\n'}, "JAX 0.10.2", "uv.lock"),
        ({"poetry.lock": '[[package]]\nname = "jax"\nversion = "0.8.2"\n'}, "JAX 0.8.2", "poetry.lock"),
        ({"pdm.lock": '[[package]]\nname = "jax"\nversion = "0.8.1"\n'}, "JAX 0.8.1", "pdm.lock"),
        (
            {"uv.lock": '[[package]]\nname = "jax"\nversion = "0.4.30"\n\n[[package]]\nname = "jax"\nversion = "0.10.2"\n'},
            "JAX 0.4.30 and 0.10.2",
            "uv.lock",
        ),
        (
            {"pixi.lock": "- conda: https://example.org/noarch/jax-0.4.35-pyhd8ed1ab_0.conda\n"},
            "JAX 0.4.35",
            "pixi.lock",
        ),
        ({"pixi.lock": "- pypi: https://example.org/x\n  name: jax\n  version: 0.9.2\n"}, "JAX 0.9.2", "pixi.lock"),
        ({"Pipfile.lock": json.dumps({"default": {"jax": {"hashes": [], "version": "==0.7.0"}}}, indent=4)}, "JAX 0.7.0", "Pipfile.lock"),
    ],
)  # fmt: skip
def test_a_version_is_found(told, files, words, origin):
    assert told(files) == (words, origin)


def test_what_the_package_declares_comes_before_what_is_installed(told):
    declared = pyproject(
        '[project]\ndependencies = ["jax>=0.6"]\n[project.optional-dependencies]\na = ["jax==0.9.2"]'
    )
    locked = {
        "uv.lock": '[[package]]\nname = "jax"\nversion = "0.10.2"\n',
        "requirements.txt": "jax==0.8.0\n",
    }

    assert told({**declared, **locked}) == ("JAX 0.6.0 and newer", "pyproject.toml")


def test_a_package_that_names_no_version_leaves_it_to_the_lock_file(told):
    files = pyproject('[project]\ndependencies = ["jax"]') | {
        "uv.lock": '[[package]]\nname = "jax"\nversion = "0.10.2"\n'
    }

    assert told(files) == ("JAX 0.10.2", "uv.lock")


@pytest.mark.parametrize(
    "files",
    [
        {},
        pyproject('[project]\ndependencies = ["flax==0.10.2", "jaxtyping>=0.2"]'),
        pyproject('[project]\ndependencies = ["jax"]'),
        pyproject('[project]\ndependencies = "jax==0.6"\n[tool.poetry]\ndependencies = 3'),
        pyproject("jax = = 1"),
        pyproject('[project]\ndependencies = ["jax @ git+https://example.org/jax", "jax >> 3"]'),
        {"setup.py": "setup(install_requires=read('jax==0.6'))\n"},
        {"setup.py": "def jax(:\n"},
        {"setup.cfg": "jax==0.6\n"},
        {"requirements.txt": "-r requirements.txt\n-r missing.txt\n-r ../../outside.txt\njax\n"},
        {"requirements.txt": "\x00jax==\n"},
        {"uv.lock": 'name = "jax"\n'},
        {"environment.yml": "- jaxtyping=0.2.1\n"},
    ],
)
def test_files_that_say_nothing_leave_every_supported_release(told, files):
    assert told(files) == (JaxRange().describe(), "")


def test_releases_older_than_the_supported_ones_count_as_the_oldest(told):
    assert told({"requirements.txt": "jax==0.3.25\n"}) == ("JAX 0.4.30", "requirements.txt")


def test_files_above_a_project_count_up_to_its_repository(tmp_path):
    (tmp_path / "requirements.txt").write_text("jax==0.4.30\n")
    inner = tmp_path / "repository/packages/one"
    inner.mkdir(parents=True)
    (inner / "pyproject.toml").write_text("[project]\nname = 'one'\n")

    assert infer(inner) == JaxRange()  # without a repository its folder is all there is

    (tmp_path / "repository/.git").mkdir()
    assert infer(inner) == JaxRange()

    (tmp_path / "repository/uv.lock").write_text('[[package]]\nname = "jax"\nversion = "0.9.2"\n')
    assert infer(inner).releases == ("0.9.2",)


def test_a_folder_without_any_mark_asks_the_folders_above(tmp_path):
    (tmp_path / "requirements.txt").write_text("jax==0.5.0\n")
    (tmp_path / "src/deep").mkdir(parents=True)

    assert infer(tmp_path / "src/deep").releases == ("0.5.0",)


def test_a_requirements_file_that_leads_out_of_the_project_is_not_read(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").mkdir()
    (tmp_path / "outside.txt").write_text("jax==0.5.0\n")
    (project / "requirements.txt").write_text("-r ../outside.txt\n-r link.txt\n")
    (project / "link.txt").symlink_to(tmp_path / "outside.txt")

    assert infer(project) == JaxRange()
