"""Reactions to out of memory: smaller micro-batches, then gradient checkpointing, then a pause."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from reinforge.errors import JobFailure
from worker.machine.memory import memory_in_words, out_of_memory, total_memory, with_amount
from worker.policy.base import Sequences
from worker.policy.forward.micro_batches import MicroBatch, tokens_of

FACT = "memory"
"""Key in a resume state's facts."""
_LIKE = 1.05
"""A device with more than this multiple of the memory starts with the usual sizes."""


@dataclass(frozen=True, slots=True)
class Planned:
    """Tokens, with padding, of a run's parts."""

    largest: int = 0
    """Tokens of its largest micro-batch."""
    longest: int = 0
    """Tokens of its longest row, the smallest micro-batch."""

    def also(self, sequences: Sequences, parts: Iterable[MicroBatch]) -> "Planned":
        largest, longest = self.largest, self.longest
        for part in parts:
            row = max(len(sequences.prompts[row]) + len(sequences.completions[row]) for row in part.rows)
            largest, longest = max(largest, tokens_of(sequences, part)), max(longest, row)
        return Planned(largest, longest)


def halved(tokens: int, planned: Planned) -> int | None:
    """Half the tokens of the micro-batches that were too large; None if each is a single row.

    Halves the largest actual micro-batch, since halving an unused budget would change nothing.
    """
    if planned.largest <= planned.longest or tokens <= planned.longest:
        return None
    return max(planned.longest, min(tokens, planned.largest) // 2)


def change_message(
    device: torch.device, planned: Planned, tokens: int, *, requested: str | None, checkpointing: bool
) -> str:
    """One sentence about the change. checkpointing: it was turned on."""
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
    """Failure because a single row does not fit. computed_twice: with gradient checkpointing; None without gradient."""
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


def memory_facts(device: torch.device, tokens: int, *, checkpointing: bool) -> dict[str, Any]:
    """Sizes for the next attempt, so that it runs the same micro-batches."""
    return {
        FACT: {
            "device": device.type,
            "total": total_memory(device),
            "micro_batch_tokens": tokens,
            "gradient_checkpointing": checkpointing,
        }
    }


def read_facts(device: torch.device, facts: Mapping[str, Any]) -> tuple[int, bool] | None:
    """Tokens and gradient checkpointing of an earlier attempt; None if there are none, or if this device has more
    memory."""
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
