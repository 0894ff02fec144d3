"""Whether a definition may hand what it is given on to a wrapper, or hand out a wrapper: told from its own text alone.

The answer is generous. It keeps the search for wrapper factories (`Reach`) away from the many functions that use a
wrapper for themselves; `Factories` has the last word.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.wrappers import CANONICAL
from remat_lint.project.parents import inside

WRAPPERS = frozenset(spelling.rpartition(".")[2] for spelling in CANONICAL)
"""What wrappers are called in their libraries."""

_OF_ARRAYS = frozenset({"jnp", "np", "numpy", "lax"})
"""Modules whose functions return no callables."""

_PASSING = frozenset({"and", "or", "+", "star", ":="})

RUNNING = frozenset({"apply", "__call__", "forward"})
"""Methods that run the object they are called on."""


def hands_on(
    node: n.Node, words: frozenset[str], kept: frozenset[str] = frozenset(), *, is_method: bool = False
) -> bool:
    """Whether a function, or the value of a name, may wrap what it is given.

    Args:
        node: a definition or an expression.
        words: what wrappers are called there.
        kept: names of which whatever is made counts as a wrapper too.
        is_method: whether the first parameter is the object, which nobody means to wrap.
    """
    parameters = node.parameters if isinstance(node, n.Function) else ()
    if (
        is_method
        and isinstance(node, n.Function)
        and not any(_last(d) == "staticmethod" for d in node.decorators)
    ):
        parameters = parameters[1:]
    flow = _Flow(node, parameters, words, kept)
    return flow.leads(node) or flow.hands_on()


def methods_that_hand_on(methods: Sequence[n.Function], words: frozenset[str]) -> frozenset[str]:
    """Return the names of those methods of a class that may wrap what they are given, also one through the other."""
    found: frozenset[str] = frozenset()
    while True:
        more = {m.name for m in methods if m.name not in found and hands_on(m, words | found, is_method=True)}
        if not more:
            return found
        found |= more


class _Flow:
    """Which names stand for wrappers in a piece of code, and which for callables that its caller gave.

    The functions inside are not told apart from the one around them.
    """

    def __init__(
        self, root: n.Node, parameters: Iterable[n.Parameter], words: frozenset[str], kept: frozenset[str]
    ) -> None:
        self._parts = everything(root)
        self._words, self._kept = words, kept
        self._leading: frozenset[str] = frozenset()
        self._calls: dict[int, frozenset[str]] = {}
        functions = (part for part in self._parts if isinstance(part, n.Function) and part is not root)
        names = (parameter.name for function in functions for parameter in function.parameters)
        self._given = frozenset((*names, *(parameter.name for parameter in parameters)))
        stored = (_names(target) for part in self._parts for target, _ in _bindings(part))
        self._hidden = self._given.union(*stored)

    def hands_on(self) -> bool:
        """Whether something that the caller gave may be wrapped, or a wrapper be returned."""
        self._take_defaults()
        before = None
        while before != (before := (self._leading, self._given)):
            for part in self._parts:
                self._follow(part)
        return any(self._hands(part) for part in self._parts)

    def leads(self, node: n.Node | None) -> bool:
        """Whether an expression may be a wrapper, or something that makes one of it."""
        match node:
            case n.Name():
                return node.id in self._leading or (node.id in self._words and node.id not in self._hidden)
            case n.Attribute():
                return node.attr in self._words or self._is_kept(node)
            case n.Call():
                if _last(node.func) == "getattr" and any(map(self._is_word, node.args)):
                    return True
                if self._is_kept(node.func) or any(self._leads_argument(argument) for argument in node.args):
                    return True
                plain = any(argument.keyword is None for argument in node.args)
                return self.leads(node.func) and not plain
            case n.Subscript():
                return self.leads(node.value)
            case n.Operation() | n.Conditional() | n.Collection() | n.Comprehension() | n.Bind():
                return any(self.leads(part) for part in inside(node))
        return False

    def _is_word(self, argument: n.Argument) -> bool:
        """Whether an argument is the name of a wrapper as text."""
        return isinstance(argument.value, n.Constant) and argument.value.value in self._words

    def _leads_argument(self, argument: n.Argument) -> bool:
        """Whether a wrapper is given to what is called; a policy makes nothing a wrapper."""
        return (
            argument.keyword != "policy" and not self._is_kept(argument.value) and self.leads(argument.value)
        )

    def _is_kept(self, node: n.Node) -> bool:
        while isinstance(node, n.Attribute):
            if node.attr in self._kept:
                return True
            node = node.value
        return isinstance(node, n.Name) and node.id in self._kept

    def _take_defaults(self) -> None:
        """Count a parameter whose default is a wrapper as one."""
        functions = (part for part in self._parts if isinstance(part, n.Function))
        parameters = (parameter for function in functions for parameter in function.parameters)
        self._leading |= {p.name for p in parameters if p.default is not None and self.leads(p.default)}

    def _runs(self, node: n.Node) -> bool:
        """Whether an expression holds something that the caller gave; a function must call it."""
        match node:
            case n.Name():
                return node.id in self._given
            case n.Function():
                return not self._called(node).isdisjoint(self._given)
            case n.Call():
                if _root(node.func) in _OF_ARRAYS:
                    return False
                args = node.args[:1] if _last(node.func) == "partial" else node.args
                return self._runs(node.func) or any(self._runs(argument.value) for argument in args)
            case n.Attribute() | n.Subscript():
                return self._runs(node.value)
            case n.Operation(op=op) if op not in _PASSING:
                return False
            case n.Collection(kind="dict") | n.Format():
                return False
        return any(self._runs(part) for part in inside(node))

    def _called(self, function: n.Function) -> frozenset[str]:
        """Return the names in what a function calls, besides its parameters."""
        if id(function) not in self._calls:
            calls = (part for part in everything(*function.body) if isinstance(part, n.Call))
            names = (
                _names(call.func)
                for call in calls
                if not isinstance(call.func, n.Attribute) or call.func.attr in RUNNING
            )
            own = (parameter.name for parameter in function.parameters)
            self._calls[id(function)] = frozenset[str]().union(*names).difference(own)
        return self._calls[id(function)]

    def _follow(self, part: n.Node) -> None:
        for target, value in _bindings(part):
            names = _names(target)
            if not names <= self._given and self._runs(value):
                self._given |= names
            if not names <= self._leading and self.leads(value):
                self._leading |= names
        if isinstance(part, n.Function) and part.name and self._runs(part):
            self._given |= {part.name}

    def _hands(self, part: n.Node) -> bool:
        match part:
            case n.Call():
                if self.leads(part.func):
                    return any(self._runs(argument.value) for argument in _targets(part))
                leads = any(self._leads_argument(argument) for argument in part.args)
                return leads and any(self._runs(argument.value) for argument in part.args)
            case n.Function():
                return any(self.leads(decorator) for decorator in part.decorators) and self._runs(part)
            case n.Return():
                return any(self.leads(value) for value in part.values)
        return False


def everything(*nodes: n.Node) -> list[n.Node]:
    """Return nodes and all that is in them, without annotations."""
    found: list[n.Node] = []
    todo: list[n.Node] = list(nodes)
    while todo:
        node = todo.pop()
        found.append(node)
        if type(node) is not n.Name:
            todo += inside(node)
    return found


def _bindings(part: n.Node) -> Iterator[tuple[n.Node, n.Node]]:
    """Yield the targets of a statement, each with the expression that gives it a value."""
    match part:
        case n.Bind() if part.value is not None:
            yield from ((target, part.value) for target in part.targets)
        case n.Loop(target=target, iter=iterated) if target is not None and iterated is not None:
            yield target, iterated
        case n.Comprehension():
            yield from ((clause.target, clause.iter) for clause in part.clauses)
        case n.With():
            yield from ((target, context) for context, target in part.items if target is not None)


def _names(target: n.Node) -> frozenset[str]:
    return frozenset(part.id for part in everything(target) if isinstance(part, n.Name))


def _targets(call: n.Call) -> Iterator[n.Argument]:
    """Yield the arguments that may be wrapped; of a wrapper by its own name, options are left out."""
    own = _last(call.func) in WRAPPERS
    return (a for a in call.args if not own or a.keyword in (None, "fun", "f", "target"))


def _root(node: n.Node) -> str:
    while isinstance(node, n.Attribute):
        node = node.value
    return node.id if isinstance(node, n.Name) else ""


def _last(node: n.Node) -> str:
    return node.id if isinstance(node, n.Name) else node.attr if isinstance(node, n.Attribute) else ""
