"""Micro-batches by token budget: rows of similar length together, so that little is padding; rows of one long prompt,
which is then run once for all of them; or all kinds of rows packed into one line."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from worker.policy.base import Sequences
from worker.policy.forward.rows import groups

Layout = Literal["padded", "prompt_once", "packed"]
"""How the rows of a pass lie: each padded in a line of its own; behind their common prompt, which is run first; or one
after the other in a single line, each prompt once."""

LONG_PROMPT = 64
"""Tokens from which a prompt is worth a pass of its own."""
SMALLEST = 256
"""Tokens below which a micro-batch is not split for another lane."""
SPARED = 0.25
"""Share of a group's tokens that running its prompt once has to spare."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    rows: list[int]
    layout: Layout = "padded"


def micro_batches(
    sequences: Sequences, rows: Sequence[int], budget: int, *, layout: Layout, lanes: int = 1
) -> list[MicroBatch]:
    """`rows` in parts of at most `budget` tokens, padding counted. layout: the one to use; with `prompt_once`
    rows whose prompts are not worth a pass of their own are padded. lanes: parts that run side by side, for which there
    are as many as make all of them busy."""
    if layout == "packed":
        return [MicroBatch(part, "packed") for part in lines(sequences, rows, budget)]
    together: list[list[int]] = []
    apart = list(rows)
    if layout == "prompt_once":
        together = [group for _, group in groups(sequences, rows) if _pays(sequences, group)]
        taken = {row for group in together for row in group}
        apart = [row for row in rows if row not in taken]
    made = []
    for group in together:
        prompt = len(sequences.prompts[group[0]])
        lengths = [len(sequences.completions[row]) for row in group]
        made += [
            MicroBatch([group[i] for i in part], "prompt_once")
            for part in plan(lengths, max(1, budget - prompt))
        ]
    lengths = [len(sequences.prompts[row]) + len(sequences.completions[row]) for row in apart]
    return made + [MicroBatch([apart[i] for i in part]) for part in spread(lengths, budget, lanes)]


def tokens_of(sequences: Sequences, part: MicroBatch) -> int:
    """Of one micro-batch, padding counted."""
    completions = [len(sequences.completions[row]) for row in part.rows]
    if part.layout == "packed":
        return sum(map(len, {tuple(sequences.prompts[row]) for row in part.rows})) + sum(completions)
    if part.layout == "prompt_once":
        return len(sequences.prompts[part.rows[0]]) + len(completions) * max(completions)
    return len(completions) * max(
        len(sequences.prompts[row]) + len(sequences.completions[row]) for row in part.rows
    )


def lines(sequences: Sequences, rows: Sequence[int], budget: int) -> list[list[int]]:
    """Rows by the line that they are packed into, of at most `budget` tokens, each prompt counted once per line.

    Groups stay together but for what does not fit; those with the longest rows come first, as in `plan`.
    """
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


def spread(lengths: Sequence[int], budget: int, lanes: int) -> list[list[int]]:
    """As `plan`, in a multiple of `lanes` parts where rows allow it."""
    parts = plan(lengths, budget)
    if len(parts) % lanes == 0:
        return parts
    part_count = -(-len(parts) // lanes) * lanes
    padded = sum(len(part) * lengths[part[0]] for part in parts)
    # A part is full when the next row does not fit: half a row of room on average.
    return plan(lengths, min(budget, max(SMALLEST, -(-padded // part_count) + max(lengths) // 2)))


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


def _pays(sequences: Sequences, group: Sequence[int]) -> bool:
    prompt = len(sequences.prompts[group[0]])
    tokens = sum(prompt + len(sequences.completions[row]) for row in group)
    return prompt >= LONG_PROMPT and prompt * (len(group) - 1) >= SPARED * tokens
