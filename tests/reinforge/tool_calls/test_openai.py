"""Calls of tools in a completion, as chat answers and `sample` have them."""

import json

import pytest

from reinforge.grading.samples import make_sample, tool_fields
from reinforge.grading.templates import parse
from reinforge.tool_calls import openai, prepared

CALL = '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>'


def test_calls_are_taken_out_of_the_text_in_their_order() -> None:
    rest, calls = openai.split(
        f'First.\n{CALL}\n<tool_call>{{"name": "now", "parameters": {{}}}}</tool_call> '
    )
    assert rest == "First."
    assert [(call.name, call.arguments) for call in calls] == [("add", {"a": 1}), ("now", {})]
    assert openai.split(CALL)[0] is None


def test_reasoning_stays_and_its_calls_are_text() -> None:
    text = f"<think>{CALL}</think>Now: {CALL}"
    assert openai.split(text)[0] == f"<think>{CALL}</think>Now:"
    assert len(openai.split(text)[1]) == 1
    assert openai.split(f"<think>{CALL}") == (f"<think>{CALL}", [])


@pytest.mark.parametrize(
    "text", ["", "a", "<tool_call>{}</tool_call>", "<tool_call>[</tool_call>", CALL[:-1]]
)
def test_what_is_no_call_stays_text(text: str) -> None:
    assert openai.split(text) == (text, [])
    assert tool_fields(text) == {}


def test_unreadable_calls_stay_text_beside_others() -> None:
    rest, calls = openai.split(f"<tool_call>{{</tool_call>{CALL}")
    assert rest == "<tool_call>{</tool_call>"
    assert [call.name for call in calls] == ["add"]


def test_brackets_without_end_stay_text() -> None:
    text = f"<tool_call>{'[' * 100_000}</tool_call>"
    assert openai.split(text) == (text, [])


def test_a_sample_has_the_calls_where_openai_has_them() -> None:
    sample = make_sample(f"So: {CALL}", tool_fields(f"So: {CALL}"))
    [choice], [call] = sample["choices"], sample["output_tools"]
    assert call == {"id": "call_0", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    assert choice["message"] == {"role": "assistant", "content": "So:", "tool_calls": [call]}
    assert choice["finish_reason"] == "tool_calls"
    assert sample["output_text"] == f"So: {CALL}"
    render = parse("{{ sample.output_tools[0].function.arguments }}").render
    assert json.loads(render({}, sample)) == {"a": 1}


def test_earlier_calls_get_their_arguments_as_objects() -> None:
    def message(arguments: object) -> dict[str, object]:
        return {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": arguments}}]}

    messages = [message('{"a": 1}'), message("no"), message("[1]"), {"role": "user", "content": "x"}]
    assert prepared(messages) == [message({"a": 1}), *messages[1:]]
    assert messages[0] == message('{"a": 1}')
