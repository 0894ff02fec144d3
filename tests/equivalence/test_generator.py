import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from remat_lint.equivalence.example import Array, Example, ExampleError, Group, Key, Literal, parse_example
from remat_lint.equivalence.generator import generate, plan_test
from remat_lint.equivalence.runner import run_paths
from remat_lint.equivalence.template import TestPlan, find_batch, render_test
from remat_lint.errors import UsageError

IMPORTS = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jaxtyping import Array, Float, Int\n"


@pytest.fixture
def plan(tmp_path):
    def plan_text(text, name="f"):
        file = tmp_path / "model.py"
        file.write_text(IMPORTS + text)
        return plan_test(file, name, f"model.py:{name}")

    return plan_text


F32 = Array("float32", (4, 8))


@pytest.mark.parametrize(
    "text",
    [
        "# remat-lint: example(x=f32[4, 8], n=3)\ndef f(x, n): return x\n",
        "# remat-lint: example(n=3, x=f32[4, 8])\n# about f\n@jax.checkpoint\n@jax.jit\ndef f(x, n): return x\n",
        "@jax.checkpoint  # remat-lint: example(f32[4, 8], 3)\ndef f(x, n): return x\n",
        "def f(x, n):  # remat-lint: example(x=f32[4, 8], n=3)\n    return x\nf(jnp.ones((2, 2)), 1)\n",
    ],
)
def test_an_example_comment_on_or_above_the_definition_goes_first(plan, text):
    made = plan(text)
    assert made.example == Example((F32, Literal(3)))
    assert made.origin.startswith("the example comment in line ")


def test_a_comment_further_up_is_another_functions(plan):
    text = "# remat-lint: example(x=f32[4, 8])\ndef g(x): return x\ndef f(x): return x\n"
    assert plan(text).example is None
    assert plan(text, "g").example == Example((F32,))


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("f(jnp.ones((4, 8)), 2.0)", (F32, Literal(2.0))),
        ("f(np.zeros([4, 8]), -3)", (F32, Literal(-3))),
        (
            "f(jax.numpy.full((4, 8), 1.0, jnp.bfloat16), True)",
            (Array("bfloat16", (4, 8)), Literal(value=True)),
        ),
        ("f(jax.random.normal(jax.random.key(0), (4, 8)), n=jax.random.PRNGKey(1))", (F32, Key())),
        (
            "f({'w': jnp.arange(3)}, n=jnp.array([[1.0, 2], [3, 4]]))",
            (Group("dict", (Array("int32", (3,)),), ("w",)), Array("float32", (2, 2))),
        ),
        ("x = jnp.ones((4, 8))\nprint(jax.grad(f)(x, 2), f(x, 2))", (F32, Literal(2))),
        (
            "n = 2\ndef main():\n    x = jnp.ones((4, 8))\n    g = lambda x: x\n    return f(x, n)\n",
            (F32, Literal(2)),
        ),
        ("f(jnp.linspace(0, 1, 5), jnp.eye(3))", (Array("float32", (5,)), Array("float32", (3, 3)))),
    ],
)
def test_a_call_with_literal_shapes_gives_inputs(plan, call, values):
    made = plan(f"def f(x, n): return x\n{call}\n")
    assert made.example == Example(values)
    assert made.origin.startswith("the call in line ")


@pytest.mark.parametrize(
    "call",
    [
        "f(load(), 2)",
        "f(*args)",
        "f(jnp.ones(shape), 2)",
        "torch.ones((4, 8))",
        "f(torch.ones((4, 8)), 2)",
        "x = jnp.ones((4, 8))\nx = x + 1\nf(x, 2)",
        "f(jnp.ones((4, 8)))",
        "f(jnp.ones((4, 8)), 1, 2)",
        "a = b\nb = a\nf(a, b)",
        "x = jnp.ones((4, 8))\ndef main(x):\n    return f(x, 2)\n",
        "x = jnp.ones((4, 8))\ndef main():\n    global x\n    x = 1\nf(x, 2)\n",
        "x = jnp.ones((4, 8))\ndef main():\n    for x in ():\n        f(x, 2)\n",
        "f(jnp.ones((10**9,)), 2)",
        "f(jnp.ones((99999999, 99)), 2)",
        "f(jnp.ones((4, 8), 'V8'), 2)",
    ],
)
def test_a_call_that_is_not_all_literal_is_not_guessed(plan, call):
    made = plan(f"def f(x, n): return x\n{call}\n")
    assert made.example is None
    assert "# remat-lint: example(x=f32[4, 8], n=f32[4, 8])" in made.missing


def test_annotations_give_one_size_to_one_symbol(plan):
    made = plan(
        'def f(x: Float[Array, "b 3"], ids: Int[Array, "b t"], scale: float, on: bool = True): return x\n'
    )
    assert made.example == Example((Array("float32", (4, 3)), Array("int32", (4, 8)), Literal(0.5)))
    assert plan('def f(x: Float[Array, "... d"]): return x\n').example is None
    assert plan("def f(x: Config): return x\n").example is None


def test_keyword_only_parameters_stay_keywords_and_required_ones_are_needed(plan):
    made = plan("# remat-lint: example(x=f32[4, 8], n=3)\ndef f(x, *, n): return x\n")
    assert made.example == Example((F32,), (("n", Literal(3)),))
    with pytest.raises(ExampleError, match=r"line 5, column 1: the example does not fit the parameters of f"):
        plan("# remat-lint: example(x=f32[4, 8])\ndef f(x, *, n): return x\n")


def test_a_function_without_parameters_needs_no_inputs(plan):
    assert plan("def f(steps=3): return g()\n").example == Example()


def test_a_wrapped_name_takes_the_parameters_of_its_function(plan):
    text = "# remat-lint: example(x=f32[4, 8])\ndef body(x): return x\nf = jax.checkpoint(body)\n"
    assert plan(text).example == Example((F32,))


def test_a_faulty_comment_is_told_with_line_and_column(plan):
    with pytest.raises(ExampleError, match="line 5, column 25: 'f31' is no dtype"):
        plan("# remat-lint: example(x=f31[4])\ndef f(x): return x\n")


def test_what_is_not_there_is_refused(plan, tmp_path):
    with pytest.raises(UsageError, match="defines no function 'g'"):
        plan("def f(x): return x\n", "g")
    with pytest.raises(UsageError, match="cannot be parsed"):
        plan("def f(:\n")
    with pytest.raises(UsageError, match="cannot be read"):
        generate(tmp_path / "missing.py", "f")


@pytest.mark.parametrize(
    ("comment", "batch"),
    [
        ("x=f32[4, 8], w=f32[8, 16], y=i32[4]", 4),
        ("p={'w': f32[8, 16]}, x=f32[4, 8]", 4),
        ("x=f32[8, 8], w=f32[8, 8]", None),
        ("x=f32[6], y=f32[6]", 6),
        ("x=f32[6], y=f32[5]", None),
        ("n=3", None),
        ("x=f32[1, 8]", None),
    ],
)
def test_the_batch_axis_is_one_that_cannot_be_another(comment, batch):
    assert find_batch(parse_example(f"# remat-lint: example({comment})")) == batch


def test_the_text_is_short_stable_and_readable():
    example = parse_example(
        '# remat-lint: example(x=f32[4, 8], params={"w": bf16[8, 16]}, y=i32[4], rng=key)'
    )
    plan = TestPlan(
        "model.py:layer",
        "layer",
        "the example comment in line 3",
        Example(tuple(v for _, v in example.kwargs)),
        ("x", "params", "y", "rng"),
    )
    assert (
        render_test(plan)
        == '''"""Does `layer` compute the same with its checkpoints as without them?

Compared are trees, shapes, dtypes, finiteness, outputs and gradients leaf by leaf, eager and compiled.
Inputs: the example comment in line 3.
"""

import pytest

from remat_lint.testing import array, check_equivalence, key, zeros

TARGET = 'model.py:layer'


def make_inputs(batch=4):
    args = (
        array((batch, 8)),  # x
        {'w': array((8, 16), 'bfloat16')},  # params
        array((batch,), 'int32'),  # y
        key(),  # rng
    )
    return args, {}


CASES = {
    'standard': make_inputs(),
    'single': make_inputs(batch=1),
    'zeros': zeros(make_inputs()),
}


@pytest.mark.parametrize('case', CASES)
def test_layer_computes_the_same_with_checkpoints(case):
    args, kwargs = CASES[case]
    check_equivalence(TARGET, args, kwargs)
'''
    )


def test_hostile_names_reach_the_text_only_as_literals(tmp_path):
    folder = tmp_path / "a\n'''\"\"\"; import os #"
    folder.mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    file = folder / "m.py"
    file.write_text(
        '# remat-lint: example(x={\'"""; import os; "\': f32[4]})\ndef f(x): return x\ndef g(x): return x\n'
    )
    for name in ("f", "g"):
        tree = ast.parse(generate(file, name).text)
        imported = [
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        ]
        assert imported == ["pytest"]
    with pytest.raises(ValueError, match="no name of a function"):
        render_test(TestPlan("m.py:f", "f(); import os", "none", None))


MODEL = """
import jax
import jax.numpy as jnp

settings = {"scale": 1.0}

@jax.checkpoint
def frozen(x):
    return jnp.sin(x) * settings["scale"]

# remat-lint: example(x=f32[4, 8])
def train(x):
    out = frozen(x)
    settings["scale"] = 10.0
    return out + frozen(x)

# remat-lint: example(params={"w": f32[8, 16], "b": f32[16]}, x=f32[4, 8], n=2)
def loss(params, x, n):
    layer = jax.checkpoint(lambda p, y: jnp.tanh(y @ p["w"] + p["b"]))
    return {"loss": jnp.mean(layer(params, x) ** n)}

def unknown(x, config):
    return frozen(x)
"""


@pytest.mark.execution
@pytest.mark.parametrize("inside", [True, False], ids=["in the project", "elsewhere"])
def test_generated_files_run_with_the_runner_and_with_plain_pytest(tmp_path, inside):
    project, out = tmp_path / "project", None if inside else tmp_path / "elsewhere"
    (project / "src").mkdir(parents=True)
    (project / "pyproject.toml").write_text("")
    file = project / "src" / "model.py"
    file.write_text(MODEL)
    for name in ("train", "loss", "unknown"):
        made = generate(file, name, out)
        made.path.parent.mkdir(exist_ok=True)
        made.path.write_text(made.text)
    folder = made.path.parent
    report = run_paths([folder], python=sys.executable)
    found = {case.test.partition("::")[2]: case.status for case in report.cases}
    assert found == {
        "test_train_computes_the_same_with_checkpoints[standard]": "mismatch",
        "test_train_computes_the_same_with_checkpoints[single]": "mismatch",
        "test_train_computes_the_same_with_checkpoints[zeros]": "mismatch",
        "test_loss_computes_the_same_with_checkpoints[standard]": "verified",
        "test_loss_computes_the_same_with_checkpoints[single]": "verified",
        "test_loss_computes_the_same_with_checkpoints[zeros]": "verified",
        "test_unknown_computes_the_same_with_checkpoints": "not verified",
    }
    if not inside:
        return
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert "3 failed, 3 passed, 1 skipped" in done.stdout
