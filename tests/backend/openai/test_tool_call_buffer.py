"""Streaming of tool calls: what is passed on before the end, for every notation and every cut."""

import pytest

from backend.openai.chat.tools import ToolCallBuffer, split

TOOLS = [{"type": "function", "function": {"name": "add"}}]
TEXTS = {
    "hermes": 'Hi <b> <tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>',
    "function_xml": "Hi <tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
    "glm": "Hi <tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n</tool_call>",
    "gemma": "<|channel>thought\nhm<channel|>Hi<|tool_call>call:add{a:1}<tool_call|>",
    "python_list": "Hi <|tool_call_start|>[add(a=1)]<|tool_call_end|>",
    "harmony": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>Hi<|end|>"
    '<|start|>assistant<|channel|>commentary to=functions.add<|message|>{"a": 1}',
    "mistral": 'Hi [TOOL_CALLS]add[ARGS]{"a": 1}',
    "deepseek": 'Hi <｜tool▁call▁begin｜>add<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>',
    "llama": ' {"name": "add", "parameters": {"a": 1}}',
}


@pytest.mark.parametrize("notation", TEXTS)
@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_pieces_give_the_message_of_the_whole_text(notation: str, size: int) -> None:
    text = TEXTS[notation]
    content, calls = split(text, notation, TOOLS)
    buffer = ToolCallBuffer(notation, TOOLS)
    passed = "".join(buffer.push(text[start : start + size]) for start in range(0, len(text), size))
    rest, streamed = buffer.rest()
    assert [call.function.model_dump() for call in streamed] == [call.function.model_dump() for call in calls]
    assert [(call.function.name, call.function.arguments) for call in calls] == [("add", '{"a": 1}')]
    assert (passed + (rest or "")).strip() == (content or "")
    assert "<|" not in passed + (rest or "")


@pytest.mark.parametrize("notation", [None, *TEXTS])
def test_answers_without_calls_are_passed_on(notation: str | None) -> None:
    for text in ("Hello [1] <b> there", '{"name": "Ada"}', ""):
        buffer = ToolCallBuffer(notation, TOOLS)
        passed = "".join(map(buffer.push, text))
        rest, calls = buffer.rest()
        assert (passed + (rest or ""), calls) == (text, [])


def test_text_is_not_held_back_without_need() -> None:
    assert ToolCallBuffer("hermes").push("a <b") == "a <b"
    assert ToolCallBuffer("hermes").push("a <tool_") == "a "
    assert ToolCallBuffer("llama").push("Answer: {") == "Answer: {"
