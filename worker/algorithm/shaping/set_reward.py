"""VPO: rewards of completions with several candidate answers."""

from collections.abc import Sequence
from random import Random

import torch
from torch import Tensor

from worker.algorithm.rows import Rows, State
from worker.algorithm.shaping.base import Combined
from worker.algorithm.shaping.combine import sum_of, weighted_sum


def set_reward(candidates: Tensor, weights: Tensor) -> Tensor:
    """Mean over the K weight vectors (K, d) of the best weighted score among the candidates (m, d)."""
    return (weights @ candidates.T).max(1).values.mean()


def dirichlet(seed: str, alpha: float, draws: int, dimensions: int) -> Tensor:
    """Weights from a Dirichlet distribution, (draws, dimensions) float64; each row sums to 1."""
    random = Random(seed)
    gammas = [[random.gammavariate(alpha, 1.0) for _ in range(dimensions)] for _ in range(draws)]
    table = torch.tensor(gammas, dtype=torch.float64).clamp(min=1e-300)
    return table / table.sum(1, keepdim=True)


def vpo(rows: Rows, state: State, *, alpha: float = 1.0, draws: int = 64) -> Combined:
    """Each reward with `candidates` becomes E_w[max over the candidates of w · scores], w ~ Dirichlet(alpha);
    then the weighted sum of rewards.

    VPO (2605.22817) eq. 1; the number of weight vectors is ours, and a prompt's rows share them. State:
    `steps`, a counter. Raises ValueError if no row ever had candidates, or vectors of a prompt differ in
    length.
    """
    step = int(state.get("steps", 0))
    if rows.candidates is None or not any(candidates for row in rows.candidates for candidates in row):
        if step or not bool(rows.scorable.any()):
            return weighted_sum(rows, state)
        raise ValueError(
            "no reward returned `candidates`: vpo needs a reward that returns a vector for each candidate"
        )
    values = rows.values.clone()
    prompts = rows.prompts or tuple(str(number) for number in rows.group.tolist())
    drawn: dict[tuple[str, int], Tensor] = {}
    for row, per_reward in enumerate(rows.candidates):
        for column, candidates in enumerate(per_reward):
            if not candidates:
                continue
            key = (prompts[row], column)
            table = _table(candidates)
            if key not in drawn:
                drawn[key] = dirichlet(
                    f"{rows.seed}/{step}/{column}/{prompts[row]}", alpha, draws, table.shape[1]
                )
            if drawn[key].shape[1] != table.shape[1]:
                raise ValueError("candidates of one prompt have vectors of different lengths")
            values[row, column] = set_reward(table, drawn[key])
    return Combined(rewards=sum_of(rows, values), state={"steps": step + 1})


def _table(candidates: Sequence[Sequence[float]]) -> Tensor:
    return torch.tensor([list(vector) for vector in candidates], dtype=torch.float64)
