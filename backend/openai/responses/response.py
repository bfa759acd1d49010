"""Answers in the format of the Responses API, whole or as the events of a stream."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from backend.data.ids import new_id
from backend.http import sse
from reinforge.schemas.agent_rollouts import ChatAnswer
from reinforge.schemas.openai_responses import (
    IncompleteDetails,
    ItemStatus,
    ModelResponse,
    OutputFunctionCall,
    OutputItem,
    OutputMessage,
    OutputReasoning,
    OutputText,
    ReasoningContent,
    ResponsesRequest,
    ResponsesUsage,
)

Event = tuple[str, dict[str, Any]]


def model_response(body: ResponsesRequest, answer: ChatAnswer) -> ModelResponse:
    cut = answer.finish_reason == "length"
    return ModelResponse(
        id=new_id("resp_"),
        created_at=int(time.time()),
        status="incomplete" if cut else "completed",
        incomplete_details=IncompleteDetails() if cut else None,
        instructions=body.instructions,
        max_output_tokens=body.max_output_tokens,
        metadata=body.metadata or {},
        model=body.model,
        output=_output(answer.message, "incomplete" if cut else "completed"),
        tool_choice="none" if body.tool_choice == "none" else "auto",
        tools=[tool.model_dump() for tool in body.tools or ()],
        usage=ResponsesUsage(
            input_tokens=answer.prompt_tokens,
            output_tokens=answer.completion_tokens,
            total_tokens=answer.prompt_tokens + answer.completion_tokens,
        ),
    )


def _output(message: dict[str, Any], status: ItemStatus) -> list[OutputItem]:
    items: list[OutputItem] = []
    text, calls = message.get("content"), message.get("tool_calls") or ()
    if reasoning := message.get("reasoning_content"):
        content = [ReasoningContent(text=reasoning)]
        items.append(OutputReasoning(id=new_id("rs_"), content=content, status=status))
    if text or not calls:
        items.append(OutputMessage(id=new_id("msg_"), content=[OutputText(text=text or "")], status=status))
    for call in calls:
        function = call["function"]
        items.append(
            OutputFunctionCall(
                id=new_id("fc_"),
                call_id=call["id"],
                name=function["name"],
                arguments=function["arguments"],
                status=status,
            )
        )
    return items


def event_frames(response: ModelResponse) -> Iterator[bytes]:
    """Event stream of a complete response; each text is one delta."""
    for number, (kind, fields) in enumerate(_events(response)):
        content = orjson.dumps({"type": kind, "sequence_number": number} | fields)
        yield f"event: {kind}\n".encode() + sse.frame(content)


def _events(response: ModelResponse) -> Iterator[Event]:
    begun = response.model_copy(
        update={"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    )
    yield "response.created", {"response": begun.model_dump()}
    yield "response.in_progress", {"response": begun.model_dump()}
    for place, item in enumerate(response.output):
        yield from _item_events(item, place)
    yield f"response.{response.status}", {"response": response.model_dump()}


def _item_events(item: OutputItem, place: int) -> Iterator[Event]:
    whole, same = item.model_dump(), {"item_id": item.id, "output_index": place}
    empty: dict[str, Any] = {"arguments": ""} if isinstance(item, OutputFunctionCall) else {"content": []}
    added = whole | empty | {"status": "in_progress"}
    yield "response.output_item.added", {"output_index": place, "item": added}
    if isinstance(item, OutputFunctionCall):
        yield "response.function_call_arguments.delta", same | {"delta": item.arguments}
        yield "response.function_call_arguments.done", same | {"name": item.name, "arguments": item.arguments}
    else:
        parts: Sequence[OutputText | ReasoningContent] = item.content
        for number, part in enumerate(parts):
            yield from _part_events(part, same | {"content_index": number})
    yield "response.output_item.done", {"output_index": place, "item": whole}


def _part_events(part: OutputText | ReasoningContent, at: dict[str, Any]) -> Iterator[Event]:
    full = part.model_dump()
    logprobs: dict[str, Any] = {"logprobs": []} if isinstance(part, OutputText) else {}
    yield "response.content_part.added", at | {"part": full | {"text": ""}}
    yield f"response.{part.type}.delta", at | logprobs | {"delta": part.text}
    yield f"response.{part.type}.done", at | logprobs | {"text": part.text}
    yield "response.content_part.done", at | {"part": full}
