"""Conversations with deployments that run their tools, as in rollouts, until the model answers without a tool
call.

Each turn renders the whole conversation with the model's chat template.
"""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from typing import Any

import orjson

from backend.data.database import Database
from backend.data.ids import new_id
from backend.http import sse
from backend.openai.chat import response
from backend.openai.chat.request import ChatCall
from backend.openai.chat.run import begin
from backend.rpc.client import Calls
from backend.tools import service as tools
from reinforge.environment_spec import ToolsSpec
from reinforge.errors import InvalidInput, ReinforgeError
from reinforge.schemas.openai_chat import (
    ChatCompletion,
    ChatMessage,
    ChatTrace,
    Choice,
    FunctionCall,
    ToolCall,
    TraceMessage,
    Usage,
)
from reinforge.schemas.rpc.events import DoneEvent
from reinforge.schemas.tools import (
    MOST_PAST_CALLS,
    MOST_RUN_CALLS,
    ToolRun,
    ToolRunCall,
    ToolRunResult,
)
from reinforge.tool_calls import AssistantMessage, ParsedCall, read, read_any

WAITING_SECONDS = 5.0
"""Seconds between a stream's keep-alive comments, for proxies that close idle connections."""


class ToolConversation:
    def __init__(self, database: Database, calls: Calls, chat: ChatCall, environment: ToolsSpec) -> None:
        self.chat = chat
        self._database, self._calls, self._environment = database, calls, environment
        self._messages: list[dict[str, Any]] = list(chat.request.prompts[0])
        self._trace: list[TraceMessage] = []
        self._usage = Usage(prompt_tokens=0, completion_tokens=0, total_tokens=0)
        self._tools: ToolRunResult | None = None
        self._calls_before = 0

    async def run(self) -> ChatCompletion:
        if any(source.type == "class" for source in self._environment.sources):
            await self._start()
        for turn in range(self._environment.max_turns):
            text, reason, calls = await self._sample(turn)
            if reason == "length" or not calls:
                return self._completion(text, reason)
            end = await self._run_calls(turn, calls)
            if end is not None:
                return self._completion(text, end)
        return self._completion(text, "max_turns")

    async def _start(self) -> None:
        result = await self._ask_tools(turn=0, calls=[], start=True)
        if result.start is not None and result.start.status != "ok":
            raise InvalidInput(
                f"The tools of {self.chat.name} cannot start: {result.start.text}",
                code="tools_failed",
                param="metadata",
                hint="`reset` of its environment class gets the request's `metadata` as its row.",
            )
        if result.start is not None and result.start.text:
            *before, last = self._messages
            self._messages = [*before, last | {"content": f"{last['content']}\n\n{result.start.text}"}]

    async def _sample(self, turn: int) -> tuple[str, str, Sequence[ParsedCall]]:
        """Returns text, finish reason and tool calls."""
        request = self.chat.request
        left = request.max_tokens - self._usage.completion_tokens
        most = min(left, self._environment.max_turn_tokens or left)
        if most < 1:
            return "", "length", ()
        changes = {"prompts": [self._messages], "max_tokens": most, "seed": (request.seed + turn) % 2**63}
        run = await begin(
            self._database,
            self._calls,
            replace(self.chat, request=request.model_copy(update=changes), turn=turn),
        )
        (done,) = [event async for event in run.events() if isinstance(event, DoneEvent)]
        self._count(run.usage)
        message = _read(done.text, run.notation, self.chat.tools)
        calls = message.calls[:MOST_RUN_CALLS] if done.finish_reason == "stop" else ()
        self._note_answer(done.text, message, calls)
        return (message.content if message.calls else done.text), done.finish_reason, calls

    def _note_answer(self, text: str, message: AssistantMessage, calls: Sequence[ParsedCall]) -> None:
        """Add the answer as plain text if one of its calls cannot be parsed."""
        written = [_call(call, self._calls_before + place) for place, call in enumerate(calls)]
        self._trace.append(
            TraceMessage(
                role="assistant", content=message.content if calls else text, tool_calls=written or None
            )
        )
        if not calls or any(call.error is not None for call in calls):
            self._messages.append({"role": "assistant", "content": text})
            return
        arguments = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": parsed.name, "arguments": parsed.arguments},
            }
            for call, parsed in zip(written, calls, strict=True)
        ]
        self._messages.append({"role": "assistant", "content": message.content, "tool_calls": arguments})
        if message.reasoning:
            self._messages[-1]["reasoning_content"] = message.reasoning

    async def _run_calls(self, turn: int, calls: Sequence[ParsedCall]) -> str | None:
        """Returns the reason if the conversation ends after them, else None."""
        history = self._tools.history if self._tools is not None else []
        if len(history) + len(calls) > MOST_PAST_CALLS:
            return "max_tool_calls"
        result = await self._ask_tools(turn=turn, calls=[_run_call(call) for call in calls])
        for call in result.calls:
            message = {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": call.result}
            self._messages.append(message)
            self._trace.append(
                TraceMessage.model_validate(
                    message | {"status": call.status, "milliseconds": round(call.milliseconds, 1)}
                )
            )
        self._calls_before += len(calls)
        return result.end

    async def _ask_tools(self, *, turn: int, calls: list[ToolRunCall], start: bool = False) -> ToolRunResult:
        last = self._tools
        body = ToolRun(
            environment=self._environment,
            calls=calls,
            item=self.chat.item,
            model=self.chat.request.model,
            start=start,
            seed=self.chat.request.seed % 2**31,
            turn=turn,
            calls_before=self._calls_before,
            state=None if last is None else last.state,
            history=[] if last is None else last.history,
        )
        self._tools = await tools.run(self._database, self._calls, self.chat.project_id, body)
        return self._tools

    def _count(self, usage: Usage) -> None:
        before = self._usage
        self._usage = Usage(
            prompt_tokens=before.prompt_tokens + usage.prompt_tokens,
            completion_tokens=before.completion_tokens + usage.completion_tokens,
            total_tokens=before.total_tokens + usage.total_tokens,
        )

    def _completion(self, text: str, end: str) -> ChatCompletion:
        return ChatCompletion(
            id=new_id("chatcmpl-"),
            created=int(time.time()),
            model=self.chat.name,
            choices=[
                Choice(
                    index=0,
                    message=ChatMessage(content=text),
                    logprobs=None,
                    finish_reason="stop" if end == "stop" else "length",
                )
            ],
            usage=self._usage,
            system_fingerprint=self.chat.fingerprint,
            trace=ChatTrace(end=end, messages=self._trace),
        )


async def frames(conversation: ToolConversation, *, include_usage: bool) -> AsyncGenerator[bytes, None]:
    """The answer as server-sent events: comments until it is complete, then all of it at once."""
    running = asyncio.create_task(conversation.run())
    try:
        while not (await asyncio.wait({running}, timeout=WAITING_SECONDS))[0]:
            yield response.WAITING
        completion = running.result()
        for frame in _chunks(completion, include_usage=include_usage):
            yield frame
        yield response.DONE
    except ReinforgeError as error:
        yield sse.frame(orjson.dumps(error.envelope()))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _chunks(completion: ChatCompletion, *, include_usage: bool) -> list[bytes]:
    (choice,) = completion.choices
    same = completion.model_dump(include={"id", "created", "model", "system_fingerprint"})
    same |= {"object": "chat.completion.chunk"} | ({"usage": None} if include_usage else {})

    def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> bytes:
        listed = [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}]
        return sse.frame(orjson.dumps(same | {"choices": listed} | more))

    trace = completion.trace.model_dump(exclude_none=True) if completion.trace else None
    written = [
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": choice.message.content or ""}),
        chunk({}, choice.finish_reason, trace=trace),
    ]
    if include_usage:
        usage = completion.usage.model_dump()
        written.append(sse.frame(orjson.dumps(same | {"choices": [], "usage": usage})))
    return written


def _read(text: str, notation: str | None, offered: list[dict[str, Any]] | None) -> AssistantMessage:
    return read(text, notation, offered) if notation else read_any(text, offered)


def _call(call: ParsedCall, number: int) -> ToolCall:
    function = FunctionCall(name=call.name, arguments=_arguments(call))
    return ToolCall(id=f"call_{number}", function=function)


def _run_call(call: ParsedCall) -> ToolRunCall:
    return ToolRunCall(
        name=call.name[:200], arguments=_arguments(call), error=call.error and call.error[:2000]
    )


def _arguments(call: ParsedCall) -> str:
    return call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False)
