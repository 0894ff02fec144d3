"""What names stand for: bindings in scope order, imports over files, packages that pass names on.

A name of a module that bears on no wrapper is `Deferred`: it is looked up only where what it is matters.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.public import is_public
from remat_lint.project.application import Application
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.values import (
    UNKNOWN,
    Access,
    ClassRef,
    Deferred,
    Environment,
    External,
    Given,
    Instance,
    ModuleRef,
    Moment,
    Value,
)

MOST_VALUES = 8
NOTHING: tuple[Value, ...] = (UNKNOWN,)


class Lookups(Application):
    """The part of the resolver that looks names up."""

    @abstractmethod
    def attribute(self, base: Value, attr: str, node: n.Attribute, moment: Moment) -> tuple[Value, ...]:
        """Return what `base.attr` can stand for."""

    @abstractmethod
    def items(self, node: n.Expression, moment: Moment, position: int | None) -> tuple[Value, ...]:
        """Return what a round of a loop over `node` binds: an item, or its part at `position`."""

    @abstractmethod
    def part(self, node: n.Expression, moment: Moment, position: int | None) -> tuple[Value, ...]:
        """Return what unpacking `node` gives the target at `position`."""

    def name(self, name: str, moment: Moment) -> tuple[Value, ...]:
        """Return what a name can stand for at `moment`."""
        scope = moment.scope.find(name)
        root = moment.scope.root
        if scope is None or scope is root:
            events = root.module.lookup(name)
            if not events:
                return self._starred(name, root)
            scope = root
        else:
            events = scope.bindings[name]
        same = moment.event is not None and scope.frame is moment.scope.frame
        live = reaching(events, moment.event if same else None, scope.frame) or events[-1:]
        return tuple(value for event in live for value in self.bound(event, moment.env))[:MOST_VALUES]

    def _starred(self, name: str, root: Scope) -> tuple[Value, ...]:
        holder = self._holder(root.module, name, outside=True)
        if holder is None:
            return (External(f"builtins.{name}"),)
        return self.exported(holder.scope, name)

    def _star_sources(self, module: Module) -> Iterator[Module]:
        """Yield the modules of the project that `from … import *` brings into a module."""
        for event in module.lookup("*") if module.has_stars else ():
            if isinstance(event.value, n.Import):
                path = module.project.find(module.path, event.value.module or "", event.value.level)
                source = None if path is None else module.project.module(path)
                if source is not None and source is not module:
                    yield source

    def bound(self, event: Event, env: Environment | None) -> tuple[Value, ...]:
        """Return what a binding gives its name."""
        key = id(event)
        if env is None and key in self.bindings:
            return self.bindings[key]
        if env is not None and event in env.known:
            return env.known[event]
        guard = (key, id(env))
        if guard in self.active:
            return NOTHING
        self.active.add(guard)
        try:
            values = self._bound(event, env)
        finally:
            self.active.discard(guard)
        if env is None:
            self.bindings[key] = values
            self.keep.append(event)
        else:
            env.known[event] = values
        return values

    def _bound(self, event: Event, env: Environment | None) -> tuple[Value, ...]:
        moment = Moment(event.scope, event, env)
        match event.value:
            case n.Import() if isinstance(event.node, n.Alias):
                return self.imported(event.value, event.node, event)
            case n.Parameter():
                return self._parameter(event, event.value, env)
            case n.Function() if event.inner is not None:
                return self.decorated(event, event.inner, env)
            case n.Class() if event.inner is not None:
                return self.decorated_class(event, event.inner, env)
            case None | n.Import() | n.Class():
                return NOTHING
        if event.part == "":
            return self.evaluate(event.value, moment)
        if event.part == "iteration":
            return self.items(event.value, moment, event.position)
        if event.part == "element":
            return self.part(event.value, moment, event.position)
        return NOTHING

    def _parameter(self, event: Event, parameter: n.Parameter, env: Environment | None) -> tuple[Value, ...]:
        scope = event.scope
        given = env.get(scope, parameter.name) if env is not None else None
        if given is not None:
            return given
        cls = scope.owner_class
        if cls is not None and scope.parameters()[0] is parameter:
            kind = self.method_kind(scope)
            if kind == "method":
                return (Instance(ClassRef(cls), Access(cls, "")),)
            if kind == "classmethod":
                return (ClassRef(cls),)
        return (Given(scope, parameter),)

    def imported(self, node: n.Import, alias: n.Alias, event: Event) -> tuple[Value, ...]:
        """Return what an import binds."""
        project, module = event.module.project, event.module
        if node.module is None:
            dotted = alias.name if alias.renamed else alias.bound
            return (self.module_value(dotted, module.project.find(module.path, dotted, 0)),)
        base = project.find(module.path, node.module, node.level)
        source = project.module(base) if base is not None else None
        dotted = node.module
        if node.level:
            if source is None:
                return NOTHING
            dotted = source.dotted
        full = f"{dotted}.{alias.name}"
        if is_public(full):
            return (External(full),)
        if source is not None and source is not module:
            holder = self._holder(source, alias.name)
            if holder is not None:
                return self.exported(holder.scope, alias.name)
        below = project.find(module.path, f"{node.module}.{alias.name}".lstrip("."), node.level)
        return (self.module_value(full, below),)

    def module_value(self, dotted: str, path: Path | None) -> Value:
        """Return a module by its name: the project's if it has it, else an external one."""
        module = self.project.module(path) if path is not None else None
        return External(dotted) if module is None else ModuleRef(module.scope, dotted)

    def exported(self, scope: Scope, name: str) -> tuple[Value, ...]:
        """Return what a module's name stands for once the module has run."""
        full = f"{scope.module.dotted}.{name}"
        if is_public(full):
            return (External(full),)
        module = scope.module
        if not module.matters and not self._passes_on(module, name):
            return (Deferred(scope, name),)
        return self.name(name, Moment(scope, None))

    def _passes_on(self, module: Module, name: str) -> bool:
        """Whether a package only imports a name: its own text need not tell what that name is."""
        if module.path.name != "__init__.py":
            return False
        return all(isinstance(event.value, n.Import) for event in module.lookup(name))

    def has(self, module: Module, name: str) -> bool:
        """Whether a module binds a name, itself or by `from … import *`."""
        return self._holder(module, name) is not None

    def _holder(self, module: Module, name: str, *, outside: bool = False) -> Module | None:
        """Return the module that binds a name: the given one, or the first from which it star-imports the name.

        With `outside`, the module itself is known not to bind it.
        Of modules that do not matter, only packages are parsed for the answer. Each module is asked once, also where
        modules star-import each other.
        """
        todo, done = [module], {module}
        while todo:
            one = todo.pop()
            parsed = one.matters or one.path.name == "__init__.py"
            binds = one.binds(name) if parsed else name in one.source.text
            if binds and not (outside and one is module):
                return one
            if name.startswith("_"):
                return None
            sources = [source for source in self._star_sources(one) if source not in done]
            done.update(sources)
            todo += reversed(sources)
        return None

    def force(self, values: tuple[Value, ...], moment: Moment) -> tuple[Value, ...]:
        """Look up what was deferred among `values`."""
        found: list[Value] = []
        for value in values:
            if isinstance(value, Deferred):
                found += self._forced(value, moment)
            else:
                found.append(value)
        return tuple(found)

    def _forced(self, value: Deferred, moment: Moment) -> tuple[Value, ...]:
        guard = (id(value.scope), value.name, value.steps)
        if guard in self.active:
            # Two modules that star-import each other, and neither binds the name.
            return NOTHING
        self.active.add(guard)
        try:
            here = self.force(self.name(value.name, Moment(value.scope, None)), moment)
            for step in value.steps:
                here = tuple(after for before in here for after in self._step(before, step, moment))
        finally:
            self.active.discard(guard)
        return here

    def _step(self, value: Value, step: str, moment: Moment) -> tuple[Value, ...]:
        if step != "()":
            return self.force(
                self.attribute(value, step, n.Attribute(-1, n.Name(-1, ""), step), moment), moment
            )
        return (Instance(value, None, moment.event),) if isinstance(value, ClassRef) else NOTHING
