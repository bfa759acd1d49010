"""Micro-batches by token budget: rows of similar length together, so that little is padding, or rows of one long
prompt, which is then run once for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from worker.policy.base import Sequences

LONG_PROMPT = 64
"""Tokens from which a prompt is worth a pass of its own."""
SMALLEST = 256
"""Tokens below which a micro-batch is not split for another lane."""
SPARED = 0.25
"""Share of a group's tokens that running its prompt once has to spare."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    rows: list[int]
    prompt_once: bool = False
    """All rows have the same prompt, which is to be run once."""


def micro_batches(
    sequences: Sequences, rows: Sequence[int], budget: int, *, prompt_once: bool, lanes: int = 1
) -> list[MicroBatch]:
    """`rows` in parts of at most `budget` tokens, padding counted. prompt_once: the model can share a prompt. lanes:
    parts that run side by side, for which there are as many as make all of them busy."""
    together: list[list[int]] = []
    apart = list(rows)
    if prompt_once:
        together = [group for group in _groups(sequences, rows) if _pays(sequences, group)]
        taken = {row for group in together for row in group}
        apart = [row for row in rows if row not in taken]
    made = []
    for group in together:
        prompt = len(sequences.prompts[group[0]])
        lengths = [len(sequences.completions[row]) for row in group]
        made += [
            MicroBatch([group[i] for i in part], True) for part in plan(lengths, max(1, budget - prompt))
        ]
    lengths = [len(sequences.prompts[row]) + len(sequences.completions[row]) for row in apart]
    return made + [MicroBatch([apart[i] for i in part]) for part in spread(lengths, budget, lanes)]


def spread(lengths: Sequence[int], budget: int, lanes: int) -> list[list[int]]:
    """As `plan`, in a multiple of `lanes` parts where rows allow it."""
    parts = plan(lengths, budget)
    if len(parts) % lanes == 0:
        return parts
    wanted = -(-len(parts) // lanes) * lanes
    padded = sum(len(part) * lengths[part[0]] for part in parts)
    # A part is full when the next row does not fit: half a row of room on average.
    return plan(lengths, min(budget, max(SMALLEST, -(-padded // wanted) + max(lengths) // 2)))


def plan(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Split rows into micro-batches of at most `budget` tokens, padding counted; longest first.

    The longest come first so that a batch too large for the memory fails at once. A row longer than the budget is
    a micro-batch of its own.
    """
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    batches: list[list[int]] = []
    for row in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= budget:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _groups(sequences: Sequences, rows: Sequence[int]) -> list[list[int]]:
    """Rows by prompt, in order."""
    found: dict[tuple[int, ...], list[int]] = {}
    for row in rows:
        found.setdefault(tuple(sequences.prompts[row]), []).append(row)
    return list(found.values())


def _pays(sequences: Sequences, group: Sequence[int]) -> bool:
    prompt = len(sequences.prompts[group[0]])
    tokens = sum(prompt + len(sequences.completions[row]) for row in group)
    return prompt >= LONG_PROMPT and prompt * (len(group) - 1) >= SPARED * tokens
