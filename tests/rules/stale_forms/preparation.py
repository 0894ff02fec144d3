"""Programs that prepare their objects before the first call: constructors, first fills, setters called once."""

PREPARATION = {
    "object / helper of the constructor": """
class Net:
    def __init__(self, d):
        self._build_params(d)
        self.fwd = jax.checkpoint(self._fwd)
    def _build_params(self, d):
        self.w = jnp.full(d, 2.0)
    def _fwd(self, x):
        return jnp.sin(x) * self.w
    def __call__(self, x):
        return self.fwd(x)

def owner(x):
    n = Net(4)
    return [n(x), n(x)]
""",
    "object / set before the first call": """
class Net:
    def __init__(self, d):
        self.scale = 1.0
        self.fwd = jax.checkpoint(self._fwd)
    def set_scale(self, s):
        self.scale = s
        return self
    def _fwd(self, x):
        return jnp.sin(x) * self.scale

def owner(x):
    n = Net(4)
    n.set_scale(3.0)
    return [n.fwd(x), n.fwd(x)]
""",
    "object / loaded before the first call": """
class Net:
    def __init__(self):
        self.w = None
        self.fwd = jax.checkpoint(self._fwd)
    def load(self, d):
        self.w = d["w"]
    def _fwd(self, x):
        return jnp.sin(x) * self.w
    def __call__(self, x):
        return self.fwd(x)

def owner(x):
    n = Net()
    n.load({"w": 2.0})
    return [n(x), n(x)]
""",
    "object / filled under a test for None": """
class Net:
    def __init__(self, d):
        self.d = d
        self.w = None
        self.fwd = jax.checkpoint(self._fwd)
    def _ensure(self):
        if self.w is None:
            self.w = jnp.full(self.d, 2.0)
    def _fwd(self, x):
        return jnp.sin(x) * self.w
    def __call__(self, x):
        self._ensure()
        return self.fwd(x)

def owner(x):
    n = Net(4)
    return [n(x), n(x)]
""",
    "object / filled under a test for the attribute": """
class Net:
    def __init__(self, d):
        self.d = d
        self.fwd = jax.checkpoint(self._fwd)
    def _fwd(self, x):
        return jnp.sin(x) * self.table
    def __call__(self, x):
        if not hasattr(self, "table"):
            self.table = jnp.arange(self.d) + 1.0
        return self.fwd(x)

def owner(x):
    n = Net(4)
    return [n(x), n(x)]
""",
    "object / filled after an early return": """
class Net:
    def __init__(self, d):
        self.d = d
        self.w = None
        self.fwd = jax.checkpoint(self._fwd)
    def ensure(self):
        if self.w is not None:
            return
        self.w = jnp.full(self.d, 2.0)
    def _fwd(self, x):
        return jnp.sin(x) * self.w
    def __call__(self, x):
        self.ensure()
        return self.fwd(x)

def owner(x):
    n = Net(4)
    return [n(x), n(x)]
""",
    "object / filled once by a flag": """
class M:
    def __init__(self):
        self.built = False
        self.f = jax.checkpoint(self._f)
    def _f(self, x):
        return x * self.w
    def __call__(self, x):
        if not self.built:
            self.w = jnp.ones(x.shape[-1])
            self.built = True
        return self.f(x)

def owner(x):
    m = M()
    return m(x), m(x)
""",
    "object / filled once by a flag, no caller": """
class M:
    def __init__(self):
        self.built = False
        self.f = jax.checkpoint(self._f)
    def _f(self, x):
        return x * self.w
    def __call__(self, x):
        if not self.built:
            self.w = jnp.ones(x.shape[-1])
            self.built = True
        return self.f(x)

def owner(x):
    return x
""",
    "object / filled by a method under a flag": """
class M:
    def __init__(self):
        self.ready = False
        self.f = jax.checkpoint(self._f)
    def materialize(self, shape):
        self.w = jnp.ones(shape)
        self.ready = True
    def _f(self, x):
        return x * self.w
    def __call__(self, x):
        if not self.ready:
            self.materialize(x.shape[-1])
        return self.f(x)

def owner(x):
    m = M()
    return m(x), m(x)
""",
    "object / filled by a property": """
class Net:
    def __init__(self, d):
        self.d = d
        self._mask = None
        self.f = jax.checkpoint(self._f)
    @property
    def mask(self):
        if self._mask is None:
            self._mask = np.tril(np.ones((self.d, self.d), np.float32))
        return self._mask
    def _f(self, x):
        return self.mask @ x

def owner(x):
    n = Net(4)
    return [n.f(x), n.f(x)]
""",
    "object / set once by the one call": """
class T:
    def __init__(self):
        self.lr = None
        self.f = jax.checkpoint(self._f)
    def _f(self, x):
        return x * self.lr
    def fit(self, x, lr):
        self.lr = lr
        for _ in range(3):
            x = self.f(x)
        return x

def owner(x):
    return T().fit(x, 0.5)
""",
    "object / prefix method loads, no caller": """
class M:
    def __init__(self):
        self.params = None
        self.f = jax.checkpoint(self._f)
    def load_params(self, p):
        self.params = p
    def _f(self, x):
        return x * self.params
    def __call__(self, x):
        return self.f(x)

def owner(x):
    return x
""",
}
