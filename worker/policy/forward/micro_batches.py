"""Splits rows into micro-batches by token budget, in one of three layouts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from worker.policy.base import Sequences
from worker.policy.forward.rows import groups

Layout = Literal["padded", "prompt_once", "packed"]
"""Layout of a forward pass: padded rows; completions after their common prompt; or all rows packed into one
sequence.
"""

LONG_PROMPT = 64
SMALLEST = 256
SPARED = 0.25
"""Least share of a group's tokens that `prompt_once` has to save."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    rows: list[int]
    layout: Layout = "padded"


def micro_batches(
    sequences: Sequences, rows: Sequence[int], budget: int, *, layout: Layout, threads: int = 1
) -> list[MicroBatch]:
    """Micro-batches of at most `budget` tokens with padding; their number is a multiple of `threads` if
    possible.
    """
    if layout == "packed":
        return [MicroBatch(part, "packed") for part in lines(sequences, rows, budget)]
    together: list[list[int]] = []
    apart = list(rows)
    if layout == "prompt_once":
        together = [group for _, group in groups(sequences, rows) if _prompt_once_pays(sequences, group)]
        taken = {row for group in together for row in group}
        apart = [row for row in rows if row not in taken]
    parts = []
    for group in together:
        prompt = len(sequences.prompts[group[0]])
        lengths = [len(sequences.completions[row]) for row in group]
        parts += [
            MicroBatch([group[i] for i in part], "prompt_once")
            for part in plan(lengths, max(1, budget - prompt))
        ]
    lengths = [len(sequences.prompts[row]) + len(sequences.completions[row]) for row in apart]
    return parts + [MicroBatch([apart[i] for i in part]) for part in spread(lengths, budget, threads)]


def tokens_of(sequences: Sequences, part: MicroBatch) -> int:
    completions = [len(sequences.completions[row]) for row in part.rows]
    if part.layout == "packed":
        return sum(map(len, {tuple(sequences.prompts[row]) for row in part.rows})) + sum(completions)
    if part.layout == "prompt_once":
        return len(sequences.prompts[part.rows[0]]) + len(completions) * max(completions)
    return len(completions) * max(
        len(sequences.prompts[row]) + len(sequences.completions[row]) for row in part.rows
    )


def lines(sequences: Sequences, rows: Sequence[int], budget: int) -> list[list[int]]:
    """Rows of each packed sequence of at most `budget` tokens; a prompt counts once per sequence."""
    parts: list[list[int]] = []
    room = 0
    by_length = sorted(
        groups(sequences, rows),
        key=lambda group: -len(group[0]) - max(len(sequences.completions[row]) for row in group[1]),
    )
    for prompt, group in by_length:
        begun = False
        for row in group:
            read = max(0, len(sequences.completions[row]) - 1)
            if not parts or read + (0 if begun else len(prompt)) > room:
                parts.append([])
                room, begun = budget, False
            parts[-1].append(row)
            room -= read + (0 if begun else len(prompt))
            begun = True
    return parts


def spread(lengths: Sequence[int], budget: int, threads: int) -> list[list[int]]:
    parts = plan(lengths, budget)
    if len(parts) % threads == 0:
        return parts
    part_count = -(-len(parts) // threads) * threads
    padded = sum(len(part) * lengths[part[0]] for part in parts)
    # On average, half a row of a full part stays empty.
    return plan(lengths, min(budget, max(SMALLEST, -(-padded // part_count) + max(lengths) // 2)))


def plan(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Row numbers of micro-batches of at most `budget` tokens with padding.

    Longest first, so that a batch too large for the memory fails at once.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    batches: list[list[int]] = []
    for row in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= budget:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _prompt_once_pays(sequences: Sequences, group: Sequence[int]) -> bool:
    prompt = len(sequences.prompts[group[0]])
    tokens = sum(prompt + len(sequences.completions[row]) for row in group)
    return prompt >= LONG_PROMPT and prompt * (len(group) - 1) >= SPARED * tokens
