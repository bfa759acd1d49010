# Generated from reinforge/client/aio/trackers.py by scripts/sync_client.py: change that file.
"""Experiment trackers of the project, and exports of jobs to them."""

import builtins
from typing import Any

from reinforge.client.sync.transport import Transport
from reinforge.schemas.common import Page
from reinforge.schemas.trackers import JobExport, JobExportList, Tracker, TrackerKind


class Trackers:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        name: str,
        *,
        kind: TrackerKind,
        destination: str,
        url: str | None = None,
        entity: str | None = None,
        username: str | None = None,
        api_key: str | None = None,
        every_job: bool = False,
    ) -> Tracker:
        """Store a tracker; the key is encrypted and never returned. Owners only.

        kind: `wandb` or `mlflow`. destination: project or experiment. url: MLflow's tracking URI.
        """
        body: dict[str, Any] = {"name": name, "kind": kind, "destination": destination, "url": url}
        body |= {"entity": entity, "username": username, "api_key": api_key, "every_job": every_job}
        return Tracker.model_validate(self._transport.post("/trackers", body))

    def list(self) -> list[Tracker]:
        return Page[Tracker].model_validate(self._transport.get("/trackers")).data

    def get(self, name: str) -> Tracker:
        """Get by name or id."""
        return Tracker.model_validate(self._transport.get(f"/trackers/{name}"))

    def change(self, name: str, *, etag: str | None = None, **settings: Any) -> Tracker:
        """Change the given settings; `api_key=None` removes the key."""
        return Tracker.model_validate(self._transport.patch(f"/trackers/{name}", settings, etag=etag))

    def remove(self, name: str) -> None:
        self._transport.delete(f"/trackers/{name}")

    def export(self, job: str, tracker: str) -> JobExport:
        answer = self._transport.post(f"/jobs/{job}/exports", {"tracker": tracker})
        return JobExport.model_validate(answer)

    def exports(self, job: str) -> builtins.list[JobExport]:
        return JobExportList.model_validate(self._transport.get(f"/jobs/{job}/exports")).data

    def stop_export(self, job: str, export: str) -> None:
        self._transport.delete(f"/jobs/{job}/exports/{export}")
