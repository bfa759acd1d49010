"""What the serving process knows of a base model whose weights lie in a vLLM server: its tokenizer and its sizes."""

import json
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel

from reinforge.errors import JobFailure
from worker.policy.load import job_device
from worker.rollout.transformers_engine import cache_bytes_per_token
from worker.rollout.vllm.options import Options

_GIB = 2**30
_MOST_CACHE_BYTES = 4 * _GIB
"""For keys and values on the CPU."""
_LONGEST = 2**15
"""Tokens, for models that do not say how many they take."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    folder: Path
    tokenizer: Any
    stop_ids: tuple[int, ...]
    """Every id that ends a completion."""
    vocabulary: int
    context: int
    """Tokens; less than the model's own where the cache has no room for more."""
    cache_bytes: int
    device: str

    def options(self, *, rank: int, adapters: int, together: int, threads: int) -> Options:
        """adapters: most that are held. together: most in one batch."""
        return Options(
            self.folder,
            "float32" if self.device == "cpu" else "bfloat16",
            self.device,
            max_model_len=self.context,
            rank=rank,
            loras=together,
            # vLLM drops the least recently used one silently: never one that still has a name.
            held=adapters + together,
            cache_bytes=self.cache_bytes,
            threads=threads,
        )


def load(folder: Path) -> ServedModel:
    """Raises JobFailure `model_load_failed`, `gpu_unavailable`."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        text = config.get_text_config()
        vocabulary = int(text.vocab_size)
        context = int(getattr(text, "max_position_embeddings", None) or _LONGEST)
    except Exception as error:
        # A stranger's configuration can fail anywhere in the library, in any way.
        raise JobFailure(
            f"The model in {folder.name} could not be loaded: {error}".splitlines()[0][:500],
            code="model_load_failed",
            hint="The folder needs config.json, tokenizer.json and *.safetensors of a causal language model.",
        ) from error
    device = job_device().type
    if device == "cuda":
        return ServedModel(folder, tokenizer, _stop_ids(folder, tokenizer), vocabulary, context, _GIB, device)
    sizes = cast(PreTrainedModel, SimpleNamespace(config=config, dtype=torch.float32))
    per_token = cache_bytes_per_token(sizes)
    cache = max(_GIB, min(4 * per_token * context, _MOST_CACHE_BYTES))
    stop_ids = _stop_ids(folder, tokenizer)
    return ServedModel(
        folder, tokenizer, stop_ids, vocabulary, min(context, cache // per_token), cache, device
    )


def _stop_ids(folder: Path, tokenizer: Any) -> tuple[int, ...]:
    values = [tokenizer.eos_token_id]
    for name in ("config.json", "generation_config.json"):
        if (folder / name).is_file():
            values.append(json.loads((folder / name).read_text(encoding="utf-8")).get("eos_token_id"))
    listed = (value if isinstance(value, list) else [value] for value in values)
    return tuple(sorted({id for each in listed for id in each if id is not None}))


def adapter_rank(folder: Path) -> int:
    """Of the largest of its matrices. Raises JobFailure `invalid_adapter`."""
    try:
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        return max(int(config["r"]), *map(int, (config.get("rank_pattern") or {}).values()), 1)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobFailure(
            f"The adapter's adapter_config.json cannot be read: {error}",
            code="invalid_adapter",
            hint="It has to be a LoRA adapter as PEFT writes it.",
        ) from error
