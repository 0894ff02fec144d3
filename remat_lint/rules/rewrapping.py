"""Putting the wrapper of another library in the place of `jax.checkpoint`: the edits, in whatever form a site is written."""

from __future__ import annotations

from remat_lint.facts import nodes as n
from remat_lint.findings import Edit, Span
from remat_lint.project.analysis import Analysis
from remat_lint.project.statics import static_option
from remat_lint.project.values import Moment, Wrapped, WrapSite
from remat_lint.rules.imports import spell
from remat_lint.rules.rule import Place

Edits = tuple[Edit, ...]
_SHARED = frozenset({"policy", "prevent_cse", "static_argnums"})


def rename(site: WrapSite, package: str, name: str, project: Analysis, *, static: str = "keep") -> Edits:
    """Return the edits that write `package.name` for the wrapper; none where its options do not fit.

    `static` says what becomes of `static_argnums`: "keep", "drop", or "shift" by the module in front.
    """
    module = site.scope.module
    written = _wrapper(site)
    if site.via or site.spread or site.extra or written is None or not _SHARED.issuperset(site.options):
        return ()
    options = _static_edits(site, project, static)
    if options is None:
        return ()
    text, imports = spell(module, package, name, project)
    return (Place(module, written.at).replace(text), *options, *imports)


def add_module(site: WrapSite, owner: str, parameter: str, project: Analysis) -> Edits:
    """Return the edits that pass `owner` as first argument of the visible calls, and take it as `parameter`.

    None where a call is out of sight, or where the function takes nothing.
    """
    module = site.scope.module
    function = _written_function(site)
    if function is None or not function.parameters or function.parameters[0].name == parameter:
        return ()
    scope = site.functions[0].scope
    called = {made.event.at for made in project.site_calls(site)}
    if any(run.event.at not in called for run in project.activations(scope)):
        return ()
    calls = _call_edits(site, owner, project)
    if not calls or function.parameters[0].kind != "positional":
        return ()
    first = Place(module, function.parameters[0].at)
    return (first.insert_before(f"{parameter}, "), *calls)


def open_module(site: WrapSite, owner: n.Expression, method: str, project: Analysis) -> Edits:
    """Return the edits that wrap a function over the module `owner` instead of the module, or of its method."""
    module = site.scope.module
    if (
        site.form != "call"
        or site.target is None
        or not isinstance(owner, n.Name | n.Attribute | n.Subscript | n.Call)
    ):
        return ()
    calls = _call_edits(site, Place(module, owner.at).text, project)
    if not calls or not _is_only(site, project) or (isinstance(owner, n.Call) and len(calls) > 1):
        return ()
    return (
        Place(module, site.target.at).replace(f"lambda mdl, *args: mdl{method}(*args)"),
        *calls,
    )


def _call_edits(site: WrapSite, owner: str, project: Analysis) -> Edits:
    """Return the edits of the visible calls; none if one of them cannot be rewritten, or stands elsewhere."""
    module, edits = site.scope.module, []
    for made in project.site_calls(site):
        call = made.call
        here = made.event.module is module and made.event.frame is site.event.frame
        direct = isinstance(call.func, n.Name) or call.func is site.event.node
        if (
            not here
            or not direct
            or made.cached
            or not call.args
            or any(a.keyword or a.star for a in call.args)
        ):
            return ()
        edits.append(Place(module, call.args[0].at).insert_before(f"{owner}, "))
    return tuple(edits)


def _is_only(site: WrapSite, project: Analysis) -> bool:
    """Whether what is called at the visible calls is nothing but the result of the site."""
    for made in project.site_calls(site):
        for value in project.evaluate(made.call.func, Moment(made.event.scope, made.event)):
            if not isinstance(value, Wrapped) or value.site is not site:
                return False
    return True


def _written_function(site: WrapSite) -> n.Function | None:
    """Return the one function of the file that the site wraps, if nothing else is made of it."""
    found = [function.scope for function in site.functions]
    if len(found) != 1 or len(site.bodies) != 1 or found[0].module is not site.scope.module:
        return None
    node = found[0].node
    return node if isinstance(node, n.Function) and found[0].owner_class is None else None


def _wrapper(site: WrapSite) -> n.Expression | None:
    """Return the expression that spells the wrapper at the site."""
    if site.form == "call" and isinstance(site.event.node, n.Call):
        return site.event.node.func
    if site.form == "partial-call" and isinstance(site.event.node, n.Call):
        return _of_partial(site.event.node.func)
    definition = site.definition.node if site.definition is not None else None
    for decorator in definition.decorators if isinstance(definition, n.Function | n.Class) else ():
        if decorator.at == site.at:
            return _of_partial(decorator) if isinstance(decorator, n.Call) else decorator
    return None


def _of_partial(node: n.Expression) -> n.Expression | None:
    first = node.args[0] if isinstance(node, n.Call) and node.args else None
    return None if first is None or first.keyword or first.star else first.value


def _static_edits(site: WrapSite, project: Analysis, static: str) -> Edits | None:
    """Return the edits of `static_argnums`; None if it cannot be rewritten."""
    argument = site.options.get("static_argnums")
    if argument is None or static == "keep":
        return ()
    option = static_option(site, project)
    if option is None or option.module is not site.scope.module or option.indices is None:
        return None
    if static == "drop":
        return (_removal(site, argument),) if option.is_literal else None
    if not option.is_literal or min(option.indices, default=0) < 0:
        return None
    items = option.node.items if isinstance(option.node, n.Collection) else (option.node,)
    return tuple(
        Place(option.module, item.at).replace(str(item.value + 1))
        for item in items
        if isinstance(item, n.Constant) and isinstance(item.value, int)
    )


def _removal(site: WrapSite, argument: n.Argument) -> Edit:
    """Return the edit that removes an argument together with the comma in front of it."""
    source = site.scope.module.source
    span = Place(site.scope.module, argument.at).span
    start = source.offset(span.start)
    before = source.text[:start].rstrip()
    comma = before.endswith(",")
    return Edit(Span(source.position(len(before) - 1 if comma else start), span.end), "")
