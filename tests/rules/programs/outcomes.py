"""Runs the programs that come on standard input (a JSON object of name to text), each as it is and without remat.

Prints a JSON object of name to two outcomes: the numbers in what `owner(x)` gives, or the name of the error.
"""

import contextlib
import json
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp

from remat_lint.testing import no_remat


def outcome(text, context):
    """What a program does in a fresh module, with empty caches."""
    jax.clear_caches()
    try:
        with context, contextlib.redirect_stdout(sys.stderr):
            module = {"__name__": "program"}
            exec(compile(text, "program.py", "exec"), module)  # noqa: S102 - the examples of the rules
            result = module["owner"](jnp.array([0.5, 1.0, 1.5, 2.0]))
            return [float(value) for leaf in jax.tree.leaves(result) for value in jnp.ravel(leaf)]
    except Exception as error:  # noqa: BLE001 - which error it is, is the outcome
        return type(error).__name__


json.dump(
    {
        name: [outcome(text, contextlib.nullcontext()), outcome(text, no_remat())]
        for name, text in json.load(sys.stdin).items()
    },
    sys.stdout,
)
