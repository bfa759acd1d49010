"""Client of the worker API for agent rollouts: offers them to runners and answers their model calls."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from reinforge.errors import JobFailure
from reinforge.schemas.agent_rollouts import (
    MOST_CALLS_AT_ONCE,
    MOST_ROLLOUTS_AT_ONCE,
    AgentLimits,
    AgentRolloutInput,
    AnsweredModelCalls,
    AnswerModelCalls,
    CloseRollouts,
    ModelCallAnswer,
    OpenRollouts,
    TakeModelCalls,
    TrainerWork,
)

Reply = TypeVar("Reply", bound=BaseModel)

_TIMEOUT = httpx.Timeout(10.0, read=40.0)
_RETRY_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0)
WAIT_SECONDS = 5.0
"""Duration of one long poll; between polls the trainer reports that it is alive."""


@dataclass(frozen=True, slots=True)
class BackendAccess:
    url: str
    job: str
    attempt: int
    token: str


class RolloutExchange(Protocol):
    async def offer(self, rollouts: Sequence[AgentRolloutInput], limits: AgentLimits) -> None: ...

    async def take(self, received_calls: Sequence[str], received_ends: Sequence[str]) -> TrainerWork: ...

    async def answer(self, answers: Sequence[ModelCallAnswer]) -> list[str]:
        """Send answers; returns the ids of calls whose clients have disconnected."""

    async def withdraw(self) -> None:
        """End all rollouts and revoke their keys."""

    async def close(self) -> None: ...


class WorkerApiExchange:
    """`RolloutExchange` over HTTP. Retries while the server is unreachable: the supervisor ends attempts that
    lose their lease.
    """

    def __init__(self, access: BackendAccess, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._attempt = access.attempt
        self._http = httpx.AsyncClient(
            base_url=f"{access.url.rstrip('/')}/worker/v1/jobs/{access.job}",
            headers={"authorization": f"Bearer {access.token}"},
            timeout=_TIMEOUT,
            transport=transport,
        )

    async def offer(self, rollouts: Sequence[AgentRolloutInput], limits: AgentLimits) -> None:
        for start in range(0, len(rollouts), MOST_ROLLOUTS_AT_ONCE):
            part = list(rollouts[start : start + MOST_ROLLOUTS_AT_ONCE])
            await self._post("/rollouts", OpenRollouts(attempt=self._attempt, limits=limits, rollouts=part))

    async def take(self, received_calls: Sequence[str], received_ends: Sequence[str]) -> TrainerWork:
        body = TakeModelCalls(
            attempt=self._attempt,
            received_calls=list(received_calls),
            received_ends=list(received_ends),
            wait_seconds=WAIT_SECONDS,
        )
        return await self._read(TrainerWork, "/model-calls/take", body)

    async def answer(self, answers: Sequence[ModelCallAnswer]) -> list[str]:
        abandoned: list[str] = []
        for start in range(0, len(answers), MOST_CALLS_AT_ONCE):
            part = list(answers[start : start + MOST_CALLS_AT_ONCE])
            body = AnswerModelCalls(attempt=self._attempt, answers=part)
            reply = await self._read(AnsweredModelCalls, "/model-calls/answers", body)
            abandoned += reply.abandoned
        return abandoned

    async def withdraw(self) -> None:
        await self._post("/rollouts/close", CloseRollouts(attempt=self._attempt))

    async def close(self) -> None:
        await self._http.aclose()

    async def _read(self, shape: type[Reply], path: str, body: BaseModel) -> Reply:
        response = await self._post(path, body)
        try:
            return shape.model_validate_json(response.content)
        except ValidationError as error:
            raise _refused(path, f"its answer is not a valid {shape.__name__}") from error

    async def _post(self, path: str, body: BaseModel) -> httpx.Response:
        content, headers = body.model_dump_json(), {"content-type": "application/json"}
        tries = 0
        while True:
            try:
                response = await self._http.post(path, content=content, headers=headers)
            except httpx.TransportError:
                response = None
            if response is not None and response.status_code < 400:
                return response
            if response is not None and response.status_code < 500 and response.status_code not in (408, 429):
                raise _refused(path, _message(response))
            await asyncio.sleep(_RETRY_SECONDS[min(tries, len(_RETRY_SECONDS) - 1)])
            tries += 1


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"it answered with status {response.status_code}"


def _refused(path: str, why: str) -> JobFailure:
    return JobFailure(
        f"The server rejected the trainer's request about agent rollouts ({path}): {why}",
        code="rollouts_refused",
        hint="If another attempt has taken over the job, do nothing. Otherwise resume the job.",
        retryable=True,
    )
