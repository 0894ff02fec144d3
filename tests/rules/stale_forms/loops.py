"""Programs with one function that loops, or calls twice: what a round writes, and what only seems to change."""

LOOPS = {
    "loop / conditional constant": """
def owner(x):
    w = 1.0
    f = jax.checkpoint(lambda x: x * w)
    for i in range(3):
        if i == 1:
            w = 5.0
        x = f(x)
    return x
""",
    "loop / constant after the call": """
def owner(x):
    w = 1.0
    f = jax.checkpoint(lambda x: x * w)
    for i in range(3):
        x = f(x)
        w = 5.0
    return x
""",
    "loop / other constant for the second loop": """
def owner(x):
    mode = "a"
    f = jax.checkpoint(lambda p: p * 2 if mode == "a" else p * 3)
    for i in range(2):
        x = f(x)
    mode = "b"
    for i in range(2):
        x = f(x)
    return x
""",
    "loop / same constant for the second loop": """
def owner(x):
    mode = "a"
    f = jax.checkpoint(lambda p: p * 2 if mode == "a" else p * 3)
    for i in range(2):
        x = f(x)
    mode = "a"
    for i in range(2):
        x = f(x)
    return x
""",
    "loop / alternating flag": """
def owner(x):
    flip = True
    f = jax.checkpoint(lambda p: p * 2 if flip else p * 3)
    for i in range(4):
        x = f(x)
        flip = not flip
    return x
""",
    "loop / one of two constants": """
def owner(x):
    f = jax.checkpoint(lambda p: p * s)
    for i in range(4):
        if i % 2:
            s = 1.0
        else:
            s = 2.0
        x = f(x)
    return x
""",
    "loop / same constant in both branches": """
def owner(x, flag=True):
    f = jax.checkpoint(lambda p: p * s)
    for i in range(4):
        if flag:
            s = 1.0
        else:
            s = 1.0
        x = f(x)
    return x
""",
    "loop / reset in each pass": """
def owner(x):
    f = jax.checkpoint(lambda p: p * w)
    for epoch in range(2):
        w = 1.0
        for i in range(2):
            x = f(x)
            w = w + 1
    return x
""",
    "loop / changed between inner loops": """
def owner(x):
    f = jax.checkpoint(lambda p: p * w)
    w = 1.0
    for epoch in range(2):
        for i in range(2):
            x = f(x)
        w = w + 1
    return x
""",
    "loop / length from a shape": """
def owner(x):
    f = jax.checkpoint(lambda h: h.reshape(n) * n)
    for i in range(3):
        n = x.shape[0]
        x = f(x)
    return x
""",
    "loop / length of a growing list": """
def owner(x):
    ls = []
    f = jax.checkpoint(lambda h: h * n)
    for i in range(3):
        ls.append(i)
        n = len(ls)
        x = f(x)
    return x
""",
    "loop / length of a fixed list": """
def owner(x):
    ls = [1, 2, 3]
    f = jax.checkpoint(lambda h: h * n)
    for l in ls:
        n = len(ls)
        x = f(x)
    return x
""",
    "loop / entry of a dict that changes": """
def owner(x):
    state = {"w": 1.0}
    f = jax.checkpoint(lambda x: x * w)
    for i in range(3):
        w = state["w"]
        x = f(x)
        state["w"] = w * 2
    return x
""",
    "loop / entry of a dict": """
def owner(x):
    cfg = {"d": 2.0}
    f = jax.checkpoint(lambda h: h * d)
    for i in range(3):
        d = cfg.get("d", 1.0)
        x = f(x)
    return x
""",
    "loop / entry by a changing key": """
def owner(x):
    tab = {0: 1.0, 1: 2.0}
    f = jax.checkpoint(lambda p: p * v)
    for i in range(2):
        v = tab.get(i)
        x = f(x)
    return x
""",
    "loop / other items written": """
def owner(x):
    hs = [x, None, None, None]
    f = jax.checkpoint(lambda h: jnp.sin(h) + hs[0])
    for i in range(3):
        hs[i + 1] = f(hs[i])
    return hs[1:]
""",
    "loop / other entries written by name": """
def owner(x):
    metrics = {"w": 2.0}
    f = jax.checkpoint(lambda h: jnp.sin(h) * metrics["w"])
    for name in ("a", "b"):
        metrics[name] = f(x)
    return metrics["a"], metrics["b"]
""",
    "loop / last item of a growing list": """
def owner(x):
    hs = [x]
    f = jax.checkpoint(lambda h: jnp.sin(h) + hs[-1])
    for i in range(3):
        hs.append(f(x))
    return hs
""",
    "loop / lambda made in each round": """
def owner(x):
    f = jax.checkpoint(lambda x: act(x))
    for w in (1.0, 2.0):
        act = lambda v: v * w
        x = f(x)
    return x
""",
    "loop / same def made in each round": """
def owner(x):
    f = jax.checkpoint(lambda x: act(x))
    for w in (1.0, 2.0):
        def act(v):
            return v * 2.0
        x = f(x) * w
    return x
""",
    "loop / same key in each round": """
def owner(x):
    key = jax.random.key(0)
    f = jax.checkpoint(lambda x: x * jax.random.uniform(k))
    for i in range(3):
        k = jax.random.fold_in(key, 0)
        x = f(x)
    return x
""",
    "loop / key folded with the round": """
def owner(x):
    key = jax.random.key(0)
    f = jax.checkpoint(lambda x: x * jax.random.uniform(k))
    for i in range(3):
        k = jax.random.fold_in(key, i)
        x = f(x)
    return x
""",
    "loop / residual of the caller": """
def owner(x):
    @jax.checkpoint
    def block(y):
        return jnp.sin(y) + residual
    for i in range(3):
        residual = x
        x = block(x)
    return x
""",
    "loop / function of two captured names": """
def owner(x):
    a = 1.0
    @jax.checkpoint
    def f(x):
        def g(y):
            return y * a * b
        return g(x)
    for b in (1.0, 2.0):
        x = f(x)
        a = a + 1
    return x
""",
    "loop / schedule of an object": """
class S:
    def __init__(self):
        self.t = 0
    def beta(self):
        return 0.1 * self.t
    def tick(self):
        self.t += 1

def owner(x):
    s = S()
    f = jax.checkpoint(lambda x: x * s.beta())
    for i in range(3):
        s.tick()
        x = x + f(x)
    return x
""",
    "loop / value drawn by a helper": """
COUNT = [0]

def tick():
    COUNT[0] += 1
    return float(COUNT[0])

def owner(x):
    f = jax.checkpoint(lambda p: p * w)
    for _ in range(3):
        w = tick()
        x = f(x)
    return x
""",
    "loop / recursion": """
def owner(x):
    depth = 0
    @jax.checkpoint
    def f(x):
        return jnp.sin(x) * depth
    def rec(x, n):
        nonlocal depth
        if n == 0:
            return x
        depth = n
        return rec(f(x), n - 1)
    return rec(x, 3)
""",
    "loop / input pipeline": """
class Data:
    def __init__(self):
        self.i = 0
    def get(self):
        self.i += 1
        return float(self.i)

def owner(x):
    data = Data()
    f = jax.checkpoint(lambda p: p * batch)
    for _ in range(3):
        batch = data.get()
        x = f(x)
    return x
""",
}
