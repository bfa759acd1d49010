"""Steps of scored completions for the tests of the advantage: groups of any size, in any order, some rows left out."""

from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import strategies as st
from torch import Tensor

from worker.algorithm.advantages import ADVANTAGES, advantages
from worker.algorithm.rows import Rows, Steps, Turns

SLOTS: dict[str, dict[str, Any]] = {name: {"type": name} for name in sorted(ADVANTAGES)} | {
    "reinforce_pp_baseline.sequence": {"type": "reinforce_pp_baseline", "level": "sequence"},
    "gae.plain": {"type": "gae", "gamma": 0.9, "lam": 0.5, "whiten": False},
    "grpo.population": {"type": "grpo", "std": "population"},
    "gtpo.joint": {"type": "gtpo", "norm_scope": "joint"},
    "grpo_s.joint": {"type": "grpo_s", "norm_scope": "joint"},
    "lampo.confidence": {"type": "lampo", "weight": "confidence"},
    "lampo.uniform": {"type": "lampo", "weight": "uniform"},
    "passk_max.plain": {"type": "passk_max", "normalise": False},
}
"""The estimators, in their forms."""


@dataclass(frozen=True)
class Step:
    rows: Rows
    rewards: Tensor
    keep: Tensor

    def credit(self, name: str) -> Tensor:
        return advantages(SLOTS[name], self.rows, self.rewards, self.keep)


def build(
    rewards: list[float], group: list[int], keep: list[bool], lengths: list[int], width: int, seed: int
) -> Step:
    """Rows with old log-probabilities, entropies, steps, turns and values made from `seed`; NaN where a row has no
    reward and in the padding."""
    generator = torch.Generator().manual_seed(seed)
    count = len(rewards)
    mask = torch.arange(width)[None, :] < torch.tensor(lengths)[:, None]
    noise = torch.rand((count, width), generator=generator, dtype=torch.float64)
    row = torch.arange(count).repeat_interleave(2)
    half = (torch.tensor(lengths) + 1) // 2
    first, last = half, torch.tensor(lengths)
    scores = torch.randint(0, 3, (2 * count,), generator=generator).double()
    in_loss = torch.tensor(keep)
    values = torch.where(in_loss, torch.tensor(rewards, dtype=torch.float64), torch.nan)
    rows = Rows(
        group=torch.tensor(group),
        values=values[:, None],
        weights=torch.ones(1, dtype=torch.float64),
        scorable=in_loss,
        mask=mask,
        truncated=torch.zeros(count, dtype=torch.bool),
        old_logprobs=torch.where(mask, -noise, torch.nan).float(),
        entropies=torch.where(mask, noise * 2, torch.nan).float(),
        steps=Steps(row=row, end=torch.stack([first, last], 1).flatten(), values=scores),
        turns=Turns(
            row=row,
            start=torch.stack([torch.zeros_like(first), first], 1).flatten(),
            end=torch.stack([first, last], 1).flatten(),
            rewards=scores,
            states=torch.randint(0, 3, (2 * count,), generator=generator),
        ),
        state_values=torch.where(mask, torch.rand((count, width), generator=generator) * 2 - 0.5, torch.nan),
    )
    return Step(rows, values, in_loss)


@st.composite
def steps(draw: st.DrawFn, *, keep_all: bool = False) -> Step:
    """Up to four groups of 1 to 6 rows, some of them not kept, their rows in any order."""
    sizes = draw(st.lists(st.integers(2 if keep_all else 1, 6), min_size=1, max_size=4))
    count = sum(sizes)
    group = draw(st.permutations([3 * number for number, size in enumerate(sizes) for _ in range(size)]))
    reward = st.one_of(st.sampled_from([0.0, 1.0]), st.integers(-300, 300).map(lambda value: value / 100))
    rewards = draw(st.lists(reward, min_size=count, max_size=count))
    keep = [True] * count if keep_all else draw(st.lists(st.booleans(), min_size=count, max_size=count))
    lengths = draw(st.lists(st.integers(1, 5), min_size=count, max_size=count))
    return build(rewards, group, keep, lengths, 5, draw(st.integers(0, 2**16)))


def close(actual: Tensor, expected: Tensor, atol: float = 1e-9) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-7, atol=atol)


def take(rows: Rows, chosen: Tensor, inside: Tensor) -> Rows:
    """The rows `chosen`, in that order; `inside` (S,) are their steps and turns."""
    assert rows.steps and rows.turns and rows.old_logprobs is not None and rows.entropies is not None
    assert rows.state_values is not None
    place = torch.full((len(rows.group),), -1)
    place[chosen] = torch.arange(len(chosen))
    number = place[rows.steps.row[inside]]
    order = torch.argsort(number, stable=True)
    pick = torch.nonzero(inside).squeeze(1)[order]
    row, steps, turns = number[order], rows.steps, rows.turns
    return replace(
        rows,
        group=rows.group[chosen],
        values=rows.values[chosen],
        scorable=rows.scorable[chosen],
        mask=rows.mask[chosen],
        truncated=rows.truncated[chosen],
        old_logprobs=rows.old_logprobs[chosen],
        entropies=rows.entropies[chosen],
        state_values=rows.state_values[chosen],
        steps=Steps(row=row, end=steps.end[pick], values=steps.values[pick]),
        turns=Turns(
            row=row,
            start=turns.start[pick],
            end=turns.end[pick],
            rewards=turns.rewards[pick],
            states=turns.states[pick],
        ),
    )


def group_spread(step: Step) -> Tensor:
    """(N,) the largest difference of kept rewards in each row's group."""
    spread = torch.zeros(len(step.rewards), dtype=torch.float64)
    for number in step.rows.group.unique().tolist():
        members = (step.rows.group == number) & step.keep
        if bool(members.any()):
            rewards = step.rewards[members]
            spread[step.rows.group == number] = rewards.max() - rewards.min()
    return spread
