"""The call `inspect_model`: facts about a base model, with progress of its download and hash."""

from typing import Any

from reinforge.schemas.worker_api import CallChunk, CallMessage
from worker.backend_api.client import WorkerApi
from worker.isolated.process import Apart
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore
from worker.rpc.progress import InspectionProgress, ProgressThread

REPORT_SECONDS = 1.0


def inspect(api: WorkerApi, store: ModelStore, apart: Apart, call: CallMessage) -> dict[str, Any]:
    """{source, hub_token?, added?, any_folder?} → facts. Sends events {type: progress, phase, done, total}.

    A download continues after the caller disconnects, to be cached.
    """
    progress, seq = InspectionProgress(), 0

    def report() -> None:
        nonlocal seq
        api.post_chunk(call.id, CallChunk(seq=seq + 1, events=[_event(progress)]))
        seq += 1

    with ProgressThread(report, first=0.05, every=REPORT_SECONDS, name=call.id):
        return inspect_model(
            str(call.payload["source"]),
            store,
            token=call.payload.get("hub_token"),
            added=bool(call.payload.get("added")),
            any_folder=bool(call.payload.get("any_folder")),
            begun=progress.downloading,
            hashing=progress.hashing,
            apart=apart,
        )


def _event(progress: InspectionProgress) -> dict[str, Any]:
    event: dict[str, Any] = {"type": "progress", "phase": progress.phase}
    if (so_far := progress.bytes()) is not None:
        event |= {"done": so_far[0], "total": so_far[1]}
    return event
