"""Random programs with classes, decorators, nested functions, long strings and conditions around wrap sites."""

from hypothesis import strategies as st

HEADS = [
    "import jax\nimport functools\n",
    "import functools\nimport jax\nfrom jax import checkpoint as ck\nfrom flax import linen as nn\n",
    '"""Text with @decorator and\ndef words(:\n"""\nfrom jax import remat\nimport jax\nimport functools\n',
]
WRAPS = [
    "jax.checkpoint({0})",
    "jax.remat({0}, static_argnums=(1,))",
    "jax.jit(jax.checkpoint({0}))",
    "make_{1}({0})",
]
DECORATORS = [
    "@jax.checkpoint",
    "@functools.partial(jax.checkpoint, static_argnums=[1])",
    "@jax.remat",
    "@make_{1}",
]
LONG = "TEXT_{1} = '''\nclass No:\n    def f(self):\n        jax.checkpoint(f, 1)\n'''\n"
STATEMENTS = [
    "W_{1} = 1\n",
    LONG,
    "TABLE_{1} = {{'k': 1}}\n",
    "if FLAG_{1}:\n    def either_{1}(x):\n        return x\nelse:\n    either_{1} = jax.checkpoint(lambda x: x, static_argnums=[1])\n",
    "def make_{1}(f):\n    return jax.checkpoint(f)\n",
    "def plain_{1}(x):\n    return [x * {1} for _ in range(3)]\n",
    "def read_{1}(x):\n    return x * TABLE_{1}['k'] * W_{1}\n",
    "{2}\ndef layer_{1}(x, flag=True):\n    return x * W_{1}\n",
    "def use_{1}(x):\n    for W_{1} in (1, 2):\n        x = layer_{1}(x)\n    return x\n",
    "def change_{1}(x):\n    global W_{1}\n    a = layer_{1}(x)\n    W_{1} = 5\n    return a + layer_{1}(x)\n",
    "def nest_{1}(ws, x):\n    def inner(y):\n        return y * w\n    out = []\n    for w in ws:\n        out.append({3})\n    return [f(x) for f in out]\n",
    "def mutate_{1}(x):\n    a = run_{1}(x)\n    TABLE_{1}['k'] = 3\n    return a + run_{1}(x)\n",
    "run_{1} = {4}\n",
]
METHODS = [
    "    def __init__(self, scale):\n        self.scale = scale\n        self.block = {5}\n",
    "    def forward(self, x):\n        return x * self.scale\n",
    "    {2}\n    def step(self, x):\n        self.last = x\n        return x * self.scale\n",
    "    def __call__(self, x):\n        y = self.block(x)\n        self.scale = 3\n        return y + self.block(x)\n",
    "    def set(self, value):\n        self.scale = value\n",
    "    @property\n    def size(self):\n        '''Text\n    def no(self):\n        '''\n        return {1}\n",
    "    def loop(self, xs):\n        for x in xs:\n            self.step(x)\n        return jax.checkpoint(self.forward, 1)\n",
    "    async def other(self, x):\n        return plain_{1}(x)\n",
    "    limit = {1}\n",
    "    again = jax.checkpoint(forward)\n",
    "    class Inner:\n        def f(self, x):\n            return jax.remat(plain_{1}, x)\n",
    "    if {1}:\n        def maybe(self, x):\n            return x\n",
]
DRIVERS = [
    "M_{1} = Model_{1}(2)\n",
    "def drive_{1}(x):\n    m = Model_{1}(1)\n    m.scale = 2\n    return m(x) + m.step(x)\n",
    "class Sub_{1}(Model_{1}):\n    def more(self, x):\n        return self.block(x)\n\n    def set(self, value):\n        self.scale = value\n",
]


@st.composite
def modules(draw):
    """Return the text of a module."""
    parts = []
    for number in range(draw(st.integers(1, 3))):
        decorator = draw(st.sampled_from(DECORATORS)).format("", number)
        targets = ("inner", f"read_{number}", "self.forward")
        wraps = [draw(st.sampled_from(WRAPS)).format(target, number) for target in targets]
        values = ("", number, decorator, *wraps)
        parts += [
            text.format(*values)
            for text in draw(st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=7))
        ]
        methods = draw(st.lists(st.sampled_from(METHODS), min_size=1, max_size=6))
        parts.append(f"class Model_{number}:\n" + "\n".join(text.format(*values) for text in methods))
        parts += [text.format(*values) for text in draw(st.lists(st.sampled_from(DRIVERS), max_size=2))]
    return draw(st.sampled_from(HEADS)) + "\n\n" + "\n\n".join(draw(st.permutations(parts)))
