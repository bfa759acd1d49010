"""The call `inspect_model`: what a base model is, and how far its download and its hash are while somebody waits."""

from typing import Any

from reinforge.schemas.worker_door import CallChunk, CallMessage
from worker.backend_api.client import WorkerApi
from worker.isolated.process import Apart
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore
from worker.rpc.progress import Looking, Telling

REPORT_SECONDS = 1.0


def inspect(api: WorkerApi, store: ModelStore, apart: Apart, call: CallMessage) -> dict[str, Any]:
    """{source, hub_token?, added?, any_folder?} → facts. Sends events {type: progress, phase, done, total}.

    A download goes on when nobody waits any more: what is there need not be fetched again.
    """
    looking, seq = Looking(), 0

    def report() -> None:
        nonlocal seq
        api.post_chunk(call.id, CallChunk(seq=seq + 1, events=[_event(looking)]))
        seq += 1

    with Telling(report, first=0.05, every=REPORT_SECONDS, name=call.id):
        return inspect_model(
            str(call.payload["source"]),
            store,
            token=call.payload.get("hub_token"),
            added=bool(call.payload.get("added")),
            any_folder=bool(call.payload.get("any_folder")),
            begun=looking.downloading,
            hashing=looking.hashing,
            apart=apart,
        )


def _event(looking: Looking) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "progress", "phase": looking.phase}
    if (so_far := looking.bytes()) is not None:
        event |= {"done": so_far[0], "total": so_far[1]}
    return event
