"""`no_remat()`: a context under which `jax.checkpoint` calls the Python function itself.

`jax.checkpoint` traces its function once for each function object and argument types and replays that trace, in
eager code too. Ignoring the checkpoint when the trace is *replayed* would therefore compare one frozen trace with
itself. So the trace is what is replaced: under the context it returns a stand-in, and the moment at which the trace
would be replayed calls the function on the arguments that were really given. The context is a JAX user context,
hence part of every trace and compilation cache key, and nothing has to be cleared.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax

_HOOKED_MODULE = "jax._src.ad_checkpoint"
_TRACE, _PRIMITIVE, _SECOND_IMPLEMENTATION = "_trace_to_jaxpr", "remat_p", "remat3"


class UnsupportedJax(RuntimeError):  # noqa: N818 - reads as the outcome it is
    """The installed JAX lacks a hook that the comparison rests on, or the hook does not do its work."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"remat-lint cannot switch checkpoints off in JAX {jax.__version__}: {what}. "
            "Nothing was verified; supported are JAX 0.7.2 to 0.12."
        )


class _PendingCall:
    """Stands where JAX expects the jaxpr and the output tree of one call of a checkpointed function."""

    def __init__(self, function: Callable[..., Any], in_tree: Any) -> None:
        self._function, self._in_tree = function, in_tree
        self._result: Any = None

    def run(self, leaves: Sequence[Any]) -> None:
        """Calls the function on its real arguments."""
        args, kwargs = self._in_tree.unflatten(leaves)
        self._result = self._function(*args, **kwargs)

    def unflatten(self, _leaves: Sequence[Any]) -> Any:
        """Gives what the function returned, in place of the outputs of a jaxpr."""
        return self._result


class _Switch:
    """The hooks in JAX, the context that turns checkpoints off, and the count of applied checkpoints."""

    def __init__(self) -> None:
        try:
            self._module: Any = importlib.import_module(_HOOKED_MODULE)
            make_context: Any = jax.make_user_context
        except (ImportError, AttributeError) as error:
            raise UnsupportedJax(str(error)) from error
        for name in (_TRACE, _PRIMITIVE):
            if not hasattr(self._module, name):
                raise UnsupportedJax(f"{_HOOKED_MODULE} has no {name}")
        self.off: Any = make_context(default_value=False)
        self.applied = 0

    def install(self) -> None:
        """Puts the hooks in place; with the context off they only count."""
        trace = getattr(self._module, _TRACE)
        primitive = getattr(self._module, _PRIMITIVE)
        bind = primitive.bind
        core: Any = importlib.import_module("jax._src.core")

        @functools.wraps(trace)
        def trace_or_wait(function: Any, in_tree: Any, *rest: Any) -> Any:
            if self.off.value:
                call = _PendingCall(function, in_tree)
                return call, (), call
            self.applied += 1
            return trace(function, in_tree, *rest)

        def bind_or_call(*args: Any, jaxpr: Any, **params: Any) -> Any:
            if isinstance(jaxpr, _PendingCall):
                jaxpr.run(args)
                return ()
            if self.off.value:  # a trace taken outside the context
                return core.eval_jaxpr(jaxpr, (), *args)
            return bind(*args, jaxpr=jaxpr, **params)

        setattr(self._module, _TRACE, trace_or_wait)
        primitive.bind = bind_or_call
        if hasattr(self._module, _SECOND_IMPLEMENTATION):
            second = getattr(self._module, _SECOND_IMPLEMENTATION)
            setattr(self._module, _SECOND_IMPLEMENTATION, self._hook_second(second))

    def _hook_second(self, second: Any) -> Any:
        """Hooks the implementation behind the flag `jax_remat3`, which has no separate trace and bind."""

        @functools.wraps(second)
        def choose(function: Any = None, /, *positional: Any, **options: Any) -> Any:
            if function is None:
                return lambda given: choose(given, *positional, **options)
            wrapped = second(function, *positional, **options)

            @functools.wraps(function)
            def call(*args: Any, **kwargs: Any) -> Any:
                if self.off.value:
                    return function(*args, **kwargs)
                self.applied += 1
                return wrapped(*args, **kwargs)

            return call

        return choose


def _install_switch() -> _Switch | UnsupportedJax:
    try:
        switch = _Switch()
    except UnsupportedJax as error:
        return error
    switch.install()
    return switch


# Installed on import, because JAX 0.10 decides for its second implementation when a function is wrapped; the
# self-test waits for the first use, because running anything fixes JAX's backend.
_INSTALLED = _install_switch()


@functools.cache
def _tested_switch() -> _Switch:
    """The switch, once it was seen to tell a changed captured value and to pass real arguments."""
    if isinstance(_INSTALLED, UnsupportedJax):
        raise _INSTALLED
    captured, seen = [1.0], []

    def scale(x: Any) -> Any:
        seen.append(type(x))
        return x * captured[0]

    wrapped = jax.checkpoint(scale)
    before = _INSTALLED.applied
    kept = float(wrapped(1.0))
    if _INSTALLED.applied == before:
        raise UnsupportedJax("an applied checkpoint goes unnoticed")
    with _INSTALLED.off(True):  # noqa: FBT003 - the signature is that of JAX
        first, captured[0] = float(wrapped(1.0)), 2.0
        second = float(wrapped(1.0))
    if (kept, first, second) != (1.0, 1.0, 2.0) or seen[1:] != [float, float]:
        raise UnsupportedJax("the self-test still meets a stored trace")
    return _INSTALLED


@contextmanager
def no_remat() -> Iterator[None]:
    """Runs the Python body of checkpointed functions at every call, on the arguments really given.

    Reaches every spelling that ends in `jax.checkpoint`: decorators, methods, scan bodies, nested checkpoints and
    the wrappers of flax, haiku and equinox. Code that plain JAX itself traces once (`jit`, `scan`) stays traced once.

    Raises:
        UnsupportedJax: if the installed JAX lacks the hooks or they do not work; nothing is verified then.
    """
    with _tested_switch().off(True):  # noqa: FBT003 - the signature is that of JAX
        yield


def count_applied() -> int:
    """Number of checkpoints applied in this process so far, outside `no_remat()`."""
    return _tested_switch().applied
