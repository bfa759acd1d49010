"""Base models with linear layers in NF4 (4-bit NormalFloat, Dettmers et al. 2023), by bitsandbytes.

The output layer, embeddings and norms stay in the model's precision, in which all products are computed.
"""

import importlib
import logging
import sys
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import BitsAndBytesConfig, PreTrainedModel

from reinforge.errors import JobFailure
from worker.machine.memory import is_out_of_memory
from worker.policy.targets import find_experts

_LARGEST_ERROR = 0.2
"""Largest quantisation error, relative to the norm of normally distributed weights; NF4 has 0.09."""


class Nf4Weight:
    def __init__(self, weight: Any) -> None:
        self._weight, self._state = weight.data, weight.quant_state

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = self._state.dtype
        return dtype

    def product(self, x: Tensor, bias: Tensor | None) -> Tensor:
        output: Tensor = bitsandbytes().matmul_4bit(x, self._weight, bias=bias, quant_state=self._state)
        return output

    def dense(self) -> Tensor:
        weight: Tensor = bitsandbytes().functional.dequantize_4bit(self._weight, self._state)
        return weight


def is_nf4(weight: Tensor) -> bool:
    return getattr(weight, "quant_state", None) is not None


def product_dtype(parameter: Tensor) -> torch.dtype:
    state: Any = getattr(parameter, "quant_state", None)
    dtype: torch.dtype = parameter.dtype if state is None else state.dtype
    return dtype


def parameter_count(parameter: Tensor) -> int:
    """Number of weights in a parameter; NF4 stores two per byte."""
    state: Any = getattr(parameter, "quant_state", None)
    return int(parameter.numel() if state is None else state.shape.numel())


def parameter_bytes(parameter: Tensor) -> int:
    """Bytes of a parameter, with the scales of its blocks."""
    if not is_nf4(parameter):
        return int(parameter.nbytes)
    state: Any = vars(parameter)["quant_state"]
    scales = [state.absmax] if state.state2 is None else [state.absmax, state.state2.absmax]
    return int(parameter.nbytes + sum(tensor.nbytes for tensor in scales))


def bitsandbytes() -> Any:
    if sys.modules.get("bitsandbytes", ...) is None:
        # `worker.policy` hides it.
        del sys.modules["bitsandbytes"]
    # On processors with AVX512-BF16 it reports a missing package, which only other layouts would need.
    logging.getLogger("bitsandbytes.backends.cpu.ops").setLevel(logging.ERROR)
    return importlib.import_module("bitsandbytes")


def nf4_config(device: torch.device) -> BitsAndBytesConfig:
    """Settings with which transformers quantises a model while it loads. Raises JobFailure `nf4_unavailable`
    if bitsandbytes fails.
    """
    _check_library(device)
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=compute_dtype(device),
    )


def compute_dtype(device: torch.device) -> torch.dtype:
    return torch.bfloat16 if device.type == "cuda" else torch.float32


def check_quantised(model: PreTrainedModel, path: Path) -> None:
    """Raises JobFailure `nf4_unsupported` if linear layers of the decoder are not in NF4, or if its input or
    output layer is.
    """
    if find_experts(model).stacks:
        raise _unsupported(
            path,
            "it is a mixture of experts, and bitsandbytes leaves experts, most of its weights, as they are",
        )
    ends = {id(model.get_output_embeddings()), id(model.get_input_embeddings())}
    quantised = 0
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.Linear) and is_nf4(module.weight) == (id(module) in ends):
            how = "was" if id(module) in ends else "was not"
            raise _unsupported(path, f"its layer {name} {how} quantised")
        quantised += isinstance(module, torch.nn.Linear) and is_nf4(module.weight)
    if not quantised:
        raise _unsupported(path, "it has no linear layer")


def use_plain_layout(model: PreTrainedModel) -> None:
    """Keep the stored layout: on processors with AVX512-BF16, bitsandbytes otherwise converts weights at the
    first pass to a layout without gradients.
    """
    for module in model.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def _check_library(device: torch.device) -> None:
    weight = torch.randn(64, 64, generator=torch.Generator().manual_seed(0))
    try:
        functional = bitsandbytes().functional
        packed, state = functional.quantize_4bit(
            weight.to(device), quant_type="nf4", compress_statistics=True
        )
        error = (functional.dequantize_4bit(packed, state).cpu() - weight).norm() / weight.norm()
    except Exception as problem:
        # A library for another GPU or driver can fail in any way.
        if is_out_of_memory(problem):
            raise
        raise _unavailable(
            str(problem).strip().splitlines()[0][:300] if str(problem) else repr(problem)
        ) from problem
    if not error < _LARGEST_ERROR:
        raise _unavailable(
            f"weights that it quantised came back with an error of {error:.2f}, above {_LARGEST_ERROR}"
        )


def _unavailable(why: str) -> JobFailure:
    return JobFailure(
        f"base.precision is nf4, and bitsandbytes does not work on this worker: {why}",
        code="nf4_unavailable",
        hint="Install it on the worker: pip install 'bitsandbytes>=0.50,<0.51'; then resume the job. Or start it again "
        "without base.precision.",
        retryable=True,
    )


def _unsupported(path: Path, why: str) -> JobFailure:
    return JobFailure(
        f"The model in {path.name} cannot be trained in NF4: {why}.",
        code="nf4_unsupported",
        hint="Start the job again without base.precision.",
    )
