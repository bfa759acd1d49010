"""Loads a base model from a folder."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from reinforge.errors import JobFailure
from reinforge.spec import Precision
from worker.machine.memory import is_out_of_memory
from worker.machine.torch_device import GpuUnavailable, compute_device
from worker.policy.nf4 import check_quantised, compute_dtype, nf4_config, use_plain_layout
from worker.policy.sharded import shard


@dataclass(frozen=True, slots=True)
class LoadedModel:
    model: PreTrainedModel
    """Model in evaluation mode; float32 on the CPU, bfloat16 on a GPU, except linear layers in NF4."""
    stop_ids: tuple[int, ...]
    context_length: int | None
    sharded: bool = False
    """Whether decoder layers are divided among ranks."""


def job_device() -> torch.device:
    try:
        return compute_device()
    except GpuUnavailable as error:
        raise JobFailure(error.message, code="gpu_unavailable", hint=error.hint, retryable=True) from error


def load_base_model(
    path: Path,
    end_id: Callable[[], int | None] = lambda: None,
    *,
    device: torch.device | None = None,
    precision: Precision = "full",
    sharded: bool = False,
) -> LoadedModel:
    """Load safetensors weights directly to the device.

    sharded: divide decoder layers among the ranks of the process group. Raises JobFailure `model_load_failed`,
    `gpu_unavailable`, `nf4_unavailable`, `nf4_unsupported`, `sharding_unsupported`; out-of-memory errors pass
    through.
    """
    device = job_device() if device is None else device
    quantised = precision == "nf4"
    # Without tokenizer.json transformers makes an empty tokenizer.
    for name in ("config.json", "tokenizer.json"):
        if not (path / name).is_file():
            raise _failed(path, f"it has no {name}")
    try:
        model, loading = AutoModelForCausalLM.from_pretrained(
            path,
            # To be divided, weights stay the file itself, mapped, until their layer is copied; `shard` converts them.
            dtype="auto" if sharded and device.type == "cpu" else compute_dtype(device),
            # Loaded first and moved then, a model would need its size in the machine's memory as well.
            device_map={"": device} if (device.type == "cuda" and not sharded) or quantised else None,
            quantization_config=nf4_config(device) if quantised else None,
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
        end = end_id()
    except JobFailure:
        raise
    except Exception as error:
        # A stranger's configuration can fail anywhere in the library, in any way.
        if is_out_of_memory(error):
            raise
        lines = str(error).strip().splitlines()
        raise _failed(path, lines[0][:500] if lines else repr(error)) from error
    if missing := sorted(loading["missing_keys"]):
        # transformers would go on with random numbers in their place.
        raise _failed(path, f"{len(missing)} weights are missing, the first is {missing[0]}")
    if quantised:
        check_quantised(model, path)
        use_plain_layout(model)
    if sharded:
        shard(model, device, compute_dtype(device))
    elif device.type == "cpu":
        # On the CPU the weights are the file itself, mapped: written to while a job runs, they would change under it.
        for tensor in (*model.parameters(), *model.buffers()):
            tensor.data = tensor.data.clone()
    model.eval()
    model.requires_grad_(False)
    return LoadedModel(model, _stop_ids(model, end), _context_length(model), sharded)


def load_with_tokenizer(
    path: Path,
    read_tokenizer: Callable[[], int | None],
    *,
    precision: Precision = "full",
    sharded: bool = False,
) -> LoadedModel:
    with ThreadPoolExecutor(1) as reading:
        end_id = reading.submit(read_tokenizer).result
        return load_base_model(path, end_id, precision=precision, sharded=sharded)


def _stop_ids(model: PreTrainedModel, end: int | None) -> tuple[int, ...]:
    stop_ids: set[int] = set()
    generation = getattr(model, "generation_config", None)
    for value in (end, model.config.eos_token_id, getattr(generation, "eos_token_id", None)):
        stop_ids.update(value if isinstance(value, list | tuple) else [] if value is None else [value])
    # Ids that the model cannot sample end nothing, and vLLM refuses requests with them.
    width = model.config.get_text_config().vocab_size
    return tuple(sorted(id for id in stop_ids if 0 <= id < width))


def _context_length(model: PreTrainedModel) -> int | None:
    value = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return int(value) if value else None


def _failed(path: Path, why: str) -> JobFailure:
    return JobFailure(
        f"The model in {path.name} could not be loaded: {why}",
        code="model_load_failed",
        hint="The folder needs config.json, tokenizer.json and *.safetensors of a causal language model that this "
        "version of transformers knows. `reinforge models add` shows the same error without starting a job.",
    )
