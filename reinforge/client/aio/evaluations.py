"""Evaluations of a model on a dataset, and replays of a job's completions."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.protocol import WORKER_SECONDS, Outage
from reinforge.client.shared import EVALUATION_ENDS
from reinforge.schemas.evaluations import (
    EvaluatedCompletions,
    Evaluation,
    EvaluationRows,
)


class AsyncEvaluations:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, **fields: Any) -> Evaluation:
        """Sample a model on a dataset and score it. Takes the fields of `evaluations.StandAloneCreate`."""
        body = {"kind": "stand_alone"} | {name: value for name, value in fields.items() if value is not None}
        return Evaluation.model_validate(
            await self._transport.post("/evaluations", body, at_least=WORKER_SECONDS)
        )

    async def replay(self, job: str, **fields: Any) -> Evaluation:
        """Score a job's completions again. Takes the fields of `evaluations.ReplayCreate`."""
        return Evaluation.model_validate(await self._transport.post("/evaluations", fields | {"job": job}))

    def list(
        self, *, job: str | None = None, name: str | None = None, status: str | None = None
    ) -> AsyncIterator[Evaluation]:
        return iterate(self._transport, "/evaluations", Evaluation, job=job, name=name, status=status)

    async def get(self, id: str) -> Evaluation:
        return Evaluation.model_validate(await self._transport.get(f"/evaluations/{id}"))

    async def rows(self, id: str) -> EvaluationRows:
        return EvaluationRows.model_validate(await self._transport.get(f"/evaluations/{id}/rows"))

    async def completions(
        self, id: str, *, row: int | None = None, limit: int = 50, offset: int = 0
    ) -> EvaluatedCompletions:
        query = {"row": row, "limit": limit, "offset": offset}
        return EvaluatedCompletions.model_validate(
            await self._transport.get(f"/evaluations/{id}/completions", **query)
        )

    async def cancel(self, id: str) -> Evaluation:
        return Evaluation.model_validate(await self._transport.post(f"/evaluations/{id}/cancel"))

    async def resume(self, id: str) -> Evaluation:
        """Continue a failed or cancelled evaluation."""
        return Evaluation.model_validate(await self._transport.post(f"/evaluations/{id}/resume"))

    async def wait(self, id: str, *, timeout: float | None = None, every: float = 1.0) -> Evaluation:
        """Wait until the evaluation has ended. Raises TimeoutError after `timeout` seconds."""
        deadline, outage = time.monotonic() + (float("inf") if timeout is None else timeout), Outage()
        while True:
            document = await self._transport.get_through_outage(f"/evaluations/{id}", outage, deadline)
            current = Evaluation.model_validate(document)
            if current.status in EVALUATION_ENDS:
                return current
            if time.monotonic() > deadline:
                raise TimeoutError(f"The evaluation {id} is still {current.status} after {timeout:g} s.")
            await asyncio.sleep(every)
