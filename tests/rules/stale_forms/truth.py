"""Finds out by running which programs are stale: checkpointed and plain results, in one child process.

Run as a script, it reads programs as JSON from standard input and writes one verdict for each as JSON.
"""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path


def replace_wrappers():
    """Make every wrapper return its function unchanged; gives back a function that undoes it."""
    import equinox
    import jax
    from flax import nnx

    def identity(function=None, **_options):
        return function if function is not None else lambda given: given

    places = ((jax, "checkpoint"), (jax, "remat"), (nnx, "remat"), (equinox, "filter_checkpoint"))
    kept = [(module, name, getattr(module, name)) for module, name in places]
    for module, name in places:
        setattr(module, name, identity)
    return lambda: [setattr(*place) for place in kept]


def run_owner(text):
    """Values of `owner` of a program in a namespace of its own.

    Traces are found by function objects, and no two namespaces share one, so the caches need no clearing
    (which would compile every primitive again: four minutes in place of half a minute).
    """
    import jax
    import jax.numpy as jnp

    namespace = {"__name__": "program"}
    exec(compile(text, "program.py", "exec"), namespace)  # noqa: S102 - runs programs that the tests compose
    values = namespace["owner"](jnp.arange(1.0, 5.0, dtype=jnp.float32))
    return [round(float(leaf.sum()), 4) for leaf in map(jnp.asarray, jax.tree.leaves(values))]


def observe(text):
    """Both results of one program, and whether they differ."""
    checkpointed = run_owner(text)
    undo = replace_wrappers()
    try:
        plain = run_owner(text)
    finally:
        undo()
    return {"checkpointed": checkpointed, "plain": plain, "stale": checkpointed != plain}


@functools.cache
def truth():
    """Verdict by program name: `stale`, with both results."""
    from .forms import programs

    return observe_all({program.name: program.text for program in programs()})


def observe_all(texts):
    """Verdicts of many programs, found by running them in one child process."""
    request = json.dumps(texts)
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    child = subprocess.run(
        [sys.executable, str(Path(__file__))],
        input=request,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=environment,
    )
    if child.returncode:
        raise RuntimeError(child.stderr)
    return json.loads(child.stdout)


def is_stale(program):
    """Tell whether checkpointing changes what a program computes."""
    return truth()[program.name]["stale"]


def main():
    import jax

    # An array of numpy's that a program writes in place may still be read by a computation under way.
    jax.config.update("jax_cpu_enable_async_dispatch", False)  # noqa: FBT003 - the signature of JAX
    verdicts = {name: observe(text) for name, text in json.loads(sys.stdin.read()).items()}
    sys.stdout.write(json.dumps(verdicts))


if __name__ == "__main__":
    main()
