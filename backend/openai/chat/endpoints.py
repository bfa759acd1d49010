"""Endpoint `POST /v1/chat/completions`."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from backend import usage
from backend.access.auth import Writer
from backend.access.quotas import count_stream
from backend.base_models import service as base_models
from backend.data.database import DatabaseDep
from backend.openai.chat import response
from backend.openai.chat.request import validate_chat
from backend.openai.chat.run import begin
from backend.openai.chat.tool_turns import ToolConversation
from backend.openai.chat.tool_turns import frames as tool_frames
from backend.openai.conventions import OpenAIRoute
from backend.rpc.client import CallsDep
from reinforge.schemas.openai_chat import ChatCompletion, ChatRequest

T = TypeVar("T")

router = APIRouter(prefix="/v1/chat", tags=["openai"], route_class=OpenAIRoute)

FIRST_SECONDS = 5.0
CLIENT_GONE = 499
STREAMED: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


@router.post(
    "/completions",
    operation_id="createChatCompletion",
    response_model=ChatCompletion,
    responses=STREAMED,
)
async def create(
    body: ChatRequest, request: Request, database: DatabaseDep, calls: CallsDep, who: Writer
) -> Response:
    """Complete a conversation with a base model, a job's adapter or checkpoint, or a deployment.

    With `stream`, chunks arrive as server-sent events; an error after the first chunk is an event with
    `error`, and `[DONE]` is missing. Disconnecting stops the worker.
    """
    if body.stream:
        count_stream(request)
    await base_models.ensure_builtin(database, calls, body.model)
    async with database.transaction() as session:
        await usage.require_budget(session, who.project_id, usage.SERVING)
        chat = await validate_chat(session, who.project_id, body)
    include_usage = body.stream_options is not None and body.stream_options.include_usage
    if chat.environment is not None:
        conversation = ToolConversation(database, calls, chat, chat.environment)
        if body.stream:
            return _stream(tool_frames(conversation, include_usage=include_usage))
        return await _whole(request, conversation.run())
    run = await begin(database, calls, chat)
    if not body.stream:
        return await _whole(request, response.whole(run))
    chunks = response.Chunks(run, include_usage=include_usage)
    await chunks.first(FIRST_SECONDS)
    return _stream(chunks.frames())


async def _whole(request: Request, work: Coroutine[Any, Any, ChatCompletion]) -> Response:
    completion = await _unless_disconnected(request, work)
    if completion is None:
        return Response(status_code=CLIENT_GONE)
    return Response(response.written(completion), media_type="application/json")


def _stream(frames: AsyncGenerator[bytes, None]) -> StreamingResponse:
    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return StreamingResponse(frames, media_type="text/event-stream", headers=headers)


async def _unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T | None:
    task, disconnect = asyncio.create_task(work), asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({task, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        return task.result() if task.done() else None
    finally:
        for pending_task in (task, disconnect):
            pending_task.cancel()
        await asyncio.gather(task, disconnect, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
