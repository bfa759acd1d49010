"""Schemas are what the source says, without running it; what has no schema is refused with file, line and remedy."""

from typing import Any

import pytest

from reinforge.tools import ToolSourceError, check_arguments, schemas_of, unique_schemas

ADD = '''
from typing import Annotated, Literal, Optional
import math

print("never run")

def add(
    a: int,
    b: "float" = 2,
    *,
    unit: Literal["m", "s"] = "m",
    tags: Optional[list[str]] = None,
    counts: dict[str, int] | None = None,
    note: Annotated[str, "A note."] = "",
    state: dict,
    item: dict,
) -> int:
    """Add two numbers.

    Use it for sums.

    Args:
        a: The first number,
            an integer.
        b (float): The second number.

    Returns:
        The sum.
    """

def _helper(x): ...
'''

CLASS = '''
class _Base:
    def reset(self): ...

class Wordle(_Base):
    def __init__(self): ...
    def reset(self, **row): ...
    def guess(self, word: str) -> str:
        """Guess the word."""
    @property
    def tries(self): ...
    def get_reward(self): ...
'''


def parameters(hint: str) -> Any:
    (schema,) = schemas_of(f'def f(x: {hint}):\n    """Doc."""')
    return schema.function.parameters["properties"]["x"]


def test_a_function_with_all_kinds_of_parameters() -> None:
    (schema,) = schemas_of(ADD)
    text = {"type": "string"}
    assert schema.model_dump() == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.\n\nUse it for sums.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "The first number, an integer."},
                    "b": {"type": "number", "description": "The second number.", "default": 2},
                    "unit": {"type": "string", "enum": ["m", "s"], "default": "m"},
                    "tags": {"anyOf": [{"type": "array", "items": text}, {"type": "null"}], "default": None},
                    "counts": {
                        "anyOf": [
                            {"type": "object", "additionalProperties": {"type": "integer"}},
                            {"type": "null"},
                        ],
                        "default": None,
                    },
                    "note": {"type": "string", "description": "A note.", "default": ""},
                },
                "required": ["a"],
                "additionalProperties": False,
            },
        },
    }


def test_a_class_offers_its_public_methods() -> None:
    (schema,) = schemas_of(CLASS, kind="class")
    assert schema.name == "guess"
    assert schema.function.parameters["required"] == ["word"]


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        ("bool", {"type": "boolean"}),
        ("list", {"type": "array"}),
        ("list[list[int]]", {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}),
        ("typing.Literal[1, 2]", {"type": "integer", "enum": [1, 2]}),
        ("Literal['a', None]", {"enum": ["a", None]}),
        ("int | int", {"type": "integer"}),
        ("Union[int, str, None]", {"anyOf": [{"type": t} for t in ("integer", "string", "null")]}),
        ("Any", {}),
    ],
)
def test_hints(hint: str, schema: dict[str, Any]) -> None:
    assert parameters(hint) == schema


@pytest.mark.parametrize(
    ("source", "kind", "code", "line"),
    [
        ("def f(x):\n    '''Doc.'''", "functions", "tool_without_hint", 1),
        ("\ndef f(x: set[int]):\n    '''Doc.'''", "functions", "tool_hint_unsupported", 2),
        ("def f(x: dict[int, str]):\n    '''Doc.'''", "functions", "tool_hint_unsupported", 1),
        ("def f(x: 'not a hint ('):\n    '''Doc.'''", "functions", "tool_hint_unsupported", 1),
        (f"def f(x: {'list[' * 40}int{']' * 40}):\n    '''Doc.'''", "functions", "tool_hint_unsupported", 1),
        ("def f(x: int): ...", "functions", "tool_without_docstring", 1),
        ("def f(x: int):\n    '''Args:\n        x: a number'''", "functions", "tool_without_docstring", 1),
        ("def f(*x: int):\n    '''Doc.'''", "functions", "tool_takes_any_arguments", 1),
        ("def f(**x: int):\n    '''Doc.'''", "functions", "tool_takes_any_arguments", 1),
        ("def f(x: int, /):\n    '''Doc.'''", "functions", "tool_takes_positions", 1),
        ("async def f(x: int):\n    '''Doc.'''", "functions", "tool_is_async", 1),
        ("def f():\n    '''Doc.'''\ndef f():\n    '''Doc.'''", "functions", "tool_name_twice", 3),
        ("def é():\n    '''Doc.'''", "functions", "tool_name_invalid", 1),
        ("def _f(): ...\nimport math", "functions", "no_tools", None),
        ("def reply(messages, item): ...", "functions", "no_tools", None),
        ("def f(:", "functions", "tool_syntax_error", 1),
        ("x = " + "(" * 5000 + ")" * 5000, "functions", "tool_syntax_error", None),
        ("#" * (256 << 10) + "\n", "functions", "tool_source_too_large", None),
        ("class A:\n    def go(self):\n        '''Doc.'''", "class", "tool_class_without_reset", 1),
        ("def f():\n    '''Doc.'''", "class", "no_tools", None),
        ("class A:\n    def reset(self): ...", "class", "no_tools", None),
        ("class A:\n def reset(self): ...\nclass B:\n def reset(self): ...", "class", "tool_class_ambiguous", 3),
    ],
)  # fmt: skip
def test_what_has_no_schema_is_refused_with_a_remedy(
    source: str, kind: Any, code: str, line: int | None
) -> None:
    with pytest.raises(ToolSourceError) as refused:
        schemas_of(source, file="my_tools.py", kind=kind)
    error = refused.value
    assert error.code == code and error.hint and error.message.startswith("my_tools.py")
    if line is not None:
        assert error.line == line and f"my_tools.py, line {line}: " in error.message


def test_names_are_unique_over_sources() -> None:
    schemas = schemas_of(ADD)
    with pytest.raises(ToolSourceError, match=r"b\.py: the tool add is also in a\.py") as refused:
        unique_schemas({"a.py": schemas, "b.py": schemas})
    assert refused.value.code == "tool_name_twice"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"a": 1}, None),
        ({"a": 1, "b": 2, "unit": "s", "tags": None, "counts": {"k": 1}}, None),
        ({}, "add: the argument a is missing."),
        ({"a": "1"}, 'add: a is "1"; expected an integer.'),
        ({"a": True}, "add: a is true; expected an integer."),
        ({"a": 1, "unit": "km"}, 'add: unit is "km"; expected one of "m", "s".'),
        ({"a": 1, "tags": [1]}, "add: tags is [1]; expected a list or null."),
        ({"a": 1, "counts": {"k": "v"}}, 'add: counts is {"k": "v"}; expected an object or null.'),
        ({"a": 1, "units": "m"}, "add: there is no argument units. Did you mean unit?"),
        ({"a": 1, "state": {}}, "add: there is no argument state. Known: a, b, counts, note, tags, unit."),
        ({"a": 1, "b": float("nan")}, "add: b is nan, which is no JSON number."),
        ([], "The arguments of add are a JSON object, not a list."),
        (None, "The arguments of add are a JSON object, not null."),
    ],
)
def test_arguments_are_checked_with_a_message_for_the_model(arguments: Any, problem: str | None) -> None:
    assert check_arguments(schemas_of(ADD)[0], arguments) == problem


def test_deep_arguments_are_refused_and_foreign_schemas_bite_nothing() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    schema = schemas_of('def f(x: list):\n    """Doc."""')[0]
    assert "nested" in (check_arguments(schema, {"x": deep}) or "")
    strange = {"type": ["object", 3], "properties": {"x": 7}, "required": [None], "additionalProperties": 1}
    function = schema.function.model_copy(update={"parameters": strange})
    assert check_arguments(schema.model_copy(update={"function": function}), {"x": 1, "y": 2}) is None
