"""Base models."""

from collections.abc import Iterator

from reinforge.client.paging import iterate
from reinforge.client.transport import Transport
from reinforge.schemas.resources import BaseModelInfo

DOWNLOAD_SECONDS = 960.0
"""Inspecting a model includes its download; the server gives up after 900 s."""


class Models:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(self, id: str, source: str) -> BaseModelInfo:
        """Register a folder on the worker, or `hub:org/name@revision`, and inspect it."""
        body = {"id": id, "source": source}
        return BaseModelInfo.model_validate(self._transport.post("/models", body, at_least=DOWNLOAD_SECONDS))

    def list(self) -> Iterator[BaseModelInfo]:
        return iterate(self._transport, "/models", BaseModelInfo)

    def get(self, id: str) -> BaseModelInfo:
        return BaseModelInfo.model_validate(self._transport.get(f"/models/{id}"))
