"""Configuration files: which one counts, and what each mistake in it says."""

from pathlib import Path
from typing import NamedTuple

import pytest

from remat_lint.config import DEFAULT_EXCLUDE, Overrides, find_config, find_root, load
from remat_lint.errors import ConfigError
from remat_lint.findings import Severity


class Rule(NamedTuple):
    code: str
    name: str
    category: str


RULES = (
    Rule("RML101", "stale-capture", "correctness"),
    Rule("RML102", "late-binding-capture", "correctness"),
    Rule("RML107", "trace-time-output", "suspicious"),
    Rule("RML701", "jit-of-fresh-wrapper", "cost"),
)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def error_of(file: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load([file.parent], RULES, Overrides(config=file))
    return str(caught.value).removeprefix(str(file))


def test_the_nearest_file_above_the_first_path_counts(tmp_path):
    outer = write(tmp_path / "remat-lint.toml", 'select = ["RML1"]\n')
    inner = write(tmp_path / "package/pyproject.toml", '[tool.remat-lint]\nselect = ["RML7"]\n')
    module = write(tmp_path / "package/deep/module.py", "")

    assert load([module, tmp_path], RULES).select == ("RML7",)
    assert load([tmp_path, module], RULES).select == ("RML1",)
    assert find_config(module) == inner
    assert find_config(tmp_path) == outer


def test_a_pyproject_without_our_table_is_passed_over(tmp_path):
    write(tmp_path / "remat-lint.toml", 'ignore = ["cost"]\n')
    write(tmp_path / "package/pyproject.toml", "[tool.ruff]\nline-length = 100\n")

    settings = load([tmp_path / "package"], RULES)

    assert settings.ignore == ("cost",)
    assert settings.root == tmp_path / "package"
    assert settings.pattern_root == tmp_path


def test_our_own_file_wins_over_a_pyproject_beside_it(tmp_path):
    write(tmp_path / "pyproject.toml", '[tool.remat-lint]\nselect = ["RML7"]\n')
    own = write(tmp_path / "remat-lint.toml", "")

    assert find_config(tmp_path) == own


def test_isolated_reads_no_file(tmp_path):
    write(tmp_path / "remat-lint.toml", "this is not toml")

    settings = load([tmp_path], RULES, Overrides(isolated=True))

    assert settings.config_file is None
    assert settings.exclude == DEFAULT_EXCLUDE


def test_select_of_the_command_line_replaces_the_file_and_ignore_is_added_to_it(tmp_path):
    write(tmp_path / "remat-lint.toml", 'select = ["RML1"]\nignore = ["RML102"]\n')

    replaced = load([tmp_path], RULES, Overrides(options={"select": ["RML7"]}))
    added = load([tmp_path], RULES, Overrides(options={"ignore": ["RML107"]}))

    assert (replaced.select, replaced.ignore) == (("RML7",), ())
    assert (added.select, added.ignore) == (("RML1",), ("RML102", "RML107"))


def test_exclude_replaces_the_defaults_and_extend_exclude_adds_to_them(tmp_path):
    file = write(
        tmp_path / "remat-lint.toml", 'exclude = ["a"]\nextend-exclude = ["b"]\nrespect-gitignore = false\n'
    )
    settings = load([tmp_path], RULES)
    write(file, 'extend-exclude = ["b"]\n')

    assert (settings.exclude, settings.respect_gitignore) == (("a", "b"), False)
    assert load([tmp_path], RULES).exclude == (*DEFAULT_EXCLUDE, "b")


def test_the_project_is_the_nearest_marked_folder_or_the_common_one(tmp_path):
    first, second = write(tmp_path / "a/b/one.py", ""), write(tmp_path / "a/c/two.py", "")
    assert find_root([first, second]) == tmp_path / "a"

    (tmp_path / ".git").mkdir()
    assert find_root([first, second]) == tmp_path


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    file = write(tmp_path / "remat-lint.toml", "\ufeffselect = ['RML1']\n")

    assert load([tmp_path], RULES, Overrides(config=file)).select == ("RML1",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('\nselct = ["RML1"]\n', ":2: unknown key 'selct' in remat-lint.toml; did you mean 'select'?"),
        (
            "extend_exclude = []\n",
            ":1: unknown key 'extend_exclude' in remat-lint.toml; did you mean 'extend-exclude'?",
        ),
        (
            "zzz = 1\n",
            ":1: unknown key 'zzz' in remat-lint.toml; the keys are select, extend-select, ignore,",
        ),
        ('select = "RML1"\n', ":1: 'select' must be a list of strings such as [\"RML101\"], not a string"),
        (
            "ignore = [1]\n",
            ":1: 'ignore' must be a list of strings such as [\"RML601\"], not a list that holds an integer",
        ),
        ('respect-gitignore = "no"\n', ":1: 'respect-gitignore' must be true or false, not a string"),
        ('ignore = [\n  "RML1",\n', ":3: is not valid TOML: "),
        ("a = 1\nb = = 2\n", ":2: is not valid TOML: invalid value"),
        (
            'select = ["stale-captur"]\n',
            ":1: unknown selector 'stale-captur' in \"select\"; did you mean 'stale-capture'?",
        ),
        (
            "[tool.remat-lint]\nselect = []\n",
            ":1: here the keys stand at the top level; leave out [tool.remat-lint]",
        ),
    ],
)
def test_a_mistake_in_our_own_file_names_the_line_and_the_way_out(tmp_path, text, said):
    assert error_of(write(tmp_path / "remat-lint.toml", text)).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "[tool.ruff]\nselct = 1\n\n[tool.remat-lint]\nselct = []\n",
            ":5: unknown key 'selct' in [tool.remat-lint]",
        ),
        ("[tool]\nremat-lint = { selct = [] }\n", ":2: unknown key 'selct'"),
        ("tool.remat-lint.selct = []\n", ":1: unknown key 'selct'"),
        ("[tool.remat-lint.selct]\na = 1\n", ":1: unknown key 'selct'"),
        ("[tool]\nremat-lint = 3\n", ":2: tool.remat-lint is an integer; write a table: [tool.remat-lint]"),
        ("[tool.ruff]\n", ": there is no [tool.remat-lint] table in this file"),
        ("tool = 3\n", ": there is no [tool.remat-lint] table in this file"),
    ],
)
def test_a_mistake_in_a_pyproject_names_the_line_in_our_table(tmp_path, text, said):
    assert error_of(write(tmp_path / "pyproject.toml", text)).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "per-file-ignores = []\n",
            ':1: \'per-file-ignores\' must be a table such as { "tests/**" = ["RML7"] }, not a list',
        ),
        (
            '[per-file-ignores]\n# why\n"a/**" = ["RML101"]\n"b/**" = "RML101"\n',
            ":4: 'b/**' must have a list of strings such as [\"RML7\"], not a string",
        ),
        (
            '[per-file-ignores]\n"a/**" = [\n  "RML101",\n]\n"b/**" = [\n  "RML101",\n  "RML10x",\n]\n',
            ":5: unknown selector 'RML10x' in \"per-file-ignores\"; did you mean 'RML10",
        ),
        ("severity = 1\n", ":1: 'severity' must be a table such as { memory = \"info\" }, not an integer"),
        (
            'select = []\n\n[severity]\nRML101 = "error"\ncost = "fatal"\n',
            ':5: unknown severity \'fatal\' of \'cost\'; write "error", "warning", "info"',
        ),
        ('severity.RML101 = "note"\n', ":1: unknown severity 'note' of 'RML101'; did you mean 'info'?"),
        (
            "severity = { RML101 = 1 }\n",
            ':1: \'RML101\' must have one of "error", "warning", "info", not an integer',
        ),
        ('[severity]\nRML001 = "info"\n', ":2: RML001 is an error always; leave it out"),
        (
            '[severity]\n"stale capture" = "info"\n',
            ":2: unknown selector 'stale capture' in \"severity\"; did you mean",
        ),
        ('extend-select = ["RML9x"]\n', ":1: unknown selector 'RML9x' in \"extend-select\""),
        ("jax-version = 0.10\n", ":1: 'jax-version' must be a string such as \">=0.6,<0.11\", not a float"),
        (
            '# jax-version = "x"\njax-version = "new"\n',
            ":2: 'jax-version' cannot be used: 'new' is no version",
        ),
        (
            'jax-version = "<0.4"\n',
            ":1: 'jax-version' cannot be used: '<0.4' allows no supported release of JAX",
        ),
        ('a = """\nselct = 1\n"""\n', ":1: unknown key 'a'"),
        ('select = [\n  "ALL",\n]\nselct = [\n]\n', ":4: unknown key 'selct'"),
        ("select = []\r\nselct = []\r\n", ":2: unknown key 'selct'"),
    ],
)
def test_a_mistake_inside_a_value_names_its_line(tmp_path, text, said):
    file = tmp_path / "remat-lint.toml"
    file.write_bytes(text.encode())
    assert error_of(file).startswith(said)


def test_lists_and_tables_of_the_command_line_are_added_to_those_of_the_file(tmp_path):
    write(
        tmp_path / "remat-lint.toml",
        'extend-select = ["RML1"]\nextend-exclude = ["a"]\n[per-file-ignores]\n"x" = ["RML1"]\n"y" = ["RML7"]\n'
        '[severity]\nRML101 = "info"\nRML7 = "info"\n',
    )
    more = {
        "extend-select": ["RML7"],
        "extend-exclude": ["b"],
        "per-file-ignores": {"x": ["RML7"], "z": ["ALL"]},
        "severity": {"RML101": "error"},
    }
    settings = load([tmp_path], RULES, Overrides(options=more))

    assert settings.extend_select == ("RML1", "RML7")
    assert settings.exclude == (*DEFAULT_EXCLUDE, "a", "b")
    assert settings.per_file_ignores == (("x", ("RML1", "RML7")), ("y", ("RML7",)), ("z", ("ALL",)))
    assert settings.severity == (("RML7", Severity.INFO), ("RML101", Severity.ERROR))
    assert settings.choices["severity"].origin == "remat-lint.toml and --severity"
    assert settings.choices["select"].origin == "default"


def test_select_of_the_command_line_replaces_extend_select_of_the_file(tmp_path):
    write(tmp_path / "remat-lint.toml", 'extend-select = ["RML1"]\n')

    assert load([tmp_path], RULES, Overrides(options={"select": ["RML7"]})).extend_select == ()


def test_a_file_that_cannot_be_used_at_all_says_why(tmp_path):
    latin = tmp_path / "remat-lint.toml"
    latin.write_bytes(b"# caf\xe9\n")
    deep = write(tmp_path / "deep/remat-lint.toml", "a = " + "[" * 100_000)

    assert error_of(latin) == ": is not UTF-8 text, which TOML requires"
    assert error_of(deep) == ": is nested too deeply"
    assert error_of(tmp_path / "missing.toml") == ": cannot be read: No such file or directory"
    assert error_of(tmp_path).startswith(": cannot be read: Is a directory")
