"""Which random calls of a checkpointed function draw with one and the same key.

Two draws share their numbers if they read the random bits of the key as they are and in the same way: two calls of one
function, or two of the distributions that are made of the same bits (a uniform and a normal number, a mask). What
splits the key first, as `randint` and `permutation` do, is independent of these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword, render
from remat_lint.project.body import Body
from remat_lint.project.scopes import ArmKey, Event, LoopNode, Scope, exclusive, reaching
from remat_lint.project.values import External, FunctionRef, Moment

_DEEPEST = 3
_OF_BITS = frozenset(
    f"jax.random.{name}"
    for name in (
        "bernoulli",
        "bits",
        "cauchy",
        "exponential",
        "gumbel",
        "laplace",
        "logistic",
        "normal",
        "pareto",
        "rademacher",
        "rayleigh",
        "truncated_normal",
        "uniform",
        "weibull_min",
    )
)
_OTHERS = frozenset(
    f"jax.random.{name}"
    for name in (
        "ball",
        "beta",
        "binomial",
        "categorical",
        "chisquare",
        "choice",
        "dirichlet",
        "double_sided_maxwell",
        "f",
        "gamma",
        "generalized_normal",
        "geometric",
        "loggamma",
        "lognormal",
        "maxwell",
        "multinomial",
        "multivariate_normal",
        "orthogonal",
        "permutation",
        "poisson",
        "randint",
        "t",
        "triangular",
        "wald",
    )
)


@dataclass(frozen=True, slots=True, eq=False)
class KeyDraw:
    """One random call: the variable or item that holds its key, the binding that gave it, and the numbers that are drawn."""

    event: Event
    call: n.Call
    name: str
    held: Event | Scope
    draws: frozenset[str]
    loops: tuple[LoopNode, ...] = ()
    arms: tuple[ArmKey, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Reuse:
    """Two draws with one key; `first` is `second` if a loop repeats it."""

    first: KeyDraw
    second: KeyDraw


@dataclass(slots=True)
class _Uses:
    project: Analysis
    known: dict[tuple[Scope, str], frozenset[str]] = field(default_factory=dict)


def reused_keys(body: Body, project: Analysis) -> Iterator[Reuse]:
    """Yield the draws of a body whose key was drawn with before."""
    uses = _Uses(project)
    for scope in body.scopes:
        found = [draw for event in list(scope.events) for draw in _draws(event, uses)]
        for number, draw in enumerate(found):
            earlier = next((one for one in found[:number] if _shares(one, draw)), None)
            if earlier is not None:
                yield Reuse(earlier, draw)
            elif _is_repeated(draw):
                yield Reuse(draw, draw)


def _shares(one: KeyDraw, other: KeyDraw) -> bool:
    same = one.name == other.name and one.held is other.held
    if not same or exclusive(one.arms, other.arms) or not _overlap(one.draws, other.draws):
        return False
    # A branch that leaves after the first draw never comes to the second one.
    return not (one.event.leaves and one.arms and one.arms != other.arms[: len(one.arms)])


def _overlap(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one & other) or (bool(one & _OF_BITS) and bool(other & _OF_BITS))


def _is_repeated(draw: KeyDraw) -> bool:
    """Whether a loop of Python goes around the draw, but not around the binding of its key."""
    held = draw.held.loops if isinstance(draw.held, Event) else ()
    around = [loop for loop in draw.loops if loop not in held]
    return any(not _leaves(loop, draw) for loop in around)


def _leaves(loop: LoopNode, draw: KeyDraw) -> bool:
    return draw.event.leaves and isinstance(loop, n.Loop)


def _draws(event: Event, uses: _Uses, depth: int = 0) -> Iterator[KeyDraw]:
    """Yield what a call draws with keys that plain names hold."""
    call = event.node
    if not isinstance(call, n.Call):
        return
    moment = Moment(event.scope, event)
    values = uses.project.evaluate(call.func, moment)
    if len(values) != 1:
        return
    value = values[0]
    if isinstance(value, External) and value.dotted in _OF_BITS | _OTHERS:
        argument = keyword(call, "key") or next(
            (a for a in call.args if a.keyword is None and not a.star), None
        )
        if argument is not None:
            yield from _draw(event, call, argument.value, frozenset({value.dotted}))
    elif isinstance(value, FunctionRef) and depth < _DEEPEST:
        for name, argument in _passed(value, call):
            yield from _draw(event, call, argument.value, _drawn_by(value.scope, name, uses, depth))


def _draw(event: Event, call: n.Call, key: n.Expression, draws: frozenset[str]) -> Iterator[KeyDraw]:
    item = isinstance(key, n.Subscript) and isinstance(key.index, n.Constant)
    root = key.value if isinstance(key, n.Subscript) and item else key
    if not draws or not isinstance(root, n.Name) or (item and _is_stored(root.id, event)):
        return
    held = _held(root.id, event)
    if held is not None:
        yield KeyDraw(event, call, render(key), held, draws, event.loops, event.arms)


def _is_stored(name: str, event: Event) -> bool:
    """Whether the function writes into what a name holds."""
    targets = [one.target for one in event.frame.events if one.kind == "store"]
    return any(render(one).startswith(name) for one in targets if one is not None)


def _held(name: str, event: Event) -> Event | Scope | None:
    """Return the one binding whose value a name holds; the scope for a name from outside of the function."""
    scope = event.scope.find(name)
    if scope is None:
        return None
    events = scope.module.lookup(name) if scope.kind == "module" else scope.bindings[name]
    if scope.frame is not event.frame:
        return scope if len(events) == 1 else None
    live = reaching(events, event, scope.frame)
    later = [
        one for one in events if one.order > event.order and any(loop in event.loops for loop in one.loops)
    ]
    return live[0] if len(live) == 1 and not later else None


def _passed(function: FunctionRef, call: n.Call) -> Iterator[tuple[str, n.Argument]]:
    names = [p.name for p in function.scope.parameters() if p.kind in ("positional-only", "positional")]
    names = names[1:] if function.receiver is not None else names
    for argument in call.args:
        if argument.star:
            return
        if argument.keyword is not None:
            yield argument.keyword, argument
        elif names:
            yield names.pop(0), argument


def _drawn_by(scope: Scope, name: str, uses: _Uses, depth: int) -> frozenset[str]:
    """Return what a function draws with the key that its parameter `name` holds, wherever it is called from."""
    if (scope, name) not in uses.known:
        uses.known[scope, name] = frozenset()
        found: set[str] = set()
        for event in list(scope.events):
            for draw in _draws(event, uses, depth + 1):
                is_own = isinstance(draw.held, Event) and isinstance(draw.held.node, n.Parameter)
                if draw.name == name and is_own and not draw.arms:
                    found |= draw.draws
        uses.known[scope, name] = frozenset(found)
    return uses.known[scope, name]
