"""What a device multiplies per second at most, and what a training step has to multiply."""

import time

import torch

from common.random_model import Shape

SIDES = {"cpu": 2048, "cuda": 8192}
DTYPES = {"cpu": torch.float32, "cuda": torch.bfloat16}
PRODUCTS = {"cpu": 2, "cuda": 20}
"""In a row, timed together."""
SECONDS = 1.0
"""That are spent at least: clocks of a GPU rise once it has work."""


def peak(device: str, threads: int | None = None) -> float:
    """FLOP/s of square matrices at best; float32 on the CPU, with torch's own threads unless given, bf16 on a GPU."""
    if threads is not None:
        torch.set_num_threads(threads)
    side, products = SIDES[device], PRODUCTS[device]
    one, two = (torch.randn(side, side, device=device).to(DTYPES[device]) for _ in range(2))
    out, times = one @ two, list[float]()
    while sum(times) < SECONDS:
        _wait(device)
        began = time.perf_counter()
        for _ in range(products):
            torch.mm(one, two, out=out)
        _wait(device)
        times.append(time.perf_counter() - began)
    return 2 * side**3 * products / min(times)


def update_flops(shape: Shape, prompt: int, completion: int, group: int) -> float:
    """FLOP of one forward and backward pass over a group, its prompt once; adapters, norms and softmax left out.

    The weights are frozen: backward costs what forward does, and twice for the products of attention, whose both sides
    have gradients. The head is multiplied at completion tokens alone.
    """
    wide, narrow = shape.heads * shape.head, shape.keys * shape.head
    layer = shape.hidden * (2 * wide + 2 * narrow + 3 * shape.inside)
    tokens = prompt + group * completion
    # Each token looks at itself and at what stands before it, the completions' at their prompt, too.
    looks = prompt * (prompt + 1) / 2 + group * (completion * prompt + completion * (completion + 1) / 2)
    weights = 2 * shape.layers * layer * tokens + 2 * shape.hidden * shape.vocabulary * group * completion
    return 2 * weights + 3 * 4 * wide * shape.layers * looks


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
