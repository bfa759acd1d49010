"""A random Qwen3 with a tokenizer of words, for measuring: the same weights each time; it never ends a completion."""

import random
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

VOCABULARY = 8192
TEMPLATE = "{% for message in messages %}{{ message['content'] }}{% endfor %}"


def make(folder: Path, *, hidden: int = 512, layers: int = 12) -> int:
    """As it stands 42 million parameters: hidden 512, 12 layers, 8 heads of 64 that share 4 keys, intermediate 1,536,
    tied. Other sizes keep heads of 64, half as many keys and three times the width inside. The number of parameters.

    The end token stands behind the model's vocabulary, so that it can never be sampled, on either side.
    """
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=3 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        num_key_value_heads=hidden // 128,
        head_dim=64,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=VOCABULARY,
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config.eos_token_id = VOCABULARY
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    words = {"<pad>": 0} | {f"w{number}": number for number in range(1, VOCABULARY)}
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
