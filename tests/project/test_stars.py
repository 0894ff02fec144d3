"""Modules that star-import each other: each is asked once, and none brings the analysis down."""

import pytest

from tests.project.test_lazy import everything

FACTORY = "import jax\n\n\ndef make(f):\n    return jax.checkpoint(f)\n"
USE = "\n\ndef body(x):\n    print(x)\n    return x\n\n\nf = make(body)\n"

PROJECTS = {
    "a pair": {"a.py": "from b import *\n" + FACTORY, "b.py": "from a import *\n" + USE},
    "a ring with a way out": {
        "a.py": "from b import *\n",
        "b.py": "from a import *\nfrom c import *\n",
        "c.py": FACTORY,
        "main.py": "from a import make\n" + USE,
        "other.py": "from b import *\n" + USE,
    },
    "many": {
        f"m{i}.py": f"from m{(i + 1) % 40} import *\nfrom m{(i + 2) % 40} import *\n"
        + (USE if i else FACTORY)
        for i in range(40)
    },
    "nobody binds the name": {"a.py": "from b import *\n" + USE, "b.py": "from a import *\nimport jax\n"},
}


@pytest.mark.parametrize("name", PROJECTS)
def test_star_imports_in_a_ring(name, tmp_path):
    for path, text in PROJECTS[name].items():
        (tmp_path / path).write_text(text)
    lazy, whole = (everything(tmp_path, [tmp_path], whole=whole) for whole in (False, True))
    assert not any("RML900" in finding for finding in (*lazy[0], *whole[0]))
    assert lazy[:2] == whole[:2]
    assert bool(lazy[0]) == (name in {"a pair", "a ring with a way out"})
