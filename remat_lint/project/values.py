"""What an expression can stand for, as far as reading the project tells; `Unknown` is always an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.wrappers import Wrapper
from remat_lint.project.scopes import Event, Scope

Step = tuple[str, str | int | None]
SLICE = "[:]"
"""The item step of a write to a slice: which items it means is not known."""


@dataclass(frozen=True, slots=True)
class Access:
    """A way to a value: a variable of a scope, then attribute (`.`, name) and item (`[]`, constant or None) steps.

    `name` is empty for the instance of the class `scope`, whatever a method calls it. The step (`*`, None) means
    everything inside.
    """

    scope: Scope
    name: str
    steps: tuple[Step, ...] = ()

    def __hash__(self) -> int:
        return hash((id(self.scope), self.name, self.steps))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Access)
            and self.scope is other.scope
            and (self.name, self.steps) == (other.name, other.steps)
        )

    def then(self, *steps: Step) -> Access:
        """Return the way that goes on by `steps`."""
        return Access(self.scope, self.name, self.steps + steps)

    def rebase(self, base: Access, target: Access) -> Access:
        """Return this way with the root `base` replaced by `target`; unchanged if it starts elsewhere."""
        if self.scope is base.scope and self.name == base.name:
            return Access(target.scope, target.name, target.steps + self.steps)
        return self

    def overlaps(self, written: Access) -> bool:
        """Whether a write to `written` changes what a read of this way gives."""
        if self.scope is not written.scope or self.name != written.name:
            return False
        for (kind, mine), (other_kind, theirs) in zip(self.steps, written.steps, strict=False):
            if "*" in (kind, other_kind):
                return True
            if kind != other_kind or (mine != theirs and not _may_be_one_item(mine, theirs)):
                return False
        return True

    def __str__(self) -> str:
        text = self.name or "self"
        for kind, value in self.steps:
            if kind == ".":
                text += f".{value}"
            elif kind == "[]":
                text += "[…]" if value is None else f"[{value!r}]"
        return text


def _may_be_one_item(mine: str | int | None, theirs: str | int | None) -> bool:
    """Whether two different spellings may mean one item: an index that is not known, or one from either end.

    A write to an item that is not known is taken for one to another item than the one that is read by its name.
    """
    if mine is None or theirs == SLICE:
        return True
    return isinstance(mine, int) and isinstance(theirs, int) and (mine < 0) != (theirs < 0)


class Environment:
    """Values of parameters for one imagined call of a function, and the calls that led there.

    `known` keeps what bindings and calls were found to give in it.
    """

    __slots__ = ("known", "outer", "values", "via")

    def __init__(
        self,
        values: Mapping[tuple[Scope, str], tuple[Value, ...]],
        via: tuple[Event, ...],
        outer: Environment | None,
    ) -> None:
        self.values, self.via, self.outer = values, via, outer
        self.known: dict[object, tuple[Value, ...]] = {}

    def get(self, scope: Scope, name: str) -> tuple[Value, ...] | None:
        """Return the values given to a parameter, innermost call first."""
        step: Environment | None = self
        while step is not None:
            if (scope, name) in step.values:
                return step.values[scope, name]
            step = step.outer
        return None


@dataclass(frozen=True, slots=True)
class Moment:
    """A point of execution: a scope, the event being evaluated (None: the end) and the imagined calls around it."""

    scope: Scope
    event: Event | None
    env: Environment | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known."""


@dataclass(frozen=True, slots=True)
class External:
    """Something that the project does not define, by its dotted name."""

    dotted: str


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the project (`scope`), known by its dotted name."""

    scope: Scope
    dotted: str


@dataclass(frozen=True, slots=True)
class Deferred:
    """A name of a module of the project that spells no wrapper: looked up only if what it is matters.

    `steps` are attributes to take, or `()` for a call, once it is looked up.
    """

    scope: Scope
    name: str
    steps: tuple[str, ...] = ()

    @property
    def dotted(self) -> str:
        """The name as another file would spell it."""
        return ".".join((self.scope.module.dotted, self.name, *self.steps))

    def then(self, step: str) -> Deferred:
        """Return the value one step further."""
        return Deferred(self.scope, self.name, (*self.steps, step))


@dataclass(frozen=True, slots=True, eq=False)
class FunctionRef:
    """One function object: its scope, the event that made it, and what it is bound to."""

    scope: Scope
    made: Event | None = None
    receiver: Instance | None = None
    env: Environment | None = None


@dataclass(frozen=True, slots=True)
class ClassRef:
    """A class of the project."""

    scope: Scope
    env: Environment | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """An object of a class; `access` is a way to it."""

    cls: ClassRef
    access: Access | None = None
    made: Event | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Partial:
    """`functools.partial(target, …)`; `call` holds the arguments, the target first."""

    target: Value
    call: n.Call
    moment: Moment


@dataclass(frozen=True, slots=True, eq=False)
class Transformed:
    """What a function transformation returned; `kind` is the row's kind in `jaxapi.flow`."""

    dotted: str
    kind: str
    inner: tuple[Value, ...]
    made: Event | None


@dataclass(frozen=True, slots=True, eq=False)
class Wrapped:
    """The result of a wrap site.

    `instance` tells that a wrapped class was instantiated; `made` is the call of a factory that made the wrapped
    function anew, if it came out of one.
    """

    site: WrapSite
    instance: bool = False
    made: Event | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Configured:
    """A wrapper called with keywords only: a decorator where the wrapper allows it."""

    site: WrapSite


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a call of something external returned."""

    dotted: str
    call: n.Call
    event: Event | None


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """An attribute of a `Result`."""

    base: Result
    attr: str


@dataclass(frozen=True, slots=True, eq=False)
class Data:
    """A literal or a computed value, with where it is evaluated."""

    node: n.Expression
    moment: Moment


@dataclass(frozen=True, slots=True, eq=False)
class Several:
    """A tuple whose items are known by their values: what `*args` takes in an imagined call."""

    items: tuple[tuple[Value, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Given:
    """A parameter whose argument is not known here."""

    scope: Scope
    parameter: n.Parameter


Value = (
    Unknown
    | External
    | ModuleRef
    | Deferred
    | FunctionRef
    | ClassRef
    | Instance
    | Partial
    | Transformed
    | Wrapped
    | Configured
    | Result
    | Member
    | Data
    | Several
    | Given
)
UNKNOWN = Unknown()


@dataclass(eq=False, repr=False, slots=True)
class WrapSite:
    """One place that applies a checkpoint wrapper.

    Attributes:
        wrapper: the API and its conventions.
        form: call, decorator, partial-decorator, partial-call, keyword-only (no target given).
        event: when the wrapper is applied; its `loops` and `arms` are those of the place.
        at: number of the expression that stands for the site.
        options: keyword arguments, those of a `partial` included.
        extra: positional arguments after the target.
        target: the expression that is wrapped; None for decorators.
        bodies: what runs inside, each a function, a class or a partial of one.
        via: calls of the project's own factories through which the site is reached, outermost first.
        spread: whether `*` or `**` hides arguments.
        definition: the decorated definition.
    """

    wrapper: Wrapper
    form: str
    event: Event
    at: int
    options: dict[str, n.Argument]
    extra: tuple[n.Argument, ...] = ()
    target: n.Expression | None = None
    bodies: tuple[Value, ...] = ()
    via: tuple[Event, ...] = ()
    spread: bool = False
    definition: Scope | None = None
    env: Environment | None = None
    option_moments: dict[str, Moment] = field(default_factory=dict)

    @property
    def functions(self) -> tuple[FunctionRef, ...]:
        """The function objects of the project that run inside; a partial is an object of its own."""
        found: list[FunctionRef] = []
        for body in self.bodies:
            inner = body
            while isinstance(inner, Partial | Wrapped):
                if isinstance(inner, Wrapped):
                    found += inner.site.functions
                    break
                inner = inner.target
            if isinstance(inner, FunctionRef):
                made = body.moment.event if isinstance(body, Partial) else inner.made
                found.append(FunctionRef(inner.scope, made, inner.receiver, inner.env))
        return tuple(found)

    @property
    def scope(self) -> Scope:
        """Where the site stands."""
        return self.event.scope
