"""One chat request while a worker answers it: its events, its tokens, and what it means for a deployment."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import anyio
from sqlalchemy.exc import SQLAlchemyError

from backend.data.database import Database
from backend.deployments import service as deployments
from backend.deployments.serving import QUIET_SECONDS, Answered, note
from backend.openai.chat.request import Asked
from backend.rpc.client import Calls
from backend.rpc.stream import CallStream, open_stream
from backend.usage import service as usage
from reinforge.errors import ReinforgeError, Unavailable
from reinforge.schemas.openai_chat import Usage

log = logging.getLogger(__name__)

Event = dict[str, Any]


class ChatRun:
    """Made by `begin`; iterate `events` once."""

    def __init__(self, database: Database, stream: CallStream, asked: Asked) -> None:
        self.asked = asked
        self._database, self._stream = database, stream
        self._prompt_tokens = 0
        self._tokens: dict[int, int] = {}
        """Of every completion, so far."""

    @property
    def usage(self) -> Usage:
        completion = sum(self._tokens.values())
        return Usage(
            prompt_tokens=self._prompt_tokens,
            completion_tokens=completion,
            total_tokens=self._prompt_tokens + completion,
        )

    async def events(self) -> AsyncGenerator[Event | None, None]:
        """The worker's events, None now and then while nothing comes; closing it stops the worker.

        Raises ReinforgeError.
        """
        how = Answered(broken_off=True)
        try:
            async with aclosing(self._stream.events()) as events:
                async for event in events:
                    if event is not None:
                        self._count(event)
                    yield event
            how.broken_off = False
        except ReinforgeError as error:
            how.error = on_this_wire(error)
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
            with anyio.CancelScope(shield=True):  # the client's hanging up cancels us
                await _note(self._database, self.asked, how)

    def _count(self, event: Event) -> None:
        if event["type"] == "prompt":
            self._prompt_tokens += event["tokens"]
        elif event["type"] in ("delta", "done"):
            self._tokens[event["sample"]] = event["tokens"]


async def begin(database: Database, calls: Calls, asked: Asked) -> ChatRun:
    """Put it on the lane. Raises Unavailable `no_worker`, StateConflict `deployment_stopped`."""
    try:
        stream = await open_stream(calls, "sample", asked.payload, quiet_seconds=QUIET_SECONDS)
    except ReinforgeError as error:
        await _note(database, asked, Answered(error=error))
        raise
    if asked.deployment is not None:
        async with database.transaction() as session:
            open_still = await deployments.is_open(session, asked.deployment)
        if not open_still:  # stopped since it was looked up; see `deployments.service.settle`
            await stream.discard()
            raise deployments.stopped(asked.name)
    return ChatRun(database, stream, asked)


def on_this_wire(error: ReinforgeError) -> ReinforgeError:
    """The same error in the words of a chat request."""
    if error.param is not None and error.param.startswith("prompts["):
        error.param = "messages"
    if error.code == "context_overflow":
        error.code = "context_length_exceeded"
    return error


async def _note(database: Database, asked: Asked, how: Answered) -> None:
    """Count it for its project and deployment; tokens of a request that broke off are used, too."""
    source = asked.deployment or asked.name
    try:
        async with database.transaction() as session:
            if asked.deployment is not None:
                await note(session, asked.deployment, how)
            await usage.add(session, asked.project_id, how.used(), source)
    except SQLAlchemyError as error:
        log.warning("a request to %s is not counted, the database does not answer: %s", asked.name, error)
