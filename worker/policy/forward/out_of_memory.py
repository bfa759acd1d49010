"""Reactions to running out of memory: smaller micro-batches, then gradient checkpointing, then failure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from reinforge.errors import JobFailure
from worker.machine.memory import memory_in_words, out_of_memory, total_memory, with_amount
from worker.policy.base import Sequences
from worker.policy.forward.micro_batches import MicroBatch, tokens_of

FACT = "memory"
_LIKE = 1.05
"""Ratio of this device's memory to the earlier device's above which the usual sizes are tried."""


@dataclass(frozen=True, slots=True)
class Planned:
    largest: int = 0
    longest: int = 0

    def also(self, sequences: Sequences, parts: Iterable[MicroBatch]) -> "Planned":
        largest, longest = self.largest, self.longest
        for part in parts:
            row = max(len(sequences.prompts[row]) + len(sequences.completions[row]) for row in part.rows)
            largest, longest = max(largest, tokens_of(sequences, part)), max(longest, row)
        return Planned(largest, longest)


def halved(tokens: int, planned: Planned) -> int | None:
    """Half the tokens of the largest micro-batch; None if each is a single row."""
    if planned.largest <= planned.longest or tokens <= planned.longest:
        return None
    return max(planned.longest, min(tokens, planned.largest) // 2)


def change_message(
    device: torch.device, planned: Planned, tokens: int, *, requested: str | None, checkpointing: bool
) -> str:
    at_hand = memory_in_words(device)
    return (
        f"Out of memory in micro-batches of up to {max(planned.largest, planned.longest):,} tokens"
        f"{with_amount(requested)}{f'; {at_hand} without them' if at_hand else ''}. The same rows run again in "
        f"micro-batches of at most {tokens:,} tokens"
        + (" with gradient checkpointing" if checkpointing else "")
    )


def too_long(
    device: torch.device, planned: Planned, *, requested: str | None, computed_twice: bool | None
) -> JobFailure:
    how = {
        True: ", even with gradient checkpointing",
        False: ", and gradient checkpointing is off for this worker or model",
        None: "",
    }[computed_twice]
    at_hand = memory_in_words(device)
    return out_of_memory(
        device,
        f"a row of {planned.longest:,} tokens does not fit by itself{how}{with_amount(requested)}"
        + (f"; {at_hand}" if at_hand else ""),
    )


def too_large_together(
    device: torch.device, planned: Planned, tokens: int, *, requested: str | None
) -> JobFailure:
    return out_of_memory(
        device,
        f"micro-batches of up to {max(planned.largest, planned.longest):,} tokens do not fit{with_amount(requested)}; "
        "ranks that share a base model cannot repeat them, so the next attempt runs micro-batches of at most "
        f"{tokens:,} tokens with gradient checkpointing",
    )


def memory_facts(device: torch.device, tokens: int, *, checkpointing: bool) -> dict[str, Any]:
    return {
        FACT: {
            "device": device.type,
            "total": total_memory(device),
            "micro_batch_tokens": tokens,
            "gradient_checkpointing": checkpointing,
        }
    }


def read_facts(device: torch.device, facts: Mapping[str, Any]) -> tuple[int, bool] | None:
    """Tokens per micro-batch and gradient checkpointing of an earlier attempt; None if this device has more memory."""
    match facts.get(FACT):
        case {
            "device": device.type,
            "total": int(before),
            "micro_batch_tokens": int(tokens),
            "gradient_checkpointing": bool(checkpointing),
        }:
            total = total_memory(device)
            if total is not None and total <= _LIKE * before and tokens >= 1:
                return tokens, checkpointing
    return None
