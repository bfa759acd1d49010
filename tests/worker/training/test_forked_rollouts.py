"""Rollouts of several conversations: statistics count rollouts, and a rollout weighs what one row weighs."""

import io
from dataclasses import replace
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings

from tests.worker.rollout.agent_programs import (
    END,
    FIRST_SAMPLED,
    AgentRun,
    Play,
    rewriting,
    with_sub_agents,
)
from tests.worker.training.forked_steps import (
    SHAPES,
    OneReward,
    Shape,
    TokenPolicy,
    TrainedStep,
    agent_spec,
    as_one_row,
    as_rows_of_their_own,
    build,
)
from worker.policy.base import Batch, Critic, Sequences, SumCount, ValueFunction
from worker.rewards.base import Scorer
from worker.training.reporting.metrics import step_values
from worker.training.reporting.rollout_table import SCHEMA, TrainerScores, completion_summaries, to_parquet
from worker.training.reporting.slices import Slices

few = settings(max_examples=10, deadline=None)

SETTINGS: dict[str, dict[str, Any]] = {
    "seq_mean, two updates": {"updates_per_step": 2, "loss": {"kl": {"beta": 0.1}}},
    "seq_mean, rloo, pairs": {"advantage": {"type": "rloo"}, "loss": {"aux": {"type": "dpo_pair"}}},
    "token_mean, whitened tokens": {
        "shaping": {"type": "weighted_sum", "kl": {"beta": 0.1, "level": "token"}},
        "advantage": {"type": "reinforce_pp"},
        "loss": {"aggregation": {"type": "token_mean"}},
    },
    "token_mean over all, gfpo": {
        "selection": {"type": "gfpo", "keep": 2},
        "loss": {"aggregation": {"type": "token_mean", "denominator": "all"}},
    },
    "token_mean, gtpo, top entropy": {
        "advantage": {"type": "gtpo"},
        "loss": {
            "aggregation": {"type": "token_mean"},
            "policy_tokens": {"type": "top_entropy", "share": 0.4},
        },
    },
    "constant, dr_grpo, long completions": {
        "shaping": {"type": "weighted_sum", "soft_overlong": {"weight": 1.0, "limit": 8, "cache": 6}},
        "advantage": {"type": "dr_grpo"},
        "loss": {"aggregation": {"type": "constant", "length": 30}},
    },
    "seq_sum_mean, opo, sequence ratio": {
        "selection": {"type": "dynamic_sampling"},
        "advantage": {"type": "opo"},
        "loss": {"aggregation": {"type": "seq_sum_mean"}, "ratio_level": "sequence"},
    },
    "lambda, length_corrected": {
        "advantage": {"type": "length_corrected"},
        "loss": {"aggregation": {"type": "lambda"}},
    },
}
"""Every aggregation. Ratios of one update are 1, so that a ratio of each conversation has the gradient of one over the
rollout."""
SPECS = {name: agent_spec(algorithm=algorithm) for name, algorithm in SETTINGS.items()}


def trained(shape: Shape, name: str) -> tuple[TrainedStep, TrainedStep]:
    """The step, and the same one with each rollout as one row."""
    groups, tokens = build(shape)
    return TrainedStep(SPECS[name], groups, tokens), TrainedStep(SPECS[name], as_one_row(groups), tokens)


@pytest.mark.parametrize("name", SETTINGS)
@few
@given(shape=SHAPES)
def test_a_forked_rollout_weighs_what_one_row_weighs(name: str, shape: Shape) -> None:
    forked, plain = trained(shape, name)
    assert torch.equal(forked.choice.selected.keep, plain.choice.selected.keep)
    assert torch.equal(forked.credit.advantages, plain.credit.advantages)
    assert len(forked.policy.gradients) == len(plain.policy.gradients)
    for gradient, expected in zip(forked.policy.gradients, plain.policy.gradients, strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-8)
    torch.testing.assert_close(forked.update.scores.logprobs, plain.update.scores.logprobs)
    assert forked.update.tokens == plain.update.tokens
    assert forked.update.metrics.keys() == plain.update.metrics.keys()
    for key, pair in plain.update.metrics.items():
        assert forked.update.metrics[key] == pytest.approx(pair, rel=1e-4, abs=1e-5), key
    parameters = [step.update.state.get("parameters", {}) for step in (forked, plain)]
    assert parameters[0] == pytest.approx(parameters[1], rel=1e-4, abs=1e-6)
    values, expected_values = rollout_values(forked), rollout_values(plain)
    assert values.keys() == expected_values.keys()
    assert values == pytest.approx(expected_values, rel=1e-4, abs=1e-5)


def rollout_values(step: TrainedStep) -> dict[str, float]:
    """Metrics of rewards, lengths, advantages and tokens that are defined."""
    values = step_values(step.spec, step.batch, step.credit, step.update, step.passes, Slices(None, {}))
    of_one_text = ("completions/repeated", "reward/repetition", "completions/duplicate", "rollout/forks")
    return {
        name: value
        for name, value in values.items()
        if value is not None and not name.startswith(of_one_text)
    }


FORKED: Shape = [[([3], 0.25), ([2, 1, 4], 1.0), ([5], 0.0)], [([2], 1.0), ([3], 0.0)]]
UNFORKED: Shape = [[([3], 0.25), ([7], 1.0), ([5], 0.0)], FORKED[1]]


def test_the_rows_of_a_rollout_count_once_in_its_group() -> None:
    groups, tokens = build(FORKED)
    spec = agent_spec()
    step, by_row = TrainedStep(spec, groups, tokens), TrainedStep(spec, as_rows_of_their_own(groups), tokens)
    values, wrong = rollout_values(step), rollout_values(by_row)
    assert values["reward/mean"] == pytest.approx((0.25 + 1 + 0 + 1 + 0) / 5)
    assert values["completions/length_mean"] == pytest.approx((3 + 7 + 5 + 2 + 3) / 5)
    assert wrong["reward/mean"] == pytest.approx((0.25 + 3 + 0 + 1 + 0) / 7), "what rows would count"
    deviation = torch.tensor([0.25, 1.0, 0.0]).std() + 1e-4
    expected = (torch.tensor([0.25, 1.0, 0.0]) - 1.25 / 3) / deviation
    torch.testing.assert_close(step.credit.advantages[:3].float(), expected)
    assert not torch.allclose(step.credit.advantages[1], by_row.credit.advantages[1], atol=0.1)
    assert step_values(
        spec, step.batch, step.credit, step.update, step.passes, Slices(None, {})
    )["rollout/forks_share"] == pytest.approx(1 / 5)  # fmt: skip


def test_a_group_without_a_fork_is_equal_to_the_bit() -> None:
    """Beside a group with one, and in a step without any, where the policy's own tensors are used as they are."""
    (forked, tokens), (plain, _) = build(FORKED), build(UNFORKED)
    spec = agent_spec()
    first, second = (TrainedStep(spec, groups, tokens) for groups in (forked, plain))
    assert torch.equal(first.credit.advantages, second.credit.advantages)
    gradients = [
        step.policy.gradients[0][[token for rollout in groups[1] for token in rollout.token_ids]]
        for step, groups in ((first, forked), (second, plain))
    ]
    assert torch.equal(*gradients) and bool((gradients[0] != 0).any())
    sequences, scores = second.batch.sequences, torch.rand(5, 8)
    assert sequences.joined(scores) is scores and len(sequences) == len(sequences.sequences) == 5


@pytest.mark.parametrize(
    "loss", [{}, {"kl": {"beta": 0.1, "level": "sequence"}}, {"ratio_level": "trajectory"}], ids=str
)
def test_the_gradient_is_the_sum_of_the_conversations_by_share(loss: dict[str, Any]) -> None:
    groups, tokens = build(FORKED)
    spec = agent_spec(algorithm={"loss": loss | {"aggregation": {"type": "seq_mean"}}})
    step = TrainedStep(spec, groups, tokens)
    fork = groups[0][1]
    assert sum(part.share for part in fork.conversations) == pytest.approx(1)
    for part in fork.conversations:
        alone = replace(part, others=(), share=1.0, score=fork.score)
        only = TrainedStep(spec, [[groups[0][0], alone, groups[0][2]], groups[1]], tokens)
        assert torch.equal(only.credit.advantages, step.credit.advantages)
        ids = list(part.token_ids)
        gradient = step.policy.gradients[0][ids]
        assert bool((gradient != 0).any())
        torch.testing.assert_close(gradient, part.share * only.policy.gradients[0][ids])


def test_every_conversation_is_read_behind_its_own_prompt() -> None:
    groups, tokens = build(FORKED)
    sequences = TrainedStep(agent_spec(), groups, tokens).batch.sequences.take([1, 3])
    assert [len(prompt) for prompt in sequences.sequences.prompts] == [1, 2, 3, 1]
    conversations = [*groups[0][1].conversations, groups[1][0]]
    assert sequences.sequences.completions == [part.token_ids for part in conversations]


def test_what_a_reward_says_of_the_end_credits_all_conversations() -> None:
    """`process` credits a token with the steps that end at or behind it."""
    groups, tokens = build([[([2, 3], 1.0), ([4], 0.0)]])
    groups[0] = [
        replace(rollout, score=replace(rollout.score, results=(replace(result, turns=[(result.value, 0)]),)))
        for rollout in groups[0]
        for result in (rollout.score.results if rollout.score else ())
    ]
    step = TrainedStep(agent_spec(algorithm={"advantage": {"type": "process"}}), groups, tokens)
    credited = (step.credit.advantages[0] > 0).tolist()
    # 2 tokens of the policy with one of the user's between them, and the first turn of the other conversation
    assert credited == [True, False, True, True, False, False, False]


@pytest.mark.parametrize("play", [rewriting, with_sub_agents])
def test_the_loss_has_each_token_that_a_program_received_once(play: Play) -> None:
    run = AgentRun(play, prompts=2, samples=3)
    collected = run.collect(cast(Scorer, OneReward()))
    step = TrainedStep(agent_spec(), collected.groups, FIRST_SAMPLED + 200)
    assert sorted(id for id in step.policy.trained if id != END) == run.received_ids
    gradient = step.policy.gradients[0]
    assert set(gradient.nonzero()[:, 0].tolist()) <= {END, *run.received_ids}
    values = rollout_values(step)
    assert step.credit.advantages.tolist() == pytest.approx([-1, 0, 1] * 2, abs=1e-3)
    assert (len(step.batch.rollouts), len(step.batch.sequences.sequences)) == (6, 18)
    assert values["completions/length_mean"] == 3 * len(run.exchange.received) / 6
    assert values["rollout/turns_mean"] == len(run.exchange.received) / 6


def test_a_table_has_a_row_for_a_rollout_with_its_other_conversations() -> None:
    groups, tokens = build(FORKED)
    step = TrainedStep(agent_spec(), groups, tokens)
    rollouts = step.batch.rollouts
    statuses = completion_summaries(rollouts, step.credit.rewards.tolist(), [0.5] * 5)
    assert [status.length for status in statuses] == [3, 7, 5, 2, 3]
    assert [status.turns for status in statuses] == [2, 5, 2, 2, 2]
    scores = TrainerScores(step.update.scores, torch.ones(5, dtype=torch.bool))
    content = to_parquet(rollouts, statuses, scores, lambda ids: [str(id) for id in ids])
    rows = pq.read_table(io.BytesIO(content)).to_pylist()
    assert [(row["prompt_no"], row["sample_no"]) for row in rows] == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
    assert [row["branches"] is None for row in rows] == [True, False, True, True, True]
    assert [part["branch"] for part in (*rows[1]["branches"], rows[1])] == [0, 1, 2]
    assert [part["share"] for part in rows[1]["branches"]] == pytest.approx([2 / 7, 1 / 7])
    for part in (*rows[1]["branches"], *rows):
        assert part["tokens"] == [str(id) for id in part["token_ids"]]
        expected = TokenPolicy(tokens).log_probs(Sequences([()], [part["token_ids"]], 1.0)).logprobs[0]
        by_policy = torch.tensor(part["mask"])
        torch.testing.assert_close(torch.tensor(part["trainer_logprobs"])[by_policy], expected[by_policy])


def test_a_table_of_a_step_without_forks_has_no_columns_for_them() -> None:
    step = TrainedStep(agent_spec(), *build(UNFORKED))
    statuses = completion_summaries(step.batch.rollouts, [0.0] * 5, [0.0] * 5)
    content = to_parquet(step.batch.rollouts, statuses, None, lambda ids: [""] * len(ids))
    assert pq.read_schema(io.BytesIO(content)).equals(SCHEMA)


class TokenCritic:
    """Its value of a token is the token's number; keeps the returns that it is trained towards, by token."""

    def __init__(self) -> None:
        self.returns: dict[int, float] = {}

    def values(self, sequences: Sequences) -> torch.Tensor:
        longest = sequences.longest
        return torch.tensor([[*ids, *[0] * (longest - len(ids))] for ids in sequences.completions]) / 100

    def forward_backward(self, batch: Batch, loss: ValueFunction) -> dict[str, SumCount]:
        for row, ids in enumerate(batch.sequences.completions):
            mask = batch.tensors["mask"][row].tolist()
            returns = batch.tensors["returns"][row].tolist()
            self.returns |= {
                id: value
                for id, value, trained in zip(ids, returns, mask[: len(ids)], strict=False)
                if trained
            }
        return loss(self.values(batch.sequences), batch.tensors).metrics

    def optimizer_step(self, **settings: Any) -> float:
        return 1.0


def test_a_critic_is_trained_as_on_one_row() -> None:
    groups, tokens = build(FORKED)
    spec = agent_spec(algorithm={"preset": "ppo"})
    steps, critics = [], []
    for rollouts in (groups, as_one_row(groups)):
        critics.append(TokenCritic())
        steps.append(TrainedStep(spec, rollouts, tokens, critic=cast(Critic, critics[-1])))
    assert torch.equal(steps[0].credit.advantages, steps[1].credit.advantages)
    assert critics[0].returns == critics[1].returns and len(critics[0].returns) == 20
    for name in ("critic/loss", "critic/return_mean", "critic/value_mean"):
        assert steps[0].update.metrics[name] == pytest.approx(steps[1].update.metrics[name], rel=1e-5)
