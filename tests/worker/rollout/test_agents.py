"""Sampling for programs: what they are answered, and what becomes of their rollouts."""

import asyncio

import pytest

from tests.worker.rollout.agent_programs import END, FIRST_SAMPLED, AgentRun, Message, Program
from worker.environment.base import Conversation
from worker.rollout.conversations import Interrupted

TASK: Message = {"role": "user", "content": "Task"}
NEXT: Message = {"role": "user", "content": "Go on"}


async def two_turns(program: Program) -> float:
    first = await program.ask([TASK])
    await program.ask([TASK, first, NEXT])
    return 0.5


def sampled_ids(conversation: Conversation) -> list[int]:
    return [id for segment in conversation.segments if segment.by == "policy" for id in segment.token_ids]


def test_what_was_sampled_is_trained_and_what_was_sent_is_not() -> None:
    run = AgentRun(two_turns, prompts=3, samples=4)
    conversations = run.run()
    assert [(c.prompt_no, c.sample_no) for c in conversations] == [(p, s) for p in range(3) for s in range(4)]
    answered = {request.prompt_ids + ids for request, ids in run.engine.sampled}
    for conversation in conversations:
        assert [segment.by for segment in conversation.segments] == ["policy", "user", "policy"]
        assert conversation.prompt.token_ids + conversation.token_ids in answered
        assert all(id >= FIRST_SAMPLED or id == END for id in sampled_ids(conversation))
        assert (conversation.reward, conversation.failure, conversation.finish_reason) == (0.5, None, "stop")
        assert [turn.no for turn in conversation.turns] == [0, 1]
        assert conversation.turns[1].end == len(conversation.token_ids)
        assert [message["role"] for message in conversation.messages] == ["assistant", "user", "assistant"]
    assert not run.exchange.open


def test_noise_is_that_of_the_place_in_the_completion() -> None:
    """A rollout of one call gets the noise of a single turn; no two calls share theirs."""
    run = AgentRun(two_turns, prompts=2, samples=2)
    run.run()
    first = [request.noise for request, _ in run.engine.sampled if request.noise.first_token == 0]
    assert sorted((key.prompt_no, key.sample_no, key.step) for key in first) == [
        (p, s, 4) for p in range(2) for s in range(2)
    ]
    assert len({request.noise for request, _ in run.engine.sampled}) == 8


def test_a_retry_gets_the_answer_again() -> None:
    async def retry(program: Program) -> None:
        first = await program.ask([TASK], retry_count=0)
        assert await program.ask([TASK], retry_count=1) == first

    run = AgentRun(retry)
    [conversation] = run.run()
    assert conversation.failure is None and conversation.branches == 1
    assert len(run.engine.sampled) == 1


def test_an_abandoned_answer_is_not_trained() -> None:
    async def hang_up(program: Program) -> None:
        asking = asyncio.create_task(program.ask([TASK]))
        await asyncio.sleep(0.001)
        asking.cancel()
        await asyncio.sleep(0.1)
        await program.ask([NEXT])

    run = AgentRun(hang_up)
    [conversation] = run.run()
    assert conversation.prompt.messages == [NEXT] and conversation.branches == 1
    assert len(run.engine.sampled) == 2


def test_rewritten_history_is_a_branch_and_the_longer_one_is_trained() -> None:
    async def rewrite(program: Program) -> None:
        await program.ask([TASK])
        summary = {"role": "user", "content": "In short"}
        second = await program.ask([summary])
        await program.ask([summary, second, NEXT])

    run = AgentRun(rewrite)
    [conversation] = run.run()
    assert conversation.branches == 2
    assert conversation.prompt.messages == [{"role": "user", "content": "In short"}]
    assert len(conversation.turns) == 2
    assert len({request.noise for request, _ in run.engine.sampled}) == 3


def test_calls_over_the_budget_are_refused() -> None:
    codes: list[str] = []

    async def greedy(program: Program) -> float:
        messages = [TASK]
        try:
            while True:
                messages += [await program.ask(messages), NEXT]
        except KeyError as error:
            codes.append(error.args[0])
        return 1.0

    [conversation] = AgentRun(greedy, max_model_calls=3).run()
    assert codes == ["max_model_calls"]
    assert (len(conversation.turns), conversation.finish_reason, conversation.reward) == (3, "max_turns", 1.0)


def test_tokens_over_the_budget_are_not_sampled() -> None:
    run = AgentRun(two_turns, most=4)
    [conversation] = run.run()
    assert conversation.policy_tokens == 4
    assert conversation.finish_reason == "length"


def test_a_prompt_over_the_context_is_an_error_of_its_call() -> None:
    async def long(program: Program) -> None:
        with pytest.raises(KeyError, match="context_length_exceeded"):
            await program.ask([{"role": "user", "content": "x" * 6000}])
        await program.ask([TASK])

    [conversation] = AgentRun(long).run()
    assert conversation.failure is None and conversation.prompt.messages == [TASK]


def test_a_program_that_fails_costs_its_own_row() -> None:
    async def fail(program: Program) -> float:
        if program.task.sample_no == 1:
            raise LookupError("broken")
        if program.task.sample_no == 2:
            await program.ask([TASK])
            raise LookupError("broken later")
        return await two_turns(program)

    conversations = AgentRun(fail, samples=4).run()
    assert [c.failure for c in conversations] == [None, "agent_error", "agent_error", None]
    assert conversations[1].failure_message == "LookupError('broken')"
    assert [len(c.turns) for c in conversations] == [2, 0, 1, 2]
    assert all(c.segments for c in conversations), "a row has a token, which need not be trained"
    assert conversations[1].policy_tokens == 0


def test_a_program_that_asks_nothing_has_no_row_to_train() -> None:
    async def silent(program: Program) -> float:
        return 1.0

    [conversation] = AgentRun(silent).run()
    assert (conversation.failure, conversation.policy_tokens) == ("agent_no_calls", 0)


def test_another_try_begins_without_history() -> None:
    async def lost(program: Program) -> float:
        first = await program.ask([TASK])
        again = Program(program.exchange, program.exchange.offered[0], 2)
        await again.ask([TASK])
        with pytest.raises(KeyError, match="rollout_ended"):
            await program.ask([TASK, first, NEXT])
        return 1.0

    run = AgentRun(lost)
    [conversation] = run.run()
    assert len(conversation.turns) == 1 and conversation.branches == 1
    assert sampled_ids(conversation) == list(run.engine.sampled[1][1])


def test_a_cancel_interrupts_waiting_for_programs() -> None:
    run = AgentRun(two_turns)

    async def wait(program: Program) -> None:
        run.sampler.cancel()
        await asyncio.sleep(60)

    run.play = wait
    with pytest.raises(Interrupted):
        run.run()
