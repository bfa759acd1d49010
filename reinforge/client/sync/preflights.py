# Generated from reinforge/client/aio/preflights.py by scripts/sync_client.py: change that file.
"""Pre-flights: estimates of a job from a few steps without training."""

import time
from typing import Any

from reinforge.client.protocol import WORKER_SECONDS, Outage
from reinforge.client.shared import RESTS, document
from reinforge.client.sync.transport import Transport
from reinforge.schemas.preflights import Preflight
from reinforge.spec import JobSpec


class Preflights:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, spec: JobSpec | dict[str, Any]) -> Preflight:
        return Preflight.model_validate(
            self._transport.post("/preflights", document(spec), at_least=WORKER_SECONDS)
        )

    def get(self, id: str) -> Preflight:
        return Preflight.model_validate(self._transport.get(f"/preflights/{id}"))

    def cancel(self, id: str) -> Preflight:
        return Preflight.model_validate(self._transport.post(f"/preflights/{id}/cancel"))

    def wait(self, id: str, *, timeout: float | None = None, every: float = 1.0) -> Preflight:
        """Wait until the pre-flight has ended. Raises TimeoutError after `timeout` seconds."""
        deadline, outage = time.monotonic() + (float("inf") if timeout is None else timeout), Outage()
        while True:
            document = self._transport.get_through_outage(f"/preflights/{id}", outage, deadline)
            current = Preflight.model_validate(document)
            if current.status in RESTS:
                return current
            if time.monotonic() > deadline:
                raise TimeoutError(f"The pre-flight {id} is still {current.status} after {timeout:g} s.")
            time.sleep(every)
