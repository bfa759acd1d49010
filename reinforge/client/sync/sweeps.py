# Generated from reinforge/client/aio/sweeps.py by scripts/sync_client.py: change that file.
"""Sweeps: jobs that differ in chosen settings."""

import time
from collections.abc import Iterator
from typing import Any

from reinforge.client.protocol import WORKER_SECONDS, Outage
from reinforge.client.shared import SWEEP_ENDS, document
from reinforge.client.sync.paging import iterate
from reinforge.client.sync.transport import Transport
from reinforge.schemas.sweeps import Sweep, SweepCheck, SweepDetail
from reinforge.sweeps import SweepSpec


def _body(spec: SweepSpec | dict[str, Any]) -> dict[str, Any]:
    body = spec.model_dump(mode="json", exclude_unset=True) if isinstance(spec, SweepSpec) else dict(spec)
    return body | {"job": document(body.get("job", {}))}


class Sweeps:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(self, spec: SweepSpec | dict[str, Any]) -> SweepDetail:
        """Start a sweep. The field `job` may be a `JobSpec`."""
        return SweepDetail.model_validate(
            self._transport.post("/sweeps", _body(spec), at_least=3 * WORKER_SECONDS)
        )

    def check(self, spec: SweepSpec | dict[str, Any]) -> SweepCheck:
        """Check a sweep: its problems, its number of jobs and the first of them."""
        return SweepCheck.model_validate(self._transport.post("/sweeps/check", _body(spec)))

    def list(self, *, status: str | None = None) -> Iterator[Sweep]:
        return iterate(self._transport, "/sweeps", Sweep, status=status)

    def get(self, id: str) -> SweepDetail:
        return SweepDetail.model_validate(self._transport.get(f"/sweeps/{id}"))

    def cancel(self, id: str) -> SweepDetail:
        """Cancel the sweep and its jobs."""
        return SweepDetail.model_validate(self._transport.post(f"/sweeps/{id}/cancel"))

    def delete(self, id: str) -> None:
        """Delete an ended sweep; its jobs stay. Owners only."""
        self._transport.delete(f"/sweeps/{id}")

    def wait(self, id: str, *, timeout: float | None = None, every: float = 2.0) -> SweepDetail:
        """Wait until the sweep has ended. Raises TimeoutError after `timeout` seconds."""
        deadline, outage = time.monotonic() + (float("inf") if timeout is None else timeout), Outage()
        while True:
            answer = self._transport.get_through_outage(f"/sweeps/{id}", outage, deadline)
            current = SweepDetail.model_validate(answer)
            if current.status in SWEEP_ENDS:
                return current
            if time.monotonic() > deadline:
                raise TimeoutError(f"The sweep {id} is still {current.status} after {timeout:g} s.")
            time.sleep(every)
