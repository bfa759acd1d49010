"""Environment with tools: reads calls from the policy's turns, runs them, and appends rendered results."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Protocol

from reinforge.environment_spec import ToolsSpec
from reinforge.errors import JobFailure
from reinforge.records import CompletionEnd
from reinforge.tool_calls import AssistantMessage, ParsedCall
from worker.environment.base import (
    Author,
    Conversation,
    PolicyTurn,
    Prompt,
    Segment,
    ToolCall,
    UserReply,
    open_segment,
)
from worker.environment.token_counts import token_counts
from worker.environment.tools.base import (
    PastCall,
    ReplyRequest,
    ToolEnd,
    ToolRequest,
    ToolResult,
    ToolRunner,
    ToolStart,
    past_call,
)
from worker.environment.tools.calls import checked_call, second_call, turn_end
from worker.models.rendering import Conversation as Rendering
from worker.models.rendering import Rendered
from worker.models.shortening import shortened_result

Message = dict[str, Any]


class TurnTexts(Protocol):
    def render(self, conversations: Sequence[Rendering], max_tokens: int) -> list[Rendered]: ...

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]: ...

    def plain_ids(self, text: str) -> tuple[int, ...]: ...


class TurnContinuation(Protocol):
    """Interface of `Continuation`."""

    @property
    def parallel_calls(self) -> bool: ...

    def read(self, text: str) -> AssistantMessage: ...

    def suffixes(self, turns: Sequence[tuple[Sequence[Message], int | None]]) -> list[tuple[int, ...]]: ...

    def first_call(self, text: str) -> tuple[int, int] | None: ...


class OneTurn:
    """`TurnContinuation` without tools: no text is parsed as a call."""

    parallel_calls = False

    def read(self, text: str) -> AssistantMessage:
        return AssistantMessage(text)

    def suffixes(self, turns: Sequence[tuple[Sequence[Message], int | None]]) -> list[tuple[int, ...]]:
        return [() for _ in turns]

    def first_call(self, text: str) -> tuple[int, int] | None:
        return None


@dataclass(frozen=True, slots=True)
class RolloutMemory:
    state: Any = None
    history: tuple[PastCall, ...] = ()


@dataclass(slots=True)
class _Answered:
    conversation: Conversation
    message: AssistantMessage
    turn: PolicyTurn
    memory: RolloutMemory
    calls: list[ToolCall] = field(default_factory=list)
    end: CompletionEnd | None = None
    failure: str | None = None
    failure_message: str | None = None
    suffix: tuple[int, ...] = ()
    reward: float | None = None
    call_span: tuple[int, int] | None = None
    is_done: bool = False
    is_answer: bool = False
    """Whether the turn has no call, so that the simulated user replies."""
    reply: UserReply | None = None


class ToolsEnvironment:
    def __init__(
        self,
        spec: ToolsSpec,
        runner: ToolRunner,
        texts: TurnTexts,
        turns: TurnContinuation,
        *,
        stop_ids: Sequence[int],
        context: int,
        most: int,
        with_call_spans: bool = False,
    ) -> None:
        """context: maximum tokens of prompt and completion. most: maximum policy tokens in a completion."""
        self.max_turns = spec.max_turns
        self._spec = spec
        self._runner = runner
        self._texts = texts
        self._turns = turns
        self._stop_ids = frozenset(stop_ids)
        self._ends: dict[int, str] = {}
        self._context = context
        self._most = most
        self._with_call_spans = with_call_spans
        self._scores = any(source.type in ("class", "openenv") for source in spec.sources)
        self._sources = {
            schema.name: number for number, schemas in enumerate(runner.schemas) for schema in schemas
        }
        self._schemas = {schema.name: schema for schemas in runner.schemas for schema in schemas}

    async def begin(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        return await asyncio.to_thread(self._begin, conversations)

    def room(self, conversation: Conversation) -> int:
        room = min(self._most - conversation.policy_tokens, self._context - _length(conversation))
        if self._spec.max_turn_tokens is None:
            return room
        begun = open_segment(conversation)
        return min(room, self._spec.max_turn_tokens - (len(begun.token_ids) if begun else 0))

    async def answer(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        if not conversations:
            return []
        return await asyncio.to_thread(self._answer, conversations)

    def close(self) -> None:
        self._runner.close()

    def _answer(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        answered = self._read(conversations)
        self._call(answered)
        self._reply([entry for entry in answered if entry.is_answer])
        self._continue([entry for entry in answered if entry.end is None])
        self._reward([entry for entry in answered if entry.end is not None])
        return [_after(entry) for entry in answered]

    def _begin(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        starts = [
            ToolStart(conversation.prompt_no, conversation.prompt.item, conversation.seed)
            for conversation in conversations
        ]
        results = self._runner.start(starts)
        begun = []
        for conversation, result in zip(conversations, results, strict=True):
            failure = None if result.status == "ok" else f"tool_{result.status}"
            state = RolloutMemory(result.state)
            begun.append(replace(conversation, state=state, failure=failure or result.finding))
        observed = [place for place, result in enumerate(results) if result.status == "ok" and result.text]
        prompts = self._with_observations([(begun[place].prompt, results[place].text) for place in observed])
        for place, prompt in zip(observed, prompts, strict=True):
            begun[place] = replace(begun[place], prompt=prompt)
        return begun

    def _with_observations(self, observed: Sequence[tuple[Prompt, str]]) -> list[Prompt]:
        """Append the observation of `reset` to the last message of each prompt."""
        if not observed:
            return []
        messages = [_observing(prompt.messages, text) for prompt, text in observed]
        tools = [prompt.tools for prompt, _ in observed]
        rendered = self._texts.render(list(zip(messages, tools, strict=True)), self._context - 1)
        prompts = []
        for (prompt, _), changed, row in zip(observed, messages, rendered, strict=True):
            if row.refusal is not None or row.tokens >= self._context:
                raise JobFailure(
                    f"Row {prompt.row_index + 1}, with the text that `reset` returned, cannot be a prompt: "
                    + (row.refusal or f"it has {row.tokens} tokens; the model's context has {self._context}"),
                    code="data_error",
                    hint="Return a shorter text, or None, from `reset`.",
                )
            prompts.append(replace(prompt, messages=changed, text=row.text, token_ids=row.token_ids))
        return prompts

    def _read(self, conversations: Sequence[Conversation]) -> list[_Answered]:
        texts = self._texts.raw([conversation.segments[-1].token_ids for conversation in conversations])
        answered = []
        for conversation, text in zip(conversations, texts, strict=True):
            memory = conversation.state
            assert isinstance(memory, RolloutMemory)
            end = len(conversation.token_ids)
            start = end - len(conversation.segments[-1].token_ids)
            message = self._without_end(self._turns.read(text), conversation.segments[-1].token_ids)
            turn = PolicyTurn(len(conversation.turns), start, end, conversation.text)
            entry = _Answered(conversation, message, turn, memory, failure=conversation.failure)
            if conversation.failure is not None:
                entry.message, entry.end = AssistantMessage(message.content, message.reasoning), "environment"
            elif conversation.turn_end == "length":
                # Cut off in the middle: nothing is run, and no end is made up.
                entry.message, entry.end = AssistantMessage(message.content, message.reasoning), "length"
            elif not message.calls and self._spec.reply is None:
                entry.end = "stop"
            elif not message.calls:
                entry.is_answer = True
            answered.append(entry)
        if self._with_call_spans:
            self._find_calls(answered, texts)
        return answered

    def _without_end(self, message: AssistantMessage, token_ids: Sequence[int]) -> AssistantMessage:
        """Remove the text of the stop token, which parsers of tool calls may leave in the message."""
        last = token_ids[-1] if token_ids else None
        if last is None or last not in self._stop_ids:
            return message
        if last not in self._ends:
            (self._ends[last],) = self._texts.raw([[last]])
        content = message.content.removesuffix(self._ends[last])
        return message if content == message.content else replace(message, content=content.rstrip())

    def _find_calls(self, answered: Sequence[_Answered], texts: Sequence[str]) -> None:
        located = [
            (entry, span)
            for entry, text in zip(answered, texts, strict=True)
            if entry.message.calls
            and entry.turn.no == 0
            and (span := self._turns.first_call(text)) is not None
        ]
        turns = [entry.conversation.segments[-1].token_ids for entry, _ in located]
        starts, ends = (
            token_counts(self._texts.raw, turns, [span[side] for _, span in located]) for side in (0, 1)
        )
        for (entry, _), start, end in zip(located, starts, ends, strict=True):
            entry.call_span = (entry.turn.start + start, entry.turn.start + end)

    def _call(self, answered: Sequence[_Answered]) -> None:
        requests: list[ToolRequest] = []
        owners: list[tuple[_Answered, int]] = []
        for number, entry in enumerate(answered):
            before = sum(len(turn.calls) for turn in entry.conversation.turns)
            for place, parsed in enumerate(entry.message.calls):
                call = checked_call(parsed, before + place, self._schemas, self._spec.max_tool_calls)
                if place and not self._turns.parallel_calls:
                    call = second_call(call)
                entry.calls.append(call)
                if call.status == "ok":
                    owners.append((entry, place))
                    requests.append(self._request(number, entry, parsed))
        results = self._runner.run(requests) if requests else []
        for (entry, place), request, result in zip(owners, requests, results, strict=True):
            self._note(entry, place, request, result)
        for entry in answered:
            self._settle(entry)

    def _request(self, rollout: int, entry: _Answered, parsed: ParsedCall) -> ToolRequest:
        return ToolRequest(
            rollout=rollout,
            item=entry.conversation.prompt.item,
            source=self._sources[parsed.name],
            name=parsed.name,
            arguments=parsed.arguments or {},
            state=entry.memory.state,
            history=entry.memory.history,
            seed=entry.conversation.seed,
            sample_no=entry.conversation.sample_no,
        )

    def _note(self, entry: _Answered, place: int, request: ToolRequest, result: ToolResult) -> None:
        most = self._spec.max_result_tokens
        text, cut = shortened_result(result.text, most, self._texts.plain_ids, self._texts.raw)
        entry.calls[place] = replace(
            entry.calls[place],
            status=result.status,
            result=text,
            cut=cut,
            milliseconds=result.milliseconds,
            reward=result.reward,
        )
        entry.is_done |= result.ended
        entry.memory = RolloutMemory(result.state, (*entry.memory.history, past_call(request, result)))
        if result.finding is not None:
            entry.failure, entry.end = result.finding, "environment"

    def _settle(self, entry: _Answered) -> None:
        if entry.end is None:
            statuses = {call.status for call in entry.calls}
            entry.end, entry.failure = turn_end(
                self._spec,
                statuses,
                self._calls_used(entry),
                entry.turn.no,
                entry.failure,
                is_done=entry.is_done,
            )

    def _reply(self, answers: Sequence[_Answered]) -> None:
        """Let the simulated user reply, even after the last turn, because rewards read the reply."""
        if not answers:
            return
        requests = [
            ReplyRequest(
                rollout=number,
                item=entry.conversation.prompt.item,
                messages=_messages_so_far(entry),
                state=entry.memory.state,
                turn=entry.turn.no,
                seed=entry.conversation.seed,
            )
            for number, entry in enumerate(answers)
        ]
        for entry, result in zip(answers, self._runner.reply(requests), strict=True):
            most = self._spec.max_result_tokens
            text, cut = shortened_result(result.text, most, self._texts.plain_ids, self._texts.raw)
            entry.reply = UserReply(result.status, text, result.ended, cut, result.milliseconds)
            entry.memory = replace(entry.memory, state=result.state)
            if result.status != "ok":
                entry.end = "environment"
                # Unlike a tool's error, there is nobody to whom it could be the answer.
                if self._spec.tool_failure != "end":
                    entry.failure, entry.failure_message = f"reply_{result.status}", text
            elif result.ended:
                entry.end = "environment"

    def _continue(self, answered: Sequence[_Answered]) -> None:
        """Append results or the user's reply; a rollout without room for another token ends instead."""
        suffixes = self._turns.suffixes([self._results(entry) for entry in answered]) if answered else []
        for entry, suffix in zip(answered, suffixes, strict=True):
            conversation = entry.conversation
            if conversation.policy_tokens >= self._most:
                entry.end = "length"
            elif _length(conversation) + len(suffix) >= self._context:
                entry.end = "context"
            else:
                entry.suffix = suffix

    def _results(self, entry: _Answered) -> tuple[list[Message], int | None]:
        last = entry.conversation.segments[-1].token_ids[-1]
        ended_by = last if last in self._stop_ids else None
        if entry.reply is not None:
            return [_user_message(entry.reply)], ended_by
        answered = entry.calls if self._turns.parallel_calls else entry.calls[:1]
        return [_rendered(call) for call in answered], ended_by

    def _calls_used(self, entry: _Answered) -> int:
        return len(entry.calls) + sum(len(turn.calls) for turn in entry.conversation.turns)

    def _reward(self, ended: Sequence[_Answered]) -> None:
        if not self._scores or not ended:
            return
        scored = [entry for entry in ended if entry.failure is None]
        results = self._runner.reward(list(map(_end_of, scored, count()))) if scored else []
        for entry, result in zip(scored, results, strict=True):
            entry.reward = result.value
            if result.status != "ok" or result.finding is not None:
                entry.failure = result.finding or f"tool_{result.status}"
        self._runner.release(list(map(_end_of, ended, count())))


def _end_of(entry: _Answered, number: int) -> ToolEnd:
    conversation = entry.conversation
    return ToolEnd(
        number, conversation.prompt.item, entry.memory.history, conversation.seed, conversation.sample_no
    )


def _length(conversation: Conversation) -> int:
    return len(conversation.prompt.token_ids) + len(conversation.token_ids)


def _observing(messages: Sequence[Message], text: str) -> list[Message]:
    *before, last = messages
    return [*before, last | {"content": f"{last['content']}\n\n{text}"}]


def _after(entry: _Answered) -> Conversation:
    before = entry.conversation
    turn = replace(entry.turn, calls=tuple(entry.calls), reply=entry.reply)
    by: Author = "tool" if entry.reply is None else "user"
    answer = (Segment(entry.suffix, by=by, turn=turn.no),) if entry.suffix else ()
    return replace(
        before,
        segments=(*before.segments, *answer),
        turns=(*before.turns, turn),
        messages=(*before.messages, *_messages(entry)),
        state=entry.memory,
        finish_reason=entry.end,
        failure=entry.failure,
        failure_message=entry.failure_message,
        reward=entry.reward,
        call_span=before.call_span or entry.call_span,
    )


def _rendered(call: ToolCall) -> Message:
    return {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": call.result}


def _recorded(call: ToolCall) -> Message:
    reward = {} if call.reward is None else {"reward": call.reward}
    return _rendered(call) | {"status": call.status} | reward


def _user_message(reply: UserReply) -> Message:
    return {"role": "user", "content": reply.text}


def _messages_so_far(entry: _Answered) -> list[Message]:
    return [*entry.conversation.prompt.messages, *entry.conversation.messages, *_messages(entry)]


def _messages(entry: _Answered) -> list[Message]:
    written: Message = {"role": "assistant", "content": entry.message.content}
    if entry.message.reasoning:
        written["reasoning_content"] = entry.message.reasoning
    if entry.reply is not None and entry.reply.status == "ok" and not entry.reply.ended:
        return [written, _user_message(entry.reply)]
    if not entry.calls:
        return [written]
    written["tool_calls"] = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in entry.calls
    ]
    return [written, *map(_recorded, entry.calls)]
