"""The form in which a piece of program text is kept: small, frozen, serialisable, free of libcst.

Every node carries `at`, its number in the order of the walk over its chunk. A number becomes a place in the
file only when somebody asks (`remat_lint.facts.positions`), because places cost more than everything else.
Scopes, name resolution and order of execution are derived from this form by `remat_lint.project`.
"""

from __future__ import annotations

from dataclasses import dataclass

Literal = str | bytes | bool | int | float | complex | None


@dataclass(frozen=True, slots=True)
class Name:
    """A name that is read, or the target of a binding."""

    at: int
    id: str


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value.attr`."""

    at: int
    value: Expression
    attr: str


@dataclass(frozen=True, slots=True)
class Subscript:
    """`value[index]`; several indices or slices come as a tuple `Collection` or a slice `Operation`."""

    at: int
    value: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal; `...` is kept as the string value of kind `ellipsis`."""

    at: int
    value: Literal
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call: `keyword` for `k=v`, `star` is `*` or `**` for spread ones."""

    at: int
    value: Expression
    keyword: str | None = None
    star: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """`func(args)`."""

    at: int
    func: Expression
    args: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """A display: `kind` is tuple, list, set or dict; a dict alternates keys and values, None for `**`."""

    at: int
    kind: str
    items: tuple[Expression | None, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """Everything else that computes a value from values.

    `op` is the operator as written (`+`, `not`, `is not`, `and`, `<`), or one of `slice`, `star`, `await`,
    `yield`, `yield from`, `string` (an f-string or a concatenation).
    """

    at: int
    op: str
    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Format:
    """A replacement field of an f-string; `spec` holds the parts of its format specification."""

    at: int
    value: Expression
    spec: tuple[Expression, ...] = ()
    conversion: str = ""


@dataclass(frozen=True, slots=True)
class Conditional:
    """`body if test else orelse`."""

    at: int
    test: Expression
    body: Expression
    orelse: Expression


@dataclass(frozen=True, slots=True)
class Clause:
    """`for target in iter if conditions` of a comprehension."""

    at: int
    target: Expression
    iter: Expression
    conditions: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Comprehension:
    """`kind` is list, set, dict or generator; a dict comprehension has two elements."""

    at: int
    kind: str
    elements: tuple[Expression, ...]
    clauses: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """`kind` is positional-only, positional, star, keyword-only or double-star."""

    at: int
    name: str
    kind: str
    annotation: Expression | None = None
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A `def` (statement) or a lambda (expression, `name` empty, the body one `Return`).

    `at` is the whole definition without its decorators, `name_at` the name in the header.
    """

    at: int
    name_at: int
    name: str
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expression, ...]
    body: tuple[Statement, ...]
    returns: Expression | None = None
    is_async: bool = False
    is_generator: bool = False

    @property
    def is_lambda(self) -> bool:
        """Whether this is a lambda expression."""
        return not self.name


@dataclass(frozen=True, slots=True)
class Class:
    """A class definition."""

    at: int
    name_at: int
    name: str
    bases: tuple[Argument, ...]
    decorators: tuple[Expression, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Bind:
    """Targets that get a value.

    `how` is assign, augmented, annotated, walrus (an expression too) or delete. Targets are names, attributes,
    subscripts, starred operations and collections of these; `value` is None for a bare annotation or a delete.
    """

    at: int
    how: str
    targets: tuple[Expression, ...]
    value: Expression | None
    annotation: Expression | None = None
    op: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """One imported name: `name` as written, `bound` the local name (`*` for all), `as_` if renamed."""

    at: int
    name: str
    bound: str
    renamed: bool = False


@dataclass(frozen=True, slots=True)
class Import:
    """`import a.b as c` (`module` is None) or `from ..a import b`; `level` counts the dots."""

    at: int
    module: str | None
    level: int
    names: tuple[Alias, ...]


@dataclass(frozen=True, slots=True)
class Evaluate:
    """An expression used as a statement."""

    at: int
    value: Expression


@dataclass(frozen=True, slots=True)
class Return:
    """`how` is return, raise, assert, break, continue or pass; a raise has its cause as second value."""

    at: int
    how: str
    values: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Declare:
    """`global` or `nonlocal` names."""

    at: int
    how: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arm:
    """One way through a branch: `test` is None for else; a match arm has pattern names and literal tests.

    For `match`, `pattern` holds the pattern's value expressions (constants and dotted names) and `binds` the
    names it captures.
    """

    at: int
    test: Expression | None
    body: tuple[Statement, ...]
    pattern: tuple[Expression, ...] = ()
    binds: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """`if` with its `elif` and `else`, or `match` (then `subject` is set)."""

    at: int
    arms: tuple[Arm, ...]
    subject: Expression | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """`for` (`target` and `iter` set) or `while` (`test` set)."""

    at: int
    target: Expression | None
    iter: Expression | None
    test: Expression | None
    body: tuple[Statement, ...]
    orelse: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Handler:
    """An `except` clause; `type` None is a bare one."""

    at: int
    type: Expression | None
    name: Name | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Try:
    """`try` with its handlers."""

    at: int
    body: tuple[Statement, ...]
    handlers: tuple[Handler, ...]
    orelse: tuple[Statement, ...] = ()
    final: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class With:
    """`with` items as pairs of context expression and target."""

    at: int
    items: tuple[tuple[Expression, Expression | None], ...]
    body: tuple[Statement, ...]


Expression = (
    Name
    | Attribute
    | Subscript
    | Constant
    | Call
    | Collection
    | Operation
    | Format
    | Conditional
    | Comprehension
    | Function
    | Bind
)
Statement = Bind | Import | Function | Class | Evaluate | Return | Declare | Branch | Loop | Try | With
Node = Expression | Statement | Argument | Clause | Parameter | Alias | Arm | Handler
