"""Composes the pieces into complete programs: plain Python files, each text once."""

import re
from dataclasses import dataclass

from .parts import BUILD, CALLS, CAPTURES, DEFINITIONS, FRESH, VALUES, WRAPPINGS
from .whole import WHOLE

IMPORTS = {
    "functools.": "import functools",
    "eqx.": "import equinox as eqx",
    "jax.": "import jax",
    "jnp.": "import jax.numpy as jnp",
    "np.": "import numpy as np",
    "nnx.": "from flax import nnx",
}


@dataclass(frozen=True)
class Program:
    """One program; `name` tells what it was composed from."""

    name: str
    text: str


def complete(body):
    """Put the imports that a text needs above it."""
    needed = [line for word, line in IMPORTS.items() if re.search(rf"(?<![\w.]){re.escape(word)}", body)]
    return "\n".join([*needed, "", body.strip(), ""])


def indent(lines, depth=1):
    return ["    " * depth + line for line in lines]


def expand(template, pieces, value="v"):
    """Fill one line of `CALLS`; a piece of several lines keeps the line's indentation, an empty one drops it."""
    margin = template[: len(template) - len(template.lstrip())]
    word = re.fullmatch(r"\{(\w+)(?::([\d.]+))?\}", template.strip())
    if word is None:
        return [template.replace("{call}", pieces["call"])]
    found = pieces[word[1]]
    return [margin + line.replace("{v}", word[2] or value) for line in found]


def call_lines(calls, capture, each, call, scope):
    header = capture.header or "for v in WS:"
    loops_itself = capture.header and any(line.strip() == "{header}" for line in CALLS[calls])
    pieces = {
        "header": [header],
        "write": [] if loops_itself else [capture.write],
        "each": each,
        "call": call,
        "declare": [f"{scope} {', '.join(capture.rebinds)}"] if capture.rebinds else [],
    }
    return [line for template in CALLS[calls] for line in expand(template, pieces)]


def compose(capture, definition="def", wrapping="hoisted", calls="loop", *, call="", scope="nonlocal"):
    """Return the program of one choice for each dimension; `scope` is `global` for module-level layers."""
    what, wrap = CAPTURES[capture], WRAPPINGS[wrapping]
    fresh = definition in FRESH
    made = [line.replace("{read}", what.read) for line in (FRESH | DEFINITIONS)[definition]]
    if wrap.decorator:
        made.insert(max(n for n, line in enumerate(made) if line.startswith("def ")), wrap.decorator)
    before = [line.replace("{{", "{").replace("}}", "}") for line in what.before]
    once = [line.replace("{{", "{").replace("}}", "}") for line in wrap.once]
    each = [*made, *once, *wrap.each] if fresh else [*wrap.each]
    lines = [
        VALUES,
        *dict.fromkeys((*wrap.module, *what.module)),
        *(BUILD if definition == "factory" else ()),
    ]
    outside, inside = ([*before, *made, *once], []) if scope == "global" else ([], [*before])
    if scope == "global":
        inside = [f"global {', '.join(what.rebinds)}"] if what.rebinds else []
    elif not fresh:
        inside += [*made, *once]
    inside += ["out = []", *call_lines(calls, what, each, call or wrap.call, scope), "return out"]
    text = "\n".join([*lines, *outside, "", "def owner(x):", *indent(inside)])
    parts = [
        capture,
        definition,
        wrapping,
        calls,
        *([call] if call else []),
        *(["module"] if scope == "global" else []),
    ]
    return Program(" / ".join(parts), complete(text))


def choose():
    """Yield the choices: each dimension against captures of every kind, the others held still."""
    main = ("loop-name", "name", "dict-item", "attribute")
    for capture in CAPTURES:
        for calls in ("loop", "two-statements", "after-last-write", "helper-twice"):
            yield compose(capture, calls=calls)
        yield compose(capture, wrapping="per-call")
    for wrapping in sorted(WRAPPINGS):
        yield compose("name", wrapping=wrapping)
    for wrapping in ("decorated", "over-lambda", "nnx-hoisted", "nnx-per-call", "under-grad"):
        yield compose("index", wrapping=wrapping)
    for capture in ("loop-name", "attribute"):
        for definition in (*sorted(set(DEFINITIONS) - {"static", "step"}), *sorted(FRESH)):
            yield compose(capture, definition)
    for capture in ("name", "list-append"):
        for calls in sorted(CALLS):
            yield compose(capture, calls=calls)
    for capture in (*main, "list-append", "class-attribute", "array-item"):
        for calls in ("loop", "after-last-write", "setter"):
            yield compose(capture, calls=calls, scope="global")
    for definition in ("fresh-lambda", "fresh-def"):
        for calls in ("two-statements", "helper-twice", "nested-loop"):
            yield compose("name", definition, calls=calls)


def programs():
    """Return every program, each text once, in a fixed order."""
    found = [*choose(), *(Program(name, complete(text)) for name, text in WHOLE.items())]
    unique = {program.text: program for program in reversed(found)}
    return tuple(sorted(unique.values(), key=lambda program: program.name))
