"""Sampling requests: validation, worker payload, response stream."""

import json
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import anyio
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncSession

from backend import usage
from backend.adapters import aliases
from backend.base_models import service as base_models
from backend.data.database import Database
from backend.http import sse
from backend.models import BaseModel, Checkpoint, Job
from backend.playground import repository
from backend.rpc.client import Calls
from backend.rpc.queued import QueuedSampling
from backend.rpc.stream import CallStream, open_stream
from reinforge.dataset import DatasetError, Tool, render_messages, row_tools
from reinforge.errors import InvalidInput, ReinforgeError, TooLarge, Unavailable
from reinforge.schemas.playground import SampledCall, SampleEvent, SampleRequest
from reinforge.schemas.rpc.base import NoResult
from reinforge.schemas.rpc.events import DeltaEvent, DoneEvent, PromptEvent, RpcEvent
from reinforge.schemas.rpc.sampling import SAMPLE, AdapterArchive
from reinforge.schemas.usage import UsageKind
from reinforge.tool_calls import prepared, read

log = logging.getLogger(__name__)

QUIET_SECONDS = 300.0
MOST_CHARACTERS = 400_000
MOST_MESSAGES = 400
MOST_STOP_CHARACTERS = 200


async def sampling(session: AsyncSession, project_id: str, body: SampleRequest) -> QueuedSampling:
    prompts = [_messages(messages, index) for index, messages in enumerate(body.prompts)]
    _check_sizes(body)
    aliased = None if body.checkpoint else await aliases.adapter_of(session, project_id, body.model)
    if aliased is None:
        model, checkpoint = await base_models.get_usable(session, project_id, body.model), body.checkpoint
    else:
        model, checkpoint = base_models.usable(await base_models.of(session, aliased)), aliased.checkpoint_id
        if checkpoint is None:
            raise InvalidInput(
                f"{body.model} names an uploaded adapter, which the playground does not sample.",
                code="adapter_not_servable",
                param="model",
                hint="Chat with it, or deploy it.",
            )
    return QueuedSampling(
        model=model.id,
        model_key=model.key,
        model_source=model.source,
        model_sha256=model.sha256,
        adapter=await _adapter(session, project_id, checkpoint, model),
        prompts=prompts,
        **({"tools": _tools(body)} if body.tools else {}),
        **body.model_dump(exclude={"model", "checkpoint", "prompts", "tools"}),
    )


async def checkpoint_model(session: AsyncSession, project_id: str, checkpoint_id: str) -> BaseModel:
    return await base_models.of(session, (await _checkpoint_and_job(session, project_id, checkpoint_id))[1])


async def start(calls: Calls, request: QueuedSampling) -> CallStream[NoResult]:
    return await open_stream(calls, SAMPLE, request, quiet_seconds=QUIET_SECONDS)


async def counted(
    database: Database, stream: CallStream[NoResult], project_id: str, source: str
) -> AsyncGenerator[RpcEvent | None, None]:
    """Yield the worker's events, and count usage even if the client disconnects."""
    tokens: dict[tuple[int, int], int] = {}
    try:
        async with aclosing(stream.events()) as events:
            async for event in events:
                if isinstance(event, DeltaEvent | DoneEvent):
                    tokens[event.prompt, event.sample] = event.tokens or 0
                yield event
    finally:
        used: dict[UsageKind, float] = {
            "sampled_tokens": float(sum(tokens.values())),
            "device_seconds": stream.seconds,
        }
        with anyio.CancelScope(shield=True):  # cancelled when the client disconnects
            await _count(database, project_id, used, source)


async def _count(database: Database, project_id: str, used: Mapping[UsageKind, float], source: str) -> None:
    try:
        async with database.transaction() as session:
            await usage.add(session, project_id, used, source)
    except SQLAlchemyError as error:
        log.warning("tokens sampled from %s are not counted, the database does not answer: %s", source, error)


async def frames(
    stream: AsyncGenerator[RpcEvent | None, None], tools: list[Tool] | None = None
) -> AsyncGenerator[bytes, None]:
    """Server-sent events: the worker's events, then `end` or `error`; comments keep the connection alive."""
    notation: str | None = None
    try:
        async with aclosing(stream) as events:
            async for event in events:
                if isinstance(event, PromptEvent):
                    notation = event.notation
                yield b": waiting\n\n" if event is None else _frame(_with_calls(event, notation, tools))
        yield _frame(SampleEvent(type="end"))
    except ReinforgeError as error:
        yield _frame(SampleEvent(type="error", error=error.envelope()["error"]))
    except SQLAlchemyError as error:
        log.warning("a sampling stream ends, because the database does not answer: %s", error)
        lost = Unavailable("The database does not answer.", code="database_unavailable", hint="Try again.")
        yield _frame(SampleEvent(type="error", error=lost.envelope()["error"]))


def _with_calls(event: RpcEvent, notation: str | None, tools: list[Tool] | None) -> SampleEvent:
    sampled = SampleEvent.model_validate(event)
    if not isinstance(event, DoneEvent) or notation is None or event.finish_reason == "length":
        return sampled
    message = read(event.text, notation, tools)
    calls = [
        SampledCall(
            name=call.name,
            arguments=call.raw if call.arguments is None else json.dumps(call.arguments, ensure_ascii=False),
            error=call.error,
        )
        for call in message.calls
    ]
    return sampled.model_copy(update={"calls": calls, "content": message.content})


def _frame(event: SampleEvent) -> bytes:
    return sse.frame(event.model_dump_json(exclude_none=True).encode())


def _messages(messages: list[dict[str, Any]], index: int) -> list[dict[str, Any]]:
    if len(messages) > MOST_MESSAGES:
        raise TooLarge(
            f"A conversation may have at most {MOST_MESSAGES} messages; this one has {len(messages)}.",
            code="too_many_messages",
            param=f"prompts[{index}]",
        )
    try:
        return prepared(render_messages({"messages": messages}))
    except DatasetError as error:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.path[1:])
        message = error.message.replace('"messages"', "The conversation")
        raise InvalidInput(
            message, code=error.code, hint=error.hint, param=f"prompts[{index}]{place}"
        ) from error


def _tools(body: SampleRequest) -> list[Tool] | None:
    try:
        return row_tools({"tools": body.tools}) if body.tools else None
    except DatasetError as error:
        raise InvalidInput(error.message, code="invalid_tools", hint=error.hint, param="tools") from error


def _check_sizes(body: SampleRequest) -> None:
    total = sum(len(str(message)) for messages in body.prompts for message in messages)
    total += len(str(body.tools or ""))
    if total > MOST_CHARACTERS:
        raise TooLarge(
            f"The messages have {total} characters, at most {MOST_CHARACTERS} are possible.",
            code="prompts_too_large",
            param="prompts",
            hint="Ask for fewer prompts at once, or shorten them.",
        )
    for index, text in enumerate(body.stop):
        if not 1 <= len(text) <= MOST_STOP_CHARACTERS:
            raise InvalidInput(
                f"A stop string has 1 to {MOST_STOP_CHARACTERS} characters; this one has {len(text)}.",
                code="invalid_stop",
                param=f"stop[{index}]",
                hint="Leave it out to let the model end by itself.",
            )


async def _adapter(
    session: AsyncSession, project_id: str, checkpoint_id: str | None, model: BaseModel
) -> AdapterArchive | None:
    if checkpoint_id is None:
        return None
    checkpoint, job = await _checkpoint_and_job(session, project_id, checkpoint_id)
    if job.model_key != model.key:
        raise _refused(
            f"The checkpoint was trained on {job.model_id}, not on {model.id}.",
            "checkpoint_of_another_model",
            f"Set model to {job.model_id}.",
        )
    if job.model_sha256 is not None and job.model_sha256 != model.sha256:
        raise _refused(
            f"The files of {model.id} have changed since the checkpoint was trained.",
            "model_changed",
            "An adapter fits only the weights it was trained on: add the old files as a model of their own.",
        )
    return AdapterArchive(sha256=checkpoint.sha256, bytes=checkpoint.bytes, step=checkpoint.step)


async def _checkpoint_and_job(
    session: AsyncSession, project_id: str, checkpoint_id: str
) -> tuple[Checkpoint, Job]:
    row = await repository.find_checkpoint(session, project_id, checkpoint_id)
    if row is None:
        raise _refused(
            f"There is no checkpoint {checkpoint_id}.",
            "checkpoint_not_found",
            "A job keeps its three best checkpoints and the last one: choose one of those.",
        )
    return row


def _refused(message: str, code: str, hint: str) -> InvalidInput:
    return InvalidInput(message, code=code, hint=hint, param="checkpoint")
