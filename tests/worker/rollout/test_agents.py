"""Sampling for programs: what they are answered, and what becomes of their rollouts."""

import asyncio
from collections.abc import Sequence

import pytest

from reinforge.schemas.agent_rollouts import ModelCallAnswer
from tests.worker.rollout.agent_programs import (
    END,
    FIRST_SAMPLED,
    NEXT,
    TASK,
    AgentRun,
    Engine,
    Exchange,
    Message,
    Play,
    Program,
    QueueEngine,
    rewriting,
    with_sub_agents,
)
from worker.environment.base import Conversation
from worker.rollout.engine import Interrupted


async def two_turns(program: Program) -> float:
    first = await program.ask([TASK])
    await program.ask([TASK, first, NEXT])
    return 0.5


def sampled_ids(conversation: Conversation) -> list[int]:
    return [id for segment in conversation.segments if segment.by == "policy" for id in segment.token_ids]


@pytest.mark.parametrize("engine", [Engine, QueueEngine])
def test_what_was_sampled_is_trained_and_what_was_sent_is_not(engine: type[Engine]) -> None:
    run = AgentRun(two_turns, prompts=3, samples=4, engine=engine)
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


def test_a_retry_that_overtakes_the_end_of_its_first_attempt_is_trained() -> None:
    """The client hung up while the answer was on its way, and its retry came before the server said so."""

    class SlowExchange(Exchange):
        async def answer(self, answers: Sequence[ModelCallAnswer]) -> list[str]:
            lost = not self.received
            await asyncio.sleep(0.05 if lost else 0)
            return await super().answer(answers)

    async def overtaken(program: Program) -> float:
        first = asyncio.create_task(program.ask([TASK], retry_count=0))
        await asyncio.sleep(0.03)
        first.cancel()
        await program.ask([TASK], retry_count=1)
        return 1.0

    run = AgentRun(overtaken, exchange=SlowExchange)
    [conversation] = run.run()
    assert (conversation.failure, len(run.engine.sampled)) == (None, 1)
    assert [id for id in sampled_ids(conversation) if id != END] == run.received_ids


SUMMARY: Message = {"role": "user", "content": "In short"}


async def rewrite(program: Program) -> None:
    await program.ask([TASK])
    second = await program.ask([TASK, SUMMARY])
    await program.ask([TASK, SUMMARY, second, NEXT])


def test_rewards_read_the_longest_conversation_and_the_others_are_trained_beside_it() -> None:
    run = AgentRun(rewrite)
    [conversation] = run.run()
    assert (conversation.branches, conversation.branch) == (2, 1)
    assert conversation.branch_reason == "history_rewritten"
    assert conversation.prompt.messages == [TASK, SUMMARY]
    assert len(conversation.turns) == 2
    [other] = conversation.others
    assert (other.branch, other.branch_reason, other.prompt.messages) == (0, "first", [TASK])
    assert (other.share, conversation.share) == (pytest.approx(1 / 3), pytest.approx(2 / 3))
    assert len({request.noise for request, _ in run.engine.sampled}) == 3


def test_with_first_only_the_others_are_counted_and_not_trained() -> None:
    [conversation] = AgentRun(rewrite, forks="first_only").run()
    assert (conversation.branches, conversation.branch, conversation.share) == (2, 1, 1.0)
    assert conversation.others == () and len(conversation.turns) == 2


@pytest.mark.parametrize(("play", "reasons"), [
    (rewriting, ["first", "history_rewritten", "history_rewritten"]),
    (with_sub_agents, ["first", "sub_agent", "sub_agent"]),
])  # fmt: skip
def test_each_token_that_a_program_received_is_trained_once_and_no_other(
    play: Play, reasons: list[str]
) -> None:
    run = AgentRun(play, prompts=2, samples=3)
    rollouts = run.run()
    assert len(rollouts) == 6
    engine_read = {request.prompt_ids + ids for request, ids in run.engine.sampled}
    for rollout in rollouts:
        rows = sorted([*rollout.others, rollout], key=lambda row: row.branch)
        assert [row.branch_reason for row in rows] == reasons
        assert sum(row.share for row in rows) == pytest.approx(1)
        for row in rows:
            assert row.prompt.token_ids + row.token_ids in engine_read
            assert row.share == row.policy_tokens / sum(other.policy_tokens for other in rows)
    rows = [row for rollout in rollouts for row in (*rollout.others, rollout)]
    trained = [id for row in rows for id in sampled_ids(row) if id != END]
    assert sorted(trained) == run.received_ids
    if play is with_sub_agents:
        assert len(trained) < 2 * len(run.engine.sampled), "abandoned answers are not among them"


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
