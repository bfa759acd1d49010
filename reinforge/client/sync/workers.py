# Generated from reinforge/client/aio/workers.py by scripts/sync_client.py: change that file.
"""Workers: the machines that train, and those that answer at once."""

from reinforge.client.sync.transport import Transport
from reinforge.schemas.common import Page
from reinforge.schemas.resources import WorkerInfo


class Workers:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[WorkerInfo]:
        """All that the server knows, with what each does and can be asked."""
        return Page[WorkerInfo].model_validate(self._transport.get("/workers")).data
