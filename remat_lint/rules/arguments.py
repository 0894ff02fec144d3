"""The edit that turns something a function reads from outside into an argument of the function.

It is offered only where it is right for every way the function is used: each use of its name, and of the name of
its wrapper's result, is a plain call in this file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.modules import Module
from remat_lint.project.parents import inside
from remat_lint.project.scopes import Scope
from remat_lint.project.values import Access, FunctionRef, WrapSite
from remat_lint.project.writes import walk
from remat_lint.rules.imports import spell
from remat_lint.rules.passed_values import PassedValue
from remat_lint.rules.rule import Place


@dataclass(frozen=True, slots=True)
class Passing:
    """How a value becomes an argument: the parameter's name, what calls pass, what the body no longer spells."""

    parameter: str
    expression: str
    replaced: tuple[n.Expression, ...]
    static: bool


class ArgumentEdit:
    """Builds the edits for one function object and one way that it reads."""

    def __init__(
        self, function: FunctionRef, sites: tuple[WrapSite, ...], access: Access, project: Analysis
    ) -> None:
        self.scope, self.sites, self.access, self.project = function.scope, sites, access, project
        self.module: Module = function.scope.module

    def edits(self) -> tuple[Edit, ...]:
        """Return the edits; none if they would not be right everywhere."""
        passing = self._passing()
        node = self.scope.node
        calls = self._calls()
        if passing is None or not isinstance(node, n.Function) or not calls:
            return ()
        position = len(self.scope.parameters())
        edits = [self._parameter(node, passing.parameter)]
        edits += [Place(self.module, read.at).replace(passing.parameter) for read in passing.replaced]
        edits += [_append_argument(self.module, call, passing.expression) for call in calls]
        if passing.static:
            static = self._static(position)
            if static is None:
                return ()
            edits += static
        return tuple(dict.fromkeys(edits))

    # What is passed

    def _passing(self) -> Passing | None:
        kinds = {p.kind for p in self.scope.parameters()}
        defaults = any(p.default is not None for p in self.scope.parameters())
        if kinds - {"positional", "positional-only"} or defaults or not self.access.name:
            return None
        if self.scope.owner_class is not None or self.access.name in self.scope.declared:
            return None
        reads = list(self._reads(self.access))
        if not reads or not self._seen_everywhere():
            return None
        item = self._item_of_index(reads)
        if item is not None:
            return self._named(item, static=False)
        static = PassedValue(self.access, reads, self.scope, self.project).is_static()
        if static is None:
            return None
        if not self.access.steps:
            return Passing(self.access.name, self.access.name, (), static)
        return self._named(reads, static=static)

    def _named(self, reads: list[n.Expression], *, static: bool) -> Passing | None:
        """Return a passing under a new name, for reads that are all spelled alike and mean the same at each call."""
        if not all(
            self._means_the_same(part.id) for read in reads for part in walk(read) if isinstance(part, n.Name)
        ):
            return None
        texts = {Place(self.module, read.at).text for read in reads}
        if len(texts) != 1:
            return None
        first = reads[0]
        wanted = "value"
        if isinstance(first, n.Attribute):
            wanted = first.attr
        elif (
            isinstance(first, n.Subscript)
            and isinstance(first.index, n.Constant)
            and isinstance(first.index.value, str)
        ):
            wanted = first.index.value
        elif isinstance(first, n.Subscript) and isinstance(first.value, n.Name):
            wanted = first.value.id.removesuffix("s") or "value"
        if not wanted.isidentifier() or self.scope.find(wanted) is not None:
            wanted = f"{self.access.name.rstrip('s')}_value"
        if self.scope.find(wanted) is not None:
            return None
        return Passing(wanted, texts.pop(), tuple(reads), static)

    def _means_the_same(self, name: str) -> bool:
        """Whether a name of the body means the same variable at every call."""
        holder = self.scope.find(name)
        if holder is not None and self.scope.encloses(holder):
            return False
        events = (self.module.happened(call.at) for call in self._calls())
        return all(event is not None and event.scope.find(name) is holder for event in events)

    def _item_of_index(self, reads: list[n.Expression]) -> list[n.Expression] | None:
        """Return the reads `ps[i]` if the way is an index `i` that the body uses for nothing else."""
        if self.access.steps:
            return None
        parents = self.module.builder.parents
        items: list[n.Expression] = []
        for read in reads:
            above = parents.of(read.at)
            if (
                not isinstance(above, n.Subscript)
                or above.index is not read
                or not isinstance(above.value, n.Name)
            ):
                return None
            holder = self.scope.find(above.value.id)
            if holder is None or self.scope.encloses(holder):
                return None
            items.append(above)
        return items

    def _reads(self, access: Access) -> Iterator[n.Expression]:
        """Yield the expressions in the body that read the way, outermost and in order."""
        assert isinstance(self.scope.node, n.Function)
        todo: list[tuple[n.Node, Scope]] = [(statement, self.scope) for statement in self.scope.node.body]
        found: list[n.Expression] = []
        while todo:
            node, scope = todo.pop()
            if (
                isinstance(node, n.Name | n.Attribute | n.Subscript)
                and self.project.access(node, scope) == access
            ):
                found.append(node)
                continue
            inner = (
                self.module.builder.scopes.get(node.at, scope)
                if isinstance(node, n.Function | n.Comprehension)
                else scope
            )
            todo += ((part, inner) for part in inside(node))
        yield from sorted(found, key=lambda read: read.at)

    # Where it is called

    def _calls(self) -> tuple[n.Call, ...]:
        """Return every call of the function, wrapped or plain."""
        found = [call.call for site in self.sites for call in self.project.site_calls(site)]
        found += [
            activation.event.node
            for activation in self.project.activations(self.scope)
            if isinstance(activation.event.node, n.Call)
        ]
        unique = {call.at: call for call in found}
        return tuple(unique[at] for at in sorted(unique))

    def _seen_everywhere(self) -> bool:
        """Whether every use of the function and of its wrapper's result is a call that can be given one more argument."""
        if any(site.spread or site.via or site.event.module is not self.module for site in self.sites):
            return False
        calls = self._calls()
        for call in calls:
            event = self.module.happened(call.at)
            if event is None or any(argument.star or argument.keyword for argument in call.args):
                return False
            if not self._means_the_same(self.access.name):
                return False
        called = {call.func.at for call in calls}
        targets = {site.target.at for site in self.sites if site.target is not None}
        return all(use in called or use in targets for use in self._uses()) and self._results_called(called)

    def _results_called(self, called: set[int]) -> bool:
        """Whether what each wrapper call returns is called at once or bound to a name."""
        parents = self.module.builder.parents
        for site in self.sites:
            if site.definition is not None or site.at in called:
                continue
            above = parents.of(site.at)
            if not isinstance(above, n.Bind) or not all(
                isinstance(target, n.Name) for target in above.targets
            ):
                return False
        return True

    def _uses(self) -> Iterator[int]:
        """Yield the numbers of all reads of the names that hold the function or its wrapper's result."""
        names: set[tuple[Scope, str]] = set()
        home = self.scope.parent
        if self.scope.name and home is not None:
            names.add((home, self.scope.name))
        for site in self.sites:
            above = self.module.builder.parents.of(site.at)
            if isinstance(above, n.Bind):
                names |= {(site.scope, target.id) for target in above.targets if isinstance(target, n.Name)}
        for scope in (self.module.scope, *self.module.builder.scopes.values()):
            for node in _own_reads(scope, self.module):
                holder = scope.find(node.id)
                if holder is not None and (holder, node.id) in names:
                    yield node.at

    # Edits

    def _parameter(self, node: n.Function, name: str) -> Edit:
        if node.parameters:
            return Place(self.module, node.parameters[-1].at).insert_after(f", {name}")
        start = self.module.span(node.name_at)
        offset = self.module.source.offset(start.start if node.is_lambda else start.end)
        offset = offset + len("lambda") if node.is_lambda else self.module.source.text.index("(", offset) + 1
        position = self.module.source.position(offset)
        return Edit(Span(position, position), f" {name}" if node.is_lambda else name)

    def _static(self, position: int) -> list[Edit] | None:
        """Return the edits that make the new last parameter static at every wrapper; None if unclear."""
        edits: list[Edit] = []
        for site in self.sites:
            option = site.options.get("static_argnums")
            if not site.wrapper.has_static or site.wrapper.counts_self:
                return None
            if option is None:
                edits += self._add_option(site, f"static_argnums=({position},)")
            elif (
                isinstance(option.value, n.Collection) and option.value.kind == "tuple" and option.value.items
            ):
                last = option.value.items[-1]
                if last is None:
                    return None
                edits.append(Place(self.module, last.at).insert_after(f", {position}"))
            elif isinstance(option.value, n.Constant) and type(option.value.value) is int:
                edits.append(
                    Place(self.module, option.value.at).replace(f"({option.value.value}, {position})")
                )
            else:
                return None
        return edits

    def _add_option(self, site: WrapSite, text: str) -> list[Edit]:
        place = Place(self.module, site.at)
        if site.form == "decorator":
            partial, imports = spell(self.module, "functools", "partial", self.project)
            return [place.replace(f"{partial}({place.text}, {text})"), *imports]
        end = place.span.end
        closing = self.module.source.position(self.module.source.offset(end) - 1)
        return [Edit(Span(closing, closing), f", {text}")]


def _append_argument(module: Module, call: n.Call, text: str) -> Edit:
    if call.args:
        return Place(module, call.args[-1].value.at).insert_after(f", {text}")
    end = module.span(call.at).end
    closing = module.source.position(module.source.offset(end) - 1)
    return Edit(Span(closing, closing), text)


def _own_reads(scope: Scope, module: Module) -> Iterator[n.Name]:
    """Yield the names read directly in a scope, not those in scopes below it."""
    if scope.kind == "module":
        todo: list[n.Node] = [statement for body in module.builder.bodies for statement in body]
    elif isinstance(scope.node, n.Comprehension):
        todo = list(inside(scope.node))
    else:
        assert isinstance(scope.node, n.Function | n.Class)
        todo = list(scope.node.body)
    while todo:
        node = todo.pop()
        if isinstance(node, n.Name):
            yield node
        elif isinstance(node, n.Function | n.Class):
            todo += node.decorators
            if isinstance(node, n.Function):
                todo += (p.default for p in node.parameters if p.default is not None)
        elif isinstance(node, n.Comprehension):
            continue
        elif isinstance(node, n.Bind):
            todo += (part for part in inside(node) if not (isinstance(part, n.Name) and part in node.targets))
        else:
            todo += inside(node)
