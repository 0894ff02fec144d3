"""The hand walk over libcst's typed fields that makes `nodes` out of a parsed chunk.

libcst's own `visit()`, `children`, matchers and metadata each cost as much as a parse; this walk costs about 4 %
of one. Every node that is made gets the next number, so that a second walk over the same text meets the same
nodes in the same order: that is how places are found (`positions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from remat_lint.facts import nodes as n
from remat_lint.facts.expressions import Expressions


class Walker(Expressions):
    """One walk over one chunk, numbering from `first`; `made` lists the libcst node of every number."""

    def module(self, module: cst.Module) -> tuple[n.Statement, ...]:
        """Return the statements of a parsed chunk."""
        return self.statements(module.body)

    def statements(
        self, body: Sequence[cst.BaseStatement | cst.BaseSmallStatement]
    ) -> tuple[n.Statement, ...]:
        """Walk statements; several on one line become several."""
        out: list[n.Statement] = []
        for node in body:
            if isinstance(node, cst.SimpleStatementLine):
                for small in node.body:
                    out += _SMALL[type(small)](self, small) if type(small) in _SMALL else ()
            elif type(node) in _SMALL:
                out += _SMALL[type(node)](self, node)
            else:
                handler = _COMPOUND.get(type(node))
                if handler is not None:
                    out.append(handler(self, node))
        return tuple(out)

    def block(self, suite: cst.BaseSuite | cst.Else | cst.Finally | None) -> tuple[n.Statement, ...]:
        """Walk the body of a compound statement."""
        if suite is None:
            return ()
        if isinstance(suite, cst.Else | cst.Finally):
            return self.block(suite.body)
        return self.statements(suite.body)

    def _assign(self, node: cst.Assign) -> tuple[n.Statement, ...]:
        at = self.number(node)
        value = self.expression(node.value)
        return (n.Bind(at, "assign", tuple(self.expression(t.target) for t in node.targets), value),)

    def _annotated(self, node: cst.AnnAssign) -> tuple[n.Statement, ...]:
        at = self.number(node)
        value = None if node.value is None else self.expression(node.value)
        annotation = self.expression(node.annotation.annotation)
        return (n.Bind(at, "annotated", (self.expression(node.target),), value, annotation),)

    def _augmented(self, node: cst.AugAssign) -> tuple[n.Statement, ...]:
        at = self.number(node)
        value = self.expression(node.value)
        op = type(node.operator).__name__.removesuffix("Assign")
        return (n.Bind(at, "augmented", (self.expression(node.target),), value, op=op),)

    def _delete(self, node: cst.Del) -> tuple[n.Statement, ...]:
        return (n.Bind(self.number(node), "delete", (self.expression(node.target),), None),)

    def _expr(self, node: cst.Expr) -> tuple[n.Statement, ...]:
        return (n.Evaluate(self.number(node), self.expression(node.value)),)

    def _return(self, node: cst.Return) -> tuple[n.Statement, ...]:
        at = self.number(node)
        return (n.Return(at, "return", () if node.value is None else (self.expression(node.value),)),)

    def _raise(self, node: cst.Raise) -> tuple[n.Statement, ...]:
        at = self.number(node)
        values = [] if node.exc is None else [self.expression(node.exc)]
        if node.cause is not None:
            values.append(self.expression(node.cause.item))
        return (n.Return(at, "raise", tuple(values)),)

    def _assert(self, node: cst.Assert) -> tuple[n.Statement, ...]:
        at = self.number(node)
        values = [self.expression(node.test)] + ([] if node.msg is None else [self.expression(node.msg)])
        return (n.Return(at, "assert", tuple(values)),)

    def _jump(self, node: cst.Break | cst.Continue | cst.Pass) -> tuple[n.Statement, ...]:
        return (n.Return(self.number(node), type(node).__name__.lower()),)

    def _declare(self, node: cst.Global | cst.Nonlocal) -> tuple[n.Statement, ...]:
        names = tuple(item.name.value for item in node.names)
        return (n.Declare(self.number(node), type(node).__name__.lower(), names),)

    def _import(self, node: cst.Import) -> tuple[n.Statement, ...]:
        at = self.number(node)
        return (n.Import(at, None, 0, tuple(self._alias(alias, plain=True) for alias in node.names)),)

    def _import_from(self, node: cst.ImportFrom) -> tuple[n.Statement, ...]:
        at = self.number(node)
        module = "" if node.module is None else _dotted(node.module)
        if isinstance(node.names, cst.ImportStar):
            names: tuple[n.Alias, ...] = (n.Alias(self.number(node.names), "*", "*"),)
        else:
            names = tuple(self._alias(alias, plain=False) for alias in node.names)
        return (n.Import(at, module, len(node.relative), names),)

    def _alias(self, alias: cst.ImportAlias, *, plain: bool) -> n.Alias:
        name = _dotted(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            return n.Alias(self.number(alias), name, alias.asname.name.value, renamed=True)
        return n.Alias(self.number(alias), name, name.partition(".")[0] if plain else name)

    def _function(self, node: cst.FunctionDef) -> n.Function:
        at, name_at = self.number(node), self.number(node.name)
        decorators = tuple(self.expression(d.decorator) for d in node.decorators)
        parameters = self.parameters(node.params)
        returns = None if node.returns is None else self.expression(node.returns.annotation)
        outer, self.yields = self.yields, False
        body = self.block(node.body)
        generator, self.yields = self.yields, outer
        return n.Function(
            at,
            name_at,
            node.name.value,
            parameters,
            decorators,
            body,
            returns,
            is_async=node.asynchronous is not None,
            is_generator=generator,
        )

    def _class(self, node: cst.ClassDef) -> n.Class:
        at, name_at = self.number(node), self.number(node.name)
        decorators = tuple(self.expression(d.decorator) for d in node.decorators)
        bases = tuple(self.argument(arg) for arg in (*node.bases, *node.keywords))
        return n.Class(at, name_at, node.name.value, bases, decorators, self.block(node.body))

    def _if(self, node: cst.If) -> n.Branch:
        at = self.number(node)
        arms: list[n.Arm] = []
        step: cst.If | cst.Else | None = node
        while isinstance(step, cst.If):
            arm_at = self.number(step)
            test = self.expression(step.test)
            arms.append(n.Arm(arm_at, test, self.block(step.body)))
            step = step.orelse
        if step is not None:
            arms.append(n.Arm(self.number(step), None, self.block(step.body)))
        return n.Branch(at, tuple(arms))

    def _for(self, node: cst.For) -> n.Loop:
        at = self.number(node)
        iterated, target = self.expression(node.iter), self.expression(node.target)
        return n.Loop(at, target, iterated, None, self.block(node.body), self.block(node.orelse))

    def _while(self, node: cst.While) -> n.Loop:
        at = self.number(node)
        return n.Loop(
            at, None, None, self.expression(node.test), self.block(node.body), self.block(node.orelse)
        )

    def _try(self, node: cst.Try | cst.TryStar) -> n.Try:
        at = self.number(node)
        body = self.block(node.body)
        handlers = tuple(self._handler(handler) for handler in node.handlers)
        return n.Try(at, body, handlers, self.block(node.orelse), self.block(node.finalbody))

    def _handler(self, node: cst.ExceptHandler | cst.ExceptStarHandler) -> n.Handler:
        at = self.number(node)
        kind = None if node.type is None else self.expression(node.type)
        name = None
        if node.name is not None and isinstance(node.name.name, cst.Name):
            name = n.Name(self.number(node.name.name), node.name.name.value)
        return n.Handler(at, kind, name, self.block(node.body))

    def _with(self, node: cst.With) -> n.With:
        at = self.number(node)
        items = []
        for item in node.items:
            context = self.expression(item.item)
            items.append((context, None if item.asname is None else self.expression(item.asname.name)))
        return n.With(at, tuple(items), self.block(node.body))

    def _match(self, node: cst.Match) -> n.Branch:
        at = self.number(node)
        subject = self.expression(node.subject)
        arms = []
        for case in node.cases:
            arm_at = self.number(case)
            pattern, binds = self.pattern(case.pattern)
            guard = None if case.guard is None else self.expression(case.guard)
            arms.append(n.Arm(arm_at, guard, self.block(case.body), pattern, binds))
        return n.Branch(at, tuple(arms), subject)


def _dotted(node: cst.BaseExpression) -> str:
    """Return `a.b.c` of the name of an import."""
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


_SMALL: dict[type, Callable[[Walker, Any], tuple[n.Statement, ...]]] = {
    cst.Assign: Walker._assign,
    cst.AnnAssign: Walker._annotated,
    cst.AugAssign: Walker._augmented,
    cst.Del: Walker._delete,
    cst.Expr: Walker._expr,
    cst.Return: Walker._return,
    cst.Raise: Walker._raise,
    cst.Assert: Walker._assert,
    cst.Break: Walker._jump,
    cst.Continue: Walker._jump,
    cst.Pass: Walker._jump,
    cst.Global: Walker._declare,
    cst.Nonlocal: Walker._declare,
    cst.Import: Walker._import,
    cst.ImportFrom: Walker._import_from,
}

_COMPOUND: dict[type, Callable[[Walker, Any], n.Statement]] = {
    cst.FunctionDef: Walker._function,
    cst.ClassDef: Walker._class,
    cst.If: Walker._if,
    cst.For: Walker._for,
    cst.While: Walker._while,
    cst.Try: Walker._try,
    cst.TryStar: Walker._try,
    cst.With: Walker._with,
    cst.Match: Walker._match,
}
