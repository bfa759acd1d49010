"""Reading of Hermes calls, and what cannot be read."""

import pytest

from reinforge.tool_calls import read

CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [null, 1.5, "x"]}}\n</tool_call>'


def test_content_reasoning_and_calls_are_separated() -> None:
    message = read(f"<think>\nlong\n</think>\n\nI add.\n{CALL}\n{CALL}<|im_end|>", "hermes")
    assert (message.content, message.reasoning) == ("I add.", "long")
    assert [call.arguments for call in message.calls] == [{"a": 1, "b": [None, 1.5, "x"]}] * 2
    assert message.calls[0].raw == CALL


def test_reasoning_may_begin_in_the_prompt_and_stop_without_an_end() -> None:
    assert read("long</think>short", "hermes").reasoning == "long"
    cut = read(f"<think>{CALL}", "hermes")
    assert (cut.content, cut.calls) == ("", ())


@pytest.mark.parametrize(
    ("inner", "error"),
    [
        ("{", "not valid JSON"),
        ("[]", "not a JSON object"),
        ('{"name": 1}', 'no "name"'),
        ('{"name": "f", "arguments": [1]}', "not an object"),
        ('{"name": "f", "arguments": {"a": NaN}}', "NaN"),
        ('{"name": "f", "arguments": {"a": 1e999}}', "too large"),
        ('{"name": "f", "arguments": {"a": "\\ud800"}}', "surrogate"),
        ('{"name": "f", "arguments": {"a": 1, "a": 2}}', "twice"),
        (f'{{"name": "f", "arguments": {{"a": {"1" * 5000}}}}}', "too long"),
        (f'{{"name": "f", "arguments": {{"a": {"[" * 70}{"]" * 70}}}}}', "levels"),
        (f'{{"name": "f", "arguments": {{"a": {"[" * 99999}', "levels"),
        (f'{{"name": "f", "arguments": {{"a": "{"x" * 300000}"}}}}', "longer than"),
    ],
)
def test_a_call_that_cannot_be_read_says_why(inner: str, error: str) -> None:
    (call,) = read(f"<tool_call>{inner}</tool_call>", "hermes").calls
    assert call.arguments is None
    assert error in str(call.error)


def test_a_call_without_its_closing_mark_is_an_error() -> None:
    message = read("Now <tool_call>{}", "hermes")
    assert message.content == "Now"
    assert "</tool_call> is missing" in str(message.calls[0].error)
