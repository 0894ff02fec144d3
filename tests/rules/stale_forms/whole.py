"""Programs whose point lies in the call's key, in classes or in containers, written around one line each."""

SETUP = """
WS = (1.0, 2.0, 3.0)

def owner(x):
    out = []
    w = 0.0
    def layer(x{parameters}):
        return x * w{factor}
    step = jax.checkpoint(layer{options})
{calls}
    return out
"""


def keyed(*calls, parameters="", factor="", options=""):
    """Calls of one hoisted layer with `w` written before each."""
    lines = [f"    w = {n + 1}.0\n    out.append({call})" for n, call in enumerate(calls)]
    return SETUP.format(parameters=parameters, factor=factor, options=options, calls="\n".join(lines))


def looped(header, call, *, parameters="", factor="", options=""):
    lines = f"    {header}\n        out.append({call})"
    return SETUP.format(parameters=parameters, factor=factor, options=options, calls=lines)


STATIC = {"parameters": ", n", "factor": " * (n + 1)", "options": ", static_argnums=(1,)"}

KEYS = {
    "key / shapes differ": keyed("step(x[:2])", "step(x[:3])"),
    "key / shapes repeat": keyed("step(x[:2])", "step(x[:3])", "step(x[:2])"),
    "key / shapes differ by stop": keyed("step(jnp.ones(2))", "step(jnp.ones(3))"),
    "key / ranks differ": keyed("step(x)", "step(x[None])"),
    "key / dtypes differ": keyed("step(x)", "step(x.astype(jnp.float16))"),
    "key / dtypes repeat": keyed("step(x)", "step(x.astype(jnp.float16))", "step(x)"),
    "key / number and array": keyed("step(2.0)", "step(jnp.float32(2.0))"),
    "key / two numbers": keyed("step(2.0)", "step(3.0)"),
    "key / integer and float": keyed("step(2)", "step(2.0)"),
    "key / positional and keyword": keyed("step(x)", "step(x=x)"),
    "key / both keyword": keyed("step(x=x)", "step(x=x)"),
    "key / other values": keyed("step(x)", "step(x + 1.0)"),
    "key / static varies": keyed("step(x, 1)", "step(x, 2)", **STATIC),
    "key / static repeats": keyed("step(x, 1)", "step(x, 2)", "step(x, 1)", **STATIC),
    "key / static constant": keyed("step(x, 1)", "step(x, 1)", **STATIC),
    "key / static is loop variable": looped("for n, w in enumerate(WS):", "step(x, n)", **STATIC),
    "key / static comes again in the loop": looped(
        "for n, w in [(0, 1.0), (1, 2.0), (0, 3.0)]:", "step(x, n)", **STATIC
    ),
    "key / traced index": looped(
        "for n, w in enumerate(WS):", "step(x, n)", parameters=", n", factor=" * (n + 1)"
    ),
    "key / shapes from loop": looped("for n, w in enumerate(WS):", "step(x[n:])"),
    "key / optional argument": keyed("step(x)", "step(x, x)", parameters=", y=None"),
    "key / containers differ": keyed("step(x, (x,))", "step(x, [x])", parameters=", y"),
}

MODEL = """
class Model:
    def __init__(self):
        self.w = 1.0
{made}
    def forward(self, x):
        return x * self.w
{method}
def owner(x):
    model = Model()
{once}
    out = [{call}]
    {write}
    out.append({call})
    return out
"""


UPDATE = """
    def update(self, w):
        self.w = w
"""


def model(call, *, made="", once="", write="model.w = 2.0"):
    pieces = {"made": made and f"        {made}\n", "once": once and f"    {once}"}
    method = UPDATE if "update" in write else ""
    return MODEL.format(method=method, call=call, write=write, **pieces)


KEPT = "self.step = jax.checkpoint(self.forward)"
CLASSES = {
    "class / method kept in init": model("model.step(x)", made=KEPT),
    "class / method kept in init, update method": model(
        "model.step(x)", made=KEPT, write="model.update(2.0)"
    ),
    "class / method kept in init, other attribute": model(
        "model.step(x)", made=KEPT, write="model.other = 2.0"
    ),
    "class / method kept by owner": model("step(x)", once="step = jax.checkpoint(model.forward)"),
    "class / method per call": model("jax.checkpoint(model.forward)(x)"),
    "class / method per call while kept": model(
        "jax.checkpoint(model.forward)(x)", once="kept = jax.checkpoint(model.forward)\n    kept(x)"
    ),
    "class / lambda over method": model("step(x)", once="step = jax.checkpoint(lambda x: model.forward(x))"),
    "class / lambda over method per call": model("jax.checkpoint(lambda x: model.forward(x))(x)"),
    "class / new object": model("model.step(x)", made=KEPT, write="model = Model()\n    model.w = 2.0"),
    "class / setattr": model("model.step(x)", made=KEPT, write='setattr(model, "w", 2.0)'),
    "class / nnx method kept": model("step(x)", once="step = nnx.remat(lambda x: model.forward(x))"),
    "class / callable object": """
class Scale:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w

def owner(x):
    scale = Scale(1.0)
    step = jax.checkpoint(scale)
    out = [step(x)]
    scale.w = 2.0
    out.append(step(x))
    return out
""",
    "class / static method reads class attribute": """
class Model:
    w = 1.0

    @staticmethod
    @jax.checkpoint
    def forward(x):
        return x * Model.w

def owner(x):
    out = []
    for w in (1.0, 2.0):
        Model.w = w
        out.append(Model.forward(x))
    return out
""",
    "class / loop in method": """
class Model:
    def __init__(self):
        self.ws = [1.0, 2.0]
        self.w = None

    def forward(self, x):
        return x * self.w

    def run(self, x):
        step = jax.checkpoint(self.forward)
        out = []
        for w in self.ws:
            self.w = w
            out.append(step(x))
        return out

def owner(x):
    return Model().run(x)
""",
    "class / loop in method, argument": """
class Model:
    def __init__(self):
        self.ws = [1.0, 2.0]

    def forward(self, w, x):
        return x * w

    def run(self, x):
        step = jax.checkpoint(self.forward)
        return [step(w, x) for w in self.ws]

def owner(x):
    return Model().run(x)
""",
}

LAYERED = """
WS = (1.0, 2.0, 3.0)

def owner(x):
    out = []
    w = 0.0
    def layer(x):
        return x * w
{body}
    return out
"""


def layered(body):
    lines = [line and f"    {line}" for line in body.strip("\n").split("\n")]
    return LAYERED.format(body="\n".join(lines))


CONTAINERS = {
    "list / wrappers of one layer": layered("""
steps = [jax.checkpoint(layer) for _ in WS]
for step, w in zip(steps, WS):
    out.append(step(x))
"""),
    "list / wrappers of lambdas over one layer": layered("""
steps = [jax.checkpoint(lambda x: layer(x)) for _ in WS]
for step, w in zip(steps, WS):
    out.append(step(x))
"""),
    "list / layers and wrapper in one loop": layered("""
layers = [lambda x: x * 1.0, lambda x: x * 2.0]
for one in layers:
    out.append(jax.checkpoint(one)(x))
"""),
    "list / late lambdas": layered("""
steps = []
for w in WS:
    steps.append(jax.checkpoint(lambda x: x * w))
out = [step(x) for step in steps]
"""),
    "list / lambdas called and kept": layered("""
steps = []
for w in WS:
    step = jax.checkpoint(lambda x: x * w)
    out.append(step(x))
    steps.append(step)
out += [step(x) for step in steps]
"""),
    "comprehension / own target": layered("""
step = jax.checkpoint(layer)
out = [step(x) for w in WS]
"""),
    "comprehension / lambda reads target": layered("""
out = [jax.checkpoint(lambda x: x * w)(x) for w in WS]
"""),
    "comprehension / argument": layered("""
step = jax.checkpoint(lambda x, w: x * w)
out = [step(x, w) for w in WS]
"""),
    "argument / loop variable passed": layered("""
step = jax.checkpoint(lambda x, w: x * w)
for w in WS:
    out.append(step(x, w))
"""),
    "argument / partial of the value": layered("""
for w in WS:
    out.append(jax.checkpoint(functools.partial(lambda w, x: x * w, w))(x))
"""),
    "write / unrelated name": layered("""
step = jax.checkpoint(layer)
for other in WS:
    out.append(step(x))
"""),
    "write / in sibling scope": layered("""
step = jax.checkpoint(layer)
def sibling():
    w = 7.0
    return w
for _ in range(2):
    sibling()
    out.append(step(x))
"""),
    "write / with target": layered("""
step = jax.checkpoint(layer)
for v in WS:
    with contextlib.nullcontext(v) as w:
        out.append(step(x))
""").replace("\nWS", "\nimport contextlib\n\nWS", 1),
    "write / walrus": layered("""
step = jax.checkpoint(layer)
for v in WS:
    if (w := v):
        out.append(step(x))
"""),
    "write / deleted and bound": layered("""
step = jax.checkpoint(layer)
for v in WS:
    del w
    w = v
    out.append(step(x))
"""),
    "write / def": layered("""
step = jax.checkpoint(lambda x: x * scale())
def scale():
    return 1.0
out.append(step(x))
def scale():
    return 2.0
out.append(step(x))
"""),
    "read / items of a list that grows": layered("""
ws = []
step = jax.checkpoint(lambda x: sum([x * w for w in ws]))
for v in WS:
    ws.append(v)
    out.append(step(x))
"""),
    "read / slice of a list": layered("""
ws = [0.0, 0.0]
step = jax.checkpoint(lambda x: x * ws[-1])
for v in WS:
    ws[1] = v
    out.append(step(x))
"""),
    "read / other item": layered("""
cfg = {"a": 1.0, "b": 0.0}
step = jax.checkpoint(lambda x: x * cfg["a"])
for v in WS:
    cfg["b"] = v
    out.append(step(x))
"""),
    "read / length": layered("""
ws = []
step = jax.checkpoint(lambda x: x * len(ws))
for v in WS:
    ws.append(v)
    out.append(step(x))
"""),
    "scan / body twice": layered("""
body = jax.checkpoint(lambda c, _: (c * w, None))
for w in WS:
    out.append(jax.lax.scan(body, x, None, length=2)[0])
"""),
    "scan / body wrapped each time": layered("""
body = lambda c, _: (c * w, None)
for w in WS:
    out.append(jax.lax.scan(jax.checkpoint(body), x, None, length=2)[0])
"""),
    "scan / fresh body": layered("""
for w in WS:
    out.append(jax.lax.scan(jax.checkpoint(lambda c, _: (c * w, None)), x, None, length=2)[0])
"""),
    "jit / once inside": layered("""
@jax.jit
def whole(x):
    step = jax.checkpoint(layer)
    return step(x)
for w in WS:
    out.append(whole(x))
"""),
    "jit / of one fresh wrapper": layered("""
for w in WS:
    out.append(jax.jit(jax.checkpoint(lambda x: x * w))(x))
"""),
    "caches / cleared": layered("""
step = jax.checkpoint(layer)
for w in WS:
    jax.clear_caches()
    out.append(step(x))
"""),
    "read / whole array through numpy": layered("""
buffer = np.ones(4, np.float32)
step = jax.checkpoint(lambda x: x * np.sum(buffer))
for v in WS:
    buffer[:] = v
    out.append(step(x))
"""),
    "read / whole array through jnp": layered("""
buffer = np.ones(4, np.float32)
step = jax.checkpoint(lambda x: x * jnp.sin(jnp.asarray(buffer)))
for v in WS:
    buffer[:] = v
    out.append(step(x))
"""),
    "read / whole array bound anew": layered("""
buffer = np.ones(4, np.float32)
step = jax.checkpoint(lambda x: x * buffer)
for v in WS:
    buffer = buffer + v
    out.append(step(x))
"""),
    "read / whole array inside grad": layered("""
buffer = np.ones(4, np.float32)
step = jax.checkpoint(lambda x: (x * buffer).sum())
for v in WS:
    buffer[:] = v
    out.append(jax.grad(step)(x))
"""),
    "read / whole large array": layered("""
buffer = np.ones((64, 1024), np.float32)
step = jax.checkpoint(lambda x: x * (jnp.dot(buffer, buffer.T)).mean())
for v in WS:
    buffer[:] = v
    out.append(jax.block_until_ready(step(x)))
"""),
    "read / shape only": layered("""
shift = jnp.zeros(4)
step = jax.checkpoint(lambda x: x * shift.shape[0])
for v in WS:
    shift = jnp.full(4, v)
    out.append(step(x))
"""),
}

WHOLE = KEYS | CLASSES | CONTAINERS
