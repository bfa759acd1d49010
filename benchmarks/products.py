"""The products of a decoding step: `F.linear` (MKL on x86) beside oneDNN with a weight in its own order, by rows.

Weights of the 42 M model of `trainer_vs_trl.py`, so many of each in turn that no cache holds them; two threads; the
fastest of several turns. `worker/rollout/cpu/matmul.py` chooses by what this says.
"""

import time
from collections.abc import Sequence
from typing import Any

import torch
from common.measure import machine, parser, table, write

from worker.rollout.cpu.matmul import OrderedProduct, Product, onednn_is_faster

SHAPES = {
    "q, k and v": (1024, 512),
    "o": (512, 512),
    "gate and up": (3072, 512),
    "down": (512, 1536),
    "head": (8192, 512),
}
"""(O, I)."""
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
HELD_BYTES = 64_000_000


def main() -> None:
    options = parser(__doc__ or "").parse_args()
    torch.set_num_threads(2)
    rounds = 3 if options.quick else 15
    about, products = machine("torch"), list[dict[str, Any]]()
    with torch.inference_mode():
        for name, shape in SHAPES.items():
            products.extend(_compared(name, shape, rounds))
    table(
        ["weight", "rows", "F.linear, ms", "oneDNN, ms", "oneDNN ÷ F.linear"],
        [
            (row["weight"], row["rows"], row["linear_ms"], row["onednn_ms"], row["onednn_ms"] / row["linear_ms"])
            for row in products
        ],
    )  # fmt: skip
    print(f"\nThe platform takes {'oneDNN' if onednn_is_faster() else 'F.linear'} on this processor.")
    write("products", {"machine": about, "threads": 2, "products": products}, depth=2)


def _compared(name: str, shape: tuple[int, int], rounds: int) -> list[dict[str, Any]]:
    weights = [torch.randn(shape) for _ in range(HELD_BYTES // (4 * shape[0] * shape[1]))]
    sides = (
        [Product(weight, None) for weight in weights],
        [OrderedProduct(weight, None) for weight in weights],
    )
    products = []
    for rows in ROWS:
        x = torch.randn(rows, shape[1])
        taken: tuple[list[float], list[float]] = [], []
        for _ in range(rounds):
            for side, times in zip(sides, taken, strict=True):
                times.append(_ms(side, x))
        products.append(
            {"weight": name, "rows": rows, "linear_ms": min(taken[0]), "onednn_ms": min(taken[1])}
        )
    return products


def _ms(products: Sequence[Product], x: torch.Tensor) -> float:
    """Of one product."""
    begin = time.perf_counter()
    for product in products:
        product(x)
    return 1000 * (time.perf_counter() - begin) / len(products)


if __name__ == "__main__":
    main()
