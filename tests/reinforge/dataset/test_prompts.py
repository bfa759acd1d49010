"""From rows to messages: roles, templates, refusals."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reinforge.dataset import ColumnRoles, DatasetError, PromptTemplate, check_roles, render_messages

USER = {"role": "user", "content": "hi"}


def content(row: dict[str, Any], **arguments: Any) -> str:
    messages = render_messages(row, **arguments)
    assert len(messages) == 1
    return str(messages[0]["content"])


def test_order_of_precedence() -> None:
    row = {"messages": [USER], "prompt": "p", "a": "from a", "b": [{"role": "user", "content": "from b"}]}
    both = ColumnRoles(prompt="a", messages="b")
    assert content(row) == "hi"
    assert content(row, roles=ColumnRoles(prompt="a")) == "from a"
    assert content(row, roles=both) == "from b"
    assert content(row, roles=both, template="<{a}>") == "<from a>"
    assert content(row | {"messages": None}) == "p"


def test_a_prompt_may_be_a_list_of_messages() -> None:
    system = {"role": "developer", "content": "Be brief."}
    assert render_messages({"prompt": [system, USER]}) == [system, USER]


def test_text_parts_are_joined_and_nulls_left_out() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}]
    message = {"role": "user", "content": parts, "name": "Ann", "tool_calls": None}
    assert render_messages({"messages": [message]}) == [{"role": "user", "content": "a\nb", "name": "Ann"}]


def test_a_conversation_with_tools() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    conversation = [
        USER,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "2", "tool_call_id": "1"},
    ]
    rendered = render_messages({"messages": conversation})
    assert rendered[1] == {"role": "assistant", "content": "", "tool_calls": [call]}
    assert rendered[2]["tool_call_id"] == "1"


def test_the_row_is_not_changed() -> None:
    row = {"messages": [dict(USER)]}
    render_messages(row, system_prompt="s")[1]["content"] = "changed"
    assert row == {"messages": [USER]}


@pytest.mark.parametrize("first", ["system", "developer"])
def test_the_system_prompt_yields_to_the_rows_own(first: str) -> None:
    row = {"messages": [{"role": first, "content": "own"}, USER]}
    assert render_messages(row, system_prompt="job's")[0]["content"] == "own"
    assert render_messages({"prompt": "x"}, system_prompt="job's")[0] == {
        "role": "system",
        "content": "job's",
    }


def test_a_template_inserts_whole_columns() -> None:
    row = {
        "question": "1+1?",
        "n": 3,
        "list": ["é", 1.5, None],
        "a.b": "dot",
        "with blank": "w",
        "flag": True,
    }
    template = "{question} {n} {list} {a.b} {with blank} {flag} {question}"
    assert content(row, template=template) == '1+1? 3 ["é", 1.5, null] dot w true 1+1?'
    assert PromptTemplate.parse(template).columns == ("question", "n", "list", "a.b", "with blank", "flag")


def test_braces() -> None:
    assert content({"q": "{x}"}, template="{q} in \\boxed{{}} {{q}} {{{q}}}") == "{x} in \\boxed{} {q} {{x}}"


@given(st.text(st.characters(exclude_characters="{}")), st.text(), st.text())
def test_values_are_never_read_as_templates(literal: str, one: str, two: str) -> None:
    assert PromptTemplate.parse(literal + "{a}{b}").render({"a": one, "b": two}) == literal + one + two


@pytest.mark.parametrize(("template", "column"), [("a {b", 3), ("a} {b}", 2), ("{}", 1), ("{a{b}}", 1)])
def test_templates_that_do_not_parse(template: str, column: int) -> None:
    with pytest.raises(DatasetError) as caught:
        render_messages({"b": 1}, template=template)
    error = caught.value
    assert (error.code, error.column, error.param) == ("invalid_template", column, "data.prompt_template")


@pytest.mark.parametrize("template", ["{a.__class__}", "{a[0]}", "{a!r}", "{a:>9}", "{0}", "{ a }"])
def test_a_template_reaches_no_attribute_index_or_format(template: str) -> None:
    with pytest.raises(DatasetError) as caught:
        check_roles(["a", "b"], template=template)
    assert (caught.value.code, caught.value.param) == ("unknown_column", "data.prompt_template")
    assert "Known columns: a, b." in (caught.value.hint or "")


def test_null_in_a_template_and_an_empty_result() -> None:
    for row, code in [({"a": None}, "missing_value"), ({"a": "  "}, "empty_prompt"), ({}, "unknown_column")]:
        with pytest.raises(DatasetError) as caught:
            render_messages(row, template="{a}")
        assert caught.value.code == code


@pytest.mark.parametrize("part", ["prompt", "messages", "answer", "slice"])
def test_a_role_that_names_no_column(part: str) -> None:
    with pytest.raises(DatasetError) as caught:
        check_roles(["prompt", "id"], ColumnRoles(**{part: "typo"}))
    error = caught.value
    assert (error.code, error.param, error.hint) == (
        "unknown_column",
        f"data.columns.{part}",
        "Known columns: prompt, id.",
    )


def test_a_dataset_without_a_prompt_needs_a_role_or_a_template() -> None:
    columns = ["question", "answer"]
    with pytest.raises(DatasetError) as caught:
        check_roles(columns)
    assert (caught.value.code, caught.value.param) == ("missing_prompt", "data.columns")
    check_roles(columns, ColumnRoles(prompt="question"))
    check_roles(columns, template="{question}")
    check_roles(["prompt"])
    check_roles(["messages"])


def test_a_fault_says_where_in_the_row_it_is() -> None:
    with pytest.raises(DatasetError) as caught:
        render_messages({"messages": [USER, {"role": "user", "content": [{"type": "text", "text": None}]}]})
    assert caught.value.path == ("messages", 1, "content", 0, "text")
    assert caught.value.line is None
