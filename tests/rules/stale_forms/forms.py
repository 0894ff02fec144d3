"""Composes the pieces into complete programs: plain Python files, each text once."""

import re
from dataclasses import dataclass
from itertools import product, starmap

from .loops import LOOPS
from .objects import OBJECTS
from .parts import BUILD, CALLS, CAPTURES, DEFINITIONS, FRESH, VALUES, WRAPPINGS
from .preparation import PREPARATION
from .settings import SETTINGS
from .values import VALUES_IN_LOOPS
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


def compose(capture, definition, wrapping, calls, scope="nonlocal"):
    """Return the program of one choice for each dimension; `scope` is `global` for module-level layers."""
    what, wrap = CAPTURES[capture], WRAPPINGS[wrapping]
    fresh = definition in FRESH
    made = [line.replace("{read}", what.read) for line in (FRESH | DEFINITIONS)[definition]]
    if wrap.decorator:
        made.insert(max(n for n, line in enumerate(made) if line.startswith("def ")), wrap.decorator)
    each = [*made, *wrap.once, *wrap.each] if fresh else [*wrap.each]
    lines = [
        VALUES,
        *dict.fromkeys((*wrap.module, *what.module)),
        *(BUILD if definition == "factory" else ()),
    ]
    outside, inside = ([*what.before, *made, *wrap.once], []) if scope == "global" else ([], [*what.before])
    if scope == "global":
        inside = [f"global {', '.join(what.rebinds)}"] if what.rebinds else []
    elif not fresh:
        inside += [*made, *wrap.once]
    inside += ["out = []", *call_lines(calls, what, each, wrap.call, scope), "return out"]
    text = "\n".join([*lines, *outside, "", "def owner(x):", *indent(inside)])
    parts = [capture, definition, wrapping, calls, *(["module"] if scope == "global" else [])]
    return Program(" / ".join(parts), complete(text))


def choose():
    """Yield the choices of capture, definition, wrapping, calls and scope.

    Each dimension runs through all its values against captures of several kinds, the others held still.
    """
    calls = ("loop", "two-statements", "after-last-write", "helper-twice")
    yield from product(CAPTURES, ("def",), ("hoisted",), calls)
    yield from product(CAPTURES, ("def",), ("per-call",), ("loop",))
    yield from product(("name",), ("def",), WRAPPINGS, ("loop",))
    some = ("decorated", "over-lambda", "nnx-hoisted", "nnx-per-call", "under-grad")
    yield from product(("index",), ("def",), some, ("loop",))
    definitions = (*DEFINITIONS, *FRESH)
    yield from product(("loop-name", "attribute"), definitions, ("hoisted",), ("loop",))
    yield from product(("name", "list-append"), ("def",), ("hoisted",), CALLS)
    shared = ("loop-name", "dict-item", "attribute", "list-append", "class-attribute", "array-item")
    yield from product(shared, ("def",), ("hoisted",), ("loop", "after-last-write", "setter"), ("global",))
    fresh = ("two-statements", "helper-twice", "nested-loop")
    yield from product(("name",), ("fresh-lambda", "fresh-def"), ("hoisted",), fresh)


def programs():
    """Return every program, each text once, in a fixed order."""
    whole = WHOLE | LOOPS | VALUES_IN_LOOPS | OBJECTS | PREPARATION | SETTINGS
    found = [*starmap(compose, choose()), *(Program(name, complete(text)) for name, text in whole.items())]
    unique = {program.text: program for program in reversed(found)}
    return tuple(sorted(unique.values(), key=lambda program: program.name))
