"""What runs inside a site: attributes and their types, collections, factories of closures, forms of reaching a method."""

import pytest

TARGETS = {
    "object kept in init": (
        "class E:\n    def __call__(self, x): ...\nclass M:\n    def __init__(self):\n        self.embed = E()\n    def go(self, x):\n        return jax.checkpoint(self.embed)(x)\n",
        ["E.__call__"],
    ),
    "method of an object kept in setup": (
        "class E:\n    def loss(self, x): ...\nclass M:\n    def setup(self):\n        self.proj = E()\n    def go(self, x):\n        return jax.checkpoint(self.proj.loss)(x)\n",
        ["E.loss"],
    ),
    "annotated field": (
        "class E:\n    def apply(self, x): ...\nclass M:\n    block: E\n    def go(self, x):\n        return jax.checkpoint(self.block.apply)(x)\n",
        ["E.apply"],
    ),
    "annotated field that may be absent": (
        "class E:\n    def apply(self, x): ...\nclass M:\n    block: E | None = None\n    def go(self, x):\n        return jax.checkpoint(self.block.apply)(x)\n",
        ["E.apply"],
    ),
    "annotated parameter": (
        "class E:\n    def apply(self, x): ...\ndef go(block: 'E', x):\n    return jax.checkpoint(block.apply)(x)\n",
        ["E.apply"],
    ),
    "annotated result": (
        "class E:\n    def apply(self, x): ...\ndef make() -> E:\n    return TABLE['e']\ng = jax.checkpoint(make().apply)\n",
        ["E.apply"],
    ),
    "argument of the constructor": (
        "def body(x): ...\nclass M:\n    def __init__(self, f):\n        self.f = f\nm = M(body)\ng = jax.checkpoint(m.f)\n",
        ["body"],
    ),
    "list filled by append, on self": (
        "class L:\n    def __call__(self, x): ...\nclass M:\n    def __init__(self):\n        self.layers = []\n        for i in range(3):\n            self.layers.append(L())\n    def go(self, x):\n        for l in self.layers:\n            x = jax.checkpoint(l)(x)\n        return x\n",
        ["L.__call__"],
    ),
    "item of a list on self": (
        "class L:\n    def apply(self, x): ...\nclass M:\n    def __init__(self):\n        self.blocks = [L() for _ in range(3)]\n    def go(self, x, i):\n        return jax.checkpoint(self.blocks[i].apply)(x)\n",
        ["L.apply"],
    ),
    "list filled by append": (
        "def a(x): ...\ndef b(x): ...\ndef go():\n    fs = [a]\n    fs.append(b)\n    return [jax.checkpoint(f) for f in fs]\n",
        ["a", "b"],
    ),
    "list extended": (
        "def a(x): ...\ndef b(x): ...\ndef go():\n    fs = [a]\n    fs += [b]\n    for f in fs:\n        jax.checkpoint(f)\n",
        ["a", "b"],
    ),
    "pairs of a list": (
        "def a(x): ...\ndef b(x): ...\nfor name, f in [('a', a), ('b', b)]:\n    jax.checkpoint(f)\n",
        ["a", "b"],
    ),
    "values of a dict": (
        "def a(x): ...\ndef b(x): ...\nfor f in {'a': a, 'b': b}.values():\n    jax.checkpoint(f)\n",
        ["a", "b"],
    ),
    "reversed": ("def a(x): ...\nfor f in reversed([a]):\n    jax.checkpoint(f)\n", ["a"]),
    "last of a list": ("def a(x): ...\ndef b(x): ...\ng = jax.checkpoint([a, b][-1])\n", ["b"]),
    "element of a returned tuple": (
        "def make(n):\n    def loss(x): return x * n\n    return n, loss\nn, loss = make(2)\ng = jax.checkpoint(loss)\n",
        ["make.loss"],
    ),
    "closure factory": (
        "def make(n):\n    def step(x): return x * n\n    return step\ng = jax.checkpoint(make(2))\n",
        ["make.step"],
    ),
    "method of the own class": (
        "class M:\n    def forward(self, x): ...\n    def __call__(self, x):\n        return jax.checkpoint(self.__class__.forward)(self, x)\n",
        ["M.forward"],
    ),
    "method by type(self)": (
        "class M:\n    def forward(self, x): ...\n    def __call__(self, x):\n        return jax.checkpoint(type(self).forward)(self, x)\n",
        ["M.forward"],
    ),
    "method of the class": ("class M:\n    def __call__(self, x): ...\ng = jax.checkpoint(M.__call__)\n", ["M.__call__"]),
    "function of a bound method": (
        "class B:\n    def run(self, x): ...\nclass M:\n    def __init__(self):\n        self.block = B()\n    def go(self):\n        return jax.checkpoint(self.block.run.__func__)\n",
        ["B.run"],
    ),
    "method of super": (
        "class A:\n    def f(self, x): ...\nclass B(A):\n    def f(self, x):\n        return jax.checkpoint(super().f)(x)\n",
        ["A.f"],
    ),
    "getattr with a name": ("class M:\n    def f(self, x): ...\nm = M()\ng = jax.checkpoint(getattr(m, 'f'))\n", ["M.f"]),
    "wraps called": ("import functools\ndef f(x): ...\ndef g(x): ...\nh = jax.checkpoint(functools.wraps(f)(g))\n", ["g"]),
    "map_variables": ("import flax.linen as nn\nclass B: ...\ng = nn.remat(nn.map_variables(B, 'params'))\n", ["class B"]),
    "remat_scan": ("import flax.linen as nn\nclass B: ...\ng = nn.remat_scan(B, lengths=(2, 2))\n", ["class B"]),
    "class with methods": ("import flax.linen as nn\nclass B: ...\ng = nn.remat(B, methods=('forward',))\n", ["class B"]),
    "imported in the function": (
        "def go():\n    from functools import partial as p\n    def f(a, x): ...\n    return jax.checkpoint(p(f, 1))\n",
        ["partial go.f"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", TARGETS)
def test_the_body_is_found(sites, form):
    text, bodies = TARGETS[form]
    sites.write(main=f"import jax\n\n{text}")
    assert [sorted(b for b in names if b != "unknown") for _, _, names in sites.all()] == [sorted(bodies)]


UNKNOWN = {
    "a list whose length is counted": "def a(x): ...\nfs = [a]\nfs = shuffle(fs)\ng = jax.checkpoint(fs[0])\n",
    "an object of another library": "import other\nm = other.Model()\ng = jax.checkpoint(m.f)\n",
    "a class field of another library": "import other\nclass M:\n    block: other.Block\n    def go(self):\n        return jax.checkpoint(self.block.apply)\n",
    "a number that grows": "n = 0\nn += 1\ng = jax.checkpoint(n)\n",
    "a method that is overwritten from outside": "class M: ...\nm = M()\ng = jax.checkpoint(m.f)\n",
}


@pytest.mark.parametrize("form", UNKNOWN)
def test_what_cannot_be_known_stays_unknown(sites, form):
    sites.write(main=f"import jax\n\n{UNKNOWN[form]}")
    assert [names for _, _, names in sites.all()] in ([["unknown"]], [["data"]], [["member"]])


def test_a_wrapped_function_kept_on_self_is_called_through_it(sites):
    sites.write(
        main="""\
        import jax

        class M:
            def __init__(self):
                self.step = jax.checkpoint(self._step)

            def _step(self, x): ...

            def go(self, x):
                return self.step(x)
        """
    )
    assert sites.calls() == [[10]]


@pytest.mark.parametrize("layout", ["src", "flat"])
def test_a_class_is_followed_through_packages_and_relative_imports(sites, layout):
    root = "src__in__" if layout == "src" else ""
    sites.write(
        **{
            f"{root}pkg__in____init__": "",
            f"{root}pkg__in__layers__in____init__": "from .block import Block as Block\n",
            f"{root}pkg__in__layers__in__block": "class Block:\n    def apply(self, x): ...\n",
            f"{root}pkg__in__model": "import jax\nfrom .layers import Block\n\nclass M:\n    def __init__(self):\n        self.b = Block()\n    def go(self, x):\n        return jax.checkpoint(self.b.apply)(x)\n",
        }
    )
    assert [bodies for _, _, bodies in sites.all()] == [["Block.apply"]]
