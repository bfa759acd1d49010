"""Passes a client's request to vLLM, and its reply back as it comes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
from starlette.types import Message, Receive, Scope, Send

from reinforge.errors import ReinforgeError, Unavailable
from worker.engine_host.batch_turns import BatchTurns
from worker.engine_host.leases import Holder
from worker.engine_host.replies import error_response
from worker.engine_host.shared_sampler import SharedSampler
from worker.rollout.vllm.api import Api, ServerLost


class CompletionRelay:
    """ASGI response. It aborts vLLM's request when the client disconnects or its lease ends."""

    def __init__(
        self,
        sampler: SharedSampler,
        turns: BatchTurns,
        holder: Holder,
        body: dict[str, Any],
        *,
        adapted: bool,
    ) -> None:
        self._sampler, self._turns, self._holder = sampler, turns, holder
        self._body = body
        self._kind: object = object() if body.get("prompt_logprobs") is not None else adapted
        self._begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        work = asyncio.create_task(self._run(scope, receive, send))
        gone = asyncio.create_task(_disconnected(receive))
        self._holder.running.add(work)
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._holder.running.discard(work)
            for task in (work, gone):
                task.cancel()
            await asyncio.gather(work, gone, return_exceptions=True)

    async def _run(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with self._turns.turn(self._kind):
                await self._relay(send)
        except ReinforgeError as error:
            # uvicorn cuts the connection of a reply that is not finished: its client sees a lost server.
            if not self._begun:
                await error_response(error)(scope, receive, send)

    async def _relay(self, send: Send) -> None:
        api = self._sampler.api()
        with self._sampler.watched() as output:
            try:
                async with aclosing(api.relay(self._body)) as messages:
                    async for message in _messages(messages):
                        output()
                        self._begun = True
                        await send(message)
            except ServerLost as error:
                await self._lost(api, str(error))

    async def _lost(self, api: Api, why: str) -> None:
        await self._sampler.lost(api, why)
        raise Unavailable(f"vLLM failed: {why}", code="sampler_lost")


async def _messages(parts: AsyncGenerator[httpx.Response | bytes, None]) -> AsyncGenerator[Message, None]:
    async for part in parts:
        if isinstance(part, httpx.Response):
            content_type = part.headers.get("content-type", "application/json")
            headers = [(b"content-type", content_type.encode())]
            yield {"type": "http.response.start", "status": part.status_code, "headers": headers}
        else:
            yield {"type": "http.response.body", "body": part, "more_body": True}
    yield {"type": "http.response.body", "body": b"", "more_body": False}


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
