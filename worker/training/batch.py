import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from worker.algorithm.rows import Rows, Steps, Turns
from worker.rewards.base import RewardResult, Score, Scorer
from worker.rollout.collect import Rollout
from worker.rollout.conversations import Decode
from worker.training.rollout_sequences import RolloutSequences


@dataclass(frozen=True, slots=True)
class StepBatch:
    """The N rollouts of a step, group after group, each one row of tensors (`worker.training.rollout_sequences`)."""

    rollouts: list[Rollout]
    rows: Rows
    sequences: RolloutSequences
    sampler_logprobs: Tensor
    """Log-probabilities under the sampler, (N, T) float32, 0 outside the mask."""
    sampler_entropies: Tensor
    """Entropies of the sampler, (N, T) float32 nats, 0 outside the mask; NaN if unknown."""
    execute_token: int | None = None
    """First token of the text by which the policy decides to call a tool; None if the loss ignores it."""

    @property
    def scores(self) -> list[Score]:
        return [rollout.score for rollout in self.rollouts if rollout.score is not None]


def assemble(
    groups: Sequence[Sequence[Rollout]], scorer: Scorer, temperature: float, decode: Decode
) -> StepBatch:
    rollouts = [rollout for group in groups for rollout in group]
    completions = [_joined(rollout, lambda part: part.token_ids) for rollout in rollouts]
    lengths = torch.tensor([len(ids) for ids in completions])
    present = torch.arange(int(lengths.max()))[None, :] < lengths[:, None]
    token_ids = _spread(completions, present, torch.int64)
    mask = _spread(
        [_joined(rollout, lambda part: part.action_mask) for rollout in rollouts], present, torch.bool
    )
    sampler = _spread(
        [_joined(rollout, lambda part: part.sampler_logprobs) for rollout in rollouts], present, torch.float32
    )
    entropies = _spread([_joined(rollout, _entropies) for rollout in rollouts], present, torch.float32)
    results = [_results(rollout) for rollout in rollouts]
    rows = Rows(
        group=torch.tensor([rollout.prompt_no for rollout in rollouts]),
        values=torch.tensor(
            [[torch.nan if r.value is None else r.value for r in row] for row in results], dtype=torch.float64
        ).reshape(len(rollouts), -1),
        weights=torch.tensor(scorer.weights, dtype=torch.float64),
        scorable=torch.tensor(
            [rollout.score is not None and not rollout.score.dropped for rollout in rollouts]
        ),
        mask=mask,
        truncated=torch.tensor([rollout.finish_reason == "length" for rollout in rollouts]),
        steps=_steps(rollouts, scorer.weights, decode),
        turns=_turns(rollouts, scorer.weights),
        token_ids=token_ids,
        names=scorer.names,
        prompts=tuple(rollout.prompt.prompt_hash for rollout in rollouts),
        prompt_lengths=torch.tensor([len(rollout.prompt.token_ids) for rollout in rollouts]),
        criteria=tuple(tuple(result.criteria for result in row) for row in results),
        candidates=tuple(tuple(result.candidates for result in row) for row in results),
        tool_spans=_tool_spans(rollouts),
        source=_sources(rollouts),
        injected=present & ~mask,
    )
    sequences = RolloutSequences.of(rollouts, temperature)
    return StepBatch(
        rollouts, rows, sequences, torch.where(mask, sampler, 0.0), torch.where(mask, entropies, 0.0)
    )


def _joined(rollout: Rollout, values: Callable[[Rollout], Sequence[Any]]) -> list[Any]:
    return list(chain.from_iterable(map(values, rollout.conversations)))


def _entropies(conversation: Rollout) -> Sequence[float]:
    return conversation.sampler_entropies or (torch.nan,) * len(conversation.token_ids)


def _before(rollout: Rollout) -> int:
    """Number of tokens in a rollout's row before the conversation that rewards read."""
    return sum(len(other.token_ids) for other in rollout.others)


def _spread(rows: Sequence[Sequence[Any]], present: Tensor, dtype: torch.dtype) -> Tensor:
    spread = torch.zeros(present.shape, dtype=dtype)
    spread[present] = torch.tensor(list(chain.from_iterable(rows)), dtype=dtype)
    return spread


def _results(rollout: Rollout) -> tuple[RewardResult, ...]:
    return rollout.score.results if rollout.score else ()


def _steps(rollouts: Sequence[Rollout], weights: Sequence[float], decode: Decode) -> Steps | None:
    steps = [
        (row, _before(rollout) + end_token(rollout, end, decode), weight * value)
        for row, rollout in enumerate(rollouts)
        for result, weight in zip(_results(rollout), weights, strict=False)
        for value, end in result.steps
    ]
    steps += [
        (row, _before(rollout) + _turn_end(rollout, turn), weight * value)
        for row, rollout in enumerate(rollouts)
        for result, weight in zip(_results(rollout), weights, strict=False)
        for value, turn in result.turns
    ]
    if not steps:
        return None
    row, end, value = zip(*steps, strict=True)
    return Steps(
        row=torch.tensor(row), end=torch.tensor(end), values=torch.tensor(value, dtype=torch.float64)
    )


def _turn_end(rollout: Rollout, turn: int) -> int:
    return rollout.turns[turn].end if rollout.turns else len(rollout.token_ids)


def _turns(rollouts: Sequence[Rollout], weights: Sequence[float]) -> Turns | None:
    """The policy's turns as actions. A reward without values per turn counts for the rollout's last turn."""
    if not any(rollout.turns for rollout in rollouts):
        return None
    entries = [
        (row, *action) for row, rollout in enumerate(rollouts) for action in _actions(rollout, weights)
    ]
    row_no, start, end, rewards, states = zip(*entries, strict=True)
    return Turns(
        row=torch.tensor(row_no),
        start=torch.tensor(start),
        end=torch.tensor(end),
        rewards=torch.tensor(rewards, dtype=torch.float64),
        states=torch.tensor(states),
    )


def _actions(rollout: Rollout, weights: Sequence[float]) -> Iterator[tuple[int, int, float, int]]:
    """Yield start, end, reward and state of each turn."""
    prompt_hash, before = rollout.prompt.prompt_hash, 0
    for conversation in rollout.conversations:
        is_rewarded = conversation is rollout
        rewards_by_turn = _turn_rewards(rollout, weights) if is_rewarded else {}
        ids, answer_start = conversation.token_ids, 0
        unread = () if is_rewarded else conversation.prompt.token_ids
        for turn in conversation.turns:
            state = _state(prompt_hash, (*unread, *ids[answer_start : turn.start]))
            yield before + turn.start, before + turn.end, rewards_by_turn.get(turn.no, 0.0), state
            answer_start, unread = turn.end, ()
        before += len(ids)


def _tool_spans(rollouts: Sequence[Rollout]) -> Tensor | None:
    if not any(rollout.turns for rollout in rollouts):
        return None
    return torch.tensor([rollout.call_span or (-1, -1) for rollout in rollouts])


def _sources(rollouts: Sequence[Rollout]) -> Tensor | None:
    if all(rollout.source is None for rollout in rollouts):
        return None
    rows = {(rollout.prompt_no, rollout.sample_no): row for row, rollout in enumerate(rollouts)}
    return torch.tensor(
        [-1 if rollout.source is None else rows[rollout.prompt_no, rollout.source] for rollout in rollouts]
    )


def _turn_rewards(rollout: Rollout, weights: Sequence[float]) -> dict[int, float]:
    sums: dict[int, float] = {}
    for result, weight in zip(_results(rollout), weights, strict=False):
        outcome = [] if result.value is None else [(result.value, rollout.turns[-1].no)]
        for value, turn in result.turns or outcome:
            sums[turn] = sums.get(turn, 0.0) + weight * value
    return sums


def _state(prompt_hash: str, ids: Sequence[int]) -> int:
    """Id of a state: a hash of the prompt and of the tokens that the environment wrote before the turn."""
    digest = hashlib.sha256(f"{prompt_hash}:{','.join(map(str, ids))}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def end_token(rollout: Rollout, end: int, decode: Decode) -> int:
    """Number of tokens up to the one that completes character `end` (1-based) of the last turn. For the last
    character it includes the end token.
    """
    before = rollout.turns[-1].start if rollout.turns else 0
    last = rollout.turns[-1].end if rollout.turns else len(rollout.token_ids)
    return before + _end_token(rollout.token_ids[before:last], rollout.text, end, decode)


def _end_token(ids: Sequence[int], text: str, end: int, decode: Decode) -> int:
    if end >= len(text):
        return len(ids)
    low, high = 0, len(ids)
    while low < high:
        middle = (low + high) // 2
        if len(decode([ids[:middle]])[0]) >= end:
            high = middle
        else:
            low = middle + 1
    # Inside a character of several tokens the text so far ends in a replacement character.
    while low < len(ids) and not text.startswith(decode([ids[:low]])[0]):
        low += 1
    return low
