"""Guided correction of wrong completions (EDGE-GRPO)."""

from random import Random

import torch
from torch import Tensor

from worker.algorithm.rows import Rows, State
from worker.algorithm.selection.base import Repair, Selected

CUE = "\nWait, that looks wrong. Let me go through it again.\n"


def guided_correction(
    rows: Rows,
    rewards: Tensor,
    state: State,
    *,
    full_reward: float = 1.0,
    cue: str = CUE,
    cue_share: float = 0.5,
    answer_share: float = 0.25,
    max_tokens: int = 256,
    max_prompt_tokens: int = 256,
    train_injected: bool = False,
) -> Selected:
    """Request the repair of every row below `full_reward`: at random by the cue, by cue and answer, or by the
    solution.

    EDGE-GRPO (2507.21848). As in the authors' code, prompts of `max_prompt_tokens` or more are excluded;
    unlike there, inserted tokens are trained on only with `train_injected`. State: `steps`, a counter.
    """
    scored = ~rewards.isnan()
    step = int(state.get("steps", 0))
    if rows.rounds > 1:
        injected = rows.needed("injected") if train_injected else None
        return Selected(keep=scored, state={"steps": step + 1}, injected=injected)
    short = rows.needed("prompt_lengths") < max_prompt_tokens
    wrong = torch.nonzero(scored & (rewards < full_reward) & short).squeeze(1).tolist()
    repairs = []
    for row in wrong:
        draw = Random(f"{rows.seed}/{step}/{row}").random()
        answer = cue_share <= draw < cue_share + answer_share
        solution = draw >= cue_share + answer_share
        repairs.append(Repair(row=row, cue=cue, answer=answer, solution=solution, max_tokens=max_tokens))
    share = len(wrong) / max(int(scored.sum()), 1)
    metrics = {"select/repaired_share": share}
    return Selected(keep=scored, state={"steps": step + 1}, again=tuple(repairs), metrics=metrics)
