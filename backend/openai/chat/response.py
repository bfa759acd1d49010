"""Chat completions in OpenAI's format, whole or streamed."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import orjson

from backend.data.ids import new_id
from backend.http import sse
from backend.openai.chat import tools
from backend.openai.chat.run import ChatRun
from reinforge.errors import ReinforgeError
from reinforge.schemas.openai_chat import (
    ChatCompletion,
    ChatMessage,
    Choice,
    ChoiceLogprobs,
    FinishReason,
    ToolCall,
)
from reinforge.schemas.rpc.events import DeltaEvent, DoneEvent, RpcEvent, StatusEvent

DONE = b"data: [DONE]\n\n"
WAITING = b": waiting\n\n"


async def whole(run: ChatRun) -> ChatCompletion:
    ends: dict[int, DoneEvent] = {}
    logprobs: dict[int, list[Any]] = {}
    async with aclosing(run.events()) as events:
        async for event in events:
            if not isinstance(event, DeltaEvent | DoneEvent):
                continue
            logprobs.setdefault(event.sample, []).extend(event.logprobs or [])
            if isinstance(event, DoneEvent):
                ends[event.sample] = event
    return ChatCompletion(
        id=new_id("chatcmpl-"),
        created=int(time.time()),
        model=run.chat.name,
        choices=[_choice(run, index, ends[index], logprobs[index]) for index in sorted(ends)],
        usage=run.usage,
        system_fingerprint=run.chat.fingerprint,
    )


def written(completion: ChatCompletion) -> bytes:
    value = completion.model_dump(exclude={"trace"})
    if completion.trace is not None:
        value["trace"] = completion.trace.model_dump(exclude_none=True)
    for choice in value["choices"]:
        if choice["message"]["tool_calls"] is None:
            del choice["message"]["tool_calls"]
    return orjson.dumps(value)


class Chunks:
    """Await `first` before the response starts."""

    def __init__(self, run: ChatRun, *, include_usage: bool) -> None:
        self._run, self._include_usage = run, include_usage
        self._events = run.events()
        self._first: list[RpcEvent] = []
        self._same = {
            "id": new_id("chatcmpl-"),
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": run.chat.name,
            "system_fingerprint": run.chat.fingerprint,
        }
        self._buffers: dict[int, tools.ToolCallBuffer] = {}

    async def first(self, seconds: float) -> None:
        """Wait up to `seconds` for the first event, so that earlier errors get an HTTP status. Raises
        ReinforgeError.
        """
        until = time.monotonic() + seconds
        async for event in self._events:
            if event is not None and not isinstance(event, StatusEvent):
                self._first.append(event)
                return
            if time.monotonic() > until:
                return

    async def frames(self) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(self._events) as events:
                for index in range(self._run.chat.n):
                    yield self._chunk(index, {"role": "assistant", "content": ""})
                for event in self._first:
                    for frame in self._of(event):
                        yield frame
                async for later in events:
                    if later is None:
                        yield WAITING
                        continue
                    for frame in self._of(later):
                        yield frame
            if self._include_usage:
                yield self._frame([], self._run.usage.model_dump())
            yield DONE
        except ReinforgeError as error:
            yield sse.frame(orjson.dumps(error.envelope()))

    def _of(self, event: RpcEvent) -> list[bytes]:
        if isinstance(event, DeltaEvent):
            return self._piece(event.sample, event.text, event.logprobs)
        return self._end(event) if isinstance(event, DoneEvent) else []

    def _piece(self, index: int, text: str, logprobs: list[Any] | None) -> list[bytes]:
        emitted = self._buffer(index).push(text) if self._run.chat.tools else text
        return [self._chunk(index, {"content": emitted}, logprobs=logprobs)] if emitted or logprobs else []

    def _end(self, event: DoneEvent) -> list[bytes]:
        index = event.sample
        reason: FinishReason = event.finish_reason
        # The last piece of text came before as a delta; log-probabilities of what makes no text are left.
        frames = self._piece(index, "", event.logprobs) if event.logprobs else []
        if self._run.chat.tools:
            text, calls = self._buffer(index).rest()
            if text:
                frames.append(self._chunk(index, {"content": text}))
            if calls:
                listed = [{"index": place, **call.model_dump()} for place, call in enumerate(calls)]
                frames.append(self._chunk(index, {"tool_calls": listed}))
                reason = _reason(reason, calls)
        return [*frames, self._chunk(index, {}, reason=reason)]

    def _buffer(self, index: int) -> tools.ToolCallBuffer:
        if index not in self._buffers:
            self._buffers[index] = tools.ToolCallBuffer(self._run.notation, self._run.chat.tools)
        return self._buffers[index]

    def _chunk(
        self,
        index: int,
        delta: dict[str, Any],
        *,
        reason: str | None = None,
        logprobs: list[Any] | None = None,
    ) -> bytes:
        listed = {"content": logprobs, "refusal": None} if logprobs is not None else None
        return self._frame([{"index": index, "delta": delta, "logprobs": listed, "finish_reason": reason}])

    def _frame(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        counted = {"usage": usage} if self._include_usage else {}
        return sse.frame(orjson.dumps(self._same | {"choices": choices} | counted))


def _choice(run: ChatRun, index: int, end: DoneEvent, logprobs: list[Any]) -> Choice:
    text, calls = tools.split(end.text, run.notation, run.chat.tools) if run.chat.tools else (end.text, [])
    return Choice(
        index=index,
        message=ChatMessage(content=text, tool_calls=calls or None),
        logprobs=ChoiceLogprobs(content=logprobs) if run.chat.logprobs else None,
        finish_reason=_reason(end.finish_reason, calls),
    )


def _reason(reason: FinishReason, calls: list[ToolCall]) -> FinishReason:
    return "tool_calls" if calls and reason == "stop" else reason
