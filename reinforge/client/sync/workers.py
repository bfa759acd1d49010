# Generated from reinforge/client/aio/workers.py by scripts/sync_client.py: change that file.
"""Workers: the processes that train, serve and answer calls."""

from reinforge.client.sync.transport import Transport
from reinforge.schemas.common import Page
from reinforge.schemas.resources import WorkerInfo


class Workers:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[WorkerInfo]:
        return Page[WorkerInfo].model_validate(self._transport.get("/workers")).data
