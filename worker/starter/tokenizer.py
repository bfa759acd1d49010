"""The starter model's tokenizer: one token per UTF-8 byte, and a chat template."""

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

PAD, END, SYSTEM, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"
SPECIALS = (PAD, END, SYSTEM, USER, ASSISTANT)
"""Ids 0 to 4. END ends a sequence."""
PAD_ID, END_ID = SPECIALS.index(PAD), SPECIALS.index(END)

CONTEXT = 512

CHAT_TEMPLATE = """\
{%- for message in messages -%}
    {%- if message['role'] not in ('system', 'user', 'assistant') -%}
        {{- raise_exception("roles are system, user and assistant, not " ~ message['role']) -}}
    {%- endif -%}
    {{- '<|' ~ message['role'] ~ '|>' ~ message['content'] -}}
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
    return tokenizer


def write_tokenizer(folder: Path) -> None:
    build_tokenizer().save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": PAD,
        "additional_special_tokens": [SYSTEM, USER, ASSISTANT],
        "model_max_length": CONTEXT,
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    (folder / "chat_template.jinja").write_text(CHAT_TEMPLATE, encoding="utf-8")


def prompt_text(content: str) -> str:
    return f"{USER}{content}{ASSISTANT}"
