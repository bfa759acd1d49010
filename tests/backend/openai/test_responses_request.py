"""Requests of the Responses API as messages, their refusals, and answers as items and events."""

from typing import Any

import orjson
import pytest
from pydantic import ValidationError

from backend.openai.responses.request import chat_messages, chat_tools, check_responses_offered
from backend.openai.responses.response import event_frames, model_response
from reinforge.errors import ReinforgeError
from reinforge.schemas.agent_rollouts import ChatAnswer
from reinforge.schemas.openai_responses import ResponsesRequest

USER = {"role": "user", "content": "1+1="}
CALL = {"type": "function_call", "call_id": "c", "name": "f", "arguments": '{"a":1}', "id": "fc_1"}
RESULT = {"type": "function_call_output", "call_id": "c", "output": "2"}
TEXT = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Sum.", "annotations": []}],
}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "content": [{"type": "reasoning_text", "text": "r"}],
}
AS_CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
AS_RESULT = {"role": "tool", "tool_call_id": "c", "content": "2"}
SEARCH = {"type": "web_search", "user_location": None}


def request(input: Any = "1+1=", **fields: Any) -> ResponsesRequest:
    return ResponsesRequest.model_validate({"model": "policy", "input": input} | fields)


@pytest.mark.parametrize(
    ("body", "messages"),
    [
        (request(instructions="Add."), [{"role": "system", "content": "Add."}, USER]),
        (request([{"role": "user", "content": [{"type": "input_text", "text": "1+1="}]}]), [USER]),
        (
            request([USER, THOUGHT, TEXT, CALL, RESULT]),
            [
                USER,
                {"role": "assistant", "content": "Sum.", "reasoning_content": "r", "tool_calls": [AS_CALL]},
                AS_RESULT,
            ],
        ),
        (
            request([USER, THOUGHT, CALL, CALL | {"call_id": "d"}, RESULT, TEXT, USER]),
            [
                USER,
                {
                    "role": "assistant",
                    "content": "",
                    "reasoning_content": "r",
                    "tool_calls": [AS_CALL, AS_CALL | {"id": "d"}],
                },
                AS_RESULT,
                {"role": "assistant", "content": "Sum."},
                USER,
            ],
        ),
        (
            request([USER, THOUGHT | {"content": None, "encrypted_content": "x"}, TEXT, USER]),
            [USER, {"role": "assistant", "content": "Sum."}, USER],
        ),
        (
            request([USER, CALL, RESULT | {"output": [{"type": "input_text", "text": "2"}]}]),
            [USER, {"role": "assistant", "content": "", "tool_calls": [AS_CALL]}, AS_RESULT],
        ),
        (
            request([USER, CALL, RESULT | {"output": ""}]),
            [
                USER,
                {"role": "assistant", "content": "", "tool_calls": [AS_CALL]},
                AS_RESULT | {"content": ""},
            ],
        ),
    ],
)
def test_items_are_messages(body: ResponsesRequest, messages: list[dict[str, Any]]) -> None:
    assert chat_messages(body, chat_tools(body)) == messages


def test_tools_are_nested_as_in_chat_completions() -> None:
    tool = {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": None}
    nested = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    assert chat_tools(request(tools=[tool])) == [nested]
    assert chat_tools(request(tools=[tool], tool_choice="none")) is None


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"previous_response_id": "resp_1"}, "previous_response_id", "unsupported_parameter"),
        ({"conversation": "conv_1"}, "conversation", "unsupported_parameter"),
        ({"prompt": {"id": "pmpt_1"}}, "prompt", "unsupported_parameter"),
        ({"background": True}, "background", "unsupported_parameter"),
        ({"context_management": [{"type": "compaction"}]}, "context_management", "unsupported_parameter"),
        ({"top_logprobs": 2}, "top_logprobs", "unsupported_parameter"),
        ({"include": ["message.output_text.logprobs"]}, "include", "unsupported_parameter"),
        ({"moderation": {"model": "m"}}, "moderation", "unsupported_parameter"),
        ({"tool_choice": "required"}, "tool_choice", "unsupported_parameter"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "tool_choice", "unsupported_parameter"),
        ({"text": {"format": {"type": "json_object"}}}, "text.format", "unsupported_parameter"),
        ({"truncation": "auto"}, "truncation", "unsupported_parameter"),
        ({"tools": [SEARCH]}, "tools[0].type", "unsupported_parameter"),
        ({"tools": [{"type": "function", "name": ""}]}, "tools[0]", "invalid_tools"),
        ({"input": [USER, {"type": "item_reference", "id": "x"}]}, "input[1].type", "unsupported_parameter"),
        ({"input": [USER, TEXT]}, "input[1]", "last_message"),
        ({"input": [{"role": "user", "content": ""}]}, "input[0].content", "empty_prompt"),
        (
            {"instructions": "Add.", "input": [{"role": "user", "content": [{"type": "input_image"}]}]},
            "input[0].content[0]",
            "unsupported_content",
        ),
        ({"input": [USER] * 2001}, "input", "too_many_messages"),
        ({"input": "1" * 2_000_001}, "input", "context_length_exceeded"),
    ],
)
def test_what_is_refused(fields: dict[str, Any], param: str, code: str) -> None:
    body = request(**fields)
    with pytest.raises(ReinforgeError) as refusal:
        check_responses_offered(body)
        chat_messages(body, chat_tools(body))
    assert (refusal.value.param, refusal.value.code) == (param, code)
    assert refusal.value.hint or code in ("too_many_messages", "context_length_exceeded")


@pytest.mark.parametrize("field", ["n", "stop", "presence_penalty", "logit_bias", "seed", "response_format"])
def test_fields_of_another_api_are_refused_by_name(field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        request(**{field: 1})


def answered(finish: Any = "stop", **message: Any) -> Any:
    answer = ChatAnswer(
        message={"role": "assistant", "content": None} | message,
        finish_reason=finish,
        prompt_tokens=3,
        completion_tokens=2,
    )
    return model_response(request(instructions="Add.", metadata={"a": "b"}), answer)


def test_an_answer_is_reasoning_then_text_then_calls() -> None:
    call = {"id": "call_0_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    response = answered("tool_calls", content="Sum.", reasoning_content="r", tool_calls=[call])
    assert [item.type for item in response.output] == ["reasoning", "message", "function_call"]
    assert (response.output[2].call_id, response.output[2].arguments) == ("call_0_0", "{}")
    assert (response.status, response.incomplete_details) == ("completed", None)
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (
        3,
        2,
        5,
    )
    assert [item.type for item in answered("tool_calls", tool_calls=[call]).output] == ["function_call"]
    assert [item.content[0].text for item in answered(content="").output] == [""]


def test_an_answer_that_was_cut_off_is_incomplete() -> None:
    response = answered("length", content="Su")
    assert (response.status, response.output[0].status) == ("incomplete", "incomplete")
    assert response.incomplete_details.reason == "max_output_tokens"
    frames = b"".join(event_frames(response)).decode().strip().split("\n\n")
    assert frames[-1].startswith("event: response.incomplete\n")


def test_a_stream_adds_up_to_the_response() -> None:
    call = {"id": "call_0_0", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    response = answered("tool_calls", content="Sum.", reasoning_content="r", tool_calls=[call])
    frames = b"".join(event_frames(response)).decode().strip().split("\n\n")
    events = [orjson.loads(frame.partition("\ndata: ")[2]) for frame in frames]
    assert [frame.partition("\n")[0] for frame in frames] == [f"event: {event['type']}" for event in events]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    begun, whole = events[0]["response"], events[-1]["response"]
    assert (begun["status"], begun["output"], whole) == ("in_progress", [], response.model_dump())
    deltas = {event["type"]: event["delta"] for event in events if "delta" in event}
    assert deltas == {
        "response.reasoning_text.delta": "r",
        "response.output_text.delta": "Sum.",
        "response.function_call_arguments.delta": '{"a":1}',
    }
    done = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    assert done == whole["output"]
