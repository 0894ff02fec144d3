"""`remat-lint generate` and `remat-lint run`: from a function to a verdict."""

import json
import sys

import pytest

EXAMPLE = """\
import jax
import jax.numpy as jnp

# remat-lint: example(x=f32[4])
def loss(x):
    return jax.checkpoint(lambda y: jnp.sum(jnp.sin(y)))(x)
"""


@pytest.fixture
def example(project):
    (project / "example.py").write_text(EXAMPLE)
    return project


def test_a_test_is_written_below_the_project_and_its_place_is_the_result(example, lint):
    done = lint("generate", "example.py::loss")

    assert (done.returncode, done.stdout) == (0, "tests/test_remat_example_loss.py\n")
    assert "`remat-lint run tests/test_remat_example_loss.py` runs it" in done.stderr
    compile((example / "tests/test_remat_example_loss.py").read_text(), "test", "exec")


def test_the_folder_can_be_named(example, lint):
    assert lint("generate", "example.py::loss", "-o", "a/b").stdout == "a/b/test_remat_example_loss.py\n"


def test_a_test_that_somebody_edited_is_not_overwritten(example, lint):
    lint("generate", "example.py::loss")
    again = lint("generate", "example.py::loss")
    file = example / "tests/test_remat_example_loss.py"
    file.write_text(file.read_text() + "# mine\n")
    edited = lint("generate", "example.py::loss")

    assert (again.returncode, "It was there already" in again.stderr) == (0, True)
    assert edited.returncode == 2
    assert "is there already with another text" in edited.stderr
    assert file.read_text().endswith("# mine\n")


def test_missing_inputs_are_said_at_once_and_the_empty_test_is_replaced_when_they_are_there(project, lint):
    source, file = project / "example.py", project / "tests/test_remat_example_loss.py"
    source.write_text(EXAMPLE.replace("# remat-lint: ex", "# ex"))
    empty = lint("generate", "example.py::loss")
    source.write_text(EXAMPLE)
    filled = lint("generate", "example.py::loss")

    assert empty.returncode == 0
    assert "warning: no inputs of loss are known: write `# remat-lint: example(x=f32[4, 8])`" in empty.stderr
    assert (filled.returncode, "Written" in filled.stderr) == (0, True)
    assert "array((batch,))" in file.read_text()


def test_no_test_is_written_through_a_link_out_of_the_project(example, lint, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (example / "tests").symlink_to(outside)
    done = lint("generate", "example.py::loss")

    assert done.returncode == 2
    assert "is a link out of the project" in done.stderr
    assert not list(outside.iterdir())


@pytest.mark.execution
def test_a_generated_test_runs_to_a_verdict(example, lint):
    lint("generate", "example.py::loss")
    done = lint("run", "tests", "--python", sys.executable, "--output-format", "json")
    report = json.loads(done.stdout)

    assert done.returncode == 0
    assert {case["status"] for case in report["cases"]} == {"verified"}
