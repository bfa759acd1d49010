"""An exchange whose runners are coroutines of the test, a template of characters, and an engine that never samples a
token twice.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, cast

from reinforge.environment_spec import AgentSpec
from reinforge.schemas.agent_rollouts import (
    AgentLimits,
    AgentRolloutInput,
    ChatPayload,
    ModelCallAnswer,
    ModelCallMessage,
    RolloutEnd,
    TrainerWork,
)
from worker.environment.agent.texts import ModelCallTexts
from worker.environment.base import Conversation, Prompt
from worker.environment.single_turn import SingleTurn
from worker.models.rendering import Rendered
from worker.rewards.base import Scorer
from worker.rollout.agents import AgentSampler
from worker.rollout.collect import Collected, Collector
from worker.rollout.conversations import Round
from worker.rollout.engine import Generated, GenerateRequest, RequestQueue, RolloutEngine, Sample, Sampling
from worker.rollout.noise import Stream

END = 1
FIRST_SAMPLED = 2_000_000
CONTEXT = 5000

Message = dict[str, Any]


class Template:
    """Writes characters as their code points; what was sampled reads `answer N`, N its first token."""

    def render(self, conversations: Sequence[Any], max_tokens: int) -> list[Rendered]:
        rows = [tuple(map(ord, f"{messages}")) for messages, _ in conversations]
        return [Rendered("", row if len(row) <= max_tokens else (), len(row)) for row in rows]

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return [f"answer {row[0]}" if row else "" for row in rows]

    completions = raw

    def notation(self) -> str | None:
        return None

    def prove_continuation(self, tools: Any, stop_ids: Any, *, reply: bool) -> dict[str, Any]:
        return {"notation": "", "parallel_calls": False, "reply": True}

    def suffixes(self, tools: Any, stop_ids: Any, turns: Sequence[Any]) -> list[list[int]]:
        return [list(map(ord, f"{messages}")) for messages, _ in turns]


class Engine:
    """Keeps every request with what it sampled."""

    def __init__(self) -> None:
        self.sampled: list[tuple[GenerateRequest, tuple[int, ...]]] = []
        self._tokens = itertools.count(FIRST_SAMPLED)

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        for request in requests:
            ids = tuple(itertools.islice(self._tokens, min(2, request.most_tokens)))
            ids = (*ids, END) if len(ids) < request.most_tokens else ids
            self.sampled.append((request, ids))
            end = "stop" if ids[-1] == END else "length"
            await asyncio.sleep(0)
            yield Generated(request, (Sample(ids, (-0.5,) * len(ids), cast(Any, end)),))

    def cancel(self) -> None: ...

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None: ...

    async def rest(self) -> None: ...

    async def close(self) -> None: ...


class QueueEngine(Engine):
    """An engine whose requests do not wait for each other."""

    async def generate_from(self, queue: RequestQueue) -> AsyncGenerator[Generated, None]:
        changed = asyncio.Event()
        queue.on_change = changed.set
        while True:
            async for answer in self.generate(queue.take()):
                yield answer
            await changed.wait()
            changed.clear()


class Program:
    """What a rollout's program sees of the server."""

    def __init__(self, exchange: "Exchange", task: AgentRolloutInput, try_no: int) -> None:
        self.exchange, self.task, self.try_no = exchange, task.task, try_no
        self.id = task.id

    async def ask(self, messages: Sequence[Message], **fields: Any) -> Message:
        """The answer's message. Raises KeyError with the code of an error."""
        payload = ChatPayload(try_no=self.try_no, messages=list(messages), **fields)
        answer = await self.exchange.ask(self.id, payload)
        if answer.error is not None:
            raise KeyError(answer.error["code"])
        assert answer.result is not None
        message: Message = answer.result["message"]
        self.exchange.received.append(message["content"])
        return message


TASK: Message = {"role": "user", "content": "Task"}
NEXT: Message = {"role": "user", "content": "Go on"}


async def rewriting(program: Program) -> float:
    """Puts a summary in the place of its history, and after it another one."""
    messages = [TASK]
    for summary in ("In short", "Shorter"):
        for _ in range(2):
            messages += [await program.ask(messages), NEXT]
        messages = [TASK, {"role": "user", "content": summary}]
    await program.ask(messages)
    return program.task.sample_no / 4


async def with_sub_agents(program: Program) -> float:
    """Asks two sub-agents beside each other, and abandons a third."""

    async def sub_agent(name: str) -> str:
        messages = [{"role": "system", "content": name}, TASK]
        first = await program.ask(messages)
        last = await program.ask([*messages, first, NEXT])
        return str(last["content"])

    first = await program.ask([TASK])
    abandoned = asyncio.create_task(sub_agent("slow"))
    await asyncio.sleep(0.001)
    abandoned.cancel()
    reports = await asyncio.gather(sub_agent("one"), sub_agent("two"))
    await program.ask([TASK, first, {"role": "user", "content": f"{reports}"}])
    return program.task.sample_no / 4


Play = Callable[[Program], Awaitable[float | None]]


class Exchange:
    """`RolloutExchange` for programs in the test's own loop."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.offered: list[AgentRolloutInput] = []
        self.received: list[str] = []
        """Texts of all answers that programs received."""
        self.open = False
        self._calls: dict[str, tuple[ModelCallMessage, asyncio.Future[ModelCallAnswer]]] = {}
        self._ends: dict[str, RolloutEnd] = {}
        self._numbers = itertools.count()
        self._news = asyncio.Event()
        self._error: Exception | None = None
        self._programs: list[asyncio.Task[None]] = []

    def fail(self, error: Exception) -> None:
        """Let the trainer's next call raise it."""
        self._error = error
        self._news.set()

    async def offer(self, rollouts: Sequence[AgentRolloutInput], limits: AgentLimits) -> None:
        self.offered += rollouts
        self.open = True
        self._programs += [asyncio.create_task(self._run(rollout)) for rollout in rollouts]

    async def _run(self, rollout: AgentRolloutInput) -> None:
        try:
            reward = await self.play(Program(self, rollout, 1))
            self._ends[rollout.id] = RolloutEnd(rollout=rollout.id, status="ok", reward=reward)
        except Exception as error:
            self._ends[rollout.id] = RolloutEnd(rollout=rollout.id, status="agent_error", message=repr(error))
        self._news.set()

    async def ask(self, caller: str, payload: ChatPayload) -> ModelCallAnswer:
        id = f"mcall_{next(self._numbers)}"
        message = ModelCallMessage(id=id, kind="chat", caller=caller, payload=payload.model_dump())
        answered: asyncio.Future[ModelCallAnswer] = asyncio.get_running_loop().create_future()
        self._calls[id] = (message, answered)
        self._news.set()
        try:
            return await answered
        finally:
            self._calls.pop(id, None)

    async def take(self, received_calls: Sequence[str], received_ends: Sequence[str]) -> TrainerWork:
        for id in received_ends:
            self._ends.pop(id, None)
        received = set(received_calls)
        self._received = getattr(self, "_received", set()) | received
        await self._news.wait()
        self._news.clear()
        if self._error is not None:
            raise self._error
        calls = [message for id, (message, _) in self._calls.items() if id not in self._received]
        return TrainerWork(calls=calls, ends=list(self._ends.values()))

    async def answer(self, answers: Sequence[ModelCallAnswer]) -> list[str]:
        abandoned = []
        for answer in answers:
            if answer.id in self._calls and not self._calls[answer.id][1].done():
                self._calls[answer.id][1].set_result(answer)
            else:
                abandoned.append(answer.id)
        return abandoned

    async def withdraw(self) -> None:
        self.open = False

    async def close(self) -> None:
        for program in self._programs:
            program.cancel()


class AgentRun:
    """One step of sampling: `prompts` rows with `samples` completions each."""

    def __init__(
        self,
        play: Play,
        *,
        prompts: int = 1,
        samples: int = 1,
        most: int = 1000,
        exchange: type[Exchange] = Exchange,
        engine: type[Engine] = Engine,
        **spec: Any,
    ) -> None:
        self.engine, self.play, self.most, self._exchange_type = engine(), play, most, exchange
        self.spec = AgentSpec.model_validate({"type": "agent"} | spec)
        messages = [{"role": "user", "content": "Task"}]
        self.prompts = [Prompt(n, {"n": n}, messages, "Task", (7,), f"p{n}") for n in range(prompts)]
        self.round = Round("policy", 3, 9, Stream.TRAIN, 4, samples, Sampling(most, 1.0, stop_ids=(END,)))
        self.exchange: Exchange
        self.sampler: AgentSampler

    def run(self) -> list[Conversation]:
        """Ended conversations, by prompt and sample."""
        groups = dict(asyncio.run(asyncio.wait_for(self._groups(), 20)))
        return [conversation for number in sorted(groups) for conversation in groups[number]]

    def collect(self, scorer: Scorer) -> Collected:
        return asyncio.run(asyncio.wait_for(self._collected(scorer), 20))

    @property
    def received_ids(self) -> list[int]:
        """Tokens of all answers that programs received."""
        texts = set(self.exchange.received)
        return [
            id for _, ids in self.engine.sampled if f"answer {ids[0]}" in texts for id in ids if id != END
        ]

    async def _collected(self, scorer: Scorer) -> Collected:
        self._begin()
        collector = Collector(
            cast(RolloutEngine, self.engine), SingleTurn(), scorer, Template().raw, sampler=self.sampler
        )
        try:
            return await collector.collect(self.prompts, self.round, lambda *progress: None)
        finally:
            await self.sampler.close()

    async def _groups(self) -> list[tuple[int, list[Conversation]]]:
        self._begin()
        try:
            return [group async for group in self.sampler.groups(self.prompts, self.round, lambda: None)]
        finally:
            await self.sampler.close()

    def _begin(self) -> None:
        self.exchange = self._exchange_type(self.play)
        self.sampler = AgentSampler(
            cast(RolloutEngine, self.engine),
            self.exchange,
            ModelCallTexts(Template(), (END,), CONTEXT),
            self.spec,
            context=CONTEXT,
            most=self.most,
            warn=lambda line: None,
        )
