"""Low-precision products with unrounded float32 output."""

from functools import cache

import torch
from torch import Tensor


def float32_product(a: Tensor, b: Tensor) -> Tensor:
    """Product of a (N, K) and b (K, M) in float32, or in float64 for float64 inputs."""
    if a.dtype in (torch.float32, torch.float64):
        return a @ b
    if has_float32_output(a.device, a.dtype):
        return torch.mm(a, b, out_dtype=torch.float32)
    return a.float() @ b.float()


@cache
def has_float32_output(device: torch.device, dtype: torch.dtype) -> bool:
    if device.type != "cuda" or dtype not in (torch.bfloat16, torch.float16):
        return False
    one = torch.ones((16, 16), dtype=dtype, device=device)
    try:
        product = torch.mm(one, one, out_dtype=torch.float32)
    except (RuntimeError, TypeError):
        return False
    return product.dtype == torch.float32
