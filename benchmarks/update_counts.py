"""What an update costs a GPU beside its arithmetic, counted on the CPU: operations that launch a kernel, and bytes kept
for the backward pass, with the ways of being fast off and on.

    .venv/bin/python benchmarks/update_counts.py [--json OUT]
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from common.measure import stamp
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import Qwen2Config, Qwen2ForCausalLM

from worker.policy import merged_weights
from worker.policy.base import Batch, LossValue, Sequences, TokenScores
from worker.policy.forward import attention, logprobs
from worker.policy.forward.activations import saved_bytes
from worker.policy.forward.micro_batches import Layout
from worker.policy.host import LocalHost
from worker.policy.load import LoadedModel
from worker.policy.lora import LoraPolicy

LAYERS = 28
SHAPES = {"0.5B": (896, 4864, 14, 2, 24), "1.5B": (1536, 8960, 12, 2, 28), "7B": (3584, 18944, 28, 4, 28)}
"""Hidden and intermediate size, heads, key heads and layers of Qwen2.5's."""
TOKENS = 32
"""Of the pass whose kept bytes are counted."""
NO_KERNEL = {
    *(
        "view",
        "_unsafe_view",
        "t",
        "transpose",
        "expand",
        "slice",
        "select",
        "unsqueeze",
        "squeeze",
        "permute",
    ),
    *(
        "detach",
        "alias",
        "as_strided",
        "split",
        "split_with_sizes",
        "unbind",
        "empty",
        "empty_like",
        "diagonal",
    ),
    *("empty_strided", "new_empty", "new_empty_strided", "reshape", "_reshape_alias", "lift_fresh", "unfold"),
    *("is_same_size", "_local_scalar_dense", "sym_size", "movedim", "chunk", "promote_types"),
}
"""Operations that touch no element, or none on a device."""


@dataclass(frozen=True, slots=True)
class Arm:
    beside: bool
    frozen_heads: bool
    layout: Layout


ARMS = {
    "PEFT's layers, a prompt once per group": Arm(False, False, "prompt_once"),
    "PEFT's layers, padded": Arm(False, False, "padded"),
    "adapters beside, a prompt once per group": Arm(True, True, "prompt_once"),
    "adapters beside, packed": Arm(True, True, "packed"),
}


class Launches(TorchDispatchMode):
    """Counts operations that launch at least one kernel on a GPU."""

    _counting: "Launches | None" = None

    def __init__(self) -> None:
        super().__init__()
        self.by_name: Counter[str] = Counter()
        self._paused = False

    def __enter__(self) -> "Launches":
        Launches._counting = self
        super().__enter__()
        return self

    @staticmethod
    @contextmanager
    def as_one(name: str) -> Iterator[None]:
        """What runs inside counts as one launch."""
        if (counter := Launches._counting) is None:
            yield
            return
        counter.by_name[name] += 1
        counter._paused = True
        try:
            yield
        finally:
            counter._paused = False

    @property
    def total(self) -> int:
        return sum(self.by_name.values())

    def __torch_dispatch__(
        self, function: Any, types: Any, arguments: Any = (), named: dict[str, Any] | None = None
    ) -> Any:
        name = function._schema.name.split("::")[1]
        if not self._paused and name not in NO_KERNEL:
            self.by_name[name] += 1
        return function(*arguments, **(named or {}))


class _Attention(torch.autograd.Function):
    """In place of torch's `varlen_attn`, which has no CPU: one launch forward and one back."""

    @staticmethod
    def forward(ctx: Any, scale: float, starts: Tensor, key_starts: Tensor, *states: Tensor) -> Tensor:
        ctx.scale = scale
        ctx.save_for_backward(starts, key_starts, *states)
        with Launches.as_one("varlen_attn"):
            return _segments(scale, starts, key_starts, *states).contiguous()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        starts, key_starts, *states = ctx.saved_tensors
        with Launches.as_one("varlen_attn_backward"), torch.enable_grad():
            leaves = [state.detach().requires_grad_() for state in states]
            output = _segments(ctx.scale, starts, key_starts, *leaves)
            return None, None, None, *torch.autograd.grad(output, leaves, gradient)


def _segments(scale: float, starts: Tensor, key_starts: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    parts = []
    ends, key_ends = starts.tolist(), key_starts.tolist()
    for i in range(len(ends) - 1):
        rows, columns = ends[i + 1] - ends[i], key_ends[i + 1] - key_ends[i]
        mask = torch.ones((rows, columns), dtype=torch.bool).tril(columns - rows)
        ours, theirs = slice(ends[i], ends[i + 1]), slice(key_ends[i], key_ends[i + 1])
        parts.append(
            torch.nn.functional.scaled_dot_product_attention(
                q[ours].transpose(0, 1)[None],
                k[theirs].transpose(0, 1)[None],
                v[theirs].transpose(0, 1)[None],
                attn_mask=mask,
                scale=scale,
                enable_gqa=True,
            )[0].transpose(0, 1)
        )
    return torch.cat(parts)


def _as_one_kernel(
    query: Tensor, key: Tensor, value: Tensor, cu_seq_q: Tensor, cu_seq_k: Tensor, *_: int, **named: Any
) -> Tensor:
    attended: Tensor = _Attention.apply(named["scale"], cu_seq_q, cu_seq_k, query, key, value)
    return attended


@contextmanager
def with_arm(policy: LoraPolicy, arm: Arm) -> Iterator[None]:
    before = policy.layout
    with ExitStack() as stack:
        if not arm.beside:
            stack.enter_context(patch.object(merged_weights, "BESIDE", ()))
        stack.enter_context(patch.object(logprobs, "FROZEN_HEADS", arm.frozen_heads))
        stack.enter_context(patch("torch.nn.attention.varlen.varlen_attn", _as_one_kernel))
        stack.enter_context(patch.object(attention, "_kernel", lambda *_: attention.varlen))
        stack.enter_context(patch.object(attention, "_knows", lambda _: True))
        policy.layout = arm.layout
        try:
            yield
        finally:
            policy.layout = before


def make(shape: tuple[int, int, int, int], layers: int) -> LoraPolicy:
    """In bfloat16, with an adapter of rank 16 on all linear layers."""
    hidden, intermediate, heads, key_heads = shape
    config = Qwen2Config(
        vocab_size=1024,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=key_heads,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        model = Qwen2ForCausalLM(config)
    # No count depends on the numbers, and drawing them takes longest.
    model = model.to(torch.bfloat16).to_empty(device="cpu").eval().requires_grad_(False)
    for tensor in (*model.parameters(), *model.buffers()):
        tensor.zero_()
    host = LocalHost(LoadedModel(model, (1,), 4096))
    policy = host.create_policy("policy", rank=16, alpha=32.0, targets="all-linear", seed=0)
    policy.passes._measured = True
    policy.passes.tokens = 16_384
    return policy


def counted_batch() -> Batch:
    """4 groups of 8, prompts of 200 tokens, completions of 100 to 121."""
    prompts = [list(range(2 + g, 202 + g)) for g in range(4) for _ in range(8)]
    completions = [[5 + i % 7] * (100 + 3 * (i % 8)) for i in range(32)]
    return Batch(Sequences(prompts, completions, 1.0), {}, torch.ones(32, dtype=torch.bool), 1.0)


def total(scores: TokenScores, _: Any) -> LossValue:
    return LossValue(scores.logprobs.sum(), {})


def launches(layers: int, batch: Batch, arm: Arm) -> tuple[int, int]:
    """Of forward and backward over one optimizer batch; micro-batches."""
    policy = make((128, 256, 4, 2), layers)
    with with_arm(policy, arm):
        with Launches() as counter:
            policy.forward_backward(batch, total)
        return counter.total, len(policy._plan(batch.sequences, range(len(batch.sequences))))


def saved_bytes_per_token(shape: tuple[int, int, int, int], layers: int, arm: Arm) -> float:
    """Bytes per token."""
    policy = make(shape, layers)
    ids = torch.arange(TOKENS)[None] % 1000

    def attempt() -> None:
        with policy._computing():
            states = policy._model.model(input_ids=ids, use_cache=False).last_hidden_state
            states.float().sum().backward()

    with with_arm(policy, arm):
        return saved_bytes(policy._model, attempt) / TOKENS


def of_all_layers(one: float, two: float, layers: int) -> float:
    """From the counts with one layer and with two: each further layer adds the same."""
    return one + (layers - 1) * (two - one)


def measure(
    layers: int = LAYERS, shapes: dict[str, tuple[int, int, int, int, int]] = SHAPES
) -> dict[str, Any]:
    batch = counted_batch()
    counts = {}
    for name, arm in ARMS.items():
        (one, parts), (two, _) = (launches(count, batch, arm) for count in (1, 2))
        counts[name] = {"launches": int(of_all_layers(one, two, layers)), "micro_batches": parts}
    saved = {}
    for name, (*shape, depth) in shapes.items():
        before, after = (
            of_all_layers(*(saved_bytes_per_token(tuple(shape), count, arm) for count in (1, 2)), depth)  # type: ignore[arg-type]
            for arm in (Arm(False, False, "padded"), Arm(True, True, "padded"))
        )
        saved[name] = {"before": round(before), "after": round(after), "ratio": round(after / before, 3)}
    return {"layers": layers, "launches": counts, "kept_bytes_per_token": saved}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    result = stamp("torch", "transformers", "peft") | measure()
    for name, row in result["launches"].items():
        print(f"{name:45} {row['launches']:>8,} launches, {row['micro_batches']} micro-batches")
    for name, row in result["kept_bytes_per_token"].items():
        one, two = row["before"] / 2**20, row["after"] / 2**20
        print(f"{name:>5} keeps {one:.2f} → {two:.2f} MiB per token, {row['ratio']:.2f}")
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
