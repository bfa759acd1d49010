"""Random models with a tokenizer of words, for measuring: the same weights each time; they never end a completion."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

VOCABULARY = 8192
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Qwen3 with tied embeddings, or of a Qwen2; as it stands 42 million parameters."""

    hidden: int = 512
    layers: int = 12
    heads: int = 8
    keys: int = 4
    """Heads of keys and values."""
    inside: int = 1536
    """Of the two matrices of a layer that are not attention's."""
    head: int = 64
    vocabulary: int = VOCABULARY
    family: str = "qwen3"


QWEN2_HALF = Shape(896, 24, 14, 2, 4864, 64, 151_936, "qwen2")
QWEN2_ONE_AND_A_HALF = Shape(1536, 28, 12, 2, 8960, 128, 151_936, "qwen2")
"""Those of Qwen2.5 with 0.5 and 1.5 billion parameters."""


def narrow(hidden: int, layers: int) -> Shape:
    """Heads of 64, half as many of keys, three times the width inside."""
    return Shape(hidden, layers, hidden // 64, hidden // 128, 3 * hidden)


def make(folder: Path, shape: Shape = Shape()) -> int:
    """The number of parameters. The end token stands behind the model's vocabulary, so that it can never be sampled, on
    either side."""
    torch.manual_seed(0)
    model = _model(shape)
    model.generation_config.eos_token_id = shape.vocabulary
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    words = {"<pad>": 0} | {f"w{number}": number for number in range(1, shape.vocabulary)}
    tokenizer = Tokenizer(WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>")
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    return int(model.num_parameters())


def prompts(count: int, tokens: int) -> list[str]:
    """Texts of exactly `tokens` tokens, always the same ones."""
    chance = random.Random(0)
    return [" ".join(f"w{chance.randrange(1, VOCABULARY)}" for _ in range(tokens)) for _ in range(count)]


def _model(shape: Shape) -> PreTrainedModel:
    sizes: dict[str, Any] = {
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inside,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.keys,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": shape.vocabulary,
    }
    if shape.family == "qwen2":
        return Qwen2ForCausalLM(Qwen2Config(**sizes)).to(torch.bfloat16)  # as it is published
    return Qwen3ForCausalLM(Qwen3Config(**sizes, head_dim=shape.head))
