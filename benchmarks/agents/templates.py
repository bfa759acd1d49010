"""Chat templates of the TRL wheel, and tokenizers that have their marks."""

import importlib.util
import json
import random
import re
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

ENDS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|return|>", "<|call|>", "<|user|>", "<|observation|>"),
    *("<turn|>", "<|eot|>", "</s>", "<eos>", "<|endoftext|>"),
)
"""Marks that end the output of the models whose templates these are, as their generation_config.json has them."""
_MARKS = re.compile(r"<\|[\w/]{1,40}\|>|<\|[a-z_\"]{1,40}>|<[a-z_]{1,40}\|>")


def wheel_templates() -> dict[str, str]:
    """Templates by name, without TRL's patched ones for training."""
    spec = importlib.util.find_spec("trl")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("trl is not installed: `make setup` installs it.")
    folder = Path(spec.origin).parent / "chat_templates"
    files = sorted(path for path in folder.glob("*.jinja") if not path.stem.endswith("_training"))
    return {path.stem: path.read_text(encoding="utf-8") for path in files}


def byte_tokenizer(template: str) -> Tokenizer:
    """One token per byte, which cannot drift."""
    tokenizer = Tokenizer(models.BPE(vocab=_alphabet(), merges=[]))
    return _finished(tokenizer, template)


def merging_tokenizer(template: str, merges: int = 512) -> Tokenizer:
    """BPE, whose tokens cross the places where texts were joined."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    rng = random.Random(0)
    words = [
        "assistant\n\n",
        "\n\n",
        "user\n",
        "tool_call",
        '{"name": "',
        "arguments",
        "</",
        "é",
        "\n<",
        "  ",
    ]
    texts = ["".join(rng.choices(words, k=40)) for _ in range(200)] + [template]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=256 + merges, initial_alphabet=alphabet, show_progress=False, max_token_length=16
    )
    tokenizer.train_from_iterator(texts, trainer)
    return _finished(tokenizer, template)


def write_folder(folder: Path, template: str, tokenizer: Tokenizer) -> Path:
    """Files of a model that the renderers read."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    ends = [id for end in ENDS if (id := tokenizer.token_to_id(end)) is not None]
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": ends}))
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    return folder


def _alphabet() -> dict[str, int]:
    return {symbol: id for id, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}


def _finished(tokenizer: Tokenizer, template: str) -> Tokenizer:
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    marks = sorted({"<bos>", *ENDS, *_MARKS.findall(template)})
    tokenizer.add_special_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return tokenizer
