"""Randomly initialised two-layer models with a byte-level tokenizer, small enough to train in a test."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3ForSequenceClassification,
)

SPECIALS = ("<pad>", "<end>", "<user>", "<assistant>")
TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def write_tiny_model(
    folder: Path,
    architecture: Literal["qwen3", "llama"] = "qwen3",
    *,
    seed: int = 0,
    chat_template: bool = True,
    context: int = 256,
) -> Path:
    """A folder that `from_pretrained` loads: safetensors, config, tokenizer."""
    torch.manual_seed(seed)
    sizes = {
        "vocab_size": len(SPECIALS) + 256,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": context,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "bos_token_id": None,
    }
    model: PreTrainedModel
    if architecture == "qwen3":
        model = Qwen3ForCausalLM(Qwen3Config(**sizes, head_dim=8, tie_word_embeddings=True))
    else:
        model = LlamaForCausalLM(LlamaConfig(**sizes, tie_word_embeddings=False))
    with torch.no_grad():
        # Freshly initialised models are almost uniform; wider embeddings give them opinions worth comparing.
        for weight in {model.get_input_embeddings().weight, model.get_output_embeddings().weight}:
            weight.mul_(8)
    model.save_pretrained(folder)
    write_tokenizer(folder, chat_template=chat_template)
    return folder


def write_tiny_classifier(folder: Path, labels: list[str], *, seed: int = 0) -> Path:
    """With a sequence-classification head; one label makes it a reward model."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(SPECIALS) + 256,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=128,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
    )
    model = Qwen3ForSequenceClassification(config)
    with torch.no_grad():
        model.score.weight.mul_(50)
    model.save_pretrained(folder)
    write_tokenizer(folder, chat_template=True)
    return folder


def write_tokenizer(folder: Path, *, chat_template: bool) -> None:
    symbols = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate((*SPECIALS, *symbols))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "eos_token": "<end>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    if chat_template:
        (folder / "chat_template.jinja").write_text(TEMPLATE, encoding="utf-8")


TOOL_TEMPLATE = (
    "{% for tool in tools or [] %}<user>{{ tool['function']['name'] }}{% endfor %}"
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}"
    "{% for call in message['tool_calls'] or [] %}<tool_call>{\"name\": \"{{ call['function']['name'] }}\", "
    "\"arguments\": {{ call['function']['arguments'] | tojson }}}</tool_call>{% endfor %}"
    "{% if message['role'] == 'assistant' %}<end>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def write_calling_model(
    folder: Path, call: str, result: str, answer: str, *, tools: Sequence[str], steps: int = 400
) -> Path:
    """A tiny model that has learned one conversation by heart: to any prompt with the names of `tools` it writes
    `call`, to the `result` the `answer`.
    """
    named = "".join(f"<user>{name}" for name in tools)
    write_tiny_model(folder, context=512)
    (folder / "chat_template.jinja").write_text(TOOL_TEMPLATE, encoding="utf-8")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids, targets = [], []
    for number in range(4):
        parts = [(f"{named}<user>row {number}<assistant>", False), (f"{call}<end>", True)]
        parts += [(f"<tool>{result}<assistant>", False), (f"{answer}<end>", True)]
        row = [(id, learned) for text, learned in parts for id in tokenizer.encode(text).ids]
        ids.append([id for id, _ in row])
        targets.append([id if learned else -100 for id, learned in row])
    optimizer = torch.optim.Adam(model.parameters(), 5e-3)
    for _ in range(steps):
        loss = model(torch.tensor(ids), labels=torch.tensor(targets)).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.save_pretrained(folder)
    return folder
