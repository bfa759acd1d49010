"""RPC `inspect_model`, which also reports the progress of download and hashing."""

from reinforge.schemas.rpc.events import ProgressEvent
from reinforge.schemas.rpc.models import InspectRequest, ModelFacts
from reinforge.schemas.worker_api import CallChunk
from worker.backend_api.client import WorkerApi
from worker.isolated.process import Apart
from worker.models.inspect import inspect_model
from worker.models.sources import ModelStore
from worker.rpc.progress import InspectionProgress, ProgressThread

REPORT_SECONDS = 1.0


def inspect(
    api: WorkerApi, store: ModelStore, apart: Apart, call_id: str, request: InspectRequest
) -> ModelFacts:
    """Inspect a model. Its download continues after the caller disconnects."""
    progress, seq = InspectionProgress(), 0

    def report() -> None:
        nonlocal seq
        api.post_chunk(call_id, CallChunk(seq=seq + 1, events=[_event(progress)]))
        seq += 1

    with ProgressThread(report, first=0.05, every=REPORT_SECONDS, name=call_id):
        facts = inspect_model(
            request.source,
            store,
            token=request.hub_token,
            added=request.added,
            any_folder=request.any_folder,
            begun=progress.downloading,
            hashing=progress.hashing,
            apart=apart,
        )
    return ModelFacts.model_validate(facts)


def _event(progress: InspectionProgress) -> ProgressEvent:
    if (so_far := progress.bytes()) is None:
        return ProgressEvent(type="progress", phase=progress.phase)
    done, total = so_far
    return ProgressEvent(type="progress", phase=progress.phase, done=done, total=total)
