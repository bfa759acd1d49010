"""Micro-batches by token budget: rows of similar length together, so that little is padding, or rows of one long
prompt, which is then run once for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from worker.policy.base import Sequences

LONG_PROMPT = 64
"""Tokens from which a prompt is worth a pass of its own."""
SPARED = 0.25
"""Share of a group's tokens that running its prompt once has to spare."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    rows: list[int]
    prompt_once: bool = False
    """All rows have the same prompt, which is to be run once."""


def micro_batches(
    sequences: Sequences, rows: Sequence[int], budget: int, *, prompt_once: bool
) -> list[MicroBatch]:
    """`rows` in parts of at most `budget` tokens, padding counted. prompt_once: the model can share a prompt."""
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
    return made + [MicroBatch([apart[i] for i in part]) for part in plan(lengths, budget)]


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
