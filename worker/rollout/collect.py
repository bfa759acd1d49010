"""From prompts to scored groups: sample, let the environment answer, score while others are still sampled."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from worker.environment.base import Environment, Prompt, Segment
from worker.rewards.base import Group, Scorable, Score, Scorer
from worker.rollout.engine import FinishReason, Generated, GenerateRequest, NoiseKey, RolloutEngine, Sampling
from worker.rollout.noise import Stream


@dataclass(frozen=True, slots=True)
class Rollout:
    """A prompt, what followed, and what the rewards said about it."""

    prompt: Prompt
    prompt_no: int
    sample_no: int
    completion: tuple[Segment, ...]
    """Everything after the prompt, by policy and environment."""
    text: str
    """What rewards see: the completion decoded, special tokens and end token left out."""
    finish_reason: FinishReason
    score: Score | None = None

    @property
    def token_ids(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(segment.token_ids for segment in self.completion))

    @property
    def action_mask(self) -> tuple[bool, ...]:
        """Per completion token: the policy wrote it."""
        return tuple(segment.by == "policy" for segment in self.completion for _ in segment.token_ids)

    @property
    def sampler_logprobs(self) -> tuple[float, ...]:
        """Per completion token; 0 for tokens that the policy did not write."""
        return tuple(
            chain.from_iterable(s.sampler_logprobs or (0.0,) * len(s.token_ids) for s in self.completion)
        )


class Interrupted(Exception):
    """Sampling was cancelled; what was sampled is incomplete and not used."""


@dataclass(frozen=True, slots=True)
class Round:
    """Which noise and which policy one round of sampling uses. `policy` None is the base."""

    policy: str | None
    version: int
    seed: int
    stream: Stream
    noise_step: int
    samples_per_prompt: int
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Collected:
    groups: list[list[Rollout]]
    """By prompt number; each has `samples_per_prompt` rollouts."""
    generate_seconds: float
    score_seconds: float
    """Time spent waiting for rewards after the last completion was there."""

    @property
    def rollouts(self) -> list[Rollout]:
        return list(chain.from_iterable(self.groups))


Decode = Callable[[Sequence[int]], str]
Tell = Callable[[str, int, int], None]
"""Called with "generating" or "scoring", how many groups are done, and of how many."""


class Collector:
    def __init__(
        self, engine: RolloutEngine, environment: Environment, scorer: Scorer, decode: Decode
    ) -> None:
        self._engine = engine
        self._environment = environment
        self._scorer = scorer
        self._decode = decode

    async def collect(self, prompts: Sequence[Prompt], round: Round, tell: Tell) -> Collected:
        """One scored group per prompt. Raises Interrupted, and what the engine and the scorer raise."""
        groups: list[list[Rollout]] = [[] for _ in prompts]
        started = time.monotonic()
        generated = started

        async def sampled() -> AsyncGenerator[Group, None]:
            nonlocal generated
            done = 0
            async for answer in self._engine.generate(self._requests(prompts, round)):
                number = answer.request.tag
                groups[number] = self._rollouts(prompts[number], answer)
                done += 1
                tell("generating", done, len(prompts))
                yield Group(number, [_scorable(rollout) for rollout in groups[number]])
            generated = time.monotonic()

        scored = 0
        async for number, scores in self._scorer.score(sampled()):
            groups[number] = [replace(r, score=s) for r, s in zip(groups[number], scores, strict=True)]
            scored += 1
            tell("scoring", scored, len(prompts))
        return Collected(groups, generated - started, time.monotonic() - generated)

    def _requests(self, prompts: Sequence[Prompt], round: Round) -> list[GenerateRequest]:
        return [
            GenerateRequest(
                policy=round.policy,
                version=round.version,
                prompt_ids=tuple(chain.from_iterable(s.token_ids for s in self._environment.start(prompt))),
                n=round.samples_per_prompt,
                sampling=round.sampling,
                noise=NoiseKey(round.seed, round.stream, round.noise_step, number),
                tag=number,
            )
            for number, prompt in enumerate(prompts)
        ]

    def _rollouts(self, prompt: Prompt, answer: Generated) -> list[Rollout]:
        out = []
        for sample_no, sample in enumerate(answer.samples):
            if sample.finish_reason == "cancelled":
                raise Interrupted
            segment = Segment(sample.token_ids, "policy", sample.logprobs)
            if self._environment.step(prompt, (*self._environment.start(prompt), segment)) is not None:
                raise NotImplementedError(
                    "environments with several turns need a collector that goes on sampling"
                )
            text = self._decode(_without_end(sample.token_ids, answer.request.sampling.stop_ids))
            out.append(Rollout(prompt, answer.request.tag, sample_no, (segment,), text, sample.finish_reason))
        return out


def _without_end(token_ids: Sequence[int], stop_ids: Sequence[int]) -> Sequence[int]:
    return token_ids[:-1] if token_ids and token_ids[-1] in stop_ids else token_ids


def _scorable(rollout: Rollout) -> Scorable:
    return Scorable(rollout.text, rollout.prompt.item, rollout.prompt.messages)
