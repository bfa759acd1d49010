"""Tokenizer and sizes of a base model in a vLLM server."""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import torch
from transformers import AutoConfig, PretrainedConfig, PreTrainedModel

from reinforge.errors import JobFailure
from worker.machine import settings
from worker.models.inspect import read_tensors
from worker.policy.load import job_device
from worker.rollout.folder_text import FolderText
from worker.rollout.transformers_engine import cache_bytes_per_token
from worker.rollout.vllm.demand import memory_of, served_demand
from worker.rollout.vllm.model_shape import TransformerShape, model_shape
from worker.rollout.vllm.options import Options
from worker.rollout.vllm.sizing import batch_limits, served_sizes
from worker.rollout.vllm.tensor_parallel import check_tensor_parallel

_GIB = 2**30
_MOST_CACHE_BYTES = 4 * _GIB
_LONGEST, _LONGEST_UNKNOWN = 2**15, 2**13


@dataclass(frozen=True, slots=True)
class ServedModel:
    folder: Path
    text: FolderText
    stop_ids: tuple[int, ...]
    vocabulary: int
    context: int
    """Most tokens; fewer than the model's if the KV cache is too small."""
    cache_bytes: int | None
    device: str
    sequences: int = 256
    batch_tokens: int = 2048
    share: float = 0.4
    fused_experts: bool = False

    def options(self, *, rank: int, adapters: int, together: int, threads: int) -> Options:
        """adapters: most loaded adapters. together: most adapters in one batch."""
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
            sequences=self.sequences,
            batch_tokens=self.batch_tokens,
            share=self.share,
            tensor_parallel=max(1, len(settings.vllm_devices())),
            gpu_memory=settings.vllm_gpu_memory(),
            devices=tuple(settings.vllm_devices()),
            fused_experts=self.fused_experts,
        )


def load(folder: Path, *, rank: int = 16, together: int = 1) -> ServedModel:
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        text = config.get_text_config()
        vocabulary = int(text.vocab_size)
        context = int(getattr(text, "max_position_embeddings", None) or _LONGEST)
    except Exception as error:
        # An untrusted configuration can fail anywhere in the library.
        raise JobFailure(
            f"The model in {folder.name} could not be loaded: {error}".splitlines()[0][:500],
            code="model_load_failed",
            hint="The folder needs config.json, tokenizer.json and *.safetensors of a causal language model.",
        ) from error
    device, text_of_folder = job_device().type, FolderText(folder)
    try:
        return _sized(text_of_folder, config, vocabulary, context, device, rank, together)
    except BaseException:
        text_of_folder.close()
        raise


def _sized(
    text: FolderText,
    config: PretrainedConfig,
    vocabulary: int,
    context: int,
    device: str,
    rank: int,
    together: int,
) -> ServedModel:
    folder, stop_ids = text.folder, _stop_ids(text.folder, text.load())
    if device == "cuda":
        check_tensor_parallel(config, max(1, len(settings.vllm_devices())), settings.VLLM_DEVICES)
        plain = ServedModel(folder, text, stop_ids, vocabulary, context, None, device)
        memory = memory_of(settings.vllm_devices())
        return on_gpu(plain, model_shape(config), *memory, rank=rank, together=together)
    sizes = cast(PreTrainedModel, SimpleNamespace(config=config, dtype=torch.float32))
    per_token = cache_bytes_per_token(sizes)
    cache = max(_GIB, min(4 * per_token * context, _MOST_CACHE_BYTES))
    return ServedModel(folder, text, stop_ids, vocabulary, min(context, cache // per_token), cache, device)


def on_gpu(
    plain: ServedModel, shape: TransformerShape, gpu_free: int, gpu_total: int, *, rank: int, together: int
) -> ServedModel:
    gpus, fused = max(1, len(settings.vllm_devices())), shape.experts > 0
    tokens, sequences = batch_limits(gpu_total)
    if gpu_total == 0:
        context = min(plain.context, _LONGEST_UNKNOWN)
        return replace(plain, context=context, sequences=sequences, batch_tokens=tokens, fused_experts=fused)
    demand = served_demand(
        shape,
        weights=_weights(plain.folder),
        context=plain.context,
        rows=sequences,
        rank=rank,
        loras=together,
        gpu_total=gpu_total,
        gpus=gpus,
    )
    sizes = served_sizes(gpu_free, gpu_total, demand)
    return replace(
        plain,
        context=sizes.max_model_len,
        cache_bytes=sizes.kv_bytes,
        sequences=sizes.max_num_seqs,
        batch_tokens=tokens,
        share=sizes.share,
        fused_experts=fused,
    )


def _weights(folder: Path) -> int:
    return 2 * sum(math.prod(tensor.shape) for tensor in read_tensors(folder))


def _stop_ids(folder: Path, end: int | None) -> tuple[int, ...]:
    values: list[int | list[int] | None] = [end]
    for name in ("config.json", "generation_config.json"):
        if (folder / name).is_file():
            values.append(json.loads((folder / name).read_text(encoding="utf-8")).get("eos_token_id"))
    listed = (value if isinstance(value, list) else [value] for value in values)
    return tuple(sorted({id for ids in listed for id in ids if id is not None}))


def adapter_rank(folder: Path) -> int:
    try:
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        return max(int(config["r"]), *map(int, (config.get("rank_pattern") or {}).values()), 1)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise JobFailure(
            f"The adapter's adapter_config.json cannot be read: {error}",
            code="invalid_adapter",
            hint="It has to be a LoRA adapter as PEFT writes it.",
        ) from error
