"""Matrix products of few rows with constant weights."""

import platform
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

LARGE = 2**18
"""Number of weight elements from which oneDNN is faster."""


class Product:
    """Linear layer without gradients; weight (outputs, inputs), bias (outputs,)."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight, self.bias = weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class OrderedProduct(Product):
    """Product with a copy of its weight in oneDNN's memory layout. Only for float32 on the CPU."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        ordered: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
        super().__init__(ordered, bias)

    def __call__(self, x: Tensor) -> Tensor:
        rows = len(x)
        if missing := _padded_rows(rows) - rows:
            x = F.pad(x, (0, 0, 0, missing))
        output: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return output[:rows]


def fastest_product(weight: Tensor, bias: Tensor | None) -> Product:
    supported = weight.dtype == torch.float32 and weight.device.type == "cpu"
    if supported and weight.numel() >= LARGE and onednn_is_faster():
        return OrderedProduct(weight, bias)
    return Product(weight, bias)


@cache
def onednn_is_faster() -> bool:
    """Whether this is an x86-64 processor not made by Intel. A choice by timing could change
    results between runs.
    """
    if platform.machine() != "x86_64" or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    try:
        return "GenuineIntel" not in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def _padded_rows(rows: int) -> int:
    unit = 1 << max(3, (rows - 1).bit_length() - 3)
    return -(-rows // unit) * unit
