"""Random models with a tokenizer of words, for measuring: the same weights each time; they never end a completion."""

import random
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
)

VOCABULARY = 8192
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Qwen3 with tied embeddings; as it stands 42 million parameters."""

    hidden: int = 512
    layers: int = 12
    heads: int = 8
    keys: int = 4
    """Heads of keys and values."""
    inside: int = 1536
    """Of the two matrices of a layer that are not attention's."""
    head: int = 64
    vocabulary: int = VOCABULARY
    context: int = 2048
    half: bool = False
    """Saved in bf16, as published models are."""


HALF_B = Shape(896, 24, 14, 2, 4864, 64, 151_936, 65_536, half=True)
ONE_AND_A_HALF_B = Shape(1536, 28, 12, 2, 8960, 128, 151_936, 65_536, half=True)
SEVEN_B = Shape(3584, 28, 28, 4, 18_944, 128, 152_064, 65_536, half=True)
"""Sizes of Qwen2.5 with 0.5, 1.5 and 7 billion parameters. The family is Qwen3, which norms queries and keys and has no
biases: transformers gives models of type qwen2 a tokenizer that knows no words."""


def narrow(hidden: int, layers: int) -> Shape:
    """Heads of 64, half as many of keys, three times the width inside."""
    return Shape(hidden, layers, hidden // 64, hidden // 128, 3 * hidden)


def make(folder: Path, shape: Shape = Shape()) -> int:
    """The number of parameters. The end token stands behind the model's vocabulary, so that it can never be sampled, on
    either side."""
    return save(folder, shape, device="cpu")


def save(folder: Path, shape: Shape, *, device: str) -> int:
    """As `make`, with weights drawn on `device`, which is quick for large models."""
    torch.manual_seed(0)
    with torch.device(device):
        model = architecture(shape)
    model.to(torch.bfloat16 if shape.half else torch.float32)
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


def prompts(count: int, tokens: int, vocabulary: int = VOCABULARY) -> list[str]:
    """Texts of exactly `tokens` tokens, always the same ones."""
    chance = random.Random(0)
    return [
        " ".join(f"w{chance.randrange(1, min(vocabulary, VOCABULARY))}" for _ in range(tokens))
        for _ in range(count)
    ]


def architecture(shape: Shape) -> PreTrainedModel:
    """A model with fresh weights, on torch's default device and in its default dtype."""
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=shape.vocabulary,
            hidden_size=shape.hidden,
            intermediate_size=shape.inside,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.keys,
            head_dim=shape.head,
            max_position_embeddings=shape.context,
            tie_word_embeddings=True,
            pad_token_id=0,
            bos_token_id=None,
            eos_token_id=shape.vocabulary,
        )
    )
