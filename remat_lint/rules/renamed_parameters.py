"""Finds a linen module that is checkpointed under a condition and has no name of its own.

## What it does
Reports an instance of a module class in a compact method that is made of `nn.remat(Block)` in one case and of `Block` in
the other, without `name=`.

## Why it is a problem
Linen names a submodule after its class. With the wrapper the class is called `CheckpointBlock`, so that the parameters
move from `Block_0` to `CheckpointBlock_0`: parameters saved without the checkpoint do not load with it. Initial values
and dropout masks are drawn by the path, so that they change too.

## When to ignore it
When the switch is set once and for all before anything is saved.

## Fix safety
The edit gives the name that the module has without the wrapper. It is unsafe because parameters that were saved with
the wrapper must be renamed.

## References
<https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html>
"""

from __future__ import annotations

from collections.abc import Iterator

from remat_lint.facts import nodes as n
from remat_lint.findings import Fix, Severity
from remat_lint.project.analysis import Analysis
from remat_lint.project.arguments import keyword, render
from remat_lint.project.placement import Use
from remat_lint.project.scopes import Event, Scope, exclusive
from remat_lint.project.values import ClassRef, External, Moment, Value, Wrapped, WrapSite
from remat_lint.rules.rule import Bad, Good, Miss, Note, Place, Report, Rule, Silent, unsafe

_COMPACT = frozenset({"flax.linen.compact", "flax.linen.nn.compact", "flax.linen.module.compact"})


class RenamedParameters(Rule):
    """`renamed-parameters`: the parameter tree depends on the checkpoint."""

    code = "RML506"
    name = "renamed-parameters"
    category = "suspicious"
    severity = Severity.INFO
    subject = WrapSite
    silence = "no unnamed instance is made under a condition"
    examples = (
        Bad(
            "one of two classes",
            """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

class Net(nn.Module):
    remat: bool

    @nn.compact
    def __call__(self, x):
        cls = nn.remat(Block) if self.remat else Block
        return cls()(x)  # heißt einmal so, einmal so
#              ^^^^^
""",
            fixed="""
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

class Net(nn.Module):
    remat: bool

    @nn.compact
    def __call__(self, x):
        cls = nn.remat(Block) if self.remat else Block
        return cls(name="Block_0")(x)  # heißt einmal so, einmal so
""",
            message=(
                "with the checkpoint the parameters of this `Block` stand under `CheckpointBlock_0`, without it under `Block_0`: "
                "saved parameters fit one of the two only, and initial values differ; give it a `name`"
            ),
        ),
        Bad(
            "layers in a loop, by an imported name",
            """
from flax import linen as nn
from flax.linen import remat as checkpointed

class Block(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.features)(x)

class Net(nn.Module):
    use_remat: bool = False

    @nn.compact
    def __call__(self, x):
        block_cls = Block
        if self.use_remat:
            block_cls = checkpointed(Block)
        for i in range(4):
            x = block_cls(8)(x)
#               ^^^^^^^^^^^^
        return x
""",
            fixed="""
from flax import linen as nn
from flax.linen import remat as checkpointed

class Block(nn.Module):
    features: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.features)(x)

class Net(nn.Module):
    use_remat: bool = False

    @nn.compact
    def __call__(self, x):
        block_cls = Block
        if self.use_remat:
            block_cls = checkpointed(Block)
        for i in range(4):
            x = block_cls(8, name=f"Block_{i}")(x)
        return x
""",
        ),
        Bad(
            "two calls in two branches",
            """
import flax.linen as nn
from functools import partial

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

class Net(nn.Module):
    remat: bool

    @nn.compact
    def __call__(self, x):
        if self.remat:
            return partial(nn.remat, prevent_cse=True)(Block)()(x)
#                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        return Block()(x)
""",
        ),
        Good(
            "a name of its own, or an attribute of setup",
            """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

class Named(nn.Module):
    use_remat: bool = False

    @nn.compact
    def __call__(self, x):
        cls = nn.remat(Block) if self.use_remat else Block
        return cls(name="block")(x)

class Setup(nn.Module):
    use_remat: bool = False

    def setup(self):
        cls = nn.remat(Block) if self.use_remat else Block
        self.block = cls()

    def __call__(self, x):
        return self.block(x)
""",
        ),
        Good(
            "always checkpointed",
            """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.remat(Block)()(x)
""",
        ),
        Good(
            "a function is checkpointed, not a class",
            """
import flax.linen as nn

class Net(nn.Module):
    remat: bool

    @nn.compact
    def __call__(self, x):
        def block(mdl, x):
            return nn.Dense(3)(x)

        run = nn.remat(block) if self.remat else block
        return run(self, x)
""",
        ),
        Miss(
            "the condition stands in another function",
            """
import flax.linen as nn

class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(3)(x)

class Net(nn.Module):
    block: type

    @nn.compact
    def __call__(self, x):
        return self.block()(x)

def make(use_remat):
    return Net(nn.remat(Block)) if use_remat else Net(Block)
""",
        ),
    )

    def check(self, subject: WrapSite, project: Analysis) -> Iterator[Report | Silent]:
        """Report unnamed instances of a class that is wrapped in one case only."""
        if subject.wrapper.framework != "linen" or not subject.bodies:
            return
        name = _class_name(subject.bodies[0])
        if not name:
            return
        for use in project.placement(subject).uses(subject):
            call = use.call
            if use.how != "new" or call is None or not _is_compact(use.event.frame, project):
                continue
            if keyword(call, "name") is not None or any(argument.star for argument in call.args):
                yield Silent("the instance has a name of its own")
            elif _is_made_plain(subject, use, project):
                yield self._made(subject, use, name)

    def _made(self, site: WrapSite, use: Use, name: str) -> Report:
        module = use.event.module
        number = "…" if use.event.loops else "0"
        message = (
            f"with the checkpoint the parameters of this `{name}` stand under `Checkpoint{name}_{number}`, without it under "
            f"`{name}_{number}`: saved parameters fit one of the two only, and initial values differ; give it a `name`"
        )
        note = Note(Place(site.event.module, site.at), "it is checkpointed here")
        return Report(Place(module, use.event.at), message, self.severity, (note,), facts=(use, name))

    def fix(self, report: Report, project: Analysis) -> Fix | None:
        """Give the instance the name that it has without the wrapper."""
        use, name = report.facts
        call: n.Call = use.call
        text = _name_text(use, name, project)
        if text is None or not isinstance(call.func, n.Name):
            return None
        whole = Place(use.event.module, call.at)
        edit = (
            Place(use.event.module, call.args[-1].at).insert_after(f", name={text}")
            if call.args
            else whole.replace(f"{call.func.id}(name={text})")
        )
        return unsafe("Name it as it is named without the wrapper", edit)


def _class_name(value: Value) -> str:
    if isinstance(value, ClassRef):
        return value.scope.name
    return value.dotted.rpartition(".")[2] if isinstance(value, External) else ""


def _is_compact(frame: Scope, project: Analysis) -> bool:
    if not isinstance(frame.node, n.Function) or frame.definition is None:
        return False
    moment = Moment(frame.parent or frame, frame.definition)
    return any(
        isinstance(value, External) and value.dotted in _COMPACT
        for decorator in frame.node.decorators
        for value in project.evaluate(decorator, moment)
    )


def _is_made_plain(site: WrapSite, use: Use, project: Analysis) -> bool:
    """Whether the same class is made without the wrapper: by the same call, or in the other branch."""
    wrapped = site.bodies[0]
    for event in use.event.frame.events:
        if not isinstance(event.node, n.Call) or (
            event is not use.event and not _is_alternative(event, use.event)
        ):
            continue
        values = project.evaluate(event.node.func, Moment(event.scope, event))
        if any(_is_same(value, wrapped) for value in values):
            return True
    return False


def _is_alternative(event: Event, other: Event) -> bool:
    """Whether one run makes at most one of two calls: they lie in two branches, or the one before leaves."""
    return exclusive(event.arms, other.arms) or (
        other.leaves and bool(other.arms) and event.order > other.order
    )


def _is_same(value: Value, wrapped: Value) -> bool:
    if isinstance(value, Wrapped):
        return False
    if isinstance(value, ClassRef) and isinstance(wrapped, ClassRef):
        return value.scope is wrapped.scope
    return isinstance(value, External) and value == wrapped


def _name_text(use: Use, name: str, project: Analysis) -> str | None:
    """Return the text of the name that linen gives the instance without the wrapper; None if that is not sure."""
    event = use.event
    for other in event.frame.events:
        if isinstance(other.node, n.Call) and other is not event:
            values = project.evaluate(other.node.func, Moment(other.scope, other))
            if any(_class_name(value) == name for value in values):
                return None
    if not event.loops:
        return f'"{name}_0"'
    loop = event.loops[0]
    if len(event.loops) > 1 or not isinstance(loop, n.Loop) or not isinstance(loop.target, n.Name):
        return None
    is_range = (
        isinstance(loop.iter, n.Call) and render(loop.iter.func) == "range" and len(loop.iter.args) == 1
    )
    return f'f"{name}_{{{loop.target.id}}}"' if is_range else None
