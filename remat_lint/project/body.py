"""What runs while the function of a wrap site is traced: the function, those defined in it, helpers beside it.

A function that is only handed to the host (`jax.pure_callback`) or kept for later runs elsewhere and is no part.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from remat_lint.project.analysis import Analysis
from remat_lint.project.callgraph import Entry, entries
from remat_lint.project.scopes import Event, Scope, exclusive
from remat_lint.project.summaries import Effect
from remat_lint.project.values import WrapSite

MODULE_FIRST = frozenset({"linen", "lift", "flaxformer"})


@dataclass(eq=False, slots=True)
class Body:
    """The code that one wrapped function runs while it is traced.

    Attributes:
        site: where it is wrapped.
        root: the wrapped function.
        entries: how each function of the body is entered, the root first.
    """

    site: WrapSite
    root: Entry
    entries: dict[Scope, list[Entry]] = field(default_factory=dict)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """The functions of the body, the wrapped one first."""
        return tuple(self.entries)

    @property
    def name(self) -> str:
        """The wrapped function's name for messages."""
        return self.root.function.scope.name or "the lambda"

    def path(self, frame: Scope) -> tuple[Entry, ...]:
        """Return the calls that lead from the wrapped function to a function of the body."""
        path: list[Entry] = []
        while frame is not self.root.function.scope:
            entry = self.entries[frame][0]
            if entry.event is None:
                break
            path.append(entry)
            frame = entry.event.frame
        return tuple(reversed(path))

    def calls_to(self, frame: Scope) -> tuple[Event, ...]:
        """Return the events of that path."""
        return tuple(entry.event for entry in self.path(frame) if entry.event is not None)

    def contains(self, scope: Scope) -> bool:
        """Whether what `scope` binds is made anew by each trace."""
        return scope.frame in self.entries


def bodies(site: WrapSite, project: Analysis, effects: Effect = Effect.NONE) -> Iterator[Body]:
    """Yield the body of each function that a site wraps; of a class its `__call__`.

    A body holds what is near: functions defined in the wrapped one, and helpers of its file that it calls itself.
    Those that lead to one of `effects` are followed wherever they are.
    """
    seen: set[Scope] = set()
    for value in site.bodies:
        for entry in entries(value, project):
            if entry.function.scope not in seen:
                seen.add(entry.function.scope)
                body = Body(site, entry)
                _collect(body, project, effects)
                yield body


def _collect(body: Body, project: Analysis, effects: Effect) -> None:
    """Follow the calls of the body, the shortest way to each function first."""
    root = body.root.function.scope
    body.entries[root] = [body.root]
    todo = deque([root])
    while todo:
        scope = todo.popleft()
        for entry in project.callgraph.calls(scope):
            inner = entry.function.scope
            if inner in body.entries:
                if inner is not root:
                    body.entries[inner].append(entry)
            elif (
                root.encloses(inner)
                or (scope is root and _is_helper(entry, root))
                or (effects and _is_known(entry, body) and project.summaries.of(inner) & effects)
            ):
                body.entries[inner] = [entry]
                todo.append(inner)


def _is_helper(entry: Entry, root: Scope) -> bool:
    scope = entry.function.scope
    return entry.is_plain and scope.module is root.module and not scope.encloses(root) and not _is_lazy(scope)


def _is_lazy(scope: Scope) -> bool:
    return bool(getattr(scope.node, "is_generator", False))


def _is_known(entry: Entry, body: Body) -> bool:
    """Whether it is seen where a function that the body calls lives; a closure may be made in the trace."""
    scope, root = entry.function.scope, body.root.function.scope
    if scope.encloses(root) or _is_lazy(scope):
        return False
    around = scope.parent.frame if scope.parent is not None else None
    if around is None or around.kind == "module" or around.encloses(root) or around in body.entries:
        return True
    made = entry.function.made
    return made is not None and (made.frame.kind == "module" or made.frame.encloses(root))


def is_kept(body: Body, project: Analysis) -> bool:
    """Whether a later call visibly meets the trace of an earlier one.

    A function made anew for each call is traced anew; one that is called again, or that outlives the function
    that made it, is not. A method that is bound for each call is another object each time.
    """
    site, function = body.site, body.root.function
    if not site.wrapper.keeps_trace:
        return False
    scope = function.scope
    anew = bool(body.root.partials) or (function.receiver is not None and site.form == "call")
    around = site.scope if anew else scope.parent
    home = around.frame if around is not None else None
    if home is None or home.kind != "function":
        return True
    calls = list(project.site_calls(site))
    if not anew:
        others = [
            other for other in project.sites.values() if other is not site and other.wrapper.keeps_trace
        ]
        calls += [
            c for o in others if any(f.scope is scope for f in o.functions) for c in project.site_calls(o)
        ]
    made = site.event if anew else scope.definition
    loops = made.loops if made is not None else ()
    for number, one in enumerate(calls):
        if one.event.frame is not home or any(loop not in loops for loop in one.event.loops):
            return True
        if any(not exclusive(one.event.arms, other.event.arms) for other in calls[number + 1 :]):
            return True
    return not calls
