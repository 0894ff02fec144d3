"""`remat-lint sites`: where functions are checkpointed, and what each rule thinks of one place."""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from remat_lint.commands.check import overrides, report_problems
from remat_lint.commands.console import Console
from remat_lint.config import load
from remat_lint.engine import Engine
from remat_lint.errors import UsageError
from remat_lint.findings import Span
from remat_lint.output.terminal import Style, paint, visible
from remat_lint.output.view import View
from remat_lint.project.modules import Module
from remat_lint.project.scopes import Event
from remat_lint.project.values import (
    ClassRef,
    Deferred,
    External,
    FunctionRef,
    Instance,
    Partial,
    Result,
    Transformed,
    Value,
    Wrapped,
    WrapSite,
)
from remat_lint.rules import EveryRule
from remat_lint.source.text import SourceError

USAGE = 2


@dataclass(frozen=True, slots=True)
class Place:
    """A site with the module, event and span where a reader meets it."""

    module: Module
    site: WrapSite
    event: Event
    span: Span


def run(arguments: argparse.Namespace, console: Console) -> int:
    """List the sites below the paths, or explain the one that `--why` names."""
    gc.disable()  # as in `check`
    view = View(Path.cwd(), color=console.color)
    if arguments.why:
        return _explain(arguments, view, console)
    paths = [Path(path) for path in arguments.paths]
    engine = Engine(load(paths, EveryRule(), overrides(arguments)))
    discovered = engine.discover(paths)
    problems = [f"{problem.path}: {problem.reason}" for problem in discovered.problems]
    places: list[Place] = []
    for path in discovered.files:
        try:
            places += _places(engine, path)
        except SourceError as error:
            problems.append(f"{path}: {error.reason}")
    failed = report_problems(problems, paths, console)
    if arguments.output_format == "json":
        console.write([json.dumps([_describe(place, view) for place in places], indent=2), "\n"])
    else:
        console.write(f"{_line(place, view)}\n" for place in places)
    return USAGE if failed else 0


def _places(engine: Engine, path: Path) -> list[Place]:
    found = []
    for module, site in engine.sites([path]):
        event = engine.analysis.place(site)
        found.append(Place(module, site, event, module.span(event.node.at if site.via else site.at)))
    return found


def _explain(arguments: argparse.Namespace, view: View, console: Console) -> int:
    name, _, number = arguments.why.rpartition(":")
    if not name or not number.isdecimal():
        raise UsageError(f"--why needs PATH:LINE, not {arguments.why!r}")
    path, row = Path(name), int(number)
    engine = Engine(load([path], EveryRule(), overrides(arguments)))
    try:
        places = _places(engine, path)
    except SourceError as error:
        raise UsageError(f"{name}: {error.reason}") from error
    chosen = [place for place in places if place.span.start.row <= row <= place.span.end.row]
    chosen = chosen or [place for place in places if _runs_line(place, row)]
    if not chosen:
        rows = [str(row) for row in sorted({place.span.start.row for place in places})]
        line = "a site stands in line" if len(rows) == 1 else "sites stand in lines"
        others = f"; {line} {', '.join(rows)}" if rows else ", nor anywhere else in the file"
        raise UsageError(f"there is no checkpoint site in line {row} of {name}{others}")
    explained = [(place, list(engine.verdicts(place.site))) for place in chosen]
    if arguments.output_format == "json":
        answers = [
            _describe(place, view)
            | {
                "verdicts": [
                    {
                        "code": one.rule.code,
                        "name": one.rule.name,
                        "reported": one.report is not None,
                        "reason": one.reason,
                    }
                    for one in verdicts
                ]
            }
            for place, verdicts in explained
        ]
        console.write([json.dumps(answers, indent=2), "\n"])
        return 0
    for place, verdicts in explained:
        console.write([f"{_line(place, view)}\n"])
        for one in verdicts:
            style = Style.ERROR if one.report else Style.GREEN
            word = paint("reported" if one.report else "silent", style, color=view.color)
            console.write([f"  {one.rule.code} {one.rule.name}: {word}: {visible(one.reason)}\n"])
    return 0


def _runs_line(place: Place, row: int) -> bool:
    """Whether the line stands in a function that the site wraps, in the same file."""
    spans = [
        place.module.span(function.scope.node.at)
        for function in place.site.functions
        if function.scope.module is place.module and function.scope.node is not None
    ]
    return any(span.start.row <= row <= span.end.row for span in spans)


def _line(place: Place, view: View) -> str:
    where = visible(view.place(str(place.module.path), place.span.start))
    names = ", ".join(_names(place.site)) or "an unknown function"
    inside = place.site.scope.qualname
    options = "".join(f" {name}={value}" for name, value in _options(place.site))
    text = f"{place.site.wrapper.qualname} of {names}{f' in {inside}' if inside else ''}{options}"
    return f"{paint(where, Style.BOLD, color=view.color)}: {visible(text)}"


def _names(site: WrapSite) -> list[str]:
    return [function.scope.qualname for function in site.functions]


def _options(site: WrapSite) -> Iterator[tuple[str, str]]:
    for name, argument in site.options.items():
        moment = site.option_moments.get(name)
        module = moment.scope.module if moment else site.event.module
        yield name, " ".join(module.text_at(argument.value.at).split())


def _describe(place: Place, view: View) -> dict[str, Any]:
    span = place.span
    return {
        "filename": view.path(str(place.module.path)),
        "location": {"row": span.start.row, "column": span.start.column},
        "end_location": {"row": span.end.row, "column": span.end.column},
        "wrapper": place.site.wrapper.qualname,
        "form": place.site.form,
        "functions": _names(place.site),
        "targets": [target for body in place.site.bodies for target in _targets(body)],
        "scope": place.event.scope.qualname,
        "through": [
            {"filename": view.path(str(event.module.path)), "row": event.module.span(event.node.at).start.row}
            for event in (*place.site.via[1:], place.site.event)
        ]
        if place.site.via
        else [],
        "options": dict(_options(place.site)),
    }


def _targets(body: Value) -> Iterator[str]:
    """Yield the names of what runs inside a wrapped value; nothing for what is not known."""
    match body:
        case FunctionRef() | ClassRef():
            yield body.scope.qualname
        case Instance():
            yield from _targets(body.cls)
        case External() | Deferred():
            yield body.dotted
        case Result():
            yield f"{body.dotted}()"
        case Partial():
            yield from _targets(body.target)
        case Transformed():
            for inner in body.inner:
                yield from _targets(inner)
        case Wrapped():
            for inner in body.site.bodies:
                yield from _targets(inner)
