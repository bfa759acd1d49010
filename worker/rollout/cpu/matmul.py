"""Matrix products of few rows with constant weights, faster than `F.linear` on some CPUs.

On x86 `F.linear` is MKL's, which leaves the widest instructions alone of processors that Intel did not make. oneDNN,
which torch has too, takes a quarter to nine tenths of its time there for 1 to 256 rows (benchmarks/products.py), once
the weight is in its own order. A row's bits do not depend on the rows beside it, which with MKL they do.
"""

import platform
from functools import cache
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

LARGE = 2**18
"""Elements of a weight from which oneDNN is faster; MKL keeps smaller weights in a core's cache."""


class Product:
    """x (R, I) → (R, O) through a weight (O, I) and a bias (O,), without gradients."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight, self.bias = weight, bias

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class OrderedProduct(Product):
    """With a copy of the weight as it is now, in oneDNN's order. float32 on the CPU only."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        ordered: Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), None)
        super().__init__(ordered, bias)

    def __call__(self, x: Tensor) -> Tensor:
        rows = len(x)
        if missing := _room(rows) - rows:
            x = F.pad(x, (0, 0, 0, missing))
        output: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return output[:rows]


def fastest_product(weight: Tensor, bias: Tensor | None) -> Product:
    """With the weight itself where that is as fast."""
    supported = weight.dtype == torch.float32 and weight.device.type == "cpu"
    if supported and weight.numel() >= LARGE and onednn_is_faster():
        return OrderedProduct(weight, bias)
    return Product(weight, bias)


@cache
def onednn_is_faster() -> bool:
    """By the processor's maker, not by a clock: a machine has to compute the same bits each time."""
    if platform.machine() != "x86_64" or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return False
    try:
        return "GenuineIntel" not in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return False


def _room(rows: int) -> int:
    """The rows that are computed for so many, at most a quarter more from 33 on. oneDNN makes code for each number of
    rows, in 0.5 ms, and keeps it, and the memory between: of batches whose rows leave one by one hundreds of MiB."""
    unit = 1 << max(3, (rows - 1).bit_length() - 3)
    return -(-rows // unit) * unit
