"""Programs with a value frozen by the first trace, each driven by an owner, and ten that are right."""

HEADER = """import jax
import jax.numpy as jnp

"""

STALE = {
    "loop_name": """
# remat-lint: example(x=f32[4, 3])
def owner(x):
    gains = [jnp.full(3, 1.0), jnp.full(3, 2.0), jnp.full(3, 3.0)]

    @jax.checkpoint
    def layer(h):
        return jnp.sin(h) * gain

    for gain in gains:
        x = layer(x)
    return x
""",
    "dict_item": """
settings = {"scale": 1.0}


@jax.checkpoint
def layer(h):
    return jnp.sin(h) * settings["scale"]


# remat-lint: example(x=f32[4, 3])
def owner(x):
    settings["scale"] = 1.0
    first = layer(x)
    settings["scale"] = 3.0
    return first + layer(x)
""",
    "global_name": """
GAIN = 1.0


def layer(h):
    return jnp.sin(h) * GAIN


# remat-lint: example(x=f32[4, 3])
def owner(x):
    global GAIN
    GAIN = 1.0
    first = jax.checkpoint(layer)(x)
    GAIN = 3.0
    return first + jax.checkpoint(layer)(x)
""",
    "self_attribute": """
class Stack:
    def __init__(self):
        self.w = 1.0
        self.run = jax.checkpoint(lambda h: jnp.sin(h) * self.w)

    def __call__(self, x):
        for self.w in (1.0, 2.0, 3.0):
            x = self.run(x)
        return x


# remat-lint: example(x=f32[4, 3])
def owner(x):
    return Stack()(x)
""",
    "stored_bound_method": """
class Stack:
    def __init__(self):
        self.w = 1.0
        self.run = jax.checkpoint(self.layer)

    def layer(self, h):
        return jnp.sin(h) * self.w

    def __call__(self, x):
        first = self.run(x)
        self.w = 3.0
        return first + self.run(x)


# remat-lint: example(x=f32[4, 3])
def owner(x):
    return Stack()(x)
""",
}

MENDED_BY_HAND = {
    "self_attribute": STALE["self_attribute"]
    .replace("lambda h: jnp.sin(h) * self.w", "lambda h, w: jnp.sin(h) * w")
    .replace("self.run(x)", "self.run(x, self.w)"),
    "stored_bound_method": STALE["stored_bound_method"]
    .replace("jax.checkpoint(self.layer)", "jax.checkpoint(lambda h, w: jnp.sin(h) * w)")
    .replace("self.run(x)", "self.run(x, self.w)"),
}

RIGHT = {
    "argument": "def owner(x, ws):\n    f = jax.checkpoint(lambda w, h: h * w)\n    for w in ws:\n        x = f(w, x)\n    return x\n",
    "fresh lambda": "def owner(x, ws):\n    for w in ws:\n        x = jax.checkpoint(lambda h: h * w)(x)\n    return x\n",
    "constant": "SCALE = 2.0\n\n@jax.checkpoint\ndef f(x):\n    return x * SCALE\n\ndef owner(x):\n    return f(f(x))\n",
    "closure over arguments": "def owner(x, w):\n    f = jax.checkpoint(lambda h: h @ w)\n    return f(f(x))\n",
    "same function each round": "def layer(p, x):\n    return x * p\n\ndef owner(x, ps):\n    for p in ps:\n        x = jax.checkpoint(layer)(p, x)\n    return x\n",
    "scan body": "def owner(x, ws):\n    return jax.lax.scan(jax.checkpoint(lambda c, w: (c * w, None)), x, ws)[0]\n",
    "local list": "@jax.checkpoint\ndef f(x):\n    out = []\n    for i in range(3):\n        out.append(x * i)\n    return out\n\ndef owner(x):\n    return f(x)\n",
    "default binding": "def owner(x, ws):\n    fs = [jax.checkpoint(lambda h, w=w: h * w) for w in ws]\n    for f in fs:\n        x = f(x)\n    return x\n",
    "policy": "def owner(x, w):\n    p = jax.checkpoint_policies.dots_saveable\n    return jax.checkpoint(lambda h: jnp.tanh(h @ w), policy=p)(x)\n",
    "static flag": "import functools\n\n@functools.partial(jax.checkpoint, static_argnums=(1,))\ndef f(x, train):\n    return x * 2 if train else x\n\ndef owner(x):\n    return f(x, True)\n",
}
