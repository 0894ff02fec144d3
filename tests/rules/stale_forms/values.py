"""Programs with a captured value of some kind: what it is decides whether it varies, and how it can be passed."""

VALUES_IN_LOOPS = {
    "loop / mask from a shape": """
def owner(x):
    f = jax.checkpoint(lambda x: x * mask)
    for i in range(3):
        mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0])))[-1]
        x = f(x)
    return x
""",
    "loop / mask from a helper": """
def make_mask(n):
    return jnp.ones(n)

def owner(x):
    f = jax.checkpoint(lambda x: x * mask)
    for i in range(3):
        mask = make_mask(4)
        x = f(x)
    return x
""",
    "loop / mask from a helper of the loop variable": """
def sched(i):
    return 0.1 * (i + 1)

def owner(x):
    f = jax.checkpoint(lambda p: p * w)
    for i in range(3):
        w = sched(i)
        x = f(x)
    return x
""",
    "loop / mask of another dtype": """
def owner(x):
    f = jax.checkpoint(lambda h: h * mask)
    for i in range(3):
        mask = jnp.ones(4).astype(x.dtype)
        x = f(x)
    return x
""",
    "loop / sizes unpacked from a shape": """
def owner(x):
    f = jax.checkpoint(lambda h: h.reshape(b, d) * d)
    x = x.reshape(2, 2)
    for i in range(3):
        b, d = x.shape
        x = f(x)
    return x
""",
    "loop / test on a captured number": """
def owner(x):
    @jax.checkpoint
    def f(x):
        if w > 1.5:
            return x * w
        return x
    for w in (1.0, 2.0):
        x = f(x)
    return x
""",
    "loop / axis": """
def owner(x):
    x = x.reshape(2, 2)
    @jax.checkpoint
    def f(x):
        return jnp.flip(jnp.cumsum(x, axis=ax), axis=ax)
    for ax in (0, 1):
        x = f(x)
    return x
""",
    "loop / mode": """
def owner(x):
    @jax.checkpoint
    def f(x):
        return jnp.sin(x) if mode == "sin" else jnp.cos(x)
    for mode in ("sin", "cos"):
        x = f(x)
    return x
""",
    "loop / activation": """
def owner(x):
    @jax.checkpoint
    def f(x):
        return act(x)
    for act in (jnp.sin, jnp.cos):
        x = f(x)
    return x
""",
    "loop / object passed on": """
class C:
    def __init__(self, w):
        self.w = w

def helper(x, c):
    return x * c.w

def owner(x):
    @jax.checkpoint
    def f(x):
        return helper(x, c)
    for c in (C(1.0), C(2.0)):
        x = f(x)
    return x
""",
    "loop / getattr by name": """
class M:
    pass

def owner(x):
    m = M()
    f = jax.checkpoint(lambda x: x * getattr(m, "w"))
    for i in range(3):
        setattr(m, "w", float(i))
        x = x + f(x)
    return x
""",
    "loop / strings beside arrays": """
def owner(x):
    params = {"w": x, "act": "sin"}
    @jax.checkpoint
    def f(x):
        y = x * params["w"]
        return jnp.sin(y) if params["act"] == "sin" else y
    for i in range(3):
        x = f(x)
        params = {**params, "w": params["w"] * 0.5}
    return x
""",
}
