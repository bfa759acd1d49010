# Generated from reinforge/client/aio/evaluations.py by scripts/sync_client.py: change that file.
"""Evaluations of a model on a dataset, and replays of a job's completions."""

import time
from collections.abc import Iterator
from typing import Any

from reinforge.client.protocol import WORKER_SECONDS, Outage
from reinforge.client.shared import EVALUATION_ENDS
from reinforge.client.sync.paging import iterate
from reinforge.client.sync.transport import Transport
from reinforge.schemas.evaluations import (
    EvaluatedCompletions,
    Evaluation,
    EvaluationRows,
)


class Evaluations:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, **fields: Any) -> Evaluation:
        """Sample a model on a dataset and score it. Takes the fields of `evaluations.StandAloneCreate`."""
        body = {"kind": "stand_alone"} | {name: value for name, value in fields.items() if value is not None}
        return Evaluation.model_validate(self._transport.post("/evaluations", body, at_least=WORKER_SECONDS))

    def replay(self, job: str, **fields: Any) -> Evaluation:
        """Score a job's completions again. Takes the fields of `evaluations.ReplayCreate`."""
        return Evaluation.model_validate(self._transport.post("/evaluations", fields | {"job": job}))

    def list(
        self, *, job: str | None = None, name: str | None = None, status: str | None = None
    ) -> Iterator[Evaluation]:
        return iterate(self._transport, "/evaluations", Evaluation, job=job, name=name, status=status)

    def get(self, id: str) -> Evaluation:
        return Evaluation.model_validate(self._transport.get(f"/evaluations/{id}"))

    def rows(self, id: str) -> EvaluationRows:
        return EvaluationRows.model_validate(self._transport.get(f"/evaluations/{id}/rows"))

    def completions(
        self, id: str, *, row: int | None = None, limit: int = 50, offset: int = 0
    ) -> EvaluatedCompletions:
        query = {"row": row, "limit": limit, "offset": offset}
        return EvaluatedCompletions.model_validate(
            self._transport.get(f"/evaluations/{id}/completions", **query)
        )

    def cancel(self, id: str) -> Evaluation:
        return Evaluation.model_validate(self._transport.post(f"/evaluations/{id}/cancel"))

    def resume(self, id: str) -> Evaluation:
        """Continue a failed or cancelled evaluation."""
        return Evaluation.model_validate(self._transport.post(f"/evaluations/{id}/resume"))

    def wait(self, id: str, *, timeout: float | None = None, every: float = 1.0) -> Evaluation:
        """Wait until the evaluation has ended. Raises TimeoutError after `timeout` seconds."""
        deadline, outage = time.monotonic() + (float("inf") if timeout is None else timeout), Outage()
        while True:
            document = self._transport.get_through_outage(f"/evaluations/{id}", outage, deadline)
            current = Evaluation.model_validate(document)
            if current.status in EVALUATION_ENDS:
                return current
            if time.monotonic() > deadline:
                raise TimeoutError(f"The evaluation {id} is still {current.status} after {timeout:g} s.")
            time.sleep(every)
