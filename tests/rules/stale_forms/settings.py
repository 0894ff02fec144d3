"""Programs whose state lies in the module: settings, caches, registries, context managers."""

SETTINGS = {
    "setting / same value again": """
CFG = {"s": 1.0}

@jax.checkpoint
def f(x):
    return x * CFG["s"]

def owner(x):
    CFG["s"] = 2.0
    a = f(x)
    CFG["s"] = 3.0
    CFG["s"] = 2.0
    return a, f(x)
""",
    "setting / context manager around one call": """
import contextlib
CFG = {"scale": 1.0}

@contextlib.contextmanager
def scaled(s):
    old = CFG["scale"]
    CFG["scale"] = s
    try:
        yield
    finally:
        CFG["scale"] = old

@jax.checkpoint
def f(x):
    return x * CFG["scale"]

def owner(x):
    with scaled(2.0):
        a = f(x)
    return a + f(x)
""",
    "setting / context manager around both calls": """
import contextlib
CFG = {"scale": 1.0}

@contextlib.contextmanager
def scaled(s):
    old = CFG["scale"]
    CFG["scale"] = s
    try:
        yield
    finally:
        CFG["scale"] = old

@jax.checkpoint
def f(x):
    return x * CFG["scale"]

def owner(x):
    with scaled(2.0):
        a = f(x)
    with scaled(2.0):
        b = f(x)
    return a, b
""",
    "setting / restored at the end": """
CFG = {"scale": 1.0}

@jax.checkpoint
def f(x):
    return x * CFG["scale"]

def owner(x):
    old = CFG["scale"]
    CFG["scale"] = 2.0
    try:
        y = f(x)
    finally:
        CFG["scale"] = old
    return y
""",
    "setting / restored before a call": """
CFG = {"scale": 1.0}

@jax.checkpoint
def f(x):
    return x * CFG["scale"]

def owner(x):
    old = CFG["scale"]
    CFG["scale"] = 2.0
    try:
        y = f(x)
    finally:
        CFG["scale"] = old
    return y + f(x)
""",
    "setting / set once before training": """
_TEMP = 1.0

def set_temp(t):
    global _TEMP
    _TEMP = t

@jax.checkpoint
def f(x):
    return x / _TEMP

def owner(x):
    set_temp(2.0)
    return [f(x), f(x)]
""",
    "setting / set from the command line": """
import dataclasses

@dataclasses.dataclass
class Cfg:
    scale: float = 1.0
cfg = Cfg()

@jax.checkpoint
def f(x):
    return x * cfg.scale

def parse(argv):
    cfg.scale = 3.0

def owner(x):
    parse([])
    return [f(x), f(x)]
""",
    "setting / set by main": """
SCALE = 1.0

def train(x):
    for _ in range(3):
        x = f(x)
    return x

@jax.checkpoint
def f(x):
    return x * SCALE

def main(x, scale):
    global SCALE
    SCALE = scale
    return train(x)

def owner(x):
    return main(x, 2.0)
""",
    "setting / set by each run of main": """
SCALE = 1.0

def train(x):
    for _ in range(3):
        x = f(x)
    return x

@jax.checkpoint
def f(x):
    return x * SCALE

def main(x, scale):
    global SCALE
    SCALE = scale
    return train(x)

def owner(x):
    return main(x, 2.0), main(x, 3.0)
""",
    "setting / set by a sweep": """
SCALE = 1.0

@jax.checkpoint
def f(x):
    return x * SCALE

def train(x):
    return f(x)

def main(x, scale):
    global SCALE
    SCALE = scale
    return train(x)

def owner(x):
    return [main(x, s) for s in (1.0, 2.0)]
""",
    "setting / cache filled in the body": """
_TABLE = None

def get_table():
    global _TABLE
    if _TABLE is None:
        _TABLE = np.arange(4.0)
    return _TABLE

@jax.checkpoint
def f(x):
    return x * get_table()

def owner(x):
    return [f(x), f(x)]
""",
    "setting / cache by size": """
_CACHE = {}

def table(n):
    if n not in _CACHE:
        _CACHE[n] = np.arange(float(n))
    return _CACHE[n]

@jax.checkpoint
def f(x):
    return x * table(x.shape[0])

def owner(x):
    return [f(x), f(x)]
""",
    "setting / cache filled before the call": """
_CACHE = {}

def table(n):
    if n not in _CACHE:
        _CACHE[n] = np.arange(float(n))
    return _CACHE[n]

@jax.checkpoint
def f(x):
    return x * _CACHE[4]

def owner(x):
    out = []
    for _ in range(2):
        table(4)
        out.append(f(x))
    return out
""",
    "setting / default set by a helper": """
CACHE = {}

def prepare():
    CACHE.setdefault("s", 2.0)

@jax.checkpoint
def f(x):
    return x * CACHE["s"]

def owner(x):
    out = []
    for _ in range(2):
        prepare()
        out.append(f(x))
    return out
""",
    "setting / registry": """
REGISTRY = {}

def register(name):
    def deco(fn):
        REGISTRY[name] = fn
        return fn
    return deco

@register("relu")
def relu(x):
    return jnp.maximum(x, 0)

@register("tanh")
def tanh(x):
    return jnp.tanh(x)

@jax.checkpoint
def f(x):
    return REGISTRY["tanh"](x)

def owner(x):
    return [f(x), f(x)]
""",
    "setting / layers added at import": """
LAYERS = []

def add_layer(w):
    LAYERS.append(w)
for w in (1.0, 2.0):
    add_layer(w)

@jax.checkpoint
def f(x):
    for w in LAYERS:
        x = x * w
    return x

def owner(x):
    return [f(x), f(x)]
""",
    "setting / under an outer jit": """
STEP = 0

@jax.checkpoint
def f(x):
    return (x * (1 + STEP)).sum()

@jax.jit
def train(x):
    return jax.value_and_grad(f)(x)

def owner(x):
    global STEP
    out = []
    for i in range(3):
        STEP = i
        out.append(train(x))
    return out
""",
    "setting / script": """
w = 1.0

@jax.checkpoint
def f(x):
    return x * w
w = 2.0
y0 = f(jnp.ones(4))
y1 = f(jnp.ones(4) * 2)

def owner(x):
    return y0, y1
""",
    "setting / script that sets between calls": """
w = 1.0

@jax.checkpoint
def f(x):
    return x * w
y0 = f(jnp.ones(4))
w = 2.0
y1 = f(jnp.ones(4) * 2)

def owner(x):
    return y0, y1
""",
    "setting / script that loops": """
@jax.checkpoint
def f(x):
    return x * w
ys = []
for w in (1.0, 2.0):
    ys.append(f(jnp.ones(4)))

def owner(x):
    return ys
""",
}
