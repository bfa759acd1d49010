"""Execution of one chat request."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

import anyio
from sqlalchemy.exc import SQLAlchemyError

from backend.data.database import Database
from backend.deployments import service as deployments
from backend.deployments.serving import QUIET_SECONDS, ServedRequest, note
from backend.openai.chat.request import ChatCall
from backend.rpc.client import Calls
from backend.rpc.stream import CallStream, open_stream
from backend.usage import service as usage
from reinforge.errors import ReinforgeError, Unavailable
from reinforge.schemas.openai_chat import Usage
from reinforge.schemas.rpc.base import NoResult
from reinforge.schemas.rpc.events import DeltaEvent, DoneEvent, PromptEvent, RpcEvent
from reinforge.schemas.rpc.sampling import SAMPLE

log = logging.getLogger(__name__)


class ChatRun:
    def __init__(self, database: Database, stream: CallStream[NoResult], chat: ChatCall) -> None:
        self.chat = chat
        self._database, self._stream = database, stream
        self.notation: str | None = None
        """Notation of the model's tool calls, once the prompt is rendered."""
        self._prompt_tokens = 0
        self._tokens: dict[int, int] = {}

    @property
    def usage(self) -> Usage:
        completion = sum(self._tokens.values())
        return Usage(
            prompt_tokens=self._prompt_tokens,
            completion_tokens=completion,
            total_tokens=self._prompt_tokens + completion,
        )

    async def events(self) -> AsyncGenerator[RpcEvent | None, None]:
        how = ServedRequest(broken_off=True)
        try:
            async with aclosing(self._stream.events()) as events:
                async for event in events:
                    if event is not None:
                        self._count(event)
                    yield event
            how.broken_off = False
        except ReinforgeError as error:
            how.error = as_chat_error(error)
            raise
        except SQLAlchemyError as error:
            log.warning("a chat ends, the database does not answer: %s", error)
            how.error = Unavailable(
                "The database does not answer.", code="database_unavailable", hint="Try again."
            )
            raise how.error from error
        finally:
            how.prompt_tokens, how.completion_tokens = self._prompt_tokens, sum(self._tokens.values())
            how.seconds = self._stream.seconds
            with anyio.CancelScope(shield=True):  # cancelled when the client disconnects
                await _note(self._database, self.chat, how)

    def _count(self, event: RpcEvent) -> None:
        if isinstance(event, PromptEvent):
            self._prompt_tokens += event.tokens
            self.notation = event.notation
        elif isinstance(event, DeltaEvent | DoneEvent):
            self._tokens[event.sample] = event.tokens or 0


async def begin(database: Database, calls: Calls, chat: ChatCall) -> ChatRun:
    try:
        stream = await open_stream(calls, SAMPLE, chat.request, quiet_seconds=QUIET_SECONDS)
    except ReinforgeError as error:
        await _note(database, chat, ServedRequest(error=error))
        raise
    if chat.deployment is not None and chat.turn == 0:
        async with database.transaction() as session:
            open_still = await deployments.is_open(session, chat.deployment)
        if not open_still:  # stopped since it was looked up; see `deployments.service.settle`
            await stream.discard()
            raise deployments.stopped(chat.name)
    return ChatRun(database, stream, chat)


def as_chat_error(error: ReinforgeError) -> ReinforgeError:
    if error.param is not None and error.param.startswith("prompts["):
        error.param = "messages"
    if error.code == "context_overflow":
        error.code = "context_length_exceeded"
    return error


async def _note(database: Database, chat: ChatCall, how: ServedRequest) -> None:
    source = chat.deployment or chat.name
    how.is_new = chat.turn == 0
    try:
        async with database.transaction() as session:
            if chat.deployment is not None:
                await note(session, chat.deployment, how)
            await usage.add(session, chat.project_id, how.used(), source)
    except SQLAlchemyError as error:
        log.warning("a request to %s is not counted, the database does not answer: %s", chat.name, error)
