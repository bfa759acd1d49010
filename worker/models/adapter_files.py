"""Checks that a LoRA adapter's weights fit a base model. Reads only the headers of the files."""

import re
from pathlib import Path
from typing import Any

from reinforge.base_models.adapter_config import CONFIG, WEIGHTS, LoraShape, read_adapter_config
from reinforge.errors import InvalidInput
from worker.models.inspect import linear_tensors, read_tensors
from worker.models.safetensors import Tensor, read_header

_KEY = re.compile(r"base_model\.model\.(?P<path>.+)\.lora_(?P<half>A|B)\.weight")
_TYPES = ("F32", "F16", "BF16")
_EXPERTS = "experts"


def check_adapter(model: Path, payload: dict[str, Any]) -> dict[str, Any]:
    """Check the adapter at `payload["adapter"]`. Raises InvalidInput `adapter_does_not_fit`, or
    `damaged_weights` for an unreadable file.
    """
    folder = Path(payload["adapter"])
    lora = read_adapter_config((folder / CONFIG).read_bytes())
    try:
        tensors = read_header(folder / WEIGHTS)
    except InvalidInput as error:
        error.param = "weights"
        raise
    halves: dict[str, dict[str, Tensor]] = {}
    for tensor in tensors:
        match = _KEY.fullmatch(tensor.name)
        if match is None:
            raise _unfit(f"it has the weight {tensor.name[:100]}, which is not a LoRA weight")
        if tensor.dtype not in _TYPES:
            raise _unfit(f"it has weights of type {tensor.dtype}; supported are {', '.join(_TYPES)}")
        halves.setdefault(match["path"], {})[match["half"]] = tensor
    base = read_tensors(model)
    for path, pair in halves.items():
        _check_layer(path, pair, lora, base)
    _check_complete(halves, lora, base)
    return {"layers": len(halves)}


def _check_layer(path: str, pair: dict[str, Tensor], lora: LoraShape, base: list[Tensor]) -> None:
    if pair.keys() != {"A", "B"}:
        raise _unfit(f"only one of lora_A and lora_B exists for {path[:100]}")
    if _EXPERTS in path.split("."):
        return  # stacked differently in files and in memory; checked when a job loads it
    layer = next((tensor for tensor in base if _same_place(tensor.name.removesuffix(".weight"), path)), None)
    if layer is None:
        raise _unfit(f"the base model has no layer {path[:100]}")
    a, b = pair["A"].shape, pair["B"].shape
    if len(a) != 2 or len(b) != 2 or a[0] != lora.rank or b[1] != lora.rank:
        raise _unfit(f"the weights of {path[:100]} have the shapes {a} and {b}, not the rank {lora.rank}")
    if (b[0], a[1]) not in (layer.shape, layer.shape[::-1]):
        raise _unfit(
            f"{path[:100]} is for a layer of {b[0]} x {a[1]}; the base model's has the shape {layer.shape}"
        )


def _check_complete(halves: dict[str, dict[str, Tensor]], lora: LoraShape, base: list[Tensor]) -> None:
    linear = [tensor.name.removesuffix(".weight") for tensor in linear_tensors(base)]
    named = linear
    if isinstance(lora.targets, list):
        named = [path for path in linear if any(f".{path}".endswith(f".{name}") for name in lora.targets)]
    missing = [path for path in named if not any(_same_place(path, key) for key in halves)]
    if missing:
        raise _unfit(f"it lacks weights for {len(missing)} of its target layers, the first is {missing[0]}")


def _same_place(name: str, path: str) -> bool:
    return name == path or path.endswith(f".{name}") or name.endswith(f".{path}")


def _unfit(reason: str) -> InvalidInput:
    return InvalidInput(
        f"The adapter does not fit the base model: {reason}.",
        code="adapter_does_not_fit",
        param="weights",
        hint="Choose the base model that the adapter was trained on.",
    )
