"""Sampling for agent programs, which call the model themselves.

Rollouts are offered to runners. Model calls that arrive during sampling join the running batch if the engine
supports that; otherwise they form the next batch. So arrival times affect results only through rounding. The
noise of a rollout depends only on seed, step and the rollout's calls.
"""

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field

from reinforge.environment_spec import AgentSpec
from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.schemas.agent_rollouts import (
    AgentLimits,
    AgentRolloutInput,
    AgentTaskInput,
    ChatAnswer,
    ChatPayload,
    ModelCallAnswer,
    ModelCallMessage,
    RolloutEnd,
)
from worker.environment.agent.calls import CallAnswer, CallRequest, CaptureLimits, ModelCall
from worker.environment.agent.client import RolloutExchange
from worker.environment.agent.conversations import RolloutOutcome, captured_conversation
from worker.environment.agent.graph import CaptureGraph
from worker.environment.agent.texts import ModelCallTexts, WrittenAnswer, context_full
from worker.environment.base import Conversation, Prompt
from worker.rollout.conversations import Round
from worker.rollout.engine import (
    ContinuousEngine,
    Generated,
    GenerateRequest,
    Interrupted,
    NoiseKey,
    RequestQueue,
    RolloutEngine,
)
from worker.rollout.noise import Stream

GATHER_SECONDS = 0.002
"""Wait after a call arrives, so that concurrent calls form one batch."""
QUIET_SECONDS = 60.0
"""Time without a runner after which the trainer logs a warning."""
MOST_BRANCHES = 64
_BRANCH_TOKENS = 1 << 32
"""Noise counters reserved for the tokens of one branch."""

Warn = Callable[[str], None]


@dataclass(slots=True)
class _AgentRollout:
    id: str
    prompt: Prompt
    number: int
    """Index of its prompt in the round."""
    sample_no: int
    graph: CaptureGraph
    try_no: int = 0
    waiting: dict[int, list[str]] = field(default_factory=dict)
    """Ids of requests that wait for an answer, by the number of their call in the graph."""
    answers: dict[int, WrittenAnswer] = field(default_factory=dict)
    end: Conversation | None = None


@dataclass(frozen=True, slots=True)
class _Pending:
    rollout: _AgentRollout
    graph: CaptureGraph
    call: ModelCall
    request: GenerateRequest


class AgentSampler:
    """Sampler of a job with environment `agent`."""

    def __init__(
        self,
        engine: RolloutEngine,
        exchange: RolloutExchange,
        texts: ModelCallTexts,
        spec: AgentSpec,
        *,
        context: int,
        most: int,
        warn: Warn,
    ) -> None:
        """context: most tokens of prompt and completion together. most: most policy tokens in a rollout."""
        self.engine, self.exchange, self.texts = engine, exchange, texts
        self.spec, self.context, self.most, self.warn = spec, context, most, warn
        self._cancelled = threading.Event()
        self._wake: Callable[[], None] = lambda: None

    async def groups(
        self, prompts: Sequence[Prompt], sampling_round: Round, on_turn: Callable[[], None]
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]:
        step = _AgentStep(self, prompts, sampling_round, on_turn)
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(step.interrupted.set)

        self._wake = wake
        if self._cancelled.is_set():
            raise Interrupted
        running = asyncio.create_task(step.run())
        try:
            for _ in prompts:
                ended = asyncio.create_task(step.ended.get())
                await asyncio.wait({running, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    ended.cancel()
                    running.result()  # it ends first only by an error
                yield ended.result()
            await running
        finally:
            self._wake = lambda: None
            running.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await running

    def branches(
        self, groups: Sequence[Sequence[Conversation]], sampling_round: Round, on_turn: Callable[[], None]
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]:
        raise NotImplementedError("rollouts of agents have no branches that the algorithm requests")

    def cancel(self) -> None:
        self._cancelled.set()
        with suppress(RuntimeError):  # the loop has ended
            self._wake()

    async def close(self) -> None:
        await self.exchange.close()


class _AgentStep:
    def __init__(
        self,
        parent: AgentSampler,
        prompts: Sequence[Prompt],
        sampling_round: Round,
        on_turn: Callable[[], None],
    ) -> None:
        self._parent, self._round, self._on_turn = parent, sampling_round, on_turn
        self._rollouts = [
            _AgentRollout(f"roll_{secrets.token_hex(12)}", prompt, number, sample, self._graph())
            for number, prompt in enumerate(prompts)
            for sample in range(sampling_round.samples_per_prompt)
        ]
        self._by_id = {rollout.id: rollout for rollout in self._rollouts}
        self._pending: list[_Pending] = []
        self._arrived = asyncio.Event()
        self._queue: RequestQueue | None = None
        """Queue of an engine that takes requests while it samples."""
        self._answers: asyncio.Queue[tuple[_AgentRollout, CaptureGraph, ModelCall, list[ModelCallAnswer]]] = (
            asyncio.Queue()
        )
        self.ended: asyncio.Queue[tuple[int, list[Conversation]]] = asyncio.Queue()
        self.interrupted = asyncio.Event()

    async def run(self) -> None:
        work = [self._receive(), self._generate(), self._send(), self.interrupted.wait()]
        tasks = [asyncio.create_task(part) for part in work]
        try:
            await self._parent.exchange.offer(
                [self._task(rollout) for rollout in self._rollouts], self._limits
            )
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    task.result()
            if self.interrupted.is_set():
                raise Interrupted
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._parent.exchange.withdraw()

    # ── Rollouts ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _limits(self) -> AgentLimits:
        spec = self._parent.spec
        return AgentLimits(
            max_model_calls=spec.max_model_calls,
            rollout_seconds=spec.rollout_seconds,
            heartbeat_seconds=spec.heartbeat_seconds,
            tries=2 if spec.lost == "retry_once" else 1,
        )

    def _graph(self) -> CaptureGraph:
        limits = CaptureLimits(self._parent.spec.max_model_calls, self._parent.most, MOST_BRANCHES)
        return CaptureGraph("", self._round.version, limits)

    def _task(self, rollout: _AgentRollout) -> AgentRolloutInput:
        prompt = rollout.prompt
        task = AgentTaskInput(
            item=prompt.item,
            messages=prompt.messages,
            tools=prompt.tools,
            split="train" if self._round.stream == Stream.TRAIN else "held_out",
            step=self._round.noise_step,
            prompt_no=self._round.first_prompt + rollout.number,
            sample_no=rollout.sample_no,
        )
        return AgentRolloutInput(id=rollout.id, task=task)

    async def _receive(self) -> None:
        calls: list[str] = []
        ends: list[str] = []
        quiet_since, warned = time.monotonic(), False
        while any(rollout.end is None for rollout in self._rollouts):
            work = await self._parent.exchange.take(calls, ends)
            self._on_turn()
            for call in work.calls:
                await self._open(call)
            for end in work.ends:
                await self._end(end)
            calls, ends = [call.id for call in work.calls], [end.rollout for end in work.ends]
            if work.waiting < len(self._rollouts) or warned:
                continue
            if time.monotonic() - quiet_since > QUIET_SECONDS:
                warned = True
                self._parent.warn(
                    "No runner has taken a rollout yet: start `reinforge rollout serve MODULE:FUNCTION --job JOB`"
                )

    async def _end(self, end: RolloutEnd) -> None:
        rollout = self._by_id.get(end.rollout)
        if rollout is None or rollout.end is not None:
            return
        rollout.graph.close()
        rollout.end = await asyncio.to_thread(self._conversation, rollout, end)
        group = [other for other in self._rollouts if other.number == rollout.number]
        conversations = [other.end for other in group if other.end is not None]
        if len(conversations) == len(group):
            self.ended.put_nowait((rollout.number, conversations))

    def _conversation(self, rollout: _AgentRollout, end: RolloutEnd) -> Conversation:
        prompt_no = self._round.first_prompt + rollout.number
        outcome = RolloutOutcome(end.status, end.reward, end.message)
        stop_ids = self._round.sampling.stop_ids
        return captured_conversation(
            Conversation(rollout.prompt, prompt_no, rollout.sample_no, 0),
            rollout.graph,
            outcome,
            self._parent.texts,
            stop_ids,
            forks=self._parent.spec.forks,
        )

    # ── Model calls ─────────────────────────────────────────────────────────────────────────────────────────

    async def _open(self, message: ModelCallMessage) -> None:
        rollout, payload = self._by_id.get(message.caller), ChatPayload.model_validate(message.payload)
        try:
            if rollout is None or rollout.end is not None or payload.try_no < rollout.try_no:
                raise InvalidInput("The rollout has ended.", code="rollout_ended", hint="Take another one.")
            if payload.try_no > rollout.try_no:
                self._begin_again(rollout, payload.try_no)
            await self._place(rollout, message.id, payload)
        except ReinforgeError as error:
            answer = ModelCallAnswer(id=message.id, error=error.envelope()["error"])
            await self._parent.exchange.answer([answer])

    def _begin_again(self, rollout: _AgentRollout, try_no: int) -> None:
        rollout.graph.close()
        rollout.try_no, rollout.graph = try_no, self._graph()
        rollout.waiting, rollout.answers = {}, {}

    async def _place(self, rollout: _AgentRollout, id: str, payload: ChatPayload) -> None:
        request = CallRequest(
            tuple(payload.messages),
            tuple(payload.tools) if payload.tools else None,
            {} if payload.max_tokens is None else {"max_tokens": payload.max_tokens},
            payload.request_id,
            payload.idempotency_key,
            payload.retry_count,
        )
        graph = rollout.graph
        call, new = graph.open(request)
        if not new and id in rollout.waiting.get(call.no, ()):
            return  # it was sent again because a reply was lost
        if not new and call.no in rollout.answers:
            self._answers.put_nowait((rollout, graph, call, [self._answer(rollout, call, id)]))
            return
        rollout.waiting.setdefault(call.no, []).append(id)
        if not new:
            return
        try:
            graph.set_prompt(call, await asyncio.to_thread(self._parent.texts.new_ids, call))
            pending = _Pending(rollout, graph, call, self._request(rollout, call, payload.max_tokens))
        except ReinforgeError:
            graph.cancel(call)
            del rollout.waiting[call.no]
            raise
        self._pending.append(pending)
        self._arrived.set()
        if self._queue is not None:
            self._queue.add(pending.request)

    def _request(self, rollout: _AgentRollout, call: ModelCall, max_tokens: int | None) -> GenerateRequest:
        prompt_ids, sampling = call.prompt_ids, self._round.sampling
        room = self._parent.context - len(prompt_ids)
        if room < 1:
            raise context_full(len(prompt_ids), self._parent.context)
        limits = [
            rollout.graph.room,
            room,
            sampling.max_tokens,
            self._parent.spec.max_turn_tokens,
            max_tokens,
        ]
        root = _root(call)
        return GenerateRequest(
            policy=self._round.policy,
            version=self._round.version,
            prompt_ids=prompt_ids,
            n=1,
            sampling=sampling,
            noise=NoiseKey(
                self._round.seed,
                self._round.stream,
                self._round.noise_step,
                self._round.first_prompt + rollout.number,
                rollout.sample_no,
                root.no * _BRANCH_TOKENS + len(prompt_ids) - len(root.prompt_ids),
            ),
            tag=0,
            limit=min(limit for limit in limits if limit is not None),
        )

    async def _generate(self) -> None:
        engine = self._parent.engine
        if isinstance(engine, ContinuousEngine):
            await self._generate_from_queue(engine)
            raise Interrupted  # it was cancelled while no call was pending
        while True:
            await self._arrived.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._arrived.clear()
            batch, self._pending = self._pending, []
            live = [pending for pending in batch if not pending.call.cancelled]
            by_request = {id(pending.request): pending for pending in live}
            if not live:
                continue
            async with aclosing(
                self._parent.engine.generate([pending.request for pending in live])
            ) as generated:
                async for answer in generated:
                    await self._note(by_request[id(answer.request)], answer)

    async def _generate_from_queue(self, engine: ContinuousEngine) -> None:
        queue = self._queue = RequestQueue(pending.request for pending in self._pending)
        async with aclosing(engine.generate_from(queue)) as generated:
            async for answer in generated:
                (pending,) = (pending for pending in self._pending if pending.request is answer.request)
                self._pending.remove(pending)
                await self._note(pending, answer)

    async def _note(self, pending: _Pending, generated: Generated) -> None:
        (sample,) = generated.samples
        if sample.finish_reason == "cancelled":
            raise Interrupted
        rollout, call = pending.rollout, pending.call
        written = await asyncio.to_thread(
            self._parent.texts.written,
            sample.token_ids,
            call.request.tools,
            f"call_{call.no}",
            cut=sample.finish_reason == "length",
        )
        if call.cancelled or pending.graph is not rollout.graph:
            return
        pending.graph.answer(
            call,
            CallAnswer(
                generated.request.prompt_ids,
                sample.token_ids,
                sample.logprobs,
                generated.request.version,
                written.message,
                sample.entropies,
            ),
        )
        rollout.answers[call.no] = written
        answers = [self._answer(rollout, call, id) for id in rollout.waiting.pop(call.no, ())]
        self._answers.put_nowait((rollout, pending.graph, call, answers))

    def _answer(self, rollout: _AgentRollout, call: ModelCall, id: str) -> ModelCallAnswer:
        written = rollout.answers[call.no]
        assert call.answer is not None
        answer = ChatAnswer(
            message=written.message,
            finish_reason=written.finish_reason,
            prompt_tokens=len(call.answer.prompt_ids),
            completion_tokens=len(call.answer.token_ids),
        )
        return ModelCallAnswer(id=id, result=answer.model_dump(mode="json"))

    async def _send(self) -> None:
        while True:
            _, graph, call, answers = await self._answers.get()
            abandoned = await self._parent.exchange.answer(answers)
            if answers and len(abandoned) == len(answers):
                graph.abandon(call)
            elif answers:
                graph.deliver(call)


def _root(call: ModelCall) -> ModelCall:
    while call.reason == "continued" and call.parent is not None:
        call = call.parent
    return call
