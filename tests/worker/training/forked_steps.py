"""Steps of rollouts with several conversations, and a policy whose parameters are log-probabilities of tokens."""

from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, cast

import torch
from hypothesis import strategies as st
from torch import Tensor

from reinforge.spec import JobSpec
from tests.support.small_jobs import small_spec
from worker.environment.base import PolicyTurn, Prompt, Segment
from worker.policy.base import (
    Batch,
    Critic,
    ForwardBackward,
    LossFunction,
    Policy,
    Sequences,
    SumCount,
    TokenScores,
)
from worker.rewards.base import Group, RewardResult, Score, Scorer
from worker.rollout.collect import Rollout
from worker.training.batch import StepBatch, assemble
from worker.training.credit import Credit, assign_credit, choose
from worker.training.critic import update_critic
from worker.training.forward_passes import Passes, reward_passes, update_passes
from worker.training.update import Update, update

Groups = list[list[Rollout]]


class OneReward:
    """The reward that the program returned."""

    names, weights = ("low",), (1.0,)

    async def score(self, groups: AsyncIterable[Group]) -> AsyncGenerator[tuple[int, list[Score]], None]:
        async for group in groups:
            values = [sample.sample["environment_reward"] for sample in group.samples]
            yield group.key, [Score((RewardResult("low", "ok", value),), None, False) for value in values]


class TokenPolicy:
    """Reads each conversation in a micro-batch of its own."""

    def __init__(self, tokens: int) -> None:
        chance = torch.Generator().manual_seed(tokens)
        self.logprobs = (-0.1 - torch.rand(tokens, generator=chance, dtype=torch.float64)).requires_grad_()
        self.entropies = 0.1 + torch.rand(tokens, generator=chance, dtype=torch.float64)
        self.reference = self.logprobs.detach() + 0.3 * torch.randn(
            tokens, generator=chance, dtype=torch.float64
        )
        self.gradients: list[Tensor] = []
        self.trained: list[int] = []
        """Tokens in the loss."""

    def log_probs(self, sequences: Sequences) -> TokenScores:
        return TokenScores(
            _spread(self.logprobs.detach(), sequences.completions),
            _spread(self.entropies, sequences.completions),
        )

    def reference_log_probs(self, sequences: Sequences) -> Tensor:
        return _spread(self.reference, sequences.completions)

    def forward_backward(self, batch: Batch, loss: LossFunction) -> ForwardBackward:
        metrics: dict[str, SumCount] = {}
        gradients: dict[str, float] = {}
        self.logprobs.grad = None
        for row, ids in enumerate(batch.sequences.completions):
            scores = TokenScores(_spread(self.logprobs, [ids]), _spread(self.entropies, [ids]))
            tensors = {
                name: tensor[row : row + 1] if tensor.dim() == 1 else tensor[row : row + 1, : len(ids)]
                for name, tensor in batch.tensors.items()
            }
            self.trained += torch.tensor(ids)[tensors["mask"][0]].tolist()
            value = loss(scores, tensors)
            if bool(batch.needs_gradient[row]):
                torch.autograd.backward(value.total / batch.denominator)
            for name, (total, count) in value.metrics.items():
                before = metrics.get(name, (0.0, 0.0))
                metrics[name] = (before[0] + total, before[1] + count)
            for name, gradient in value.gradients.items():
                gradients[name] = gradients.get(name, 0.0) + gradient / batch.denominator
        grad = self.logprobs.grad
        self.gradients.append(torch.zeros_like(self.logprobs) if grad is None else grad.clone())
        return ForwardBackward(metrics, self.log_probs(batch.sequences), gradients)

    def optimizer_step(self, **settings: Any) -> float:
        """Other log-probabilities for the step's next update."""
        with torch.no_grad():
            self.logprobs -= 0.1 * self.gradients[-1]
        return 1.0


def _spread(values: Tensor, rows: Sequence[Sequence[int]]) -> Tensor:
    longest = max((len(ids) for ids in rows), default=0)
    columns = [
        torch.cat([values[list(ids)], values.new_zeros(longest - len(ids))]) if longest else values[:0]
        for ids in rows
    ]
    return torch.stack(columns).float()


class TrainedStep:
    def __init__(self, spec: JobSpec, groups: Groups, tokens: int, *, critic: Critic | None = None) -> None:
        self.spec = spec
        self.policy = TokenPolicy(tokens)
        policy = cast(Policy, self.policy)
        self.batch: StepBatch = assemble(
            groups, cast(Scorer, OneReward()), 1.0, lambda rows: [""] * len(rows)
        )
        passes = reward_passes(self.spec, policy, self.batch.sequences)
        self.choice = choose(self.spec, self.batch, passes, {})
        self.passes: Passes = update_passes(self.spec, policy, self.batch.sequences, passes, critic)
        self.credit: Credit = assign_credit(self.spec, self.choice, self.passes, metrics={})
        self.update: Update = update(self.spec, policy, self.batch, self.credit, self.passes, {}, 0.1)
        if critic is not None:
            update_critic(self.spec, critic, self.batch, self.credit, self.passes, 0.1, self.update)

    @property
    def advantages(self) -> dict[tuple[int, int], Tensor]:
        """By prompt and sample."""
        rows = zip(self.batch.rollouts, self.credit.advantages, strict=True)
        return {(rollout.prompt_no, rollout.sample_no): values for rollout, values in rows}


def agent_spec(**changes: Any) -> JobSpec:
    return small_spec(
        environment={"type": "agent"},
        rollout__max_completion_tokens=40,
        rollout__prompts_per_step=3,
        evaluation__rows=0,
        **changes,
    )


def as_one_row(groups: Groups) -> Groups:
    """The same rollouts, each as one conversation with all its tokens."""
    return [[_merged(rollout) for rollout in group] for group in groups]


def _merged(rollout: Rollout) -> Rollout:
    parts, turns, before = rollout.conversations, list[PolicyTurn](), 0
    for part in parts:
        for turn in part.turns:
            turns.append(replace(turn, no=len(turns), start=before + turn.start, end=before + turn.end))
        before += len(part.token_ids)
    completion = tuple(chain.from_iterable(part.completion for part in parts))
    return replace(rollout, completion=completion, turns=tuple(turns), others=(), share=1.0)


def as_rows_of_their_own(groups: Groups) -> Groups:
    """Every conversation as if it were a rollout: what must not be counted."""
    return [
        [
            replace(part, sample_no=number, others=(), share=1.0, score=rollout.score)
            for number, (rollout, part) in enumerate(
                (rollout, part) for rollout in group for part in rollout.conversations
            )
        ]
        for group in groups
    ]


def rollout(
    prompt_no: int, sample_no: int, lengths: Sequence[int], reward: float | None, first_token: int
) -> Rollout:
    """A rollout of conversations of `lengths` tokens of the policy. No token comes twice in a step."""
    score = Score(
        (RewardResult("low", "ok" if reward is not None else "timeout", reward),), None, reward is None
    )
    parts, token = list[Rollout](), first_token
    for branch, length in enumerate(lengths):
        first = max(1, length // 2)
        pieces = (
            [(first, "policy"), (1, "user"), (length - first, "policy")] if length > 1 else [(1, "policy")]
        )
        segments, turns, place = list[Segment](), list[PolicyTurn](), 0
        for size, by in pieces:
            ids = tuple(range(token, token + size))
            logprobs = (-0.5,) * size if by == "policy" else ()
            segments.append(Segment(ids, cast(Any, by), logprobs, logprobs and (0.3,) * size, len(turns)))
            if by == "policy":
                turns.append(PolicyTurn(len(turns), place, place + size, "text"))
            place, token = place + size, token + size
        prompt = Prompt(prompt_no, {}, [], "", (0,) * (1 + branch), f"p{prompt_no}")
        parts.append(
            Rollout(
                prompt, prompt_no, sample_no, tuple(segments), "text", "stop",
                turns=tuple(turns), branch=branch, branches=len(lengths), share=length / sum(lengths),
            )
        )  # fmt: skip
    return replace(parts[-1], score=score, others=tuple(parts[:-1]))


Shape = list[list[tuple[list[int], float | None]]]
"""Of each group's rollouts: tokens of the policy by conversation, and the reward."""

SHAPES: st.SearchStrategy[Shape] = st.lists(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 5), min_size=1, max_size=3),
            st.sampled_from([0.0, 0.25, 1.0, None]),
        ),
        min_size=2,
        max_size=4,
    ),
    min_size=1,
    max_size=3,
)


def build(shape: Shape) -> tuple[Groups, int]:
    """Rollouts, and how many different tokens there are."""
    groups, token = Groups(), 1
    for prompt_no, group in enumerate(shape):
        groups.append([])
        for sample_no, (lengths, reward) in enumerate(group):
            groups[-1].append(rollout(prompt_no, sample_no, lengths, reward, token))
            token += sum(len(part.token_ids) for part in groups[-1][-1].conversations)
    return groups, token
