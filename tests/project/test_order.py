"""Which bindings may hold at a place, and which ways to a value overlap."""

import pytest

from remat_lint.project.scopes import Scope, reaching
from remat_lint.project.values import Access


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("f = 1\nf = 2\nuse(f)\n", [2]),
        ("f = 1\nif c:\n    f = 2\nuse(f)\n", [3, 1]),
        ("if c:\n    f = 1\nelse:\n    f = 2\nuse(f)\n", [4, 2]),
        ("f = 0\nif c:\n    f = 1\nelse:\n    f = 2\nuse(f)\n", [5, 3]),
        ("f = 0\nif c:\n    f = 1\nelif d:\n    f = 2\nuse(f)\n", [5, 3, 1]),
        ("f = 0\nfor f in fs:\n    pass\nuse(f)\n", [2, 1]),
        ("f = 0\nif c:\n    f = 1\nelse:\n    use(f)\n", [1]),
        ("try:\n    f = 1\nexcept E:\n    f = 2\nuse(f)\n", [4, 2]),
    ],
)
def test_the_bindings_that_may_hold_are_those_no_later_one_hides(sites, text, rows):
    sites.write(main=f"import jax\n{text}# remat\n")
    engine = sites.engine()
    module = engine.project.module(sites.folder / "main.py")
    module.load()
    call = next(e for e in module.scope.events if e.kind == "call" and module.text_at(e.at) == "use(f)")
    live = reaching(module.scope.bindings["f"], call, module.scope)
    assert [module.span((e.target or e.node).at).start.row - 1 for e in live] == rows


SCOPE = Scope("module", None, None, None)


@pytest.mark.parametrize(
    ("read", "written", "overlap"),
    [
        ((), (), True),
        (((".", "a"),), (), True),
        ((), ((".", "a"),), True),
        (((".", "a"),), ((".", "b"),), False),
        ((("[]", "k"),), (("[]", "k"),), True),
        ((("[]", "k"),), (("[]", "j"),), False),
        ((("[]", None),), (("[]", "j"),), True),
        (((".", "a"),), (("[]", "a"),), False),
        (((".", "a"), ("[]", 0)), (("*", None),), True),
        (((".", "a"), ("[]", 0)), ((".", "a"), ("*", None)), True),
        (((".", "b"), ("[]", 0)), ((".", "a"), ("*", None)), False),
    ],
)
def test_a_write_concerns_a_read_if_one_is_on_the_way_to_the_other(read, written, overlap):
    assert Access(SCOPE, "v", read).overlaps(Access(SCOPE, "v", written)) is overlap
