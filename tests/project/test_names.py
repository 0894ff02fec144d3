"""Names are resolved, never matched: which places are seen as wrap sites, with which API and which body."""

import pytest


@pytest.mark.parametrize(
    ("imports", "spelling", "api"),
    [
        ("import jax", "jax.checkpoint", "jax.checkpoint"),
        ("import jax as J", "J.remat", "jax.remat"),
        ("from jax import checkpoint as ck", "ck", "jax.checkpoint"),
        ("from jax import ad_checkpoint as adc", "adc.checkpoint", "jax.checkpoint"),
        ("import jax.ad_checkpoint", "jax.ad_checkpoint.remat", "jax.remat"),
        ("import flax.linen as nn", "nn.remat", "flax.linen.remat"),
        ("from flax import linen", "linen.checkpoint", "flax.linen.remat"),
        ("from flax import nnx as nn", "nn.remat", "flax.nnx.remat"),
        (
            "from flax.linen import partitioning as nn_partitioning",
            "nn_partitioning.remat",
            "flax.linen.partitioning.remat",
        ),
        ("import haiku as hk", "hk.remat", "haiku.remat"),
        ("import equinox as eqx", "eqx.filter_checkpoint", "equinox.filter_checkpoint"),
        ("import jax\nremat = jax.remat", "remat", "jax.remat"),
        ("from jax import *", "checkpoint", None),
    ],
)
def test_a_spelling_means_what_its_import_says(sites, imports, spelling, api):
    sites.write(main=f"{imports}\n\ndef f(x):\n    return x\n\ng = {spelling}(f)\n")
    assert [(name, bodies) for _, name, bodies in sites.all()] == ([] if api is None else [(api, ["f"])])


@pytest.mark.parametrize(
    "text",
    [
        "import orbax.checkpoint as checkpoint\ncheckpoint.Checkpointer(f)\nimport jax\n",
        "from torch.utils.checkpoint import checkpoint\nimport jax\ny = checkpoint(f, x)\n",
        "from flax.training import checkpoints\ncheckpoints.save_checkpoint(f)\n",
        "import jax\nclass M:\n    def checkpoint(self, f): ...\n    def go(self):\n        self.checkpoint(lambda x: x)\n",
        "import jax\ndef checkpoint(f, *a): return f(*a)\ncheckpoint(abs, 1)\n",
        "import jax\ndef g(checkpoint):\n    return checkpoint(abs)\n",
        "import jax\nconfig = load()\nconfig.remat(abs)\n",
        "import jax\n'''jax.checkpoint(f)'''\n# jax.checkpoint(f)\n",
    ],
)
def test_what_only_looks_like_a_wrapper_is_no_site(sites, text):
    sites.write(main=text)
    assert sites.all() == []


FORMS = {
    "decorator": ("@jax.checkpoint\ndef f(x): return x\n", ["f"]),
    "partial decorator": ("@functools.partial(jax.checkpoint, prevent_cse=False)\ndef f(x): return x\n", ["f"]),
    "partial kept under a name": ("ck = functools.partial(jax.checkpoint, policy=None)\ng = ck(lambda x: x)\n", ["<lambda>"]),
    "lambda": ("g = jax.checkpoint(lambda x: x)\n", ["<lambda>"]),
    "nested": ("def outer():\n    def inner(x): return x\n    return jax.checkpoint(inner)\n", ["outer.inner"]),
    "bound again": ("def outer(f=None):\n    def f(x): return x\n    f = jax.checkpoint(f)\n    return f(1)\n", ["outer.f"]),
    "bound again, conditionally": ("def o(c):\n    def f(x): return x\n    if c:\n        f = jax.checkpoint(f)\n    return f(1)\n", ["o.f"]),
    "either of two": ("def a(x): ...\ndef b(x): ...\ndef o(c):\n    return jax.checkpoint(a if c else b)\n", ["a", "b"]),
    "branches": ("def o(c):\n    if c:\n        def f(x): ...\n    else:\n        f = lambda x: x\n    return jax.checkpoint(f)\n", ["o.<lambda>", "o.f"]),
    "partial of a function": ("def f(a, x): ...\ng = jax.checkpoint(functools.partial(f, 1))\n", ["partial f"]),
    "alias of the function": ("def f(x): ...\nh = f\ng = jax.checkpoint(h)\n", ["f"]),
    "method through self": ("class M:\n    def f(self, x): ...\n    def g(self):\n        return jax.checkpoint(self.f)\n", ["M.f"]),
    "inherited method": ("class A:\n    def f(self, x): ...\nclass B(A):\n    def g(self):\n        return jax.checkpoint(self.f)\n", ["A.f"]),
    "method of an instance": ("class M:\n    def f(self, x): ...\nm = M()\ng = jax.checkpoint(m.f)\n", ["M.f"]),
    "function of a list": ("def a(x): ...\ndef b(x): ...\ngs = [jax.checkpoint(f) for f in (a, b)]\n", ["a", "b"]),
    "keyword": ("def f(x): ...\ng = jax.checkpoint(fun=f)\n", ["f"]),
    "class": ("import flax.linen as nn\nclass B(nn.Module): ...\nR = nn.remat(B)\n", ["class B"]),
    "import in the function": ("def o():\n    from jax import remat as again\n    return again(lambda x: x)\n", ["o.<lambda>"]),
    "attribute set in init": ("class M:\n    def __init__(self):\n        self.f = lambda x: x\n    def g(self):\n        return jax.checkpoint(self.f)\n", ["M.__init__.<lambda>"]),
    "own factory": ("def wrap(f, on):\n    if not on:\n        return f\n    return jax.checkpoint(f)\n\ndef body(x): ...\ng = wrap(body, True)\n", ["body"]),
    "own decorator": ("def wrap(f):\n    return jax.checkpoint(f)\n\n@wrap\ndef body(x): ...\n", ["body"]),
    "own decorator with options": ("def wrap(policy):\n    def deco(f):\n        return jax.checkpoint(f, policy=policy)\n    return deco\n\n@wrap(None)\ndef body(x): ...\n", ["body"]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_the_body_is_found_in_every_form(sites, form):
    text, bodies = FORMS[form]
    sites.write(main=f"import functools\nimport jax\n{text}")
    found = [names for _, _, names in sites.all() if not names[0].startswith(("parameter", "unknown"))]
    assert [sorted(names) for names in found] == [sorted(bodies)]


def test_a_factory_of_another_file_makes_a_site_at_its_call(sites):
    sites.write(
        pkg__in____init__="",
        pkg__in__tools="import jax\n\ndef maybe_remat(fn, on, policy=None):\n    return jax.checkpoint(fn, policy=policy) if on else fn\n",
        pkg__in__model="from .tools import maybe_remat\nimport jax\n\ndef build(on):\n    def block(x):\n        return x\n    return maybe_remat(block, on)\n",
    )
    assert sites.all("pkg/model") == [("model:7", "jax.checkpoint", ["build.block"])]


@pytest.mark.parametrize("layout", ["flat", "src", "package"])
def test_a_wrapper_is_followed_through_a_reexport(sites, layout):
    folder = {"flat": "", "src": "src__in__", "package": "pkg__in__"}[layout]
    user = "main" if layout == "src" else f"{folder}main"
    if layout == "package":
        sites.write(pkg__in____init__="")
    sites.write(**{f"{folder}compat": "from jax import checkpoint as again\n__all__ = ['again']\n"})
    module = "pkg.compat" if layout == "package" else "compat"
    sites.write(**{user: f"from {module} import again  # a remat\nimport jax\ng = again(lambda x: x)\n"})
    assert [api for _, api, _ in sites.all(user.replace("__in__", "/"))] == ["jax.checkpoint"]


def test_a_wrapper_is_seen_through_a_module_that_passes_its_package_on(sites):
    sites.write(
        pkg__in____init__="",
        pkg__in__common="from flax import linen as nn\nimport jax as J\n",
        pkg__in__model="import jax.numpy as jnp\nfrom .common import nn, J\n\nclass B(nn.Module): ...\n\nR = nn.remat(B)\ng = J.checkpoint(lambda x: x)\n",
    )
    assert [(api, bodies) for _, api, bodies in sites.all("pkg/model")] == [
        ("flax.linen.remat", ["class B"]),
        ("jax.checkpoint", ["<lambda>"]),
    ]


@pytest.mark.parametrize("passed", ["from .wrapping import *", "from .wrapping import again"])
@pytest.mark.parametrize(
    "use", ["from pkg import again", "from pkg import *", "import pkg\nagain = pkg.again"]
)
def test_a_package_passes_on_what_its_modules_define(sites, passed, use):
    sites.write(
        pkg__in____init__=f"{passed}\n",
        pkg__in__wrapping="import jax\n\ndef again(f, on):\n    return jax.checkpoint(f) if on else f\n",
        main=f"import jax\n{use}  # a remat\n\ndef body(x): return x\n\ng = again(body, True)\n",
    )
    assert [bodies for _, _, bodies in sites.all("main")] == [["body"]]


def test_a_word_in_a_package_that_binds_nothing_leaves_its_module_of_that_name(sites):
    sites.write(
        pkg__in____init__="# Has a map.\n",
        pkg__in__map="import jax\n\ndef again(f):\n    return jax.checkpoint(f)\n",
        main="import jax  # a remat\nfrom pkg import map\n\ndef body(x): return x\n\ng = map.again(body)\n",
    )
    assert [bodies for _, _, bodies in sites.all("main")] == [["body"]]


def test_modules_that_import_one_name_from_each_other_in_a_ring_give_nothing(sites):
    sites.write(
        pkg__in____init__="",
        pkg__in__one="from .two import *\n# Layer\n",
        pkg__in__two="from .one import Layer\n",
        pkg__in__main="import jax\nfrom .two import Layer\n\ng = jax.checkpoint(Layer)\n",
    )
    assert [bodies for _, _, bodies in sites.all("pkg/main")] == [["unknown"]]


def test_inside_a_library_its_own_names_mean_what_its_users_mean_by_them(sites):
    sites.write(
        flax__in____init__="from . import linen as linen\n",
        flax__in__linen__in____init__="from .transforms import remat as remat\nfrom .module import compact as compact\n",
        flax__in__linen__in__transforms="def checkpoint(f, **kw): return lift(f, **kw)\nremat = checkpoint\n",
        flax__in__linen__in__module="def compact(f):\n    f.compact = True\n    return f\n",
        test_it="from flax import linen as nn\n\nclass B:\n    @nn.remat\n    @nn.compact\n    def go(self, x): return x\n",
    )
    assert [(api, bodies) for _, api, bodies in sites.all("test_it")] == [("flax.linen.remat", ["B.go"])]


def test_calls_of_what_a_site_returned_are_seen_through_names_attributes_and_transformations(sites):
    sites.write(
        main="""\
        import jax

        def f(x): return x

        g = jax.checkpoint(f)
        g(1)
        jax.grad(g)(1)

        class M:
            def __init__(self):
                self.h = jax.checkpoint(f)
            def go(self, x):
                return self.h(x) + jax.checkpoint(f)(x)
        """
    )
    assert sites.calls() == [[6, 7], [13], [13]]


CHAIN = "".join(f"    a{i + 1} = a{i} or a{i}\n" for i in range(60))
RING = "".join(f"        self.x{i} = self.x{(i + 1) % 12} or self.x{(i + 5) % 12}\n" for i in range(12))


@pytest.mark.parametrize(
    "text",
    [
        f"def wrap(a0):\n{CHAIN}    return jax.checkpoint(a60)\n\nf = wrap(lambda x: x)\n",
        f"class A:\n    def __init__(self):\n{RING}{RING}\n    def go(self, x):\n        return jax.checkpoint(self.x0)(x)\n",
        "def a(f): return b(f) or b(f)\ndef b(f): return a(f) or a(f)\nf = jax.checkpoint(a(abs))\n",
    ],
    ids=["doubling names", "attributes in a ring", "functions that call one another"],
)
def test_values_that_multiply_are_given_up_not_counted_out(sites, text):
    sites.write(main=f"import jax\n\n{text}")
    assert sites.all()
    assert sites.engine().analysis.steps <= 20_001
