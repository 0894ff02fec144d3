"""Evaluates names and expressions to what they can stand for, by the rules of imports, scopes and order."""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.flow import lookup_receiver
from remat_lint.jaxapi.policies import NAMESPACES, lookup_policy
from remat_lint.jaxapi.wrappers import CANONICAL, SPELLING_WORDS
from remat_lint.project.application import TRANSPARENT, Application
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event, Scope, reaching
from remat_lint.project.values import (
    UNKNOWN,
    Access,
    ClassRef,
    Configured,
    Data,
    Deferred,
    Environment,
    External,
    FunctionRef,
    Given,
    Instance,
    Member,
    ModuleRef,
    Moment,
    Partial,
    Result,
    Unknown,
    Value,
    Wrapped,
)

MOST_VALUES, MOST_DEPTH, MOST_STEPS = 8, 60, 20_000
NOTHING: tuple[Value, ...] = (UNKNOWN,)


class Resolver(Application):
    """Answers for one project; answers that depend on no imagined call are kept."""

    def evaluate(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        """Return what `node` can stand for at `moment`; never empty."""
        self.steps = self.steps + 1 if self.depth else 0
        if self.depth > MOST_DEPTH or self.steps > MOST_STEPS:
            return NOTHING
        self.depth += 1
        try:
            values = self._evaluate(node, moment)
        finally:
            self.depth -= 1
        return _distinct(values)[:MOST_VALUES] or NOTHING

    def _evaluate(self, node: n.Expression, moment: Moment) -> tuple[Value, ...]:
        match node:
            case n.Name():
                return self.name(node.id, moment)
            case n.Attribute():
                bases = self.evaluate(node.value, moment)
                return tuple(
                    value for base in bases for value in self.attribute(base, node.attr, node, moment)
                )
            case n.Call():
                return self._call(node, moment)
            case n.Function():
                event = moment.scope.module.happened(node.at)
                inner = moment.scope.module.builder.scopes.get(node.at)
                return NOTHING if inner is None else (FunctionRef(inner, event, None, moment.env),)
            case n.Conditional():
                return self.evaluate(node.body, moment) + self.evaluate(node.orelse, moment)
            case n.Operation() if node.op in ("or", "and"):
                return self.evaluate(node.operands[0], moment) + self.evaluate(node.operands[1], moment)
            case n.Bind() if node.value is not None:
                return self.evaluate(node.value, moment)
            case n.Subscript():
                return self._subscript(node, moment)
            case _:
                return (Data(node, moment),)

    def _subscript(self, node: n.Subscript, moment: Moment) -> tuple[Value, ...]:
        for base in self.evaluate(node.value, moment):
            if (
                isinstance(base, Data)
                and isinstance(base.node, n.Collection)
                and isinstance(node.index, n.Constant)
            ):
                items = base.node.items
                if base.node.kind == "dict":
                    pairs = zip(items[::2], items[1::2], strict=True)
                    hits = [v for k, v in pairs if isinstance(k, n.Constant) and k.value == node.index.value]
                elif isinstance(node.index.value, int) and -len(items) <= node.index.value < len(items):
                    hits = [items[node.index.value]]
                else:
                    hits = []
                if len(hits) == 1 and hits[0] is not None:
                    return self.evaluate(hits[0], base.moment)
        return (Data(node, moment),)

    def _call(self, node: n.Call, moment: Moment) -> tuple[Value, ...]:
        module = moment.scope.module
        event = module.happened(node.at)
        if event is None:
            return NOTHING
        key = (module.path, node.at)
        if moment.env is None and key in self.calls:
            return self.calls[key]
        guard = (node.at, module.path, id(moment.env))
        if guard in self.active:
            return NOTHING
        self.active.add(guard)
        try:
            here = Moment(event.scope, event, moment.env)
            callees = self.evaluate(node.func, here)
            values = tuple(value for callee in callees for value in self.apply(callee, node, here))
        finally:
            self.active.discard(guard)
        if moment.env is None:
            self.calls[key] = values
        return values

    # Names

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
        for module in self._star_sources(root.module):
            if self.has(module, name):
                return self.exported(module.scope, name)
        return (External(f"builtins.{name}"),)

    def _star_sources(self, module: Module) -> Iterator[Module]:
        """Yield the modules of the project that `from … import *` brings into a module."""
        for event in module.lookup("*") if "import *" in module.source.text else ():
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
            return self._items(event.value, moment, event.position)
        return NOTHING

    def _items(self, node: n.Expression, moment: Moment, position: int | None) -> tuple[Value, ...]:
        """Return what a round of a loop over `node` binds: an item, or its part at `position`."""
        values: list[Value] = []
        for whole in self.evaluate(node, moment):
            if (
                isinstance(whole, Result)
                and whole.dotted in ("builtins.zip", "builtins.enumerate")
                and position is not None
            ):
                index = position if whole.dotted == "builtins.zip" else position - 1
                args = whole.call.args
                known = 0 <= index < len(args) and not any(argument.star for argument in args)
                values += self._items(args[index].value, moment, None) if known else NOTHING
            elif (
                isinstance(whole, Data) and isinstance(whole.node, n.Collection) and whole.node.kind != "dict"
            ):
                for item in whole.node.items:
                    part = item
                    if position is not None:
                        tuples = (
                            isinstance(item, n.Collection)
                            and item.kind == "tuple"
                            and position < len(item.items)
                        )
                        part = item.items[position] if tuples and isinstance(item, n.Collection) else None
                    values += NOTHING if part is None else self.evaluate(part, whole.moment)
            elif isinstance(whole, Data) and isinstance(whole.node, n.Comprehension) and position is None:
                inner = whole.moment.scope.module.builder.scopes.get(whole.node.at)
                if inner is not None and whole.node.kind != "dict":
                    values += self.evaluate(
                        whole.node.elements[0], Moment(inner, whole.moment.event, whole.moment.env)
                    )
            else:
                values.append(UNKNOWN)
        return tuple(values)

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

    # Imports

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
        if _is_public(full):
            return (External(full),)
        if source is not None and source is not module and self.has(source, alias.name):
            return self.exported(source.scope, alias.name)
        below = project.find(module.path, f"{node.module}.{alias.name}".lstrip("."), node.level)
        return (self.module_value(full, below),)

    def module_value(self, dotted: str, path: object) -> Value:
        """Return a module by its name: the project's if it has it, else an external one."""
        module = self.project.module(path) if path is not None else None  # type: ignore[arg-type]  # a Path or None
        return External(dotted) if module is None else ModuleRef(module.scope, dotted)

    def exported(self, scope: Scope, name: str) -> tuple[Value, ...]:
        """Return what a module's name stands for once the module has run."""
        full = f"{scope.module.dotted}.{name}"
        if _is_public(full):
            return (External(full),)
        if not scope.module.matters and not self._passes_on(scope.module, name):
            return (Deferred(scope, name),)
        return self.name(name, Moment(scope, None))

    def _passes_on(self, module: Module, name: str) -> bool:
        """Whether a package only imports a name: its own text need not tell what that name is."""
        if module.path.name != "__init__.py":
            return False
        return all(isinstance(event.value, n.Import) for event in module.lookup(name))

    def has(self, module: Module, name: str) -> bool:
        """Whether a module binds a name; of those that do not matter, only packages are parsed for the answer."""
        parsed = module.matters or module.path.name == "__init__.py"
        if module.lookup(name) if parsed else name in module.source.text:
            return True
        guard = ("has", module.path, name)
        if name.startswith("_") or guard in self.active:
            return False
        self.active.add(guard)
        try:
            return any(self.has(source, name) for source in self._star_sources(module))
        finally:
            self.active.discard(guard)

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

    # Attributes

    def attribute(self, base: Value, attr: str, node: n.Attribute, moment: Moment) -> tuple[Value, ...]:
        """Return what `base.attr` can stand for."""
        match base:
            case External():
                return (External(f"{base.dotted}.{attr}"),)
            case ModuleRef():
                return self._module_attribute(base, attr)
            case Instance():
                known = (
                    base
                    if base.access is not None
                    else Instance(base.cls, self.access(node.value, moment.scope), base.made)
                )
                return self._stored(known, attr) or self.member(known, attr, moment)
            case ClassRef():
                return self.class_member(base, attr, moment)
            case Result():
                return (Member(base, attr),)
            case Deferred():
                longer = base.then(attr)
                if _is_public(longer.dotted):
                    return (External(longer.dotted),)
                # What a wrapper may be called is looked up although the module that passes it on spells none.
                spells = any(word in attr for word in SPELLING_WORDS)
                return self.force((longer,), moment) if spells else (longer,)
            case Wrapped() | Partial() | Configured() | Unknown():
                return NOTHING
            case _:
                return (Data(node, moment),)

    def _stored(self, base: Instance, attr: str) -> tuple[Value, ...]:
        """Return what the frame of a local object stored in its attribute from outside of its class."""
        if base.access is None or not base.access.name:
            return ()
        wanted = base.access.then((".", attr))
        values: list[Value] = []
        for event in base.access.scope.frame.events:
            if event.kind == "store" and isinstance(event.target, n.Attribute) and event.target.attr == attr:
                plain = not isinstance(event.value, n.Parameter | n.Import | None) and not event.part
                if plain and self.access(event.target, event.scope) == wanted:
                    values += self.evaluate(event.value, Moment(event.scope, event))  # type: ignore[arg-type]  # an expression
        return tuple(values)

    def _module_attribute(self, base: ModuleRef, attr: str) -> tuple[Value, ...]:
        full = f"{base.dotted}.{attr}"
        if _is_public(full):
            return (External(full),)
        module = base.scope.module
        if self.has(module, attr):
            return self.exported(module.scope, attr)
        if module.path.name == "__init__.py":
            path = module.project.find(module.path, attr, 1)
            if path is not None:
                return (self.module_value(full, path),)
        return (External(full),)


def _is_public(dotted: str) -> bool:
    """Whether a name of the project is one that the tables know: the project is JAX, or a library on top of it."""
    known = dotted in CANONICAL or dotted in NAMESPACES or dotted in TRANSPARENT
    return known or lookup_policy(dotted) is not None or lookup_receiver(dotted) is not None


def _distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return values without repetitions, which would crowd out others; what is unknown stands last."""
    if len(values) <= 1:
        return values
    unique = dict.fromkeys(values)
    return (*(value for value in unique if value != UNKNOWN), *(() if UNKNOWN not in unique else NOTHING))
