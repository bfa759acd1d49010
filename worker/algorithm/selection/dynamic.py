"""Dynamic sampling: replaces groups with equal rewards."""

import torch
from torch import Tensor

from worker.algorithm.advantages.groups import group_statistics
from worker.algorithm.rows import UNIFORM_STD, Rows, State
from worker.algorithm.selection.base import Prompts, Selected


def keep_all(rows: Rows, rewards: Tensor, state: State) -> Selected:
    return Selected(keep=~rewards.isnan(), state=state)


def with_signal(
    rows: Rows, rewards: Tensor, *, tolerance: float = UNIFORM_STD, by: str | None = None
) -> Tensor:
    """(N,) bool: rows of groups whose rewards have a sample deviation above `tolerance`. DAPO (2503.14476)
    eq. 11.

    by: name of the reward to compare instead of `rewards`, so that a length penalty is not taken for signal.
    """
    scored = ~rewards.isnan()
    values = rewards
    if by is not None:
        if by not in rows.names:
            raise ValueError(f"`by` names an unknown reward {by!r}: choose one of {', '.join(rows.names)}")
        values = rows.values[:, rows.names.index(by)]
    stats = group_statistics(values, rows.group, scored & ~values.isnan())
    return scored & (stats.std > tolerance)


def dynamic_sampling(
    rows: Rows,
    rewards: Tensor,
    state: State,
    *,
    tolerance: float = UNIFORM_STD,
    by: str | None = None,
    max_rounds: int = 10,
) -> Selected:
    """Keep groups whose rewards differ and request the missing prompts, in at most `max_rounds` rounds.

    After these the step trains on fewer groups (verl `max_num_gen_batches`).
    """
    signal = with_signal(rows, rewards, tolerance=tolerance, by=by)
    groups = torch.unique(rows.group)
    target = rows.group_count if rows.group_count is not None else len(groups)
    good = torch.unique(rows.group[signal])
    missing = max(0, target - len(good))
    keep = signal & torch.isin(rows.group, good[:target])
    metrics = {
        "select/rounds": float(rows.rounds),
        "select/uniform_share": 1 - len(good) / max(len(groups), 1),
        "select/missing_groups": float(missing),
    }
    again = (Prompts(count=missing),) if missing and rows.rounds < max_rounds else ()
    return Selected(keep=keep, state=state, again=again, metrics=metrics)
