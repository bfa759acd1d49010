"""The formula parser against Python's own arithmetic."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reinforge.grading.errors import FormulaError
from reinforge.grading.formula import MAX_CHARACTERS, parse

NAMES = ("a", "b", "exact_match", "min")
NUMBERS = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


def literal(value: float) -> str:
    return repr(abs(value))


def expressions() -> st.SearchStrategy[str]:
    """Formulas as people write them, with ^ for powers."""
    leaves = st.one_of(NUMBERS.map(literal), st.sampled_from(NAMES))

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.one_of(
            st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "^"]), inner).map(" ".join),
            inner.map(lambda text: f"({text})"),
            st.tuples(st.sampled_from("+-"), inner).map("".join),
            st.tuples(st.sampled_from(["abs", "floor", "ceil", "exp", "sqrt", "log"]), inner).map(
                lambda pair: f"{pair[0]}({pair[1]})"
            ),
            st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
                lambda three: f"{three[0]}({three[1]}, {three[2]})"
            ),
        )

    return st.recursive(leaves, larger, max_leaves=12)


def pythons(text: str, numbers: dict[str, float]) -> float | None:
    """The same by Python; None where it has no finite value."""

    def strict(value: float) -> float:
        if isinstance(value, complex) or not math.isfinite(value):
            raise ValueError(value)
        return float(value)

    class Number(float):
        """A float whose every step is finite, as in our formulas."""

    for name in ("add", "sub", "mul", "truediv", "pow"):
        operation = getattr(float, f"__{name}__")
        setattr(Number, f"__{name}__", lambda a, b, op=operation: Number(strict(op(a, b))))
    Number.__neg__ = lambda a: Number(float.__neg__(a))  # type: ignore[method-assign]
    Number.__pos__ = lambda a: Number(a)  # type: ignore[method-assign]
    scope: dict[str, object] = {
        name: (lambda *xs, f=getattr(math, name, None) or {"abs": abs}[name]: Number(strict(float(f(*xs)))))
        for name in ("abs", "floor", "ceil", "exp", "sqrt", "log")
    }
    scope |= {"N": Number, "max": lambda a, b: Number(max(a, b)), "__builtins__": {}}
    # A key may be called like a function: what stands before a parenthesis is the function.
    scope |= {"min": lambda a, b: Number(min(a, b))}
    scope |= {f"v_{name}": Number(value) for name, value in numbers.items()}
    source = re.sub(r"\d+\.?\d*(?:e[+-]?\d+)?", lambda m: f"N({m[0]})", text.replace("^", "**"))
    source = re.sub(r"\b(a|b|exact_match|min)\b(?!\()", r"v_\1", source)
    try:
        return strict(eval(source, scope))
    except (ValueError, OverflowError, ZeroDivisionError):
        return None


@given(expressions(), st.lists(NUMBERS, min_size=4, max_size=4))
def test_it_computes_what_python_computes(text: str, values: list[float]) -> None:
    numbers = dict(zip(NAMES, values, strict=True))
    expected = pythons(text, numbers)
    try:
        value: float | None = parse(text).value(numbers)
    except FormulaError:
        value = None
    assert value == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-2 ^ 2", -4), ("2 ^ 3 ^ 2", 512), ("2 ^ -1", 0.5), ("8 / 4 / 2", 1), ("1 - 2 - 3", -4), (".5e1 * 2", 10),
        ("min(3, 1, 2) + max(1)", 2), ("floor(-0.5) + ceil(0.2)", 0), ("((1))", 1), ("+ - + 1", -1),
    ],
)  # fmt: skip
def test_precedence(text: str, value: float) -> None:
    assert parse(text).value({}) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the end"), ("1 +", "missing"), ("1 2", "operator"), ("(1", "closing"), ("1)", "no match"),
        ("a ** 2", r"write a power as \^"), ("sin(1)", "no function sin"), ("sqrt(1, 2)", "takes one number"),
        ("a.b", "cannot be read"), ("__import__('os')", "cannot be read"), ("1e999", "too large"),
        ("(" * 200 + "1" + ")" * 200, "nested"), ("-" * 500 + "1", "nested"),
        ("1" * (MAX_CHARACTERS + 1), "characters"),
        ("a; b", "cannot be read"), ("a < b", "cannot be read"), ("max()", "missing"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_named(text: str, says: str) -> None:
    with pytest.raises(FormulaError, match=says):
        parse(text)


@pytest.mark.parametrize(
    "text", ["1 / 0", "log(0)", "sqrt(-1)", "exp(1e4)", "(-8) ^ 0.5", "0 ^ -1", "1e308 * 10"]
)
def test_no_finite_value_is_an_error_and_never_a_number(text: str) -> None:
    with pytest.raises(FormulaError, match=r"value"):
        parse(text).value({})


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except FormulaError as error:
        assert str(error)
