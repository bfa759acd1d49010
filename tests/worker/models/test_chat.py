"""Prompts rendered without torch are those of transformers, text and token count alike."""

import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from reinforge.errors import InvalidInput
from worker.models.chat import PromptRenderer, renderer
from worker.starter.tokenizer import write_tokenizer

QWEN = (
    "{%- if messages[0]['role'] == 'system' %}{{- '<|im_start|>system\\n' + messages[0]['content'] + '<|im_end|>\\n' }}"
    "{%- else %}{{- '<|im_start|>system\\nYou are a helper.<|im_end|>\\n' }}{%- endif %}"
    "{%- for message in messages %}{%- if message.role != 'system' %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
LLAMA = (
    "{% if messages[0]['role'] == 'system' %}{% set offset = 1 %}{% else %}{% set offset = 0 %}{% endif %}\n"
    "{{ bos_token }}\n"
    "{% for message in messages[offset:] %}\n"
    "    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}\n"
    "        {{ raise_exception('roles must alternate user/assistant') }}\n"
    "    {% endif %}\n"
    "    {% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] | trim + ' [/INST]' }}\n"
    "    {% else %}{{ ' ' + message['content'] + eos_token }}{% endif %}\n"
    "{% endfor %}"
)
FEATURES = (
    "{%- set ns = namespace(seen=0) %}{%- for message in messages %}{%- set ns.seen = ns.seen + 1 %}"
    "{%- if loop.index > 3 %}{%- break %}{%- endif %}"
    "{%- if message.reasoning_content is defined %}<think>{{ message.reasoning_content }}</think>{%- endif %}"
    "{%- if message.role == 'assistant' %}{% generation %}{{ message.content }}{% endgeneration %}"
    "{%- else %}{{ message | tojson }}{%- endif %}{%- endfor %}"
    "{{- ns.seen }}{{ dict(a=1) | tojson(indent=2) }}{{ tools is none }}{{ tool_token }}"
    "{{ strftime_now('%Y') | length }}"
)
TOOLS = (
    "{%- if tools %}{{ tools | tojson }}{% for tool in tools %}{{ tool.function.name }}{% endfor %}{% endif %}"
    "{%- for message in messages %}{{ message.role }}{{ message.content }}"
    "{%- for call in message.tool_calls or [] %}{{ call.function.arguments.a }}{% endfor %}{% endfor %}"
)
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"type": "object", "properties": {}}}}
CONVERSATIONS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "47+85="}],
    [{"role": "system", "content": "Be <brief>."}, {"role": "user", "content": "Grüße, 世界 🌍"}],
    [
        {"role": "user", "content": " a "},
        {"role": "assistant", "content": "b", "reasoning": "because", "tool_calls": None},
        {"role": "user", "content": "line\nbreak <s> </s>"},
    ],
]


def make_tokenizer(folder: Path, template: str | None) -> None:
    tokenizer = Tokenizer(
        models.BPE(
            vocab={byte: i for i, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[]
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(text, special=True) for text in ("<s>", "</s>", "<|im_start|>", "<|im_end|>")]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", tokenizer.token_to_id("<s>"))]
    )
    tokenizer.enable_padding(length=64)
    tokenizer.enable_truncation(8)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        chat_template=template,
        extra_special_tokens={"tool_token": "<|im_end|>"},
    )
    fast.save_pretrained(folder)


@pytest.mark.parametrize("messages", CONVERSATIONS, ids=["one", "system", "several"])
@pytest.mark.parametrize("template", [QWEN, LLAMA, FEATURES], ids=["qwen", "llama", "features"])
def test_same_as_transformers(tmp_path: Path, template: str, messages: list[dict[str, Any]]) -> None:
    make_tokenizer(tmp_path, template)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    expected = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = theirs(expected, add_special_tokens=False)["input_ids"]

    ours = PromptRenderer(tmp_path)
    assert ours.render(messages) == expected
    assert ours.count([expected, ""]) == [len(ids), 0]


@pytest.mark.parametrize("several", [False, True], ids=["one template", "one of its own"])
def test_tools_are_rendered_as_by_transformers(tmp_path: Path, several: bool) -> None:
    make_tokenizer(tmp_path, TOOLS)
    if several:
        (tmp_path / "chat_template.jinja").write_text(QWEN)
        (tmp_path / "additional_chat_templates").mkdir()
        (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text(TOOLS)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    call = {"function": {"name": "add", "arguments": {"a": 4711}}}
    conversation = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    messages = [*conversation, {"role": "tool", "content": "5"}]
    expected = theirs.apply_chat_template(messages, tools=[TOOL], tokenize=False, add_generation_prompt=True)
    assert "4711" in expected and '"add"' in expected

    ours = PromptRenderer(tmp_path)
    assert ours.takes_tools
    as_text = {"function": {"name": "add", "arguments": '{"a": 4711}'}}
    written = [conversation[0], conversation[1] | {"tool_calls": [as_text]}, messages[2]]
    assert ours.render(messages, [TOOL]) == ours.render_row(written, [TOOL]) == expected
    plain = theirs.apply_chat_template(conversation[:1], tokenize=False, add_generation_prompt=True)
    assert ours.render(conversation[:1]) == ours.render_row(conversation[:1], None) == plain


def test_a_named_template_of_an_old_tokenizer_is_the_one_for_tools(tmp_path: Path) -> None:
    make_tokenizer(tmp_path, None)
    config = json.loads((tmp_path / "tokenizer_config.json").read_text())
    named = [{"name": "default", "template": QWEN}, {"name": "tool_use", "template": TOOLS}]
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config | {"chat_template": named}))
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    expected = theirs.apply_chat_template(CONVERSATIONS[0], tools=[TOOL], tokenize=False)
    assert PromptRenderer(tmp_path).render(CONVERSATIONS[0], [TOOL]) == expected


def test_a_rows_tools_are_left_out_where_the_template_has_no_place(tmp_path: Path) -> None:
    make_tokenizer(tmp_path, QWEN)
    ours = PromptRenderer(tmp_path)
    assert ours.render_row(CONVERSATIONS[0], [TOOL]) == ours.render(CONVERSATIONS[0])
    with pytest.raises(InvalidInput) as caught:
        ours.render(CONVERSATIONS[0], [TOOL])
    assert caught.value.code == "tools_not_supported"


def test_same_as_transformers_for_the_starter_model(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    messages = [{"role": "user", "content": "47+85="}]
    expected = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ours = PromptRenderer(tmp_path)
    assert ours.render(messages) == expected
    assert ours.count([expected]) == [len(theirs(expected, add_special_tokens=False)["input_ids"])]


def test_without_a_template_the_texts_are_joined_and_get_the_usual_tokens(tmp_path: Path) -> None:
    make_tokenizer(tmp_path, None)
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    ours = PromptRenderer(tmp_path)
    text = ours.render([{"role": "system", "content": "a"}, {"role": "user", "content": "b"}])
    assert text == "a\n\nb"
    assert ours.count([text]) == [len(theirs(text)["input_ids"])]


def test_a_template_beside_the_configuration_or_inside_it(tmp_path: Path) -> None:
    make_tokenizer(tmp_path, QWEN)
    assert (tmp_path / "chat_template.jinja").read_text() == QWEN
    expected = PromptRenderer(tmp_path).render(CONVERSATIONS[0])
    (tmp_path / "chat_template.jinja").unlink()
    path = tmp_path / "tokenizer_config.json"
    for inside in (QWEN, [{"name": "tool_use", "template": "no"}, {"name": "default", "template": QWEN}]):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": inside}))
        assert PromptRenderer(tmp_path).render(CONVERSATIONS[0]) == expected


@pytest.mark.parametrize(
    ("template", "messages"),
    [
        (LLAMA, [{"role": "assistant", "content": "first"}]),
        (QWEN, [{"role": "user"}]),
        (QWEN, []),
        ("{{ messages.__class__.__mro__[1].__subclasses__() }}", CONVERSATIONS[0]),
        ("{% set ns = namespace(__class__=1) %}", CONVERSATIONS[0]),
        ("{{ messages.append(1) }}", CONVERSATIONS[0]),
    ],
)
def test_what_a_template_refuses_or_may_not_do_is_an_error_of_the_data(
    tmp_path: Path, template: str, messages: list[dict[str, Any]]
) -> None:
    make_tokenizer(tmp_path, template)
    with pytest.raises(InvalidInput) as caught:
        PromptRenderer(tmp_path).render(messages)
    assert (caught.value.code, caught.value.param) == ("prompt_not_renderable", "data.dataset")


def test_a_changed_file_gives_a_new_renderer(tmp_path: Path) -> None:
    make_tokenizer(tmp_path, QWEN)
    first = renderer(tmp_path)
    assert renderer(tmp_path) is first
    (tmp_path / "chat_template.jinja").write_text("{{ messages[0].content }}")
    assert renderer(tmp_path).render(CONVERSATIONS[0]) == "47+85="


def test_missing_or_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"tokenizer\.json"):
        PromptRenderer(tmp_path)
    make_tokenizer(tmp_path, "{% if %}")
    with pytest.raises(InvalidInput, match="does not parse"):
        PromptRenderer(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(InvalidInput, match="cannot be read"):
        PromptRenderer(tmp_path)
