"""A wrap site in words: which function wraps what, with which options, and what that means for memory."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.jaxapi.policies import POLICIES, lookup_policy
from remat_lint.project.arguments import render
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Scope
from remat_lint.project.values import WrapSite
from remat_lint_server.jobs import SiteInfo

_ALL = "The backward pass computes everything inside again; only the inputs are kept."
_KEPT = {
    "everything_saveable": "Nothing is computed again: this policy keeps every value, as without a checkpoint.",
    "nothing_saveable": _ALL,
    "dots_saveable": "Results of matrix products are kept; everything else inside is computed again.",
    "dots_with_no_batch_dims_saveable": (
        "Results of matrix products without batch dimensions are kept; everything else inside is computed again."
    ),
    "save_only_these_names": "Values tagged with the given names are kept; everything else inside is computed again.",
    "save_any_names_but_these": (
        "Values tagged with other names are kept; the named ones and everything without a name are computed again."
    ),
    "save_anything_except_these_names": "Nothing is computed again: this policy keeps every value.",
    "save_from_both_policies": "What either policy keeps is kept; everything else inside is computed again.",
    "offload_dot_with_no_batch_dims": (
        "Results of matrix products without batch dimensions are moved to the other memory; "
        "everything else inside is computed again."
    ),
    "save_and_offload_only_these_names": (
        "The named values are kept or moved to the other memory; everything else inside is computed again."
    ),
}
_OTHER = "What is computed again in the backward pass depends on the policy."


def describe(module: Module, site: WrapSite) -> SiteInfo:
    """Return what a reader wants to know of a site that stands in `module`."""
    place = site.via[0] if site.via else site.event
    at = place.node.at if site.via else site.at
    options = {name: _source(argument.value) for name, argument in site.options.items()}
    return SiteInfo(
        span=module.span(at),
        api=site.wrapper.qualname,
        target=_target(site),
        options=options,
        recomputed=_recomputed(site),
        owner=_owner(place.scope, site),
    )


def _source(node: n.Expression | None) -> str:
    return "" if node is None else render(node)


def _target(site: WrapSite) -> str:
    if site.definition is not None:
        return site.definition.qualname
    return _source(site.target)


def _recomputed(site: WrapSite) -> str:
    option = site.options.get("policy")
    if option is None or (isinstance(option.value, n.Constant) and option.value.value is None):
        return _ALL
    value = option.value.func if isinstance(option.value, n.Call) else option.value
    name = render(value).rpartition(".")[2]
    known = lookup_policy(f"jax.checkpoint_policies.{name}") if name in POLICIES else None
    return _KEPT.get(known.same_as or known.name, _OTHER) if known else _OTHER


def _owner(scope: Scope, site: WrapSite) -> str:
    """The outermost function or class around the site, or the decorated definition itself."""
    around = [step for step in scope.ancestors() if step.kind in ("function", "class") and step.name]
    if around:
        return around[-1].name
    return site.definition.name if site.definition is not None else ""
