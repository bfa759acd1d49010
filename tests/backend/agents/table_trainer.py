"""A runner against a server, and a trainer whose engine is a table, with calls of tools where the test wants them."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Sequence
from itertools import count
from typing import Any, cast

from reinforge.client import Reinforge
from reinforge.environment_spec import AgentSpec
from reinforge.runner.runner import RolloutRunner, RunnerCounts
from tests.backend.server import OWNER_KEY, Backend, Trainer
from tests.worker.rollout.agent_programs import CONTEXT, END, FIRST_SAMPLED, Engine, Template
from worker.environment.agent.client import BackendAccess, WorkerApiExchange
from worker.environment.agent.texts import ModelCallTexts
from worker.environment.base import Conversation, Prompt
from worker.rollout.agents import AgentSampler
from worker.rollout.conversations import Round
from worker.rollout.engine import Generated, GenerateRequest, RolloutEngine, Sample, Sampling
from worker.rollout.noise import Stream

MOST_TURNS = 8


class RunnerThread(threading.Thread):
    def __init__(self, backend: Backend, job: str, target: str, concurrency: int = 3) -> None:
        super().__init__(daemon=True)
        self.counts: RunnerCounts | None = None
        self.lines: list[str] = []
        self._client = Reinforge(backend.url, OWNER_KEY)
        self.runner = RolloutRunner(
            self._client, job, target, concurrency=concurrency, note=self.lines.append
        )

    def run(self) -> None:
        with self._client:
            self.counts = self.runner.run()


def sampled(
    backend: Backend, attempt: Trainer, engine: Engine, prompts: int, template: Template | None = None
) -> dict[int, list[Conversation]]:
    """What a trainer samples in one step, by prompt: two rollouts of each."""
    spec = AgentSpec(type="agent", max_model_calls=MOST_TURNS)
    token = attempt.claimed["job_token"]
    exchange = WorkerApiExchange(BackendAccess(backend.url, attempt.claimed["job"], attempt.attempt, token))
    sampler = AgentSampler(
        cast(RolloutEngine, engine),
        exchange,
        ModelCallTexts(template or Template(), (END,), CONTEXT),
        spec,
        context=CONTEXT,
        most=1000,
        warn=lambda line: None,
    )
    task = [{"role": "user", "content": "Task"}]
    rows = [Prompt(n, {"n": n}, task, "Task", (7,), f"p{n}") for n in range(prompts)]
    sampling_round = Round("policy", 0, 9, Stream.TRAIN, 1, 2, Sampling(1000, 1.0, stop_ids=(END,)))

    async def run() -> dict[int, list[Conversation]]:
        try:
            return {
                number: group async for number, group in sampler.groups(rows, sampling_round, lambda: None)
            }
        finally:
            await sampler.close()

    return asyncio.run(asyncio.wait_for(run(), 120))


class TurnEngine(Engine):
    """Samples one token and the end; the token says which turn of its conversation it is."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        for request in requests:
            turn = request.prompt_ids.count(END)
            ids = (FIRST_SAMPLED + MOST_TURNS * next(self._numbers) + turn, END)
            self.sampled.append((request, ids))
            await asyncio.sleep(0)
            yield Generated(request, (Sample(ids, (-0.5,) * len(ids), "stop"),))


class TurnTemplate(Template):
    """Reads the tokens of `TurnEngine` as the texts of these turns, with calls in Hermes' notation."""

    def __init__(self, *turns: str) -> None:
        self._turns = turns

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [self._text(row[0]) if row else "" for row in rows]

    completions = raw

    def _text(self, token: int) -> str:
        return self._turns[(token - FIRST_SAMPLED) % MOST_TURNS] if token >= FIRST_SAMPLED else ""

    def notation(self) -> str | None:
        return "hermes"

    def prove_continuation(self, tools: Any, stop_ids: Any, *, reply: bool) -> dict[str, Any]:
        return {"notation": "hermes", "parallel_calls": True, "reply": True}


def check_one_branch(engine: Engine, conversations: Sequence[Conversation], turns: int) -> None:
    """Each conversation is one row with what the engine sampled; no turn is in two rows, and none was wasted."""
    answered = {request.prompt_ids + ids for request, ids in engine.sampled}
    assert [c.failure_message for c in conversations if c.failure] == []
    for conversation in conversations:
        policy = [s.token_ids for s in conversation.segments if s.by == "policy"]
        assert (conversation.branches, len(policy), conversation.reward) == (1, turns, 1.0)
        assert conversation.prompt.token_ids + conversation.token_ids in answered
        assert all(id >= FIRST_SAMPLED or id == END for ids in policy for id in ids)
    first = [s.token_ids[0] for c in conversations for s in c.segments if s.by == "policy"]
    assert len(first) == len(set(first)) == len(engine.sampled)
