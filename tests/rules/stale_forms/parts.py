"""The pieces that stale-capture programs are composed from.

A program has one function `owner(x)` that calls a checkpointed `layer` more than once while something that
`layer` reads from outside changes, or seems to. Nothing here says which programs are stale: that is found
by running them.
"""

from dataclasses import dataclass

VALUES = "WS = (1.0, 2.0, 3.0)"


@dataclass(frozen=True)
class Capture:
    """What the layer reads from outside, and how that is written.

    `before` are statements that bind it, `write` the statement that changes it to `{v}`, `read` the
    expression in the layer, `rebinds` the names that `write` binds, `header` a loop that writes by itself.
    """

    name: str
    before: tuple[str, ...]
    write: str
    read: str
    rebinds: tuple[str, ...] = ()
    header: str = ""
    module: tuple[str, ...] = ()


BOX = ("class Box:", "    w = 0.0")
MAKE = ("def make(v):", "    return lambda x: x * v")

CAPTURES = {
    capture.name: capture
    for capture in (
        Capture("loop-name", ("w = 0.0",), "w = {v}", "w", ("w",), header="for w in WS:"),
        Capture("name", ("w = 0.0",), "w = {v}", "w", ("w",)),
        Capture("augmented", ("w = 0.5",), "w += {v}", "w", ("w",)),
        Capture("unpacked", ("w = 0.0",), "w, _ = {v}, None", "w", ("w",)),
        Capture("index", ("i = 0",), "i = int({v}) - 1", "WS[i]", ("i",), header="for i in range(3):"),
        Capture("dict-item", ('cfg = {"w": 0.0}',), 'cfg["w"] = {v}', 'cfg["w"]'),
        Capture("dict-update", ('cfg = {"w": 0.0}',), "cfg.update(w={v})", 'cfg["w"]'),
        Capture("attribute", ("box = Box()",), "box.w = {v}", "box.w", module=BOX),
        Capture("class-attribute", (), "Box.w = {v}", "Box.w", module=BOX),
        Capture("array-item", ("buffer = np.zeros(1, np.float32)",), "buffer[0] = {v}", "buffer[0]"),
        Capture("array-whole", ("buffer = np.ones(4, np.float32)",), "buffer[:] = {v}", "buffer"),
        Capture("list-append", ("terms = []",), "terms.append({v})", "sum(terms)"),
        Capture("function", ("act = make(0.0)",), "act = make({v})", "act(1.0)", ("act",), module=MAKE),
        Capture(
            "key",
            ("key = jax.random.key(0)",),
            "key = jax.random.fold_in(key, int({v}))",
            "jax.random.uniform(key)",
            ("key",),
        ),
    )
}

# How the layer is defined once, before the calls. `{read}` is the capture's expression.
DEFINITIONS = {
    "def": ("def layer(x):", "    return x * {read}"),
    "lambda": ("layer = lambda x: x * {read}",),
    "through-nested-helper": ("def scale():", "    return {read}", "def layer(x):", "    return x * scale()"),
    "partial-once": (
        "def affine(a, x):",
        "    return a * x * {read}",
        "layer = functools.partial(affine, 2.0)",
    ),
    "default": ("def layer(x, scale={read}):", "    return x * scale"),
    "shadowed": ("def layer(x):", "    w = 5.0", "    return x * w"),
    "in-branch": ("def layer(x):", "    if x.ndim:", "        return x * {read}", "    return x"),
    "in-comprehension": ("def layer(x):", "    return sum([x * {read} for _ in range(2)])"),
    "in-inner-def": (
        "def layer(x):",
        "    def inner():",
        "        return x * {read}",
        "    return inner()",
    ),
}

# How a new layer is made in each iteration, after the write.
FRESH = {
    "fresh-lambda": ("layer = lambda x: x * {read}",),
    "fresh-def": ("def layer(x):", "    return x * {read}"),
    "fresh-partial": ("layer = functools.partial(lambda a, x: a * x, {read})",),
    "factory": ("layer = build({read})",),
    "factory-of-lambda": ("layer = (lambda a: lambda x: a * x)({read})",),
}
BUILD = ("def build(a):", "    def made(x):", "        return a * x", "    return made")


@dataclass(frozen=True)
class Wrapping:
    """Statements between definition and calls, and the expression of one call."""

    name: str
    once: tuple[str, ...] = ()
    call: str = "step(x)"
    decorator: str = ""
    each: tuple[str, ...] = ()
    module: tuple[str, ...] = ()


HOISTED = ("step = jax.checkpoint(layer)",)
WRAPPINGS = {
    wrapping.name: wrapping
    for wrapping in (
        Wrapping("hoisted", HOISTED),
        Wrapping("rebound", ("layer = jax.checkpoint(layer)",), "layer(x)"),
        Wrapping("decorated", decorator="@jax.checkpoint", call="layer(x)"),
        Wrapping(
            "partial-decorated",
            decorator="@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)",
            call="layer(x)",
        ),
        Wrapping("per-call", call="jax.checkpoint(layer)(x)"),
        Wrapping("per-iteration", each=HOISTED),
        Wrapping("remat", ("step = jax.remat(layer, prevent_cse=False)",)),
        Wrapping("alias", ("remat = jax.remat", "step = remat(layer)")),
        Wrapping("from-import", ("step = ck(layer)",), module=("from jax import checkpoint as ck",)),
        Wrapping(
            "conditional", ("step = jax.checkpoint(layer) if REMAT else layer",), module=("REMAT = True",)
        ),
        Wrapping(
            "in-if", ("if REMAT:", "    layer = jax.checkpoint(layer)"), "layer(x)", module=("REMAT = True",)
        ),
        Wrapping("twice-wrapped", ("step = jax.checkpoint(jax.checkpoint(layer))",)),
        Wrapping("over-lambda", ("step = jax.checkpoint(lambda x: layer(x))",)),
        Wrapping("fresh-lambda-over", call="jax.checkpoint(lambda x: layer(x))(x)"),
        Wrapping("in-dict", ('steps = {"a": jax.checkpoint(layer)}',), 'steps["a"](x)'),
        Wrapping("on-object", ("box = Box()", "box.step = jax.checkpoint(layer)"), "box.step(x)", module=BOX),
        Wrapping("jit-of", ("step = jax.jit(jax.checkpoint(layer))",)),
        Wrapping("jit-of-per-call", call="jax.jit(jax.checkpoint(layer))(x)"),
        Wrapping("of-jit", ("step = jax.checkpoint(jax.jit(layer))",)),
        Wrapping("under-grad", HOISTED, "jax.grad(lambda x: step(x).sum())(x)"),
        Wrapping("grad-once", ("step = jax.grad(jax.checkpoint(layer))",), "step(x[0])"),
        Wrapping("under-value-and-grad", HOISTED, "jax.value_and_grad(step)(x[0])"),
        Wrapping("under-vmap", HOISTED, "jax.vmap(step)(x)"),
        Wrapping("under-lax-map", HOISTED, "jax.lax.map(step, x)"),
        Wrapping("under-tree-map", HOISTED, "jax.tree.map(step, [x])"),
        Wrapping("under-fresh-jit", HOISTED, "jax.jit(lambda x: step(x))(x)"),
        Wrapping(
            "under-fresh-scan", HOISTED, "jax.lax.scan(lambda c, _: (step(c), None), x, None, length=2)[0]"
        ),
        Wrapping("nnx-hoisted", ("step = nnx.remat(layer)",)),
        Wrapping("nnx-decorated", decorator="@nnx.remat", call="layer(x)"),
        Wrapping("nnx-per-call", call="nnx.remat(layer)(x)"),
        Wrapping("equinox-hoisted", ("step = eqx.filter_checkpoint(layer)",)),
        Wrapping("equinox-per-call", call="eqx.filter_checkpoint(layer)(x)"),
        Wrapping("plain", ("step = layer",)),
    )
}

# Where the calls stand. `{write}` is the capture's write, `{each}` what is made anew, `{call}` one call.
CALLS = {
    "loop": ("{header}", "    {write}", "    {each}", "    out.append({call})"),
    "write-after-call": ("for v in WS:", "    {each}", "    out.append({call})", "    {write}"),
    "two-statements": (
        "{write:1.0}",
        "{each}",
        "out.append({call})",
        "{write:2.0}",
        "{each}",
        "out.append({call})",
    ),
    "after-last-write": ("{write:1.0}", "{write:2.0}", "{each}", "out.append({call})", "out.append({call})"),
    "before-write": ("{write:1.0}", "{each}", "out.append({call})", "out.append({call})", "{write:2.0}"),
    "helper-twice": (
        "def run(v):",
        "    {declare}",
        "    {write}",
        "    {each}",
        "    return {call}",
        "out = [run(1.0), run(2.0)]",
    ),
    "comprehension": (
        "def run(v):",
        "    {declare}",
        "    {write}",
        "    {each}",
        "    return {call}",
        "out = [run(v) for v in WS]",
    ),
    "setter": (
        "def put(v):",
        "    {declare}",
        "    {write}",
        "put(1.0)",
        "{each}",
        "out.append({call})",
        "put(2.0)",
        "{each}",
        "out.append({call})",
    ),
    "while": (
        "n = 0",
        "while n < 3:",
        "    v = WS[n]",
        "    {write}",
        "    {each}",
        "    out.append({call})",
        "    n += 1",
    ),
    "branch": (
        "for v in WS:",
        "    if v > 1.5:",
        "        {write}",
        "    {each}",
        "    out.append({call})",
    ),
    "one-call": ("{write:1.0}", "{each}", "out.append({call})", "{write:2.0}"),
    "stopped-loop": ("{header}", "    {write}", "    {each}", "    out.append({call})", "    break"),
    "second-pass": (
        "for _ in range(2):",
        "    {header}",
        "        {write}",
        "        {each}",
        "        out.append({call})",
    ),
    "nested-loop": (
        "{header}",
        "    {write}",
        "    {each}",
        "    for _ in range(2):",
        "        out.append({call})",
    ),
    "written-once-before-loop": ("{write:2.0}", "{each}", "for _ in range(3):", "    out.append({call})"),
    "inside-jit": (
        "@jax.jit",
        "def whole(x):",
        "    {declare}",
        "    out = []",
        "    for v in WS:",
        "        {write}",
        "        {each}",
        "        out.append({call})",
        "    return out",
        "out = whole(x)",
    ),
}
