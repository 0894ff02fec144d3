"""What `static_argnums` of a site says, and which parameters it means by the wrapper's own numbering."""

from __future__ import annotations

from dataclasses import dataclass

from remat_lint.facts import nodes as n
from remat_lint.project.analysis import Analysis
from remat_lint.project.invocations import Signature
from remat_lint.project.modules import Module
from remat_lint.project.values import Data, Moment, WrapSite


@dataclass(frozen=True, slots=True, eq=False)
class StaticOption:
    """The `static_argnums` of a site.

    Attributes:
        argument: the argument as given.
        node: the literal it stands for; None if that is not known.
        indices: the numbers in it; None if not all of them are known.
        moment: where the argument is evaluated.
    """

    argument: n.Argument
    node: n.Expression | None
    indices: tuple[int, ...] | None
    moment: Moment

    @property
    def module(self) -> Module:
        """The module in which the argument stands."""
        return self.moment.scope.module

    @property
    def is_literal(self) -> bool:
        """Whether the literal stands in the argument itself."""
        return self.node is self.argument.value


def static_option(site: WrapSite, project: Analysis) -> StaticOption | None:
    """Return the `static_argnums` of a site; None if it has none."""
    argument = site.options.get("static_argnums")
    moment = site.option_moments.get("static_argnums")
    if argument is None or moment is None:
        return None
    values = project.evaluate(argument.value, moment)
    node = values[0].node if len(values) == 1 and isinstance(values[0], Data) else None
    return StaticOption(argument, node, _indices(node), moment)


def _indices(node: n.Expression | None) -> tuple[int, ...] | None:
    items = node.items if isinstance(node, n.Collection) and node.kind != "dict" else (node,)
    numbers = [item.value for item in items if isinstance(item, n.Constant)]
    if len(numbers) < len(items):
        return None
    found = tuple(number for number in numbers if isinstance(number, int) and not isinstance(number, bool))
    return found if len(found) == len(numbers) else None


def shift(site: WrapSite) -> int | None:
    """Return by how much the wrapper's numbers are smaller than positions in a signature; None if not known."""
    if site.wrapper.framework == "lift" or not site.wrapper.has_static:
        return None
    return 1 if site.wrapper.framework in ("linen", "flaxformer") and not site.wrapper.counts_self else 0


def static_positions(site: WrapSite, signature: Signature, project: Analysis) -> frozenset[int] | None:
    """Return the positions in a signature that are static; None if that is not known."""
    option = static_option(site, project)
    offset = shift(site)
    if option is None:
        return frozenset() if not site.spread and offset is not None else None
    if option.indices is None or offset is None:
        return None
    if any(index < 0 for index in option.indices) and not site.wrapper.negative_static:
        return None
    count = len(signature.positional)
    return frozenset(index + offset if index >= 0 else index + count for index in option.indices)
