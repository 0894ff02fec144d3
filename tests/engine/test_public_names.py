import remat_lint

TEXT = "import jax\n\n\ndef f(x):\n    return x\n\n\nbad = jax.checkpoint(f, 1)\n"


def test_every_public_name_can_be_had():
    assert all(getattr(remat_lint, name) for name in remat_lint.__all__)


def test_paths_and_texts_are_linted_with_the_configuration_that_belongs_to_them(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(TEXT, encoding="utf-8")
    assert [finding.code for finding in remat_lint.check_paths([path]).findings] == ["RML202"]
    (tmp_path / "remat-lint.toml").write_text('ignore = ["RML202"]\n', encoding="utf-8")
    assert remat_lint.check_text(TEXT, path).findings == ()
