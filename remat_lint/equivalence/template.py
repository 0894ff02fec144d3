"""The text of a generated test.

Names, comments and shapes of the source reach this text only as checked identifiers, through `repr`, or as values of
the example grammar.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from remat_lint.equivalence.example import Array, Example, Group, Key, Literal, Value


@dataclass(frozen=True, slots=True)
class TestPlan:
    """What a test is to check.

    Attributes:
        target: `path/to/file.py:owner`, as the test is to name it.
        name: the function's name, part of the test's name; dots are allowed.
        origin: where the inputs come from, in words of ours.
        example: the inputs, or None if none are known.
        parameters: names of the positional parameters, for comments and for the message that asks for inputs.
        missing: what to supply where no inputs are known.
    """

    __test__ = False

    target: str
    name: str
    origin: str
    example: Example | None
    parameters: tuple[str, ...] = ()
    missing: str = ""


def _arrays(value: Value) -> Iterator[Array]:
    if isinstance(value, Array):
        yield value
    elif isinstance(value, Group):
        for item in value.items:
            yield from _arrays(item)


def _values(example: Example) -> list[Value]:
    return [*example.args, *(value for _, value in example.kwargs)]


def find_batch(example: Example) -> int | None:
    """The size of the batch axis: the leading axis of direct array arguments whose size is no other axis's.

    An axis that could as well be one of features is not taken: a case with a wrong shape would verify nothing.
    """
    direct = [value for value in _values(example) if isinstance(value, Array)]
    arrays = [array for value in _values(example) for array in _arrays(value)]
    others = {size for array in arrays for size in array.shape[1:]}
    leading = [array.shape[0] for array in direct if len(array.shape) > 1 and array.shape[0] not in others]
    if not leading and direct and all(len(array.shape) <= 1 for array in arrays):
        sizes = {array.shape[0] for array in arrays if array.shape}
        leading = sorted(sizes) if len(sizes) == 1 else []
    return leading[0] if leading and leading[0] > 1 else None


def _render(value: Value, batch: int | None) -> str:
    match value:
        case Array(dtype, shape):
            sizes = ["batch" if at == 0 and size == batch else str(size) for at, size in enumerate(shape)]
            text = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
            return f"array({text})" if dtype == "float32" else f"array({text}, {dtype!r})"
        case Key():
            return "key()"
        case Literal(plain):
            return repr(plain)
        case Group(kind, items, keys):
            inner = [_render(item, batch) for item in items]
            if kind == "dict":
                pairs = zip(keys, inner, strict=True)
                return f"{{{', '.join(f'{name!r}: {text}' for name, text in pairs)}}}"
            if kind == "list":
                return f"[{', '.join(inner)}]"
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"


def _render_inputs(plan: TestPlan, example: Example, batch: int | None) -> Iterator[str]:
    yield f"def make_inputs({'' if batch is None else f'batch={batch}'}):"
    yield "    args = ("
    for at, value in enumerate(example.args):
        comment = f"  # {plan.parameters[at]}" if at < len(plan.parameters) else ""
        yield f"        {_render(value, batch)},{comment}"
    yield "    )"
    pairs = [f"{name!r}: {_render(value, batch)}" for name, value in example.kwargs]
    yield f"    return args, {{{', '.join(pairs)}}}"


def _render_test(plan: TestPlan, example: Example) -> Iterator[str]:
    batch = find_batch(example)
    arrays = [array for value in _values(example) for array in _arrays(value)]
    text = "\n".join(_render_inputs(plan, example, batch))
    used = [name for name in ("array", "key") if f"{name}(" in text]
    cases = {"standard": "make_inputs()"}
    if batch is not None:
        cases["single"] = "make_inputs(batch=1)"
    if arrays:
        cases["zeros"] = "zeros(make_inputs())"
        used.append("zeros")
    yield "import pytest"
    yield ""
    yield f"from remat_lint.testing import {', '.join(sorted([*used, 'check_equivalence']))}"
    yield ""
    yield f"TARGET = {plan.target!r}"
    yield ""
    yield ""
    yield text
    yield ""
    yield ""
    yield "CASES = {"
    yield from (f"    {name!r}: {made}," for name, made in cases.items())
    yield "}"
    yield ""
    yield ""
    yield "@pytest.mark.parametrize('case', CASES)"
    yield f"def test_{_identifier(plan.name)}_computes_the_same_with_checkpoints(case):"
    yield "    args, kwargs = CASES[case]"
    yield "    check_equivalence(TARGET, args, kwargs)"


def _render_skip(plan: TestPlan) -> Iterator[str]:
    yield "import pytest"
    yield ""
    yield f"TARGET = {plan.target!r}"
    yield ""
    yield ""
    yield f"@pytest.mark.skip(reason={plan.missing!r})"
    yield f"def test_{_identifier(plan.name)}_computes_the_same_with_checkpoints():"
    yield "    raise AssertionError('there are no inputs yet')"


def _identifier(name: str) -> str:
    made = name.replace(".", "_")
    if not made.isidentifier():
        raise ValueError(f"{name!r} is no name of a function")
    return made


def render_test(plan: TestPlan) -> str:
    """The test file: short, for people to read and to edit; equal plans give equal text.

    Raises:
        ValueError: if the plan's name is no Python name.
    """
    doc = (
        f'"""Does `{_identifier(plan.name)}` compute the same with its checkpoints as without them?\n\n'
        "Compared are trees, shapes, dtypes, finiteness, outputs and gradients leaf by leaf, eager and compiled.\n"
        f'Inputs: {plan.origin}.\n"""\n\n'
    )
    lines = _render_skip(plan) if plan.example is None else _render_test(plan, plan.example)
    return doc + "\n".join(lines) + "\n"
