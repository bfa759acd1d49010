# Generated from reinforge/client/aio/judges.py by scripts/sync_client.py: change that file.
"""Judges: connections of the project to models that graders call."""

from typing import Any

from reinforge.client.sync.transport import Transport
from reinforge.schemas.common import Page
from reinforge.schemas.judges import JudgeInfo


class Judges:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self, name: str, *, base_url: str, model: str, api_key: str | None = None, **settings: Any
    ) -> JudgeInfo:
        """Store a judge; its key is encrypted and never returned. Owners only.

        settings: input_price, output_price (per million tokens), structured, concurrency, timeout_seconds,
        retries.
        """
        body = {"name": name, "base_url": base_url, "model": model, "api_key": api_key, **settings}
        return JudgeInfo.model_validate(self._transport.post("/judges", body))

    def list(self) -> list[JudgeInfo]:
        return Page[JudgeInfo].model_validate(self._transport.get("/judges")).data

    def get(self, name: str) -> JudgeInfo:
        """Get by name or id."""
        return JudgeInfo.model_validate(self._transport.get(f"/judges/{name}"))

    def change(self, name: str, *, etag: str | None = None, **settings: Any) -> JudgeInfo:
        """Change the given settings; `api_key=None` removes the key."""
        return JudgeInfo.model_validate(self._transport.patch(f"/judges/{name}", settings, etag=etag))

    def remove(self, name: str) -> None:
        self._transport.delete(f"/judges/{name}")
