"""What is given to libcst, and that parsing less changes nothing."""

import random

import pytest

FILLER = "def unrelated_{0}(x):\n    return [x * {0} for _ in range(3)]\n\n"
PIECES = [
    "@jax.checkpoint\ndef layer_{0}(x):\n    return x * W_{0}\n\n\nW_{0} = 1\n",
    "def use_{0}(x):\n    for W_{0} in (1, 2):\n        x = layer_{0}(x)\n    return x\n",
    "def change_{0}(x):\n    global W_{0}\n    a = layer_{0}(x)\n    W_{0} = 5\n    return a + layer_{0}(x)\n",
    "def call_{0}(x):\n    a = inner_{0}(x)\n    TABLE_{0}['k'] = 3\n    return a + inner_{0}(x)\n",
    "TABLE_{0} = {{'k': 1}}\n\n\ndef inner_{0}(x):\n    return jax.checkpoint(read_{0})(x)\n\n\ndef read_{0}(x):\n    return x * TABLE_{0}['k']\n",
    "from jax import remat as again_{0}\n\n\ndef build_{0}(ws):\n    return [again_{0}(lambda x: x * w) for w in ws]\n",
    "fast_{0} = jax.checkpoint(lambda x: x, static_argnums=[1])\n",
    "def steps_{0}(xs):\n    for x in xs:\n        jax.jit(jax.checkpoint(layer_{0}))(x)\n",
    FILLER,
]


@pytest.mark.parametrize("seed", range(30))
def test_findings_are_the_same_whether_all_is_parsed_or_only_what_bears_on_a_site(sites, seed):
    chosen = random.Random(seed)  # noqa: S311 - a choice of test input
    parts = [piece.format(number) for number in range(4) for piece in chosen.sample(PIECES, 5)]
    chosen.shuffle(parts)
    sites.write(main="import jax\n\n" + "\n\n".join(parts))
    lazy, whole = sites.engine(), sites.engine(whole=True)
    assert lazy.check_paths([sites.folder]).findings == whole.check_paths([sites.folder]).findings
    assert len(lazy.project.parsed) <= len(whole.project.parsed)


def test_a_statement_that_bears_on_no_site_is_not_parsed(sites):
    sites.write(main="import jax\n\n" + FILLER.format(1) + "@jax.checkpoint\ndef f(x):\n    return x\n")
    engine = sites.engine()
    engine.check_paths([sites.folder])
    module = engine.project.module(sites.folder / "main.py")
    parsed = "".join(module.source.text[start : start + size] for _, start, size, _ in engine.project.parsed)
    assert "unrelated_1" not in parsed
    assert "def f" in parsed


def test_a_chunk_is_parsed_twice_only_where_it_carries_a_finding(sites):
    sites.write(
        main="import jax\n\n\n@jax.checkpoint\ndef f(x):\n    return x\n\n\ndef g(x):\n    return jax.checkpoint(abs, x)\n",
        other="import jax\n\n\n@jax.checkpoint\ndef f(x):\n    return x\n",
    )
    engine = sites.engine()
    result = engine.check_paths([sites.folder])
    assert [finding.code for finding in result.findings] == ["RML202"]
    once = [(path, start) for path, start, _, again in engine.project.parsed if not again]
    twice = [(path.name, start) for path, start, _, again in engine.project.parsed if again]
    assert len(once) == len(set(once))
    (chunk,) = (c for c in engine.project.module(sites.folder / "main.py").chunks if c.name == "g")
    assert twice == [("main.py", chunk.start)]


def test_the_bytes_of_an_oversized_statement_are_parsed_only_if_it_spells_a_wrapper(sites):
    literal = "DATA = [" + "1, " * 100_000 + "]\n"
    sites.write(main=f"import jax\n\n\n@jax.checkpoint\ndef f(x):\n    return x * DATA\n\n\n{literal}")
    engine = sites.engine()
    result = engine.check_paths([sites.folder])
    assert max(size for _, _, size, _ in engine.project.parsed) < 10_000
    assert ["not analysed" in problem for problem in result.remarks] == [True]
    huge = "def huge():\n    jax.checkpoint(f)\n    return [" + "1, " * 400_000 + "]\n"
    sites.write(main=f"import jax\n\n\n{huge}")
    engine = sites.engine()
    result = engine.check_paths([sites.folder])
    assert max(size for _, _, size, _ in engine.project.parsed) < 10_000
    assert ["too large" in problem for problem in result.remarks] == [True]


@pytest.mark.parametrize("place", range(2))
def test_a_wrong_cut_falls_back_to_the_whole_file(sites, place):
    # A matrix product at the start of a line looks like a decorator to the splitter.
    parts = [
        "def f(x):\n    return jax.checkpoint(g, x)\n",
        "def g(x):\n    return x\n",
        "A = 1\n",
    ]
    parts.insert(place, "y = (f(1)\n@f(2))\n")
    sites.write(main="import jax\n\n" + "\n\n".join(parts))
    engine = sites.engine()
    assert [finding.code for finding in engine.check_paths([sites.folder]).findings] == ["RML202"]
    module = engine.project.module(sites.folder / "main.py")
    assert len(module.chunks) == 1
    text = module.source.text.replace(
        "jax.checkpoint(g, x)", "jax.checkpoint(g, x)  # remat-lint: ignore[RML202]"
    )
    sites.write(main=text)
    assert sites.engine().check_paths([sites.folder]).findings == ()


def test_a_broken_statement_costs_only_itself(sites):
    sites.write(
        main="import jax\n\n\ndef broken(:\n    pass\n\n\ndef f(x):\n    return x\n\n\ng = jax.checkpoint(f, 1)\n"
    )
    found = sites.engine().check_paths([sites.folder]).findings
    assert [finding.code for finding in found] == ["RML001", "RML202"]
    assert found[0].span.start.row in (4, 5)
    assert found[1].span.start.row == 12


def test_findings_of_a_file_do_not_depend_on_which_paths_are_named(sites):
    sites.write(
        ops="import jax.numpy as jnp\n\nSTATS = {}\n\n\ndef layer(x):\n    STATS['m'] = jnp.tanh(x)\n    return x\n",
        main="import jax\nimport ops\n\nlayer = jax.checkpoint(ops.layer)\nbad = jax.checkpoint(ops.layer, 1)\n",
        unrelated="import jax\n\nf = jax.checkpoint(lambda x: x, static_argnums=[1])\n",
    )
    everything = sites.engine().check_paths([sites.folder]).findings
    for name in ("ops", "main", "unrelated"):
        path = sites.folder / f"{name}.py"
        alone = sites.engine().check_paths([path]).findings
        assert alone == tuple(finding for finding in everything if finding.path == str(path))
        text = sites.engine().check_text(path.read_text(encoding="utf-8"), path).findings
        assert text == alone
    assert {finding.code for finding in everything} == {"RML103", "RML202", "RML303"}


def test_of_a_class_only_the_methods_that_bear_on_a_site_are_parsed(sites):
    sites.write(
        main="import jax\n\n\nclass Model:\n    '''Text.'''\n\n    def unrelated(self, x):\n        return x\n\n"
        "    def step(self, x):\n        return x * 2\n\n    def run(self, x):\n        return jax.checkpoint(self.step, x)\n"
    )
    engine = sites.engine()
    (finding,) = engine.check_paths([sites.folder]).findings
    module = engine.project.module(sites.folder / "main.py")
    parsed = "".join(module.source.text[start : start + size] for _, start, size, _ in engine.project.parsed)
    assert (finding.code, finding.span.start.row) == ("RML202", 14)
    assert module.source.slice(finding.span) == "x"
    assert "def run" in parsed
    assert "def step" in parsed
    assert "unrelated" not in parsed


def test_a_broken_method_costs_only_itself(sites):
    sites.write(
        main="import jax\n\n\nclass Model:\n    def broken(:\n        pass\n\n    def run(self, x):\n        self.kept = jax.checkpoint(len, x)\n"
    )
    found = sites.engine().check_paths([sites.folder]).findings
    assert [finding.code for finding in found] == ["RML001", "RML202"]
    assert found[0].span.start.row in (5, 6)
    assert found[1].span.start.row == 9


def test_a_suppression_on_the_header_of_a_class_covers_its_methods(sites):
    text = "import jax\n\n\nclass Model:  # remat-lint: ignore[RML202]\n    def run(self, x):\n        self.kept = jax.checkpoint(len, x)\n\n    def last(self):\n        return 1\n"
    sites.write(main=text)
    assert sites.engine().check_paths([sites.folder]).findings == ()


@pytest.mark.parametrize(
    ("many", "said"),
    [
        ("    if x:\n        pass\n" + "    elif x:\n        pass\n" * 20_000, "`elif` clauses"),
        ("    return " + "x or " * 20_000 + "x\n", "operators"),
    ],
)
def test_what_is_nested_too_deeply_for_the_parser_costs_only_its_statement(sites, many, said):
    deep = f"def deep(x):\n    jax.checkpoint(x, 1)\n{many}"
    sites.write(main=f"import jax\n\n\ng = jax.checkpoint(len, 1)\n\n\n{deep}")
    result = sites.engine().check_paths([sites.folder])
    assert [finding.code for finding in result.findings] == ["RML202"]
    assert [said in remark for remark in result.remarks] == [True]
