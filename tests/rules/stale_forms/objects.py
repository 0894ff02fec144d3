"""Programs whose state lies in objects: constructors, setters, lazy fills, properties, inheritance."""

OBJECTS = {
    "object / property": """
class Sched:
    def __init__(self):
        self.step_ = 0
    @property
    def rate(self):
        return 0.1 * self.step_

def owner(x):
    s = Sched()
    f = jax.checkpoint(lambda x: x * s.rate)
    for i in range(3):
        s.step_ = i
        x = x + f(x)
    return x
""",
    "object / property with a setter": """
class Net:
    def __init__(self, d):
        self._w = jnp.full(d, 2.0)
        self.fwd = jax.checkpoint(self._fwd)
    @property
    def w(self):
        return self._w
    @w.setter
    def w(self, v):
        self._w = v
    def _fwd(self, x):
        return jnp.sin(x) * self.w

def owner(x):
    n = Net(4)
    out = [n.fwd(x)]
    n.w = 5.0
    return out + [n.fwd(x)]
""",
    "object / set by every call": """
class T:
    def __init__(self):
        self.f = jax.checkpoint(self._f)
    def _f(self, x):
        return x * self.t
    def __call__(self, x, t):
        self.t = t
        return self.f(x)

def owner(x):
    m = T()
    return [m(x, 1.0), m(x, 2.0)]
""",
    "object / toggled around other work": """
class M:
    def __init__(self):
        self.training = True
        self.f = jax.checkpoint(self._f)
    def _f(self, x):
        return x * 0.1 if self.training else x
    def fit(self, x):
        for i in range(4):
            self.training = True
            x = self.f(x)
            self.training = False
        return x

def owner(x):
    return M().fit(x)
""",
    "object / toggled by methods around other work": """
class M:
    def __init__(self):
        self.training = True
        self.f = jax.checkpoint(self._f)
    def train(self, mode=True):
        self.training = mode
        return self
    def eval(self):
        return self.train(False)
    def _f(self, x):
        return x * 0.1 if self.training else x

def owner(x):
    m = M()
    m.train()
    a = m.f(x)
    m.eval()
    m.train()
    return a, m.f(x)
""",
    "object / toggled between calls": """
class Net:
    def __init__(self):
        self.training = True
        self.block = jax.checkpoint(self._block)
    def _block(self, x):
        return x * 0.5 if self.training else x
    def train(self, mode=True):
        self.training = mode
        return self
    def eval(self):
        return self.train(False)
    def __call__(self, x):
        return self.block(x)

def owner(x):
    n = Net()
    a = n(x)
    n.eval()
    b = n(x)
    return a, b
""",
    "object / warm-up flag": """
class M:
    def __init__(self):
        self.warm = True
        self.f = jax.checkpoint(self._f)
    def _f(self, x):
        return x * 0.1 if self.warm else x
    def fit(self, x):
        for i in range(4):
            if i >= 2:
                self.warm = False
            x = self.f(x)
        return x

def owner(x):
    return M().fit(x)
""",
    "object / attribute through a local name": """
class M:
    def __init__(self):
        self.w = 1.0
    def fit(self, x):
        f = jax.checkpoint(lambda x: x * w)
        for i in range(3):
            w = self.w
            x = f(x)
            self.w *= 2
        return x

def owner(x):
    return M().fit(x)
""",
    "object / setter of a base": """
class Base:
    def __init__(self):
        self.scale = 2.0
    def set(self, s):
        self.scale = s
    def body(self, x):
        return x * self.scale

class Net(Base):
    def __init__(self):
        super().__init__()
        self.f = jax.checkpoint(self.body)

def owner(x):
    n = Net()
    a = n.f(x)
    n.set(5.0)
    return [a, n.f(x)]
""",
    "object / attribute of a base": """
class Base:
    def __init__(self):
        self.scale = 2.0
    def body(self, x):
        return x * self.scale

class Net(Base):
    def __init__(self):
        super().__init__()
        self.f = jax.checkpoint(self.body)

def owner(x):
    n = Net()
    return [n.f(x), n.f(x)]
""",
    "object / class method": """
class Cfg:
    scale = 1.0
    @classmethod
    def set(cls, s):
        cls.scale = s

@jax.checkpoint
def f(x):
    return x * Cfg.scale

def owner(x):
    out = []
    for s in (1.0, 2.0):
        Cfg.set(s)
        out.append(f(x))
    return out
""",
    "object / attribute of another instance": """
class B:
    def __init__(self, w):
        self.w = w
        self.f = jax.checkpoint(self.fwd)
    def fwd(self, x):
        return x * self.w

def owner(x):
    a, b = B(1.0), B(2.0)
    y = a.f(x)
    b.w = 5.0
    return y, a.f(x), b.f(x)
""",
    "object / attribute of another key": """
class Net:
    def __init__(self):
        self.key = jax.random.key(0)
        self.f = jax.checkpoint(self._f)
    def next_key(self):
        self.key, k = jax.random.split(self.key)
        return k
    def _f(self, x, k):
        return x * jax.random.uniform(k)
    def __call__(self, x):
        return self.f(x, self.next_key())

def owner(x):
    n = Net()
    return [n(x), n(x)]
""",
    "object / key of the object": """
class Net:
    def __init__(self):
        self.key = jax.random.key(0)
        self.f = jax.checkpoint(self._f)
    def _f(self, x):
        return x * jax.random.uniform(self.key)
    def __call__(self, x):
        y = self.f(x)
        self.key, _ = jax.random.split(self.key)
        return y

def owner(x):
    n = Net()
    return [n(x), n(x)]
""",
    "object / moving average": """
class EMA:
    def __init__(self, v):
        self.v = v
    def update(self, p):
        self.v = 0.9 * self.v + 0.1 * p

def owner(x):
    ema = EMA(x)
    teacher = jax.checkpoint(lambda x: jnp.sin(x * ema.v))
    out = []
    for _ in range(2):
        out.append(teacher(x))
        ema.update(x * 3)
    return out
""",
    "object / history": """
class Trainer:
    def __init__(self, w):
        self.w = w
        self.history = []
        self.loss = jax.checkpoint(self._loss)
    def _loss(self, p, x):
        return ((p * x - self.w) ** 2).sum()
    def fit(self, p, x):
        for _ in range(3):
            l, g = jax.value_and_grad(self.loss)(p, x)
            self.history.append(l)
            p = p - 0.01 * g
        return p

def owner(x):
    t = Trainer(2.0)
    return t.fit(x, x), t.history
""",
    "object / deterministic in a loop over epochs": """
class Model:
    def __init__(self):
        self.params = [jnp.full(4, 1.0 + i) for i in range(3)]
        self.deterministic = False
        self.rblock = jax.checkpoint(self.block)
    def block(self, p, x):
        return jnp.tanh(p * x) * (1.0 if self.deterministic else 0.9)
    def __call__(self, x):
        for p in self.params:
            x = self.rblock(p, x)
        return x

def owner(x):
    m = Model()
    out = []
    for epoch in range(2):
        m.deterministic = False
        out.append(m(x))
        m.deterministic = True
        out.append(m(x))
    return out
""",
    "object / static self": """
class Net:
    def __init__(self, w):
        self.w = w
    @functools.partial(jax.checkpoint, static_argnums=(0,))
    def block(self, x):
        return x * self.w

def owner(x):
    n = Net(1.0)
    out = []
    for w in (1.0, 2.0, 3.0):
        n.w = w
        out.append(n.block(x))
    return out
""",
}
