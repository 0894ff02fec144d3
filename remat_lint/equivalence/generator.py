"""From a function of a file to the test that checks it; reads text and runs nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from remat_lint.equivalence.example import Example, ExampleError, is_example, parse_example
from remat_lint.equivalence.inputs import Reader, arrange, find_names
from remat_lint.equivalence.template import TestPlan, render_test
from remat_lint.errors import UsageError
from remat_lint.facts import nodes as n
from remat_lint.findings import Span
from remat_lint.project.traversal import walk
from remat_lint.source.chunks import split
from remat_lint.source.comments import Comment
from remat_lint.source.text import SourceError, read_source

_PROJECT_MARKERS = ("pyproject.toml", "remat-lint.toml", ".git")


@dataclass(frozen=True)
class GeneratedTest:
    """A test file that is not written yet.

    Attributes:
        path: its place.
        text: its text.
        blank: its text as it is while no inputs are known; a file that holds this holds nobody's work.
        missing: what to supply, if no inputs are known.
    """

    path: Path
    text: str
    blank: str
    missing: str


@dataclass(frozen=True)
class _Program:
    """One file: its statements, the place of every node, and its comments by row."""

    body: tuple[n.Statement, ...]
    spans: dict[int, Span]
    comments: dict[int, Comment]


def _read_program(file: Path) -> _Program:
    import libcst as cst  # noqa: PLC0415 - start-up

    from remat_lint.facts.positions import locate  # noqa: PLC0415 - start-up
    from remat_lint.facts.walker import Walker  # noqa: PLC0415 - start-up

    body: list[n.Statement] = []
    spans: dict[int, Span] = {}
    comments: dict[int, Comment] = {}
    try:
        chunks = split(read_source(file).text)
        for chunk in chunks:
            tree = cst.parse_module(chunk.text)
            first = len(spans)
            body += Walker(first).module(tree)
            spans |= {first + at: span for at, span in enumerate(locate(tree, chunk.row))}
            comments |= {comment.row: comment for comment in chunk.comments}
    except SourceError as error:
        raise UsageError(f"{file} cannot be read: {error}") from error
    except (cst.ParserSyntaxError, RecursionError) as error:
        raise UsageError(f"{file} cannot be parsed") from error
    return _Program(tuple(body), spans, comments)


def _find_function(body: tuple[n.Statement, ...], name: str) -> n.Function | n.Class | None:
    """The last top-level definition of a name, or a method by its dotted name."""
    first, _, rest = name.partition(".")
    found = [item for item in body if isinstance(item, n.Function | n.Class) and item.name == first]
    if not found:
        return None if rest else _find_wrapped(body, first)
    last = found[-1]
    if not rest:
        return last
    return _find_function(last.body, rest) if isinstance(last, n.Class) else None


def _find_wrapped(body: tuple[n.Statement, ...], name: str) -> n.Function | None:
    """The function behind `name = jax.checkpoint(function, ...)`, under the new name."""
    for item in reversed(body):
        if not isinstance(item, n.Bind) or not isinstance(item.value, n.Call) or not item.value.args:
            continue
        wrapped = item.value.args[0].value
        if isinstance(item.targets[0], n.Name) and item.targets[0].id == name and isinstance(wrapped, n.Name):
            function = _find_function(body, wrapped.id) if wrapped.id != name else None
            return replace(function, name=name) if isinstance(function, n.Function) else None
    return None


def _find_comment(program: _Program, function: n.Function) -> Comment | None:
    """The example on the header of a definition, on a decorator, or in the comments right above."""
    name_row = program.spans[function.name_at].start.row
    first = min([name_row, *(program.spans[one.at].start.row for one in function.decorators)])
    above = first - 1
    while (comment := program.comments.get(above)) is not None and comment.alone:
        above -= 1
    rows = range(name_row, above, -1)
    return next(
        (c for row in rows if (c := program.comments.get(row)) is not None and is_example(c.text)), None
    )


def _split_scope(root: object) -> tuple[list[object], list[n.Function]]:
    """The nodes of a scope, and the functions right in it, whose names are their own."""
    nested: list[n.Function] = []

    def enter(node: object) -> bool:
        if not isinstance(node, n.Function) or node is root:
            return True
        nested.append(node)
        return False

    return [node for node in walk(root, enter) if node is not root], nested


def _bound_names(node: object) -> Iterator[str]:
    """Names that a node binds, in whatever way."""
    targets: tuple[object, ...] = ()
    if isinstance(node, n.Bind):
        targets = node.targets
    elif isinstance(node, n.Loop | n.Clause):
        targets = (node.target,)
    elif isinstance(node, n.With):
        targets = tuple(target for _, target in node.items)
    elif isinstance(node, n.Handler):
        targets = (node.name,)
    elif isinstance(node, n.Arm):
        targets = node.binds
    elif isinstance(node, n.Parameter | n.Function | n.Class):
        yield node.name
    elif isinstance(node, n.Alias):
        yield node.bound
    for target in targets:
        yield from (one.id for one in walk(target) if isinstance(one, n.Name))


def _bind(nodes: Sequence[object], outer: Mapping[str, n.Expression]) -> dict[str, n.Expression]:
    """Values that names have in a scope: those of one plain assignment, and those of the scope around."""
    counts = Counter(name for node in nodes for name in _bound_names(node))
    own = {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, n.Bind)
        and node.how == "assign"
        and node.value
        and isinstance(node.targets[0], n.Name)
    }
    kept = {name: value for name, value in outer.items() if name not in counts}
    return kept | {name: value for name, value in own.items() if counts[name] == 1}


def _find_calls(
    root: object, function: n.Function, outer: Mapping[str, n.Expression]
) -> Iterator[tuple[n.Call, Mapping[str, n.Expression]]]:
    """Calls of a function outside itself, each with the values of the names in sight."""
    nodes, nested = _split_scope(root)
    values = _bind([*nodes, *nested], outer)
    for node in nodes:
        if isinstance(node, n.Call) and isinstance(node.func, n.Name) and node.func.id == function.name:
            yield node, values
    for inner in nested:
        if inner.at != function.at:
            yield from _find_calls(inner, function, values)


def _find_inputs(program: _Program, function: n.Function) -> tuple[Example | None, str]:
    comment = _find_comment(program, function)
    if comment is not None:
        try:
            example = arrange(parse_example(comment.text), function.parameters)
        except ExampleError as error:
            raise ExampleError(error.message, error.column, comment.row) from error
        if example is None:
            raise ExampleError(f"the example does not fit the parameters of {function.name}", 1, comment.row)
        return example, f"the example comment in line {comment.row}"
    names = find_names(program.body)
    shared = {name for node in walk(program.body) if isinstance(node, n.Declare) for name in node.names}
    for call, values in _find_calls(program.body, function, {}):
        known = {name: value for name, value in values.items() if name not in shared}
        example = Reader(names, known).read_call(call, function)
        if example is not None:
            return example, f"the call in line {program.spans[call.at].start.row}"
    if all(p.default is not None or p.kind in ("star", "double-star") for p in function.parameters):
        return Example(), "none, it can be called without arguments"
    return Reader(names, {}).read_annotations(function), "the annotations of its parameters"


def _ask_for_inputs(function: n.Function | n.Class, name: str) -> str:
    if isinstance(function, n.Class) or "." in name:
        return (
            f"remat-lint: {name} needs an object: write a top-level function that makes it and calls it, with "
            "`# remat-lint: example(x=f32[4, 8])` above its def, and generate its test"
        )
    names = [
        p.name for p in function.parameters if p.default is None and p.kind not in ("star", "double-star")
    ]
    shown = ", ".join(f"{one}=f32[4, 8]" for one in names)
    return f"remat-lint: no inputs of {name} are known: write `# remat-lint: example({shown})` above its def and generate again"


def _find_root(file: Path) -> Path:
    for folder in file.parents:
        if any((folder / marker).exists() for marker in _PROJECT_MARKERS):
            return folder
    return file.parent


def plan_test(file: Path, name: str, target: str) -> TestPlan:
    """Decides what the test of a function is given.

    Inputs come from an example comment on or above the definition, else from a call with literal shapes in the file,
    else from annotations.

    Args:
        file: the Python file.
        name: a top-level function; it may call checkpointed code in any depth.
        target: how the test is to name the function.

    Raises:
        UsageError: if the file cannot be read or has no such function.
        ExampleError: if the example comment cannot be read.
    """
    program = _read_program(file)
    function = _find_function(program.body, name)
    if function is None:
        raise UsageError(f"{file} defines no function {name!r}")
    blank = TestPlan(target, name, "none are known", None, missing=_ask_for_inputs(function, name))
    if isinstance(function, n.Class) or "." in name:
        return blank
    example, origin = _find_inputs(program, function)
    if example is None:
        return blank
    parameters = tuple(p.name for p in function.parameters if p.kind in ("positional", "positional-only"))
    return replace(blank, origin=origin, example=example, parameters=parameters)


def generate(file: Path, name: str, out_dir: Path | None = None) -> GeneratedTest:
    """Makes the test of a function; nothing is written and nothing is run.

    Args:
        file: the Python file.
        name: the function, which may be any that calls checkpointed code.
        out_dir: folder for the test; the project's `tests` by default.

    Raises:
        UsageError: if the file cannot be read or has no such function.
        ExampleError: if the example comment cannot be read.
    """
    file = file.resolve()
    root = _find_root(file)
    folder = (root / "tests") if out_dir is None else out_dir.resolve()
    place = file.relative_to(root) if folder.is_relative_to(root) else Path(os.path.relpath(file, folder))
    plan = plan_test(file, name, f"{place.as_posix()}:{name}")
    blank = replace(plan, origin="none are known", example=None)
    return GeneratedTest(
        folder / f"test_remat_{file.stem}_{name.replace('.', '_')}.py",
        render_test(plan),
        render_test(blank),
        plan.missing.removeprefix("remat-lint: ") if plan.example is None else "",
    )
