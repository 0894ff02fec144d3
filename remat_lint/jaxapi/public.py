"""Names of libraries that the tables know, as a project that is such a library spells them too."""

from __future__ import annotations

from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.jaxapi.policies import NAMESPACES, lookup_policy
from remat_lint.jaxapi.wrappers import CANONICAL

TRANSPARENT = frozenset(
    {
        "flax.linen.compact",
        "flax.linen.nowrap",
        "flax.linen.map_variables",
        "flax.linen.transforms.map_variables",
        "flax.core.lift.map_variables",
        "flax.linen.named_call",
        "functools.wraps",
        "jax.named_call",
        "jax.named_scope",
        "haiku.transparent",
        "builtins.staticmethod",
        "builtins.classmethod",
        "contextlib.contextmanager",
        "typing.no_type_check",
        "typing.cast",
        "abc.abstractmethod",
        "typing.override",
        "typing_extensions.override",
    }
)


def is_public(dotted: str) -> bool:
    """Whether a name of the project is one that the tables know: the project is JAX, or a library on top of it."""
    known = dotted in CANONICAL or dotted in NAMESPACES or dotted in TRANSPARENT
    return known or lookup_policy(dotted) is not None or lookup_receiver(dotted) is not None
