"""Templates: substitutions and refusals."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reinforge.grading.errors import TemplateSyntaxError, UnresolvedVariable
from reinforge.grading.samples import make_sample
from reinforge.grading.templates import (
    MAX_VARIABLE_CHARACTERS,
    MAX_VARIABLES,
    Template,
    Variable,
    parse,
)

ITEM = {"answer": "132", "n": 7, "list": [1, {"x": "deep"}], "a b": "spaced", "none": None, "my-col": True}
TOOLS = [{"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}]


def render(text: str, completion: str = "hello", **extra: Any) -> str:
    return parse(text).render(ITEM, make_sample(completion, extra))


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{{item.answer}} = {{ sample.output_text }}", "132 = hello"),
        ("{{ item.n }}", "7"),
        ("{{ item.list }}", '[1, {"x": "deep"}]'),
        ("{{ item.list[1].x }} {{ item.list.0 }} {{ item.list[-1].x }}", "deep 1 deep"),
        ("{{ item[\"a b\"] }}{{ item['a b'] }}", "spacedspaced"),
        ("{{ item.my-col }} {{ item.none }}", "true null"),
        ('{"json": {"a": {}}} {single} }}', '{"json": {"a": {}}} {single} }}'),
        ("", ""),
    ],
)
def test_values(text: str, filled: str) -> None:
    assert render(text) == filled


def test_the_sample_has_what_openai_says() -> None:
    assert render("{{ sample.output_json.a[0] }}", '{"a": [3]}') == "3"
    assert render("{{ sample.output_tools[0].function.arguments }}", "", output_tools=TOOLS) == '{"a": 1}'
    assert render("{{ sample.choices[0].message.tool_calls[0].id }}", "", output_tools=TOOLS) == "1"
    assert render("{{ sample.choices[0].message.content }}") == "hello"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{ item.nope }}", r"item has no 'nope'; it has .*answer"),
        ("{{ item.list[5] }}", r"list of 2"),
        ("{{ item.answer.x }}", r"item.answer is text"),
        ("{{ sample.output_json.a }}", r"not JSON"),
        ("{{ sample.output_tools[0].x }}", r"list of 0"),
        ("{{ item.list.x }}", r"list of 2"),
    ],
)
def test_an_unresolved_path_is_an_error_that_says_what_is_there(text: str, says: str) -> None:
    with pytest.raises(UnresolvedVariable, match=says):
        render(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{ row.x }}", "neither `item`"),
        ("{{ item }}", "names no field"),
        ("{{ item.x", "not closed"),
        ("{{ item..x }}", "cannot be read after"),
        ("{{ item.x | upper }}", "cannot be read after"),
        ("{{ sample.text }}", "no {{ sample.text }}"),
        ("{{ }}", "neither `item`"),
        ("{{ item.__class__() }}", "cannot be read after"),
    ],
)
def test_what_cannot_be_read_is_refused_before_any_row(text: str, says: str) -> None:
    with pytest.raises(TemplateSyntaxError, match=says):
        parse(text)


def test_a_flood_is_refused() -> None:
    with pytest.raises(UnresolvedVariable, match="more than the limit"):
        render("{{ sample.output_text }}" * 2, "x" * 600_000)


@pytest.mark.parametrize("piece", ["{{", "{{ item.a", "{", "{{ item.a }"])
def test_openings_without_a_close_cost_one_pass(piece: str) -> None:
    """A quadratic search would not end."""
    with pytest.raises(TemplateSyntaxError, match="is not closed"):
        parse(piece * 1_000_000)


def test_variables_have_a_number_and_a_length() -> None:
    assert len(parse("{{ item.a }}" * MAX_VARIABLES).variables) == MAX_VARIABLES
    with pytest.raises(TemplateSyntaxError, match="more than 1,000 variables"):
        parse("{{ item.a }}" * (MAX_VARIABLES + 1))
    longest = "item." + "a" * (MAX_VARIABLE_CHARACTERS - 5)
    assert len(parse(f"{{{{{longest}}}}}").variables) == 1
    with pytest.raises(TemplateSyntaxError, match="is longer than 1,000 characters"):
        parse(f"{{{{{longest}a}}}}")


def test_what_a_completion_says_is_not_read_as_a_template() -> None:
    assert render("{{ sample.output_text }}", "{{ item.answer }}") == "{{ item.answer }}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(st.characters(categories=["L"]), min_size=1, max_size=5), JSON, min_size=1))
def test_every_column_can_be_reached_and_comes_back(item: dict[str, Any]) -> None:
    for key, value in item.items():
        text = parse("{{ item." + key + " }}").render(item, {})
        assert text == value if isinstance(value, str) else json.loads(text) == value


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        template = parse(text)
    except TemplateSyntaxError:
        return
    assert isinstance(template, Template)
    if not template.variables:
        assert template.render({}, {}) == text


@given(
    st.lists(st.integers(0, 5) | st.text(st.characters(categories=["L"]), min_size=1, max_size=4), min_size=1)
)
def test_a_variable_written_out_is_read_as_itself(path: list[int | str]) -> None:
    variable = Variable("item", tuple(path))
    assert parse(f"{{{{ {variable} }}}}").variables == (variable,)
