import pytest

from remat_lint.equivalence.example import (
    Array,
    Example,
    ExampleError,
    Group,
    Key,
    Literal,
    is_example,
    parse_example,
)


def test_arrays_keys_groups_and_literals_are_read():
    text = "# remat-lint: example(f32[4, 8], bool[], params={'w': bf16[8,], 0: (i32[3], [key])}, n=-3, p=.5, s=\"a b\", t=True, u=None)"
    assert parse_example(text) == Example(
        (Array("float32", (4, 8)), Array("bool", ())),
        (
            (
                "params",
                Group(
                    "dict",
                    (
                        Array("bfloat16", (8,)),
                        Group("tuple", (Array("int32", (3,)), Group("list", (Key(),)))),
                    ),
                    ("w", 0),
                ),
            ),
            ("n", Literal(-3)),
            ("p", Literal(0.5)),
            ("s", Literal("a b")),
            ("t", Literal(value=True)),
            ("u", Literal(None)),
        ),
    )


@pytest.mark.parametrize("text", ["#remat-lint:example()", "# remat-lint: example( ) "])
def test_an_example_may_be_empty(text):
    assert parse_example(text) == Example()


def test_brackets_alone_make_no_tuple():
    assert parse_example("# remat-lint: example((3), (3,), ())").args == (
        Literal(3),
        Group("tuple", (Literal(3),)),
        Group("tuple", ()),
    )


@pytest.mark.parametrize(
    "text", ["# remat-lint: ignore[RML101]", "# example(x=f32[2])", "# remat-lint: examples(x)", "#"]
)
def test_other_comments_are_no_examples(text):
    assert not is_example(text)
    with pytest.raises(ExampleError):
        parse_example(text)


@pytest.mark.parametrize(
    ("body", "marked", "message"),
    [
        ("(x=f31[4])", "f31", "'f31' is no dtype: write one of f16, bf16, f32"),
        ("(x=f32[4, d])", "d]", "a shape holds whole numbers"),
        ("(x=f32[-4])", "-4", "a shape holds whole numbers"),
        ("(x=f32[4.0])", "4.0", "a shape holds whole numbers"),
        ("(x=f32)", ")", r"expected `\[` after f32: a scalar is f32\[\]"),
        ("(x=__import__('os'))", "__import__", "'__import__' is no dtype"),
        ("(x=open)", "open", "'open' is no dtype"),
        ("(x=f32[4]", "", "expected `\\)` or `,`, found 'the end of the line'"),
        ("(x=f32[4]) # more", "# more", "unexpected character '#'"),
        ("(x=f32[4]) y", "y", "unexpected 'y' after the example"),
        ("(x=3, f32[4])", "f32", "a value without a name cannot follow"),
        ("(x=3, x=4)", "x=4", "'x' is given twice"),
        ("({'a': 1, 'a': 2})", "'a': 2", "the key 'a' is given twice"),
        ("({1.5: 2})", "1.5", "a key of a dict is a string or a whole number"),
        ("(s='a\\n')", "'a", "unexpected character"),
        ("(s='a)", "'a)", "unexpected character"),
        ("(x=f32[99999, 99999])", "f32", "at most 16777216 elements"),
        ("(n=123456789012345678901234567890)", "123456789012345678901234567890", "too long"),
        ("(p=1e999)", "1e999", "too large"),
        ("(lambda=3)", "lambda", "no name of a parameter"),
        ("(x=1 + 2)", "+", "unexpected character"),
        ("(,)", ",", "expected a value"),
        ("x=3)", "x", "expected `\\(` after `example`"),
    ],
)
def test_a_fault_is_told_with_its_column(body, marked, message):
    comment = f"# remat-lint: example{body if body[0] == '(' else ' ' + body}"
    with pytest.raises(ExampleError, match=message) as caught:
        parse_example(comment)
    assert caught.value.column == (comment.rindex(marked) + 1 if marked else len(comment) + 1), message


@pytest.mark.parametrize("text", ["(" * 10_000, "[" * 10_000, "{'a':" * 10_000])
def test_deep_nesting_is_refused(text):
    with pytest.raises(ExampleError, match="nested more than 20 deep"):
        parse_example("# remat-lint: example(" + text)


def test_digits_of_other_scripts_are_no_numbers():
    with pytest.raises(ExampleError):
        parse_example("# remat-lint: example(x=f32[\u0664])")
    with pytest.raises(ExampleError):
        parse_example("# remat-lint: example(n=\u00b2)")
