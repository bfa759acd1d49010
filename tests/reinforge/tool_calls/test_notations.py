"""Every notation: what models write, what is read, and what cannot be."""

import json
import random
from typing import Any

import pytest

from reinforge.tool_calls import NOTATIONS, first_call, openai, read, read_any

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "add",
            "parameters": {"properties": {"text": {"type": "string"}, "n": {"type": "integer"}}},
        },
    }
]
ARGUMENTS = {"n": 1, "text": "12", "more": [None, True, {"k": 1.5}]}
WRITTEN = {
    "hermes": 'So.\n<tool_call>{"name": "add", "arguments": {"n": 1, "text": "12", "more": [null, true, {"k": 1.5}]}}'
    "</tool_call><|im_end|>",
    "function_xml": "So.\n<tool_call>\n<function=add>\n<parameter=n>\n1\n</parameter>\n"
    "<parameter=text>\n12\n</parameter>\n"
    '<parameter=more>\n[null, true, {"k": 1.5}]\n</parameter>\n</function>\n</tool_call><|im_end|>',
    "glm": "So.\n<tool_call>add\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n<arg_key>text</arg_key>\n"
    '<arg_value>12</arg_value>\n<arg_key>more</arg_key>\n<arg_value>[null, true, {"k": 1.5}]</arg_value>\n</tool_call>'
    "<|observation|>",
    "gemma": '<|channel>thought\nhm\n<channel|>So.<|tool_call>call:add{n:1,text:<|"|>12<|"|>,more:[None,true,{k:1.5}]}'
    "<tool_call|><turn|>",
    "python_list": "<think>hm</think>So.<|tool_call_start|>[add(n=1, text='12', more=[None, true, {\"k\": 1.5}])]"
    "<|tool_call_end|><|im_end|>",
    "harmony": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>So.<|end|>"
    "<|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>"
    '{"n": 1, "text": "12", "more": [null, true, {"k": 1.5}]}<|call|>',
    "invoke_xml": " to=self<|message|>hm<|eom|><|start|>assistant to=user<|message|>So.<|eom|><|start|>assistant to=add"
    '<|message|><atem:function_calls>\n<atem:invoke name="add">\n<atem:parameter name="n">1</atem:parameter>\n'
    '<atem:parameter name="text">12</atem:parameter>\n<atem:parameter name="more">[null, true, {"k": 1.5}]'
    "</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eot|>",
    "mistral": 'So.[TOOL_CALLS]add[ARGS]{"n": 1, "text": "12", "more": [null, true, {"k": 1.5}]}</s>',
    "deepseek": "So.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n"
    '{"n": 1, "text": "12", "more": [null, true, {"k": 1.5}]}\n```<｜tool▁call▁end｜>',
    "llama": '<think>hm</think>{"name": "add", "parameters": {"n": 1, "text": "12", "more": [null, true, {"k": 1.5}]}}'
    "<|eot_id|>",
}
UNREADABLE = {
    "hermes": ["<tool_call>add</tool_call>", "<tool_call>"],
    "function_xml": [
        "<tool_call>add</tool_call>",
        "<tool_call><function=></function></tool_call>",
        "<tool_call><function=add><parameter=a>1</function></tool_call>",
        "<tool_call><function=add><parameter=a>1</parameter><parameter=a>2</parameter></function></tool_call>",
        "<tool_call><function=add></function>!</tool_call>",
        "<tool_call><function=add>",
    ],
    "glm": [
        '<tool_call>{"name": "add"}</tool_call>',
        "<tool_call>add<arg_key>a</arg_key></tool_call>",
        "<tool_call>add<arg_key>a<arg_value>1</arg_value></tool_call>",
    ],
    "gemma": [
        "<|tool_call>add{}<tool_call|>",
        "<|tool_call>call:add{a}<tool_call|>",
        '<|tool_call>call:add{a:<|"|>b}<tool_call|>',
        "<|tool_call>call:add{a:1,a:2}<tool_call|>",
        "<|tool_call>call:add{a:NaN}<tool_call|>",
        "<|tool_call>call:add{}!<tool_call|>",
        f"<|tool_call>call:add{{a:{'[' * 999}",
        f"<|tool_call>call:add{{a:{'[' * 999}<tool_call|>",
    ],
    "python_list": [
        "<|tool_call_start|>add()<|tool_call_end|>",
        "<|tool_call_start|>[]<|tool_call_end|>",
        "<|tool_call_start|>[add(1)]<|tool_call_end|>",
        "<|tool_call_start|>[add(a='b)]<|tool_call_end|>",
        "<|tool_call_start|>[add(a=1e999)]<|tool_call_end|>",
        "<|tool_call_start|>[add(a='\\ud800')]<|tool_call_end|>",
        "<|tool_call_start|>[add(a=__import__('os'))]<|tool_call_end|>",
    ],
    "harmony": [
        "<|channel|>commentary to=functions.add<|message|>{",
        "<|channel|>commentary to=functions.<|message|>{}<|call|>",
        "<|channel|>commentary to=functions.add<|message|>[]<|call|>",
    ],
    "invoke_xml": [
        "<|message|><atem:function_calls>add</atem:function_calls>",
        '<atem:function_calls><atem:invoke name=""></atem:invoke></atem:function_calls>',
        "<atem:function_calls>",
    ],
    "mistral": ["[TOOL_CALLS]add{}", '[TOOL_CALLS][{"name": 1}]', "[TOOL_CALLS]add[ARGS]{"],
    "deepseek": [
        "<｜tool▁call▁begin｜>add<｜tool▁call▁end｜>",
        "<｜tool▁call▁begin｜>add<｜tool▁sep｜>{<｜tool▁call▁end｜>",
    ],
    "llama": [
        '{"name": "add", "parameters": {',
        '{"name": "add", "parameters": {}} and so on',
        '{"name": "add", "parameters": []}',
    ],
}


@pytest.mark.parametrize("notation", NOTATIONS)
def test_calls_are_read(notation: str) -> None:
    message = read(WRITTEN[notation], notation, TOOLS)
    assert [(call.name, call.arguments, call.error) for call in message.calls] == [("add", ARGUMENTS, None)]
    assert message.content == ("" if notation == "llama" else "So.")
    assert message.reasoning == ("hm" if "hm" in WRITTEN[notation] else "")
    assert read_any(WRITTEN[notation], TOOLS).calls == message.calls


@pytest.mark.parametrize(
    ("notation", "text"), [(name, text) for name, texts in UNREADABLE.items() for text in texts]
)
def test_what_cannot_be_read_says_why_and_stays_text_in_a_chat(notation: str, text: str) -> None:
    calls = read(text, notation).calls
    assert [call.arguments for call in calls] == [None]
    assert str(calls[0].error).startswith("The call")
    content, readable = openai.split(text, notation)
    assert readable == []
    # Where marks are special tokens, those around messages are nobody's text.
    assert NOTATIONS[notation].special_tokens or content == text


@pytest.mark.parametrize("notation", NOTATIONS)
def test_texts_without_calls_are_content(notation: str) -> None:
    for text in ("", "Hello.", '{"name": "Ada"}', "[1, 2]", "a < b > c", "call: me"):
        message = read(text, notation)
        assert (message.content, message.calls) == (text, ())


def test_types_without_a_schema_are_those_of_json() -> None:
    text = "<tool_call>\n<function=add>\n<parameter=a>\n{}\n</parameter>\n</function>\n</tool_call>"
    values = {
        "1": 1,
        "True": True,
        "null": None,
        '"quoted"': '"quoted"',
        "word": "word",
        " x\n": " x\n",
        "[1": "[1",
    }
    for written, value in values.items():
        (call,) = read(text.format(written), "function_xml").calls
        assert call.arguments == {"a": value}


def test_several_calls_of_one_message() -> None:
    several = {
        "python_list": "<|tool_call_start|>[add(n=1), add(n=2)]<|tool_call_end|>",
        "llama": '{"name": "add", "parameters": {"n": 1}}; {"name": "add", "parameters": {"n": 2}}',
        "mistral": '[TOOL_CALLS][{"name": "add", "arguments": {"n": 1}}, {"name": "add", "arguments": {"n": 2}}]',
        "deepseek": '<｜tool▁call▁begin｜>add<｜tool▁sep｜>{"n": 1}<｜tool▁call▁end｜>'
        '<｜tool▁call▁begin｜>add<｜tool▁sep｜>{"n": 2}<｜tool▁call▁end｜>',
    }
    for notation, text in several.items():
        assert [call.arguments for call in read(text, notation).calls] == [{"n": 1}, {"n": 2}]


def test_random_texts_of_marks_are_read_without_an_exception() -> None:
    rng = random.Random(1)
    pieces = [*WRITTEN.values(), *(text for texts in UNREADABLE.values() for text in texts)]
    words = [piece[start : start + 9] for piece in pieces for start in range(0, len(piece), 5)]
    for _ in range(300):
        text = "".join(rng.choices([*words, "\ud800", "\0", "\\", "'", '"'], k=rng.randint(1, 40)))
        for notation in NOTATIONS.values():
            for call in notation.read(text, TOOLS).calls:
                assert (call.arguments is None) == (call.error is not None)
                json.dumps(call.arguments, ensure_ascii=False, allow_nan=False).encode()
            assert isinstance(openai.split(text, notation.name, TOOLS)[1], list)


def test_strings_of_python_lists_have_their_escapes() -> None:
    text = r"""<|tool_call_start|>[add(text='a\'b\n\u00e9\x41\q "c"')]<|tool_call_end|>"""
    (call,) = read(text, "python_list").calls
    assert call.arguments == {"text": "a'b\né" + 'A\\q "c"'}


def _any(rng: random.Random, depth: int = 0) -> Any:
    kinds = ["text", "number", "word", *(["list", "object"] if depth < 3 else [])]
    match rng.choice(kinds):
        case "text":
            return "".join(rng.choices("ab1 \"'\\\n{}[]:,()é😀", k=rng.randint(0, 8)))
        case "number":
            return rng.choice([0, -7, 1.5, 10**20, -2.5e-9])
        case "word":
            return rng.choice([True, False, None])
        case "list":
            return [_any(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return {rng.choice("abc") * (place + 1): _any(rng, depth + 1) for place in range(rng.randint(0, 3))}


def test_arguments_of_json_notations_come_back_as_they_were() -> None:
    rng = random.Random(2)
    for _ in range(200):
        arguments = {"a": _any(rng), "b": _any(rng)}
        text = json.dumps(arguments)
        for notation, written in {
            "hermes": f'<tool_call>{{"name": "f", "arguments": {text}}}</tool_call>',
            "harmony": f"<|channel|>commentary to=functions.f<|message|>{text}<|call|>",
            "mistral": f"[TOOL_CALLS]f[ARGS]{text}",
            "llama": f'{{"name": "f", "parameters": {text}}}',
            "python_list": f"<|tool_call_start|>[f(a={arguments['a']!r}, b={arguments['b']!r})]<|tool_call_end|>",
            "gemma": f"<|tool_call>call:f{_gemma(arguments)}<tool_call|>",
        }.items():
            (call,) = read(written, notation).calls
            assert (call.error, call.arguments) == (None, arguments), written


def _gemma(value: Any) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, list):
        return f"[{','.join(_gemma(item) for item in value)}]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_gemma(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


@pytest.mark.parametrize("name", WRITTEN)
def test_the_first_call_begins_behind_its_opening_mark(name: str) -> None:
    text, marks = WRITTEN[name], NOTATIONS[name].marks
    span = first_call(text, name)
    assert span is not None
    start, end = span
    assert text[:start].endswith(marks or "{")
    assert "add" in text[start:end]
    assert "So." not in text[start:end]
    assert first_call("Only text.", name) is None


def test_a_call_within_the_reasoning_is_not_the_first_call() -> None:
    call = '<tool_call>{"name": "add", "arguments": {}}</tool_call>'
    assert first_call(f"<think>{call}</think>{call}{call}", "hermes") == (
        len(f"<think>{call}</think><tool_call>"),
        len(f"<think>{call}</think>{call}"),
    )
