"""A call of a function of the project that wraps what it is given is a wrap site of its own."""

import textwrap

import pytest

FACTORIES = {
    "several classes, wrapped in place": (
        """\
        import jax

        def wrap_all(*modules):
            outs = ()
            for module in modules:
                module.__call__ = jax.checkpoint(module.__call__)
                outs += (module,)
            if len(outs) == 1:
                return outs[0]
            return outs
        """,
        "class A:\n    def __call__(self, x): ...\n\n\nwrapped = wrap_all(A)\n",
        [["A.__call__"]],
    ),
    "a list filled in a loop": (
        """\
        import flax.linen as nn

        def wrap_all(classes, policy=None):
            wrapped = []
            for cls in classes:
                cls = nn.map_variables(cls, ["params"])
                wrapped.append(nn.remat(cls, policy=policy))
            return wrapped
        """,
        "class A: ...\n\n\nB = wrap_all([A])[0]\n",
        [["class A"]],
    ),
    "a method of an enumeration": (
        """\
        import enum
        import jax

        class Kind(enum.Enum):
            NONE = enum.auto()
            FULL = enum.auto()

            @classmethod
            def from_str(cls, name):
                return Kind[name.upper()]

            def put_on(self, function):
                if self == Kind.NONE:
                    return function
                return jax.checkpoint(function)
        """,
        "class M:\n    def __init__(self, name):\n        self.kind = Kind.from_str(name)\n\n    def go(self, x):\n        def body(x): ...\n        return self.kind.put_on(body)(x)\n",
        [["M.go.body"]],
    ),
    "a wrapper that is a parameter": (
        """\
        import functools
        import jax

        def transform(trafo, function, *args):
            def again(x):
                return trafo(function, *args)(x)
            return again

        wrap = functools.partial(transform, jax.checkpoint)
        """,
        "def body(x): ...\n\n\ndone = wrap(body)\n",
        [["body"]],
    ),
    "a wrapper as a default, used as a decorator": (
        """\
        import jax

        def nested(function, xs, wrap=jax.checkpoint):
            @wrap
            def one(x):
                return function(x)
            return [one(x) for x in xs]
        """,
        "ys = nested(lambda x: x, [1])\n",
        [["nested.one"]],
    ),
    "a function applied at once": (
        "import jax\n\ndef run(function, x):\n    return jax.checkpoint(function)(x)\n",
        "def body(x): ...\n\n\ny = run(body, 1)\n",
        [["body"]],
    ),
    "a function given to a scan": (
        "import jax\n\ndef run(function, xs):\n    return jax.lax.scan(jax.checkpoint(function), 0, xs)\n",
        "def body(c, x): ...\n\n\ny = run(body, [])\n",
        [["body"]],
    ),
    "a factory in a factory": (
        "import jax\n\ndef inner(f, policy):\n    return jax.checkpoint(f, policy=policy)\n\ndef outer(f):\n    return inner(f, None)\n",
        "def body(x): ...\n\n\ndone = outer(body)\n",
        [["body"]],
    ),
    "a class, conditionally": (
        "import flax.linen as nn\n\ndef prepare(layer, on):\n    if on:\n        layer = nn.remat(layer)\n    return layer\n",
        "from functools import partial\n\n\nclass A: ...\n\n\nmade = prepare(partial(A, size=1), True)\n",
        [["partial class A"]],
    ),
    "an object that is called": (
        "import jax\n\nclass Wrapper:\n    def __call__(self, f):\n        return jax.checkpoint(f)\n\nwrap = Wrapper()\n",
        "def body(x): ...\n\n\ndone = wrap(body)\n",
        [["body"]],
    ),
    "a function made around the parameter": (
        "import jax\n\ndef run(layer, x):\n    def pure(x):\n        return layer(x)\n    return jax.checkpoint(pure)(x)\n",
        "y = run(abs, 1)\n",
        [["run.pure"]],
    ),
    "a decorated function made around the parameter": (
        "import jax\n\ndef around(f):\n    @jax.checkpoint\n    def inner(x):\n        return f(x)\n    return lambda x: inner(x)\n",
        "done = around(abs)\n",
        [["around.inner"]],
    ),
    "a static method": (
        "import jax\n\nclass Tools:\n    @staticmethod\n    def wrap(f):\n        return jax.checkpoint(f)\n",
        "def body(x): ...\n\n\ndone = Tools.wrap(body)\n",
        [["body"]],
    ),
}


def at_user(found):
    return [bodies for place, _, bodies in found if place.startswith("user")]


@pytest.mark.parametrize("form", FACTORIES)
def test_a_call_of_a_factory_in_another_file_is_a_site(sites, form):
    tools, user, bodies = FACTORIES[form]
    sites.write(tools=tools, user=f"from tools import *\n\n\n{user}")
    assert at_user(sites.all("user")) == bodies


@pytest.mark.parametrize("form", FACTORIES)
def test_a_call_of_a_factory_in_the_same_file_is_a_site(sites, form):
    tools, user, bodies = FACTORIES[form]
    own = textwrap.dedent(tools)
    sites.write(user=f"{own}\n\n{user}")
    found = [(int(place.partition(":")[2]), names) for place, _, names in sites.all()]
    assert [names for row, names in found if row > own.count("\n")] == bodies


NOT_FACTORIES = {
    "wraps its own function": "import jax\n\ndef loss(params, x):\n    @jax.checkpoint\n    def layer(x):\n        return x * params\n    return layer(x)\n\ny = loss(1, 2)\n",
    "wraps what it holds": "import jax\n\nclass M:\n    def __init__(self):\n        self.f = lambda x: x\n    def go(self, x):\n        return jax.checkpoint(self.f)(x)\n\ny = M().go(1)\n",
    "calls its parameter beside a site": "import jax\n\ndef run(f, x):\n    return f(jax.checkpoint(lambda x: x)(x))\n\ny = run(abs, 1)\n",
    "applies what is no wrapper": "import jax\n\ndef apply(trafo, f):\n    return trafo(f)\n\ng = apply(jax.jit, abs)\nh = jax.checkpoint(abs)\n",
    "gives arrays on as configuration": "import jax\n\ndef wrap(f, n):\n    return jax.checkpoint(f)\n\ndef model(x, n):\n    return wrap(lambda x: x, n)(x)\n\ny = model(1, 2)\n",
}


@pytest.mark.parametrize("form", NOT_FACTORIES)
def test_a_function_that_wraps_what_is_its_own_is_no_factory(sites, form):
    sites.write(main=NOT_FACTORIES[form])
    engine = sites.engine()
    rows = [
        module.span(engine.analysis.place(site).at).start.row
        for module, site in engine.sites([sites.folder])
        if site.via
    ]
    last = NOT_FACTORIES[form].count("\n")
    assert [row for row in rows if row >= last] == []


def test_the_way_to_a_site_is_the_calls_from_the_user_to_the_wrapper(sites):
    sites.write(
        one="import jax\n\ndef inner(f):\n    return jax.checkpoint(f)\n",
        two="from one import inner\n\ndef outer(f):\n    return inner(f)\n",
        user="from two import outer\n\ndef body(x): ...\n\ndone = outer(body)\n",
    )
    engine = sites.engine()
    ((_, site),) = engine.sites([sites.folder / "user.py"])
    places = [
        (event.module.path.stem, event.module.span(event.at).start.row) for event in (*site.via, site.event)
    ]
    assert places == [("user", 5), ("two", 4), ("one", 4)]


def test_a_file_without_a_word_of_a_wrapper_is_opened_for_the_factory_it_calls(sites):
    sites.write(
        pkg__in____init__="from .tools import prepare\n",
        pkg__in__tools="import jax\n\ndef prepare(f, on):\n    return jax.checkpoint(f) if on else f\n",
        pkg__in__helpers="from . import tools\n\ndef ready(f):\n    return tools.prepare(f, True)\n",
        pkg__in__direct="from pkg import prepare\n\ndef body(x): ...\n\ndone = prepare(body, True)\n",
        pkg__in__chained="from .helpers import ready\n\ndef body(x): ...\n\ndone = ready(body)\n",
        pkg__in__dotted="import pkg.tools\n\ndef body(x): ...\n\ndone = pkg.tools.prepare(body, True)\n",
        pkg__in__other="from .helpers import unknown\n\ndone = unknown(abs)\n",
    )
    found = {place: bodies for place, _, bodies in sites.all()}
    assert {place for place in found if place.split(":")[0] in ("direct", "chained", "dotted", "other")} == {
        "direct:5",
        "chained:5",
        "dotted:5",
    }
    for name in ("direct", "chained", "dotted", "other"):
        alone = sites.all(f"pkg/{name}")
        assert alone == [(p, "jax.checkpoint", b) for p, b in found.items() if p.startswith(f"{name}:")]


@pytest.mark.parametrize(
    "user",
    [
        "from common import remat\n\n@remat\ndef f(x): ...\n",
        "import common\n\n@common.remat\ndef f(x): ...\n",
    ],
)
def test_a_file_that_names_no_framework_reaches_the_wrapper_through_its_project(sites, user):
    sites.write(common="import jax\n\nremat = jax.checkpoint\n", user=user)
    assert [(api, bodies) for _, api, bodies in sites.all("user")] == [("jax.checkpoint", ["f"])]


def test_a_wrapper_with_options_under_a_name_of_the_project_decorates_in_other_files(sites):
    sites.write(
        common="import functools\nimport jax\n\nlean = functools.partial(jax.checkpoint, prevent_cse=False)\n",
        user="from common import lean\n\n@lean\ndef f(x): ...\n\n@lean\ndef g(x): ...\n",
    )
    assert [(place, bodies) for place, _, bodies in sites.all("user")] == [
        ("user:3", ["f"]),
        ("user:6", ["g"]),
    ]


def test_files_that_import_each_other_in_a_ring_are_all_asked(sites):
    sites.write(
        a="from b import two\nfrom c import three\n\ndef one(f):\n    return three(f)\n",
        b="from c import three\nfrom a import one\n\ndef two(f):\n    return three(f)\n",
        c="import jax\nfrom a import one\nfrom b import two\n\ndef three(f):\n    return jax.checkpoint(f)\n",
        user="from a import one\nfrom b import two\n\nx = one(abs)\ny = two(abs)\n",
    )
    alone = sites.all("user")
    assert [place for place, _, _ in alone] == ["user:4", "user:5"]
    assert alone == [one for one in sites.all() if one[0].startswith("user")]


def test_the_text_of_an_open_file_decides_whether_it_is_opened(sites):
    sites.write(tools="import jax\n\ndef wrap(f):\n    return jax.checkpoint(f)\n", user="x = 1\n")
    engine = sites.engine()
    path = sites.folder / "user.py"
    assert engine.sites_text("x = 1\n", path) == ()
    assert len(engine.sites_text("from tools import wrap\n\nx = wrap(abs)\n", path)) == 1
    assert engine.sites_text("x = 1\n", path) == ()


def test_a_tree_of_factories_that_call_one_another_is_given_up_not_counted_out(sites):
    levels = "".join(
        f"def f{i}(f):\n    return [f{i + 1}(f), f{i + 1}(f), f{i + 1}(f), f{i + 1}(f)]\n\n"
        for i in range(12)
    )
    sites.write(
        main=f"import jax\n\n{levels}def f12(f):\n    return jax.checkpoint(f)\n\nx = f0(abs)\ny = f9(abs)\n"
    )
    assert len(sites.all()) < 2_000


def test_functions_that_wrap_and_call_each_other_come_to_an_end(sites):
    sites.write(
        main="import jax\n\ndef a(f, n):\n    return b(jax.checkpoint(f), n)\n\ndef b(f, n):\n    return a(f, n - 1) if n else f\n\nx = a(abs, 3)\n"
    )
    assert any(place == "main:9" for place, _, _ in sites.all())


@pytest.mark.parametrize(
    "grown", ["[*layers, layer]", "layers + [layer]", "[*layers, *layers, *list(layers)]"]
)
def test_a_list_that_a_loop_makes_of_itself_gives_its_items(sites, grown):
    sites.write(
        main=f"""\
        import jax

        def layer(x): ...

        def run(n, x):
            layers = [layer]
            for _ in range(n):
                layers = {grown}
            for block in layers:
                x = jax.checkpoint(block)(x)
            return x
        """
    )
    assert [("layer" in bodies) for _, _, bodies in sites.all()] == [True]


@pytest.mark.parametrize(
    ("test", "first", "last"),
    [
        ("if fn is None:", "decorate", "decorate(fn)"),
        ("if fn is not None:", "decorate(fn)", "decorate"),
        ("if not callable(fn):", "decorate", "decorate(fn)"),
        ("if fn:", "decorate(fn)", "decorate"),
    ],
)
def test_a_decorator_that_works_without_arguments_too_gives_what_it_was_asked_for(sites, test, first, last):
    sites.write(
        main=f"""\
        import jax

        def logged(fn=None, *, name=""):
            def decorate(f):
                def inner(*args): ...
                return inner
            {test}
                return {first}
            return {last}

        def layer(x): ...

        a = jax.checkpoint(logged(layer))
        b = jax.checkpoint(logged(name="b")(layer))
        c = jax.checkpoint(logged(name="c"))
        """
    )
    inner, decorate = "logged.decorate.inner", "logged.decorate"
    assert [bodies for _, _, bodies in sites.all()] == [[inner], [inner], [decorate]]
