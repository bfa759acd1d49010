"""Sampling of conversations, turn by turn.

All conversations send the requests of a turn in one list, so that batches depend only on seed and step. With
a `ContinuousEngine`, conversations do not wait for each other. A request for a later turn continues the
tokens of earlier turns; nothing is rendered or tokenized again.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from worker.environment.base import Conversation, Environment, Prompt, Segment, open_segment
from worker.rollout.continuous_turns import ContinuousTurns
from worker.rollout.engine import (
    ContinuousEngine,
    Generated,
    GenerateRequest,
    Interrupted,
    NoiseKey,
    RolloutEngine,
    Sampling,
)
from worker.rollout.noise import Stream, hash64

Decode = Callable[[Sequence[Sequence[int]]], list[str]]


@dataclass(frozen=True, slots=True)
class CallTexts:
    """Notation of tool calls, and a decoder that keeps the special tokens that may mark them."""

    notation: str
    raw: Decode


_SEED_BITS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Round:
    policy: str | None
    version: int
    seed: int
    stream: Stream
    noise_step: int
    samples_per_prompt: int
    sampling: Sampling
    first_prompt: int = 0


class GroupSampler(Protocol):
    """Samples the conversations of a step."""

    def groups(
        self, prompts: Sequence[Prompt], sampling_round: Round, on_turn: Callable[[], None]
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]: ...

    def branches(
        self, groups: Sequence[Sequence[Conversation]], sampling_round: Round, on_turn: Callable[[], None]
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]: ...

    def cancel(self) -> None:
        """Interrupt waits that `RolloutEngine.cancel` does not interrupt, from any thread."""


class ConversationSampler:
    def __init__(self, engine: RolloutEngine, environment: Environment, decode: Decode) -> None:
        self._engine = engine
        self._environment = environment
        self._decode = decode

    async def groups(
        self, prompts: Sequence[Prompt], sampling_round: Round, on_turn: Callable[[], None]
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]:
        """Yield (index of a prompt, its ended conversations) in any order. Raises Interrupted.

        on_turn: called after an engine answer whose conversations may continue.
        """
        begun = await self._environment.begin(
            [_begun(prompt, number, sampling_round) for number, prompt in enumerate(prompts)]
        )
        samples = range(sampling_round.samples_per_prompt)
        groups: dict[int, list[Conversation]] = {
            number: [
                replace(conversation, sample_no=sample, first_state=conversation.state) for sample in samples
            ]
            for number, conversation in enumerate(begun)
        }
        requests = [self._first_request(number, group, sampling_round) for number, group in groups.items()]
        async with aclosing(self._run(groups, requests, sampling_round, on_turn)) as ended:
            async for number, conversations in ended:
                yield number, conversations

    async def branches(
        self, groups: Sequence[Sequence[Conversation]], sampling_round: Round, on_turn: Callable[[], None]
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]:
        """Continue conversations; yield (index of a list, its ended conversations) in any order. Raises
        Interrupted.

        The conversations of a list belong to one prompt and have consecutive sample numbers. An unfinished
        last turn is continued.
        """
        numbered = {number: list(group) for number, group in enumerate(groups)}
        requests = [
            self._next_request(number, conversation, sampling_round)
            for number, group in numbered.items()
            for conversation in group
        ]
        async with aclosing(self._run(numbered, requests, sampling_round, on_turn)) as ended:
            async for number, conversations in ended:
                yield number, conversations

    def cancel(self) -> None:
        """Do nothing: the caller cancels the engine."""

    def _run(
        self,
        groups: dict[int, list[Conversation]],
        requests: list[GenerateRequest],
        sampling_round: Round,
        on_turn: Callable[[], None],
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]:
        if self._environment.max_turns == 1 or not isinstance(self._engine, ContinuousEngine):
            return self._run_in_step(groups, requests, sampling_round, on_turn)

        def next_request(number: int, conversation: Conversation) -> GenerateRequest:
            return self._next_request(number, conversation, sampling_round)

        turns = ContinuousTurns(self._engine, self._environment, self._written, next_request)
        return turns.run(groups, requests, on_turn)

    async def _run_in_step(
        self,
        groups: dict[int, list[Conversation]],
        requests: list[GenerateRequest],
        sampling_round: Round,
        on_turn: Callable[[], None],
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]:
        while requests:
            turn: list[tuple[int, Conversation]] = []
            async with aclosing(self._engine.generate(requests)) as answers:
                async for answer in answers:
                    number = answer.request.tag
                    written = self._written(groups[number], answer)
                    if self._environment.max_turns == 1 and len(written) == len(groups[number]):
                        yield number, await self._environment.answer(written)
                        del groups[number]
                    else:
                        turn += [(number, conversation) for conversation in written]
                        on_turn()
            for number in await self._answer(groups, turn):
                yield number, groups.pop(number)
            requests = [
                self._next_request(number, conversation, sampling_round)
                for number, group in groups.items()
                for conversation in group
                if conversation.finish_reason is None
            ]

    async def _answer(
        self, groups: dict[int, list[Conversation]], turn: Sequence[tuple[int, Conversation]]
    ) -> list[int]:
        # Engines answer in any order; an environment sees conversations in the order of prompts and samples.
        ordered = sorted(turn, key=lambda entry: (entry[0], entry[1].sample_no))
        answered = await self._environment.answer([conversation for _, conversation in ordered])
        for (number, _), conversation in zip(ordered, answered, strict=True):
            groups[number][conversation.sample_no - groups[number][0].sample_no] = conversation
        return [
            number
            for number, group in groups.items()
            if all(conversation.finish_reason is not None for conversation in group)
        ]

    def _written(self, group: Sequence[Conversation], answer: Generated) -> list[Conversation]:
        first = answer.request.noise.sample_no - group[0].sample_no
        stop_ids = answer.request.sampling.stop_ids
        written = []
        for place, sample in enumerate(answer.samples):
            if sample.finish_reason == "cancelled":
                raise Interrupted
            conversation = group[first + place]
            turn = len(conversation.turns)
            segment = Segment(sample.token_ids, "policy", sample.logprobs, sample.entropies, turn)
            segments = (*closed_segments(conversation), joined(open_segment(conversation), segment))
            written.append(replace(conversation, segments=segments, turn_end=sample.finish_reason))
        texts = self._decode(
            [without_end(conversation.segments[-1].token_ids, stop_ids) for conversation in written]
        )
        return [replace(conversation, text=text) for conversation, text in zip(written, texts, strict=True)]

    def _first_request(
        self, number: int, group: Sequence[Conversation], sampling_round: Round
    ) -> GenerateRequest:
        request = self._next_request(number, group[0], sampling_round)
        return replace(request, n=len(group))

    def _next_request(
        self, number: int, conversation: Conversation, sampling_round: Round
    ) -> GenerateRequest:
        sampling = sampling_round.sampling
        room = self._environment.room(conversation)
        completion = conversation.token_ids
        return GenerateRequest(
            policy=sampling_round.policy,
            version=sampling_round.version,
            prompt_ids=(*conversation.prompt.token_ids, *completion),
            n=1,
            sampling=sampling,
            noise=NoiseKey(
                sampling_round.seed,
                sampling_round.stream,
                sampling_round.noise_step,
                conversation.prompt_no,
                conversation.sample_no,
                len(completion),
            ),
            tag=number,
            limit=None if room is None else min(room, sampling.max_tokens),
        )


def without_end(token_ids: Sequence[int], stop_ids: Sequence[int]) -> Sequence[int]:
    return token_ids[:-1] if token_ids and token_ids[-1] in stop_ids else token_ids


def closed_segments(conversation: Conversation) -> tuple[Segment, ...]:
    return conversation.segments if open_segment(conversation) is None else conversation.segments[:-1]


def joined(before: Segment | None, after: Segment) -> Segment:
    if before is None:
        return after
    both = (before.sampler_entropies, after.sampler_entropies)
    return replace(
        after,
        token_ids=(*before.token_ids, *after.token_ids),
        sampler_logprobs=(*before.sampler_logprobs, *after.sampler_logprobs),
        sampler_entropies=None if both[0] is None or both[1] is None else (*both[0], *both[1]),
    )


def beginning(segment: Segment, tokens: int) -> Segment:
    entropies = segment.sampler_entropies
    return replace(
        segment,
        token_ids=segment.token_ids[:tokens],
        sampler_logprobs=segment.sampler_logprobs[:tokens],
        sampler_entropies=None if entropies is None else entropies[:tokens],
    )


def rollout_seed(prompt_no: int, sampling_round: Round) -> int:
    """Seed of the environment's random numbers for a prompt."""
    number = hash64(sampling_round.seed, sampling_round.stream, sampling_round.noise_step, prompt_no)
    return int(number) & _SEED_BITS


def _begun(prompt: Prompt, number: int, sampling_round: Round) -> Conversation:
    prompt_no = sampling_round.first_prompt + number
    return Conversation(prompt, prompt_no, 0, rollout_seed(prompt_no, sampling_round))
