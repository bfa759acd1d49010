"""Collector of completions: scores each group while others are being sampled."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from reinforge.records import CompletionEnd
from worker.environment.base import Conversation, Environment, PolicyTurn, Prompt, Segment
from worker.rewards.base import Group, RewardResult, Scorable, Score, Scorer
from worker.rollout.conversations import (
    CallTexts,
    ConversationSampler,
    Decode,
    GroupSampler,
    Round,
    beginning,
    rollout_seed,
    without_end,
)
from worker.rollout.engine import GenerateRequest, Interrupted, NoiseKey, RolloutEngine, Sample
from worker.rollout.noise import Stream


@dataclass(frozen=True, slots=True)
class Rollout:
    """A scored `Conversation`, which documents the shared fields."""

    prompt: Prompt
    prompt_no: int
    sample_no: int
    completion: tuple[Segment, ...]
    text: str
    finish_reason: CompletionEnd
    score: Score | None = None
    turns: tuple[PolicyTurn, ...] = ()
    """Empty if the environment has no turns."""
    messages: tuple[dict[str, Any], ...] = ()
    """Messages that follow the prompt; empty if `turns` is."""
    failure: str | None = None
    failure_message: str | None = None
    branches: int = 1
    branch: int = 0
    branch_reason: str | None = None
    share: float = 1.0
    others: tuple["Rollout", ...] = ()
    environment_reward: float | None = None
    first_state: Any = None
    call_span: tuple[int, int] | None = None
    source: int | None = None
    version: int = 0
    """Policy version that sampled the rollout's first tokens: the step after which it was published."""

    @property
    def conversations(self) -> tuple["Rollout", ...]:
        """All trained conversations of the rollout. The one that rewards read is last, so that a reward at
        its end also credits the others.
        """
        return (*self.others, self)

    @property
    def policy_tokens(self) -> int:
        """Number of policy tokens in all conversations."""
        return sum(sum(conversation.action_mask) for conversation in self.conversations)

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(segment.token_ids for segment in self.completion))

    @property
    def last_turn(self) -> tuple[int, ...]:
        """Tokens that the policy wrote in its last turn."""
        return self.token_ids[self.turns[-1].start : self.turns[-1].end] if self.turns else self.token_ids

    @property
    def action_mask(self) -> tuple[bool, ...]:
        return tuple(segment.by == "policy" for segment in self.completion for _ in segment.token_ids)

    @property
    def sampler_logprobs(self) -> tuple[float, ...]:
        """Log-probability per completion token; 0 for tokens of the environment."""
        return tuple(
            chain.from_iterable(s.sampler_logprobs or (0.0,) * len(s.token_ids) for s in self.completion)
        )

    @property
    def sampler_entropies(self) -> tuple[float, ...] | None:
        """Entropy (nats) per completion token; 0 for tokens of the environment; None if unknown."""
        if any(s.by == "policy" and s.token_ids and s.sampler_entropies is None for s in self.completion):
            return None
        entropies = (s.sampler_entropies or (0.0,) * len(s.token_ids) for s in self.completion)
        return tuple(chain.from_iterable(entropies))


@dataclass(frozen=True, slots=True)
class RolloutRepair:
    """Replaces the completion of a rollout by `segments`, which the policy continues."""

    rollout: Rollout
    segments: tuple[Segment, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class RolloutBranches:
    """`count` continuations of a rollout after the first `cut` tokens of its completion, in the
    first turn.
    """

    rollout: Rollout
    cut: int
    count: int


@dataclass(frozen=True, slots=True)
class Collected:
    groups: list[list[Rollout]]
    generate_seconds: float
    score_seconds: float

    @property
    def rollouts(self) -> list[Rollout]:
        return list(chain.from_iterable(self.groups))


PROGRESS_ROWS = 5

ProgressCallback = Callable[[str, int, int, list[int]], None]
"""Phase ("generating" or "scoring"), numbers of completed groups and of all groups, dataset rows of the first
open groups.
"""


class Collector:
    def __init__(
        self,
        engine: RolloutEngine,
        environment: Environment,
        scorer: Scorer,
        decode: Decode,
        call_texts: CallTexts | None = None,
        sampler: GroupSampler | None = None,
    ) -> None:
        """sampler: replaces the default loop between engine and environment."""
        self._engine = engine
        self._scorer = scorer
        self._decode = decode
        self._call_texts = call_texts
        self._sampler: GroupSampler = sampler or ConversationSampler(engine, environment, decode)

    def cancel(self) -> None:
        """Make `collect` raise Interrupted, from any thread."""
        self._engine.cancel()
        self._sampler.cancel()

    async def rest(self) -> None:
        await self._engine.rest()

    async def collect(
        self, prompts: Sequence[Prompt], sampling_round: Round, progress: ProgressCallback
    ) -> Collected:
        """Raises Interrupted, and exceptions of engine and scorer."""
        groups: list[list[Rollout]] = [[] for _ in prompts]
        unsampled, unscored = (dict.fromkeys(range(len(prompts))) for _ in range(2))
        started = time.monotonic()
        generated = started

        def report(phase: str, waiting: dict[int, None]) -> None:
            rows = [prompts[index].row_index for index in islice(waiting, PROGRESS_ROWS)]
            progress(phase, len(prompts) - len(waiting), len(prompts), rows)

        def turn_sampled() -> None:
            # No group has ended, but the trainer is not silent.
            report("generating", unsampled)

        async def sampled() -> AsyncGenerator[Group, None]:
            nonlocal generated
            async with aclosing(self._sampler.groups(prompts, sampling_round, turn_sampled)) as ended:
                async for number, conversations in ended:
                    groups[number] = [
                        _rollout(conversation, sampling_round) for conversation in conversations
                    ]
                    del unsampled[number]
                    report("generating", unsampled)
                    yield Group(number, self._scorables(groups[number]))
            generated = time.monotonic()

        async with aclosing(sampled()) as arriving, aclosing(self._scorer.score(arriving)) as scored:
            async for number, scores in scored:
                groups[number] = [
                    replace(r, score=_score(r, s)) for r, s in zip(groups[number], scores, strict=True)
                ]
                del unscored[number]
                report("scoring", unscored)
        return Collected(groups, generated - started, time.monotonic() - generated)

    async def branch(
        self,
        groups: Sequence[Sequence[Rollout]],
        branches: Sequence[RolloutBranches],
        sampling_round: Round,
        progress: ProgressCallback,
    ) -> Collected:
        """Sample and score `branches`; returns `groups` with the new rollouts at the end of their groups."""
        started = time.monotonic()
        grown = [list(group) for group in groups]
        begun: dict[int, list[Conversation]] = {}
        places = {group[0].prompt_no: place for place, group in enumerate(grown)}
        for plan in branches:
            place = places[plan.rollout.prompt_no]
            begun.setdefault(place, []).extend(
                _branches(plan, len(grown[place]) + len(begun.get(place, ())), sampling_round)
            )
        order, done = list(begun), 0
        added: dict[int, list[Rollout]] = {}

        def turn_sampled() -> None:
            progress("generating", done, len(order), [])

        async def sampled() -> AsyncGenerator[Group, None]:
            nonlocal done
            ended = self._sampler.branches(list(begun.values()), sampling_round, turn_sampled)
            async with aclosing(ended):
                async for number, conversations in ended:
                    added[number] = [_rollout(conversation, sampling_round) for conversation in conversations]
                    done += 1
                    progress("generating", done, len(order), [])
                    yield Group(number, self._scorables(added[number]))

        async with aclosing(sampled()) as arriving, aclosing(self._scorer.score(arriving)) as scored:
            async for number, scores in scored:
                grown[order[number]] += [
                    replace(r, score=_score(r, s)) for r, s in zip(added[number], scores, strict=True)
                ]
        return Collected(grown, time.monotonic() - started, 0.0)

    async def repair(
        self,
        groups: Sequence[Sequence[Rollout]],
        repairs: Sequence[RolloutRepair],
        sampling_round: Round,
        progress: ProgressCallback,
    ) -> Collected:
        started = time.monotonic()
        requests = [self._continued(number, repair, sampling_round) for number, repair in enumerate(repairs)]
        ends: dict[int, Sample] = {}
        continuations = [request for request in requests if request is not None]
        async with aclosing(self._engine.generate(continuations)) as answers:
            async for answer in answers:
                ends[answer.request.tag] = answer.samples[0]
                progress("generating", len(ends), len(repairs), [])
        generated = time.monotonic()
        stop_ids = sampling_round.sampling.stop_ids
        replaced = {
            (repair.rollout.prompt_no, repair.rollout.sample_no): self._repaired(
                repair, ends.get(number), stop_ids
            )
            for number, repair in enumerate(repairs)
        }
        repaired_groups = [[replaced.get((r.prompt_no, r.sample_no), r) for r in group] for group in groups]

        async def again() -> AsyncGenerator[Group, None]:
            for number, group in enumerate(repaired_groups):
                yield Group(number, self._scorables(group))

        async with aclosing(self._scorer.score(again())) as scored:
            async for number, scores in scored:
                repaired_groups[number] = [
                    replace(r, score=s) for r, s in zip(repaired_groups[number], scores, strict=True)
                ]
        return Collected(repaired_groups, generated - started, time.monotonic() - generated)

    def _scorables(self, rollouts: Sequence[Rollout]) -> list[Scorable]:
        texts = self._call_texts
        if texts is None or not any(rollout.prompt.tools for rollout in rollouts):
            return [_scorable(rollout, None, None) for rollout in rollouts]
        raw = texts.raw([rollout.last_turn for rollout in rollouts])
        return [_scorable(rollout, text, texts.notation) for rollout, text in zip(rollouts, raw, strict=True)]

    def _continued(self, number: int, repair: RolloutRepair, sampling_round: Round) -> GenerateRequest | None:
        if repair.max_tokens < 1:
            return None
        return GenerateRequest(
            policy=sampling_round.policy,
            version=sampling_round.version,
            prompt_ids=(
                *repair.rollout.prompt.token_ids,
                *chain.from_iterable(segment.token_ids for segment in repair.segments),
            ),
            n=1,
            sampling=replace(sampling_round.sampling, max_tokens=repair.max_tokens),
            noise=NoiseKey(sampling_round.seed, Stream.REPAIR, sampling_round.noise_step, number),
            tag=number,
        )

    def _repaired(self, repair: RolloutRepair, sample: Sample | None, stop_ids: Sequence[int]) -> Rollout:
        if sample is not None and sample.finish_reason == "cancelled":
            raise Interrupted
        end = (
            ()
            if sample is None
            else (Segment(sample.token_ids, "policy", sample.logprobs, sample.entropies),)
        )
        rollout = replace(
            repair.rollout,
            completion=(*repair.segments, *end),
            finish_reason="stop" if sample is None else sample.finish_reason,
            score=None,
        )
        (text,) = self._decode([without_end(rollout.token_ids, stop_ids)])
        return replace(rollout, text=text)


def _rollout(conversation: Conversation, sampling_round: Round) -> Rollout:
    assert conversation.finish_reason is not None
    return Rollout(
        conversation.prompt,
        conversation.prompt_no,
        conversation.sample_no,
        conversation.segments,
        conversation.text,
        conversation.finish_reason,
        turns=conversation.turns,
        messages=conversation.messages,
        failure=conversation.failure,
        failure_message=conversation.failure_message,
        branches=conversation.branches,
        branch=conversation.branch,
        branch_reason=conversation.branch_reason,
        share=conversation.share,
        others=tuple(_rollout(other, sampling_round) for other in conversation.others),
        environment_reward=conversation.reward,
        first_state=conversation.first_state,
        call_span=conversation.call_span,
        source=conversation.source,
        version=sampling_round.version,
    )


def _branches(plan: RolloutBranches, first_sample: int, sampling_round: Round) -> list[Conversation]:
    rollout = plan.rollout
    return [
        Conversation(
            rollout.prompt,
            rollout.prompt_no,
            sample_no,
            rollout_seed(rollout.prompt_no, sampling_round),
            segments=(beginning(rollout.completion[0], plan.cut),) if plan.cut else (),
            state=rollout.first_state,
            first_state=rollout.first_state,
            source=rollout.sample_no,
        )
        for sample_no in range(first_sample, first_sample + plan.count)
    ]


def _score(rollout: Rollout, score: Score) -> Score:
    """Drop the score if the environment failed: rewards of incomplete conversations do not count."""
    if rollout.failure is None:
        return score
    results = score.results
    if rollout.failure_message is not None:
        results = tuple(
            RewardResult(result.name, rollout.failure, None, message=rollout.failure_message)
            for result in results
        )
    return Score(results, rollout.failure, dropped=True)


def _scorable(rollout: Rollout, raw: str | None, notation: str | None) -> Scorable:
    prompt = rollout.prompt
    scorable = Scorable.of_row(
        rollout.text,
        prompt.item,
        prompt.messages,
        prompt.tools,
        rollout.messages,
        raw=raw,
        notation=notation,
    )
    if rollout.environment_reward is None:
        return scorable
    return replace(scorable, sample={**scorable.sample, "environment_reward": rollout.environment_reward})
