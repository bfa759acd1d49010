"""Tokenizer of starter-tools: one token per UTF-8 byte or mark of a call, and a chat template with tools."""

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from worker.starter.tokenizer import ASSISTANT, END, PAD, SYSTEM, USER

TOOLS, TOOL = "<|tools|>", "<|tool|>"
SPECIALS = (PAD, END, SYSTEM, USER, ASSISTANT, TOOLS, TOOL)
"""Ids 0 to 6. END ends a turn."""
CALL, CALL_END = "<tool_call>", "</tool_call>"
WORDS = (
    CALL, CALL_END, '{"name":"', '","arguments":{"', '":"', '","', '"}}', "<answer>", "</answer>",
    "calc", "check", "lookup", "expression", "what", "of", ", not ",
)  # fmt: skip
"""Ordinary (not special) tokens that shorten calls."""
CONTEXT = 1024

CHAT_TEMPLATE = """\
{%- if tools -%}
    {{- '<|tools|>' -}}
    {%- for tool in tools -%}
        {{- tool['function']['name'] ~ '(' -}}
        {{- (tool['function'].get('parameters') or {}).get('properties', {}) | join(',') ~ ')' -}}
    {%- endfor -%}
{%- endif -%}
{%- for message in messages -%}
    {%- if message['role'] not in ('system', 'user', 'assistant', 'tool') -%}
        {{- raise_exception("roles are system, user, assistant and tool, not " ~ message['role']) -}}
    {%- endif -%}
    {{- '<|' ~ message['role'] ~ '|>' ~ (message['content'] or '') -}}
    {%- for call in message['tool_calls'] or [] -%}
        {%- set arguments = call['function']['arguments'] -%}
        {{- '<tool_call>{"name":' ~ (call['function']['name'] | tojson) ~ ',"arguments":' -}}
        {{- arguments if arguments is string else arguments | tojson(separators=(',', ':')) -}}
        {{- '}</tool_call>' -}}
    {%- endfor -%}
    {%- if message['role'] == 'assistant' -%}
        {{- eos_token -}}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{- '<|assistant|>' -}}
{%- endif -%}
"""


def build_tokenizer() -> Tokenizer:
    symbols = sorted(ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate((*SPECIALS, *symbols))}
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    tokenizer.add_tokens([AddedToken(word, special=False, normalized=False) for word in WORDS])
    return tokenizer


def write_tokenizer(folder: Path) -> None:
    build_tokenizer().save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": PAD,
        "additional_special_tokens": [SYSTEM, USER, ASSISTANT, TOOLS, TOOL],
        "model_max_length": CONTEXT,
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")
